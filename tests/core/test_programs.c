/* test_programs.c - random programs over several backends, beside an evaluator that is slow and plain

   A program is a graph of operators over float32, float16, 8-bit codes and int32, in NCHW or NHWC,
   with values that several nodes read and several outputs. A random table says which backend can
   compute what; there are two to four backends, copies of libQnnRef.so under other names. Nodes
   that follow each other on one backend may be one graph; what no backend can do is a host step.
   Where a value has another dtype, encoding or layout than its reader wants, the edge converts.
   Tensors lie at random places of buffers, also over each other. Some programs are written to a folder
   with a qnnrt.json, too, and run from there.

   Each case ends in one of two ways: every output has the bytes that the evaluator computes (and,
   where one graph on one backend can compute all of it, the bytes of that graph), or there is a
   named error before the first exec, exactly if the program is wrong in a way that this test knows.

   QNNRT_PROGRAMS=COUNT runs so many cases (default 10,000), =FIRST,COUNT those from number FIRST on. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_convert.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "bind.h"
#include "converted.h"

#include <math.h>

enum { BACKENDS = 4, NODES = 9, VALUES = NODES * 2, PIDS = VALUES * 2, INS = NODES * 2, OUTS = VALUES,
       EDGES = NODES * 4, MOST = 4 * 48, EXECS = 3, ANYWHERE = -1, HOST = BACKENDS,
       OWN = 8, OWN_ROOM = MOST + 64 };

/* ---- random numbers -------------------------------------------------------------------------- */

static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static int chance(uint32_t percent) { return below(100) < percent; }

/* ---- tensors --------------------------------------------------------------------------------- */

enum { F32, F16, U8, I32, TYPES };

typedef struct facts { int type, encoding, nhwc, channels; } facts;

/* Height and width of all tensors of a program. With two channels and 2 x 2 points, NCHW and NHWC have
   the same dims. */
static int height, width;

/* The last one is not a power of two: operators that compute do not have it. */
static const struct { float scale; int offset; } encodings[] = {
    { 0.5f, -128 }, { 0.25f, 0 }, { 0.125f, -30 }, { 0.1f, -100 } };
enum { POWERS = 3, ENCODINGS = 4 };

static const qnnrt_dtype dtypes[TYPES] = { QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, QNNRT_DTYPE_U8Q,
                                           QNNRT_DTYPE_I32 };
static const int sizes[TYPES] = { 4, 2, 1, 4 };

static int equal_facts(facts a, facts b)
{
    return a.type == b.type && a.nhwc == b.nhwc && a.channels == b.channels &&
           (a.type != U8 || a.encoding == b.encoding);
}

static int equal_types(facts a, facts b)
{
    b.nhwc = a.nhwc;
    return equal_facts(a, b);
}

static int count_of(facts f) { return f.channels * height * width; }
static size_t bytes_of(facts f) { return (size_t)(count_of(f) * sizes[f.type]); }

static void dims_of(facts f, uint32_t *dims)
{
    dims[0] = 1;
    dims[f.nhwc ? 3 : 1] = (uint32_t)f.channels;
    dims[f.nhwc ? 1 : 2] = (uint32_t)height;
    dims[f.nhwc ? 2 : 3] = (uint32_t)width;
}

/* Return 1 if two tensors are equal for the library, which sees dims and not layouts. */
static int look_equal(facts a, facts b)
{
    uint32_t x[4], y[4];
    dims_of(a, x);
    dims_of(b, y);
    a.nhwc = b.nhwc;
    return equal_facts(a, b) && memcmp(x, y, sizeof(x)) == 0;
}

static qnnrt_quant quant_of(facts f)
{
    qnnrt_quant quant;
    memset(&quant, 0, sizeof(quant));
    if (f.type != U8) return quant;
    quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    quant.scale = encodings[f.encoding].scale;
    quant.offset = encodings[f.encoding].offset;
    return quant;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent == 31 ? (mantissa != 0 ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* Return the half nearest to a number, ties to even; beyond the range it is infinite. */
static uint16_t half_of(double v)
{
    const uint16_t sign = (uint16_t)(signbit(v) ? 0x8000 : 0);
    int exponent;
    double steps;
    if (v != v) return (uint16_t)(sign | 0x7E00);
    v = fabs(v);
    if (v >= 65520.0) return (uint16_t)(sign | 0x7C00);
    frexp(v, &exponent);
    if (exponent < -13) exponent = -13;
    steps = rint(ldexp(v, 11 - exponent));              /* 2^(exponent - 11) apart */
    if (steps < 1024) return (uint16_t)(sign | (uint16_t)steps);
    return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)steps));
}

/* Return the value of element i. Every type is a double exactly. */
static double get(facts f, const unsigned char *data, int i)
{
    float f32; uint16_t f16; int32_t i32;
    switch (f.type) {
    case F32: memcpy(&f32, data + 4 * i, 4); return f32;
    case F16: memcpy(&f16, data + 2 * i, 2); return half_value(f16);
    case I32: memcpy(&i32, data + 4 * i, 4); return i32;
    default: return (data[i] + encodings[f.encoding].offset) * (double)encodings[f.encoding].scale;
    }
}

/* Return the integer nearest to v / scale, ties to even. */
static double nearest_even(double v, double scale)
{
    double whole, rest;
    if (fabs(v) > 1e12 * scale) return v < 0 ? -1e12 : 1e12;
    whole = floor(v / scale);
    while (v - whole * scale < 0) --whole;
    while (v - whole * scale >= scale) ++whole;
    rest = 2 * (v - whole * scale);
    return rest > scale || (rest == scale && fmod(whole, 2) != 0) ? whole + 1 : whole;
}

/* Store a value as a conversion does. Return 1 if it does not fit. */
static int convert_one(facts f, unsigned char *data, int i, double v)
{
    const double offset = f.type == U8 ? encodings[f.encoding].offset : 0;
    const double scale = f.type == U8 ? encodings[f.encoding].scale : 1;
    const double least = f.type == U8 ? 0 : -2147483648.0, most = f.type == U8 ? 255 : 2147483647.0;
    double code;
    int lost;
    if (f.type == F32) {
        const float f32 = (float)v;
        memcpy(data + 4 * i, &f32, 4);
        return 0;
    }
    if (f.type == F16) {
        uint16_t f16 = half_of(v);
        lost = (f16 & 0x7FFF) == 0x7C00;
        if (lost) --f16;
        memcpy(data + 2 * i, &f16, 2);
        return lost;
    }
    code = (v != v ? 0 : nearest_even(v, scale)) - offset;
    lost = v != v || code < least || code > most;
    code = code < least ? least : code > most ? most : code;
    if (f.type == U8) data[i] = (unsigned char)code;
    else {
        const int32_t i32 = (int32_t)code;
        memcpy(data + 4 * i, &i32, 4);
    }
    return lost;
}

/* Store the float result of an operator, rounded as operators do: halves of codes away from zero. */
static void store(facts f, unsigned char *data, int i, float v)
{
    if (f.type == F32) memcpy(data + 4 * i, &v, 4);
    else if (f.type == F16) {
        const uint16_t f16 = half_of(v);
        memcpy(data + 2 * i, &f16, 2);
    } else {
        const double code = round((double)v / encodings[f.encoding].scale) - encodings[f.encoding].offset;
        data[i] = (unsigned char)(code < 0 ? 0 : code > 255 ? 255 : code);
    }
}

/* Return the index in memory of an element: channel c of point p. */
static int index_of(facts f, int c, int p) { return f.nhwc ? p * f.channels + c : c * height * width + p; }

/* Convert a tensor. Return how many values do not fit. */
static int convert(facts from, const unsigned char *data, facts to, unsigned char *out)
{
    int c, p, lost = 0;
    for (c = 0; c < from.channels; ++c)
        for (p = 0; p < height * width; ++p) {
            const int a = index_of(from, c, p), b = index_of(to, c, p), size = sizes[to.type];
            if (equal_types(from, to)) memcpy(out + b * size, data + a * size, (size_t)size);
            else lost += convert_one(to, out, b, get(from, data, a));
        }
    return lost;
}

/* ---- programs -------------------------------------------------------------------------------- */

enum { ADD, SUBTRACT, MULTIPLY, MAXIMUM, NEGATE, RELU, COPY, CONCAT, SPLIT, OPS };
static const char *const op_names[OPS] = { "ElementWiseAdd", "ElementWiseSubtract", "ElementWiseMultiply",
    "ElementWiseMaximum", "ElementWiseNeg", "Relu", "Reshape", "Concat", "Split" };

typedef struct use {                /* an input of a node */
    int value, pid;                 /* a value, or with ANYWHERE an input of the program */
    facts wants;
    int exact;
    int in;                         /* index into the inputs of its segment; ANYWHERE: inside it */
} use;

typedef struct node {
    int op, in_count, out_count, place, segment;
    use in[2];
    int out[2];
} node;

typedef struct value {
    facts f;
    int node, readers;              /* in later segments */
    int inside;                     /* readers in its own segment */
    int shown;                      /* 1: an output of its segment */
    char name[64];
    const qnnrt_slot *slot;
} value;

typedef struct in {                 /* an input of a segment */
    char name[64];
    facts f;
    int value, pid, exact, apart, constant;
    int class_of;                   /* inputs of the program: the slot; else ANYWHERE */
} in;

typedef struct segment {            /* a step */
    int place, first, last;         /* nodes [first, last] */
    int forbidden;                  /* 1: the backend that was chosen does not have this graph */
    char name[64];
    in ins[INS];
    int in_count, outs[OUTS], out_count;
    size_t step;                    /* its number in the pipeline */
    int calls, fails;               /* fails: the next call of the host step does */
} segment;

typedef struct class_ {             /* an input of the program as the caller sees it */
    char name[64];
    facts f;
    int alone, constant;
    const qnnrt_slot *slot;
    unsigned char data[MOST];       /* what it has at the next exec; a constant: what it has always */
    unsigned char replaced[MOST];   /* what a constant has while it is bound */
    const unsigned char *now;       /* one of these two */
} class_;

enum { WRONG_NOTHING, WRONG_FORGOTTEN, WRONG_NEEDLESS, WRONG_ORDER, WRONG_NAME, WRONG_FORBIDDEN,
       WRONG_NO_MODEL, WRONG_PLACES, WRONGS };
static const struct { qnnrt_result result; const char *text; } wrongs[WRONGS] = {
    { QNNRT_OK, "right" },
    { QNNRT_E_MISMATCH, "a conversion is not asked for" },
    { QNNRT_E_ARG, "a conversion of equal tensors" },
    { QNNRT_E_ARG, "an edge leads back" },
    { QNNRT_E_NOT_FOUND, "an edge to nowhere" },
    { QNNRT_E_NOT_FOUND, "no backend can do it" },
    { QNNRT_E_ARG, "a graph without a model" },
    { QNNRT_E_ARG, "a place destroys a value" } };

static struct {
    int number, backends;
    node nodes[NODES];
    int node_count;
    value values[VALUES];
    int value_count, pid_count, class_count;
    facts pids[PIDS];
    char pid_names[PIDS][64];
    segment segments[NODES];
    int segment_count;
    class_ classes[NODES * INS];
    unsigned char data[VALUES][MOST];
    /* conversions that are expected */
    struct { int value, exact, lost; facts to; size_t first_reader; uint32_t step; } conversions[EDGES];
    int conversion_count, edge_count;
    unsigned char look_equal[NODES * INS];   /* [edge] */
    int named;                      /* 1: edges without conversions are found by their names */
    int wrong;                      /* WRONG_... */
    const qnnrt_edge_desc *culprit;
    const char *forbidden;          /* the graph that its backend does not have */
    int strange;                    /* a NaN arose */
} p;

static const char *unique(const char *format, int a, int b)
{
    static char text[64];
    snprintf(text, sizeof(text), format, a, b);
    return text;
}

static const char *unique_quoted(const char *name)
{
    static char text[64];
    snprintf(text, sizeof(text), "\"%s\"", name);
    return text;
}

static const char *unique_address(size_t step, const char *name)
{
    static char text[64];
    snprintf(text, sizeof(text), "%u/%s", (unsigned)step, name);
    return text;
}

static int can_have(int op, int type)
{
    if (op == RELU) return type != I32;
    if (op == MULTIPLY) return type == U8 || type == I32 || type == F32;
    return 1;
}

static facts any_facts(void)
{
    facts f;
    f.type = (int)below(TYPES);
    f.encoding = f.type == U8 ? (int)below(ENCODINGS) : 0;
    f.nhwc = (int)below(2);
    f.channels = chance(70) ? 2 : 4;
    return f;
}

static int new_value(int at, facts f)
{
    value *v = &p.values[p.value_count];
    memset(v, 0, sizeof(*v));
    v->f = f;
    v->node = at;
    return p.value_count++;
}

/* Choose where an input of a node comes from. */
static void choose_source(use *u, facts wants, int first)
{
    int tries, recent;
    u->wants = wants;
    u->value = u->pid = ANYWHERE;
    u->exact = chance(8);
    for (tries = 0; tries < (p.value_count > 0 ? 12 : 0); ++tries) {
        recent = chance(50) && p.value_count > 3 ? p.value_count - 3 : 0;
        u->value = recent + (int)below((uint32_t)(p.value_count - recent));
        if (p.values[u->value].f.channels == wants.channels &&
            (tries > 1 || equal_facts(p.values[u->value].f, wants)) && chance(first ? 90 : 40)) return;
        u->value = ANYWHERE;
        if (!first && tries > 2) break;
    }
    for (tries = 0; tries < p.pid_count && chance(70); ++tries)
        if (equal_facts(p.pids[tries], wants)) { u->pid = tries; return; }
    u->pid = p.pid_count++;
    p.pids[u->pid] = wants;
    snprintf(p.pid_names[u->pid], 16, chance(60) ? "n%d" : "q%d", chance(60) ? (int)below(4) : u->pid);
}

static void make_nodes(void)
{
    unsigned char able[BACKENDS][OPS][TYPES];
    const uint32_t density = 30 + 25 * below(3);
    const int hosts = chance(95), pinned = chance(40);
    int i, k, b;
    for (b = 0; b < BACKENDS; ++b)
        for (i = 0; i < OPS; ++i)
            for (k = 0; k < TYPES; ++k) able[b][i][k] = (unsigned char)chance(density);
    height = chance(70) ? 3 : 2;
    width = height == 3 ? 4 : 2;
    p.backends = 2 + (int)below(BACKENDS - 1);
    p.node_count = 1 + (int)below(NODES);
    for (i = 0; i < p.node_count; ++i) {
        node *n = &p.nodes[i];
        facts f = any_facts(), out;
        do n->op = (int)below(OPS); while (!can_have(n->op, f.type));
        if (n->op < COPY && f.type == U8) f.encoding = (int)below(POWERS);
        n->in_count = n->op <= MAXIMUM || n->op == CONCAT ? 2 : 1;
        n->out_count = n->op == SPLIT ? 2 : 1;
        if (n->op == CONCAT) f.channels = 2;
        if (n->op == SPLIT) f.channels = 4;
        for (k = 0; k < n->in_count; ++k) choose_source(&n->in[k], f, k == 0);
        out = f;
        if (n->op == CONCAT) out.channels = 4;
        if (n->op == SPLIT) out.channels = 2;
        for (k = 0; k < n->out_count; ++k) n->out[k] = new_value(i, out);
        /* A backend that can do it; else this CPU. */
        n->place = ANYWHERE;
        b = i > 0 && chance(50) && p.nodes[i - 1].place < p.backends ? p.nodes[i - 1].place
                                                                    : (int)below((uint32_t)p.backends);
        for (k = 0; k < p.backends && n->place == ANYWHERE; ++k, b = (b + 1) % p.backends)
            if (b >= 0 && able[b][n->op][f.type]) n->place = b;
        if ((n->place == ANYWHERE && hosts) || (pinned && chance(20))) n->place = HOST;
    }
}

/* Divide the nodes into steps. */
static void make_segments(void)
{
    const int fuse = chance(60);
    int i, k;
    for (i = 0; i < p.node_count; ++i) {
        node *n = &p.nodes[i];
        segment *s = p.segment_count > 0 ? &p.segments[p.segment_count - 1] : NULL;
        int joins = s != NULL && fuse && chance(80) && n->place == s->place && n->place != ANYWHERE;
        for (k = 0; k < n->in_count && joins; ++k) {
            const use *u = &n->in[k];
            joins = u->value == ANYWHERE || p.values[u->value].node < s->first ||
                    equal_facts(p.values[u->value].f, u->wants);
        }
        if (!joins) {
            s = &p.segments[p.segment_count];
            s->place = n->place;
            s->first = i;
            s->forbidden = n->place == ANYWHERE;
            if (s->forbidden) s->place = (int)below((uint32_t)p.backends);
            snprintf(s->name, sizeof(s->name), "g%d", p.segment_count++);
        }
        s->last = i;
        n->segment = p.segment_count - 1;
    }
}

/* Return 1 if every step reads what the step before it wrote, which wiring by names needs. */
static int is_chain(void)
{
    int at, i, k;
    for (at = 1; at < p.segment_count; ++at) {
        int joined = 0;
        for (i = p.segments[at].first; i <= p.segments[at].last; ++i)
            for (k = 0; k < p.nodes[i].in_count; ++k) {
                const int v = p.nodes[i].in[k].value;
                joined |= v != ANYWHERE && p.nodes[p.values[v].node].segment == at - 1;
            }
        if (!joined) return 0;
    }
    return 1;
}

static int name_taken(const segment *s, const char *name)
{
    int i;
    for (i = 0; i < s->in_count; ++i) if (strcmp(s->ins[i].name, name) == 0) return 1;
    for (i = 0; i < s->out_count; ++i) if (strcmp(p.values[s->outs[i]].name, name) == 0) return 1;
    return 0;
}

/* Find or make the input of a segment for a use. */
static int segment_input(segment *s, int at, const use *u)
{
    in *i;
    int k;
    for (k = 0; k < s->in_count; ++k)
        if (s->ins[k].value == u->value && s->ins[k].pid == u->pid && equal_facts(s->ins[k].f, u->wants) &&
            (u->value == ANYWHERE || (p.named && equal_facts(p.values[u->value].f, u->wants)) || chance(70)))
            return k;
    i = &s->ins[s->in_count];
    memset(i, 0, sizeof(*i));
    i->f = u->wants;
    i->value = u->value;
    i->pid = u->pid;
    i->exact = u->value != ANYWHERE && !equal_facts(p.values[u->value].f, u->wants) && u->exact;
    i->class_of = ANYWHERE;
    snprintf(i->name, sizeof(i->name), "%s", u->pid != ANYWHERE ? p.pid_names[u->pid]
                                             : p.named && equal_facts(p.values[u->value].f, u->wants)
                                                   ? p.values[u->value].name
                                             : chance(50) ? unique("n%d", (int)below(6), 0)
                                                          : unique("i%d", s->in_count, 0));
    if (name_taken(s, i->name)) snprintf(i->name, sizeof(i->name), "u%d_%d", at, s->in_count);
    if (u->pid != ANYWHERE) {
        i->apart = chance(10);
        i->constant = chance(8);
    }
    return s->in_count++;
}

/* Find the inputs and outputs of all steps, and the slots that the inputs of the program become. */
static void make_ends(void)
{
    int i, k, at, c;
    for (i = 0; i < p.node_count; ++i)
        for (k = 0; k < p.nodes[i].in_count; ++k) {
            const use *u = &p.nodes[i].in[k];
            if (u->value == ANYWHERE) continue;
            if (p.nodes[p.values[u->value].node].segment == p.nodes[i].segment) ++p.values[u->value].inside;
            else ++p.values[u->value].readers;
        }
    for (i = 0; i < p.value_count; ++i) {
        value *v = &p.values[i];
        segment *s = &p.segments[p.nodes[v->node].segment];
        v->shown = v->readers > 0 || v->inside == 0 || chance(15);
        snprintf(v->name, sizeof(v->name), "%s", !p.named && chance(50) ? unique("o%d", i % 3, 0)
                                                                        : unique("v%d", i, 0));
        if (name_taken(s, v->name) || !v->shown) snprintf(v->name, sizeof(v->name), "w%d", i);
        if (v->shown) s->outs[s->out_count++] = i;
    }
    for (i = 0; i < p.node_count; ++i)
        for (k = 0; k < p.nodes[i].in_count; ++k) {
            use *u = &p.nodes[i].in[k];
            const int inside = u->value != ANYWHERE && p.nodes[p.values[u->value].node].segment == p.nodes[i].segment;
            u->in = inside ? ANYWHERE : segment_input(&p.segments[p.nodes[i].segment], p.nodes[i].segment, u);
        }
    for (at = 0; at < p.segment_count; ++at)
        for (i = 0; i < p.segments[at].in_count; ++i) {
            in *it = &p.segments[at].ins[i];
            if (it->value != ANYWHERE) continue;
            for (c = 0; c < p.class_count; ++c)
                if (!p.classes[c].alone && !it->apart && !it->constant && look_equal(p.classes[c].f, it->f) &&
                    strcmp(p.classes[c].name, it->name) == 0) break;
            it->class_of = c;
            if (c < p.class_count) continue;
            memset(&p.classes[c], 0, sizeof(p.classes[c]));
            p.classes[c].f = it->f;
            p.classes[c].alone = it->apart || it->constant;
            p.classes[c].constant = it->constant;
            p.classes[c].now = p.classes[c].data;
            snprintf(p.classes[c].name, sizeof(p.classes[c].name), "%s", it->name);
            ++p.class_count;
        }
}

/* ---- the evaluator --------------------------------------------------------------------------- */

static void compute(const node *n, const unsigned char *const *x, unsigned char *const *y)
{
    const facts f = n->in[0].wants, out = p.values[n->out[0]].f;
    const int size = sizes[f.type];
    int c, q, i;
    if (n->op == CONCAT || n->op == SPLIT) {
        const facts half = n->op == CONCAT ? f : out, whole = n->op == CONCAT ? out : f;
        for (c = 0; c < 4; ++c)
            for (q = 0; q < height * width; ++q) {
                const int part = index_of(half, c % 2, q) * size, all = index_of(whole, c, q) * size;
                if (n->op == CONCAT) memcpy(y[0] + all, x[c / 2] + part, (size_t)size);
                else memcpy(y[c / 2] + part, x[0] + all, (size_t)size);
            }
        return;
    }
    if (n->op == COPY) { memcpy(y[0], x[0], bytes_of(f)); return; }
    for (i = 0; i < count_of(f); ++i) {
        const double a = get(f, x[0], i), b = n->in_count > 1 ? get(f, x[1], i) : 0;
        if (f.type == I32) {
            const uint32_t s = (uint32_t)(int32_t)a, t = (uint32_t)(int32_t)b;
            const uint32_t r = n->op == ADD ? s + t : n->op == SUBTRACT ? s - t : n->op == MULTIPLY ? s * t
                               : n->op == MAXIMUM ? (a > b ? s : t) : 0u - s;
            memcpy(y[0] + 4 * i, &r, 4);
        } else {
            const float s = (float)a, t = (float)b;
            store(out, y[0], i, n->op == ADD ? s + t : n->op == SUBTRACT ? s - t : n->op == MULTIPLY ? s * t
                                : n->op == MAXIMUM ? (s >= t ? s : t) : n->op == NEGATE ? -s : 0.0f > s ? 0.0f : s);
        }
    }
}

/* Compute all values of a segment. ins: [in_count] its inputs. */
static void compute_segment(const segment *s, const unsigned char *const *ins, unsigned char (*values)[MOST])
{
    int i, k;
    for (i = s->first; i <= s->last; ++i) {
        const node *n = &p.nodes[i];
        const unsigned char *x[2] = { NULL, NULL };
        unsigned char *y[2] = { NULL, NULL };
        for (k = 0; k < n->in_count; ++k)
            x[k] = n->in[k].in != ANYWHERE ? ins[n->in[k].in] : values[n->in[k].value];
        for (k = 0; k < n->out_count; ++k) y[k] = values[n->out[k]];
        compute(n, x, y);
    }
}

static int has_nan(facts f, const unsigned char *data)
{
    int i;
    for (i = 0; i < count_of(f); ++i) {
        const double v = get(f, data, i);
        if (v != v) return 1;
    }
    return 0;
}

/* Find the conversion of an input, or return ANYWHERE. */
static int conversion_of(const in *i)
{
    int c;
    for (c = 0; c < p.conversion_count; ++c)
        if (p.conversions[c].value == i->value && p.conversions[c].exact == i->exact &&
            equal_facts(p.conversions[c].to, i->f)) return c;
    return ANYWHERE;
}

/* Compute all values from the inputs of the program. */
static void evaluate(void)
{
    static unsigned char converted[INS][MOST];
    int at, i;
    p.strange = 0;
    for (at = 0; at < p.segment_count; ++at) {
        const segment *s = &p.segments[at];
        const unsigned char *ins[INS];
        for (i = 0; i < s->in_count; ++i) {
            const in *it = &s->ins[i];
            const int c = it->value != ANYWHERE ? conversion_of(it) : ANYWHERE;
            ins[i] = it->value == ANYWHERE ? p.classes[it->class_of].now : p.data[it->value];
            if (c == ANYWHERE) continue;
            p.conversions[c].lost = convert(p.values[it->value].f, p.data[it->value], it->f, converted[i]);
            ins[i] = converted[i];
        }
        compute_segment(s, ins, p.data);
    }
    for (i = 0; i < p.value_count; ++i) p.strange |= has_nan(p.values[i].f, p.data[i]);
    for (i = 0; i < p.class_count; ++i) p.strange |= has_nan(p.classes[i].f, p.classes[i].now);
}

static qnnrt_result host_exec(void *user, const qnnrt_graph_info *step, const void *const *inputs,
                              void *const *outputs, qnnrt_error *why)
{
    static unsigned char values[VALUES][MOST];
    segment *s = (segment *)user;
    const unsigned char *ins[INS];
    int i;
    ++s->calls;
    if (step->input_count != (size_t)s->in_count || step->output_count != (size_t)s->out_count ||
        strcmp(step->name, s->name) != 0)
        return QNNRT_E_FORMAT;
    if (s->fails) {
        snprintf(why->text, sizeof(why->text), "this step does not want to");
        return QNNRT_E_IO;
    }
    for (i = 0; i < s->in_count; ++i) ins[i] = (const unsigned char *)inputs[i];
    compute_segment(s, ins, values);
    for (i = 0; i < s->out_count; ++i) memcpy(outputs[i], values[s->outs[i]], bytes_of(p.values[s->outs[i]].f));
    return QNNRT_OK;
}

/* ---- what the library is given, and what it makes of it -------------------------------------- */

static struct {
    qnnrt_pipeline_desc desc;
    qnnrt_step_desc     steps[NODES];
    qnnrt_edge_desc     edges[NODES * INS];
    qnnrt_conversion    wishes[NODES * INS];
    qnnrt_use_desc      uses[NODES * INS];
    qnnrt_host_step     hosts[NODES];
    qnnrt_tensor_info   tensors[NODES][INS + OUTS];
    uint32_t            dims[NODES][INS + OUTS][4];
    qnnrt              *models[BACKENDS];
    qnnrt_conversions  *conversions;
    qnnrt_pipeline     *made;
    const qnnrt_pipeline *pipeline;        /* that, or the one of a folder */
    qnnrt_plan         *plan;
    qnnrt_mem          *mem;
    qnnrt_run          *run, *runs[2];     /* run: the one that is used now */
    int                 run_count;
    int                 reuse, guard, per_tensor, placed;
    unsigned char       own[OWN][OWN_ROOM];
    const qnnrt_slot *own_slots[OWN];
    int                 own_count;
} w;

/* ---- backends -------------------------------------------------------------------------------- */

static qnnrt_backend *backends[BACKENDS];
static int (*controls[BACKENDS])(const char *, char *, size_t);
static qnnrt_error err;

static int open_backends(void)
{
    int i;
    for (i = 0; i < BACKENDS; ++i) {
        qnnrt_backend_desc desc;
        char path[1200], bytes[65536];
        FILE *from = fopen(TEST_REF_LIB, "rb"), *to;
        size_t got;
        void *library, *symbol;
        snprintf(path, sizeof(path), "%s/libCopy%d.so", test_tmpdir(), i);
        to = fopen(path, "wb");
        if (from == NULL || to == NULL) return 0;
        while ((got = fread(bytes, 1, sizeof(bytes), from)) > 0) fwrite(bytes, 1, got, to);
        fclose(from);
        if (fclose(to) != 0) return 0;
        memset(&desc, 0, sizeof(desc));
        desc.path = path;
        if (qnnrt_backend_open(&desc, &backends[i], &err) != QNNRT_OK) { printf("%s\n", err.text); return 0; }
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        symbol = library != NULL ? dlsym(library, "QnnRef_control") : NULL;
        if (symbol == NULL) return 0;
        memcpy((void *)&controls[i], (const void *)&symbol, sizeof(symbol));
        controls[i]("trace on", NULL, 0);
    }
    return 1;
}

/* Return how often a backend executed a graph since the trace was cleared. */
static int executes_of(int backend)
{
    static char lines[1 << 16];
    const char *at = lines;
    int count = 0;
    if (controls[backend]("trace", lines, sizeof(lines)) < 0) return -1;
    for (; (at = strstr(at, "graphExecute(")) != NULL; ++at) ++count;
    return count;
}

static unsigned long long copies_of(void)
{
    unsigned long long sum = 0, copies;
    int i;
    for (i = 0; i < BACKENDS; ++i) {
        char text[256];
        controls[i]("counters", text, sizeof(text));
        if (sscanf(text, "allocations %*u delayed_ms %*u copies %llu", &copies) != 1) exit(1);
        sum += copies;
    }
    return sum;
}

static qnnrt_tensor add_tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, facts f)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = dtypes[f.type];
    desc.rank = 4;
    dims_of(f, desc.dims);
    desc.quant = quant_of(f);
    return qnnrt_builder_tensor(b, &desc);
}

static void add_node(qnnrt_builder *b, const node *n, const qnnrt_tensor *x, const qnnrt_tensor *y)
{
    static const uint32_t half[1] = { 2 };
    qnnrt_node_desc desc;
    qnnrt_param_desc params[2];
    memset(&desc, 0, sizeof(desc));
    memset(params, 0, sizeof(params));
    desc.type = op_names[n->op];
    desc.inputs = x;
    desc.input_count = (size_t)n->in_count;
    desc.outputs = y;
    desc.output_count = (size_t)n->out_count;
    params[0].name = "axis";
    params[0].dtype = params[1].dtype = QNNRT_DTYPE_U32;
    params[0].value = n->in[0].wants.nhwc ? 3 : 1;
    params[1].name = "split_index";
    params[1].data = half;
    params[1].rank = 1;
    params[1].dims[0] = 1;
    desc.params = params;
    desc.param_count = n->op == CONCAT ? 1 : n->op == SPLIT ? 2 : 0;
    qnnrt_builder_node(b, &desc);
}

static void add_graph(qnnrt_builder *b, const segment *s)
{
    qnnrt_graph_desc desc;
    qnnrt_tensor ins[INS], values[VALUES];
    int i, k;
    memset(&desc, 0, sizeof(desc));
    desc.name = s->name;
    qnnrt_builder_graph(b, &desc);
    for (i = 0; i < s->in_count; ++i) ins[i] = add_tensor(b, s->ins[i].name, QNNRT_TENSOR_INPUT, s->ins[i].f);
    for (i = s->first; i <= s->last; ++i)
        for (k = 0; k < p.nodes[i].out_count; ++k) {
            const value *v = &p.values[p.nodes[i].out[k]];
            const qnnrt_tensor_kind kind = v->shown ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER;
            values[p.nodes[i].out[k]] = add_tensor(b, v->name, kind, v->f);
        }
    for (i = s->first; i <= s->last; ++i) {
        const node *n = &p.nodes[i];
        qnnrt_tensor x[2] = { 0, 0 }, y[2] = { 0, 0 };
        for (k = 0; k < n->in_count; ++k)
            x[k] = n->in[k].in != ANYWHERE ? ins[n->in[k].in] : values[n->in[k].value];
        for (k = 0; k < n->out_count; ++k) y[k] = values[n->out[k]];
        add_node(b, n, x, y);
    }
}

/* Build a model for each backend with the graphs that it has. */
static qnnrt_result build_models(void)
{
    qnnrt_result result = QNNRT_OK;
    int b, i;
    for (b = 0; b < BACKENDS; ++b) {
        qnnrt_builder *builder = NULL;
        for (i = 0; i < p.segment_count && result == QNNRT_OK; ++i) {
            if (p.segments[i].place != b || p.segments[i].forbidden) continue;
            if (builder == NULL) result = qnnrt_builder_create(backends[b], NULL, &builder, &err);
            if (result == QNNRT_OK) add_graph(builder, &p.segments[i]);
        }
        if (builder != NULL && result == QNNRT_OK) result = qnnrt_builder_finish(builder, &w.models[b], &err);
    }
    return result;
}

/* ---- the description of the pipeline --------------------------------------------------------- */

static void host_tensor(qnnrt_tensor_info *t, uint32_t *dims, const char *name, facts f)
{
    t->name = name;
    t->dtype = dtypes[f.type];
    t->rank = 4;
    dims_of(f, dims);
    t->dims = dims;
    t->quant = quant_of(f);
}

static qnnrt_convert conversion_for(facts from, facts to)
{
    return from.nhwc == to.nhwc ? (equal_facts(from, to) ? QNNRT_CONVERT_NONE : QNNRT_CONVERT_VALUES)
           : to.nhwc ? QNNRT_CONVERT_TO_NHWC : QNNRT_CONVERT_TO_NCHW;
}

static void describe_step(int at)
{
    segment *s = &p.segments[at];
    qnnrt_host_step *host = &w.hosts[at];
    int i;
    if (s->place != HOST) {
        int b = s->place, k;
        /* A backend without any graph has no model: take another one that does not have the graph. */
        for (k = 0; k < BACKENDS && w.models[b] == NULL; ++k) b = (b + 1) % BACKENDS;
        w.steps[at].model = w.models[b];
        w.steps[at].graph = s->name;
        return;
    }
    host->name = s->name;
    host->exec = host_exec;
    host->user = s;
    host->inputs = w.tensors[at];
    host->outputs = w.tensors[at] + s->in_count;
    host->input_count = (size_t)s->in_count;
    host->output_count = (size_t)s->out_count;
    for (i = 0; i < s->in_count; ++i) host_tensor(&w.tensors[at][i], w.dims[at][i], s->ins[i].name, s->ins[i].f);
    for (i = 0; i < s->out_count; ++i)
        host_tensor(&w.tensors[at][s->in_count + i], w.dims[at][s->in_count + i], p.values[s->outs[i]].name,
                    p.values[s->outs[i]].f);
    w.steps[at].host = host;
}

static void describe_input(int at, const in *it)
{
    qnnrt_edge_desc *edge = &w.edges[w.desc.edge_count];
    qnnrt_conversion *wish = &w.wishes[w.desc.edge_count];
    const value *from;
    int c;
    if (it->value == ANYWHERE) {
        if (it->apart || it->constant) {
            qnnrt_use_desc *said = &w.uses[w.desc.use_count++];
            said->step = (size_t)at;
            said->tensor = it->name;
            said->apart = it->apart;
            said->constant = it->constant ? p.classes[it->class_of].data : NULL;
            said->constant_bytes = it->constant ? bytes_of(it->f) : 0;
        }
        return;
    }
    from = &p.values[it->value];
    edge->from_step = (size_t)p.nodes[from->node].segment;
    edge->from = from->name;
    edge->to_step = (size_t)at;
    edge->to = it->name;
    wish->exact = it->exact;
    wish->how = conversion_for(from->f, it->f);
    p.look_equal[w.desc.edge_count] = (unsigned char)look_equal(from->f, it->f);
    ++w.desc.edge_count;
    ++p.edge_count;
    if (wish->how == QNNRT_CONVERT_NONE) {
        if (p.named && chance(80)) --w.desc.edge_count;
        return;
    }
    c = conversion_of(it);
    if (c != ANYWHERE) return;
    c = p.conversion_count++;
    p.conversions[c].value = it->value;
    p.conversions[c].exact = it->exact;
    p.conversions[c].to = it->f;
    p.conversions[c].first_reader = (size_t)at;
}

static void shuffle_edges(void)
{
    size_t i;
    for (i = w.desc.edge_count; i-- > 1;) {
        const size_t k = below((uint32_t)i + 1);
        const qnnrt_edge_desc edge = w.edges[i];
        const qnnrt_conversion wish = w.wishes[i];
        const unsigned char equal = p.look_equal[i];
        w.edges[i] = w.edges[k];
        w.edges[k] = edge;
        w.wishes[i] = w.wishes[k];
        w.wishes[k] = wish;
        p.look_equal[i] = p.look_equal[k];
        p.look_equal[k] = equal;
    }
}

/* Change one edge so that the description is wrong. */
static void spoil(void)
{
    const int wrong = WRONG_FORGOTTEN + (int)below(4);
    size_t i, left = w.desc.edge_count;
    for (i = below((uint32_t)left + 1); left-- > 0 && p.wrong == WRONG_NOTHING; ++i) {
        qnnrt_edge_desc *edge = &w.edges[i % w.desc.edge_count];
        qnnrt_conversion *wish = &w.wishes[i % w.desc.edge_count];
        if ((wish->how == QNNRT_CONVERT_NONE) == (wrong == WRONG_FORGOTTEN)) continue;
        if (wrong == WRONG_FORGOTTEN && p.look_equal[edge - w.edges]) continue;
        p.wrong = wrong;
        p.culprit = edge;
        if (wrong == WRONG_FORGOTTEN) {
            wish->how = QNNRT_CONVERT_NONE;
            wish->exact = 0;
        } else if (wrong == WRONG_NEEDLESS && wish->how == QNNRT_CONVERT_NONE) wish->how = QNNRT_CONVERT_VALUES;
        else if (wrong == WRONG_ORDER) edge->from_step = edge->to_step;
        else edge->to = "nobody";
    }
}

static void describe(void)
{
    int at, i, graphs = 0;
    w.desc.name = "program";
    w.desc.steps = w.steps;
    w.desc.edges = w.edges;
    w.desc.uses = w.uses;
    w.desc.edges_only = !p.named;
    w.desc.step_count = (size_t)p.segment_count;
    p.conversion_count = 0;
    for (at = 0; at < p.segment_count; ++at)
        for (i = 0; i < p.segments[at].in_count; ++i) describe_input(at, &p.segments[at].ins[i]);
    for (at = 0; at < p.segment_count; ++at) {
        const segment *s = &p.segments[at];
        describe_step(at);
        graphs += w.steps[at].model != NULL;
        if (s->forbidden && p.forbidden == NULL) p.forbidden = s->name;
    }
    shuffle_edges();
    if (p.forbidden != NULL) p.wrong = graphs == 0 ? WRONG_NO_MODEL : WRONG_FORBIDDEN;
    else if (chance(12)) spoil();
}

/* Check that a wrong program is refused by name. */
static void check_wrong(qnnrt_result result)
{
    CHECK_EQ(result, wrongs[p.wrong].result);
    CHECK_EQ(err.code, result);
    CHECK(err.text[0] != '\0');
    if (p.wrong == WRONG_FORGOTTEN) {
        CHECK_STR(err.text, unique_quoted(p.culprit->from));
        CHECK_STR(err.text, unique_quoted(p.culprit->to));
        CHECK_STR(err.hint, "qnnrt_convert.h");
    }
    if (p.wrong == WRONG_NEEDLESS) CHECK_STR(err.text, unique_quoted(p.culprit->to));
    if (p.wrong == WRONG_NAME) CHECK_STR(err.text, "\"nobody\"");
    if (p.wrong == WRONG_FORBIDDEN) CHECK_STR(err.text, unique_quoted(p.forbidden));
    if (p.wrong == WRONG_PLACES) CHECK_STR(err.text, "place ");
}

/* ---- what the pipeline looks like ------------------------------------------------------------ */

static void check_info(void)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(w.pipeline);
    size_t s, i, seen[EDGES] = { 0 }, conversions = 0;
    int at = 0, c;
    CHECK_EQ(info->step_count, (size_t)(p.segment_count + p.conversion_count));
    /* The steps keep their order, and each conversion comes before its first reader. */
    for (s = 0; s < info->step_count; ++s) {
        if (info->steps[s].kind == QNNRT_STEP_DERIVED) { ++conversions; continue; }
        CHECK_EQ(strcmp(info->steps[s].graph->name, p.segments[at].name), 0);
        CHECK_EQ(info->steps[s].kind, p.segments[at].place == HOST ? QNNRT_STEP_HOST : QNNRT_STEP_GRAPH);
        CHECK(info->steps[s].backend == (p.segments[at].place == HOST ? NULL : backends[p.segments[at].place]));
        p.segments[at++].step = s;
    }
    CHECK_EQ(conversions, (size_t)p.conversion_count);
    CHECK_EQ(info->edge_count, (size_t)p.edge_count + conversions);
    for (i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        const int from = info->steps[edge->from_step].kind == QNNRT_STEP_DERIVED;
        CHECK(edge->from_step < edge->to_step);
        CHECK(!from || info->steps[edge->to_step].kind != QNNRT_STEP_DERIVED);
        CHECK_EQ(edge->slot->role, QNNRT_ROLE_EDGE);
    }
    /* One conversion for each value, destination and exactness: which one is told by its edges. */
    for (at = 0; at < p.segment_count; ++at)
        for (i = 0; i < (size_t)p.segments[at].in_count; ++i) {
            const in *it = &p.segments[at].ins[i];
            size_t e = 0;
            c = it->value != ANYWHERE ? conversion_of(it) : ANYWHERE;
            if (c == ANYWHERE) continue;
            while (e < info->edge_count && (info->edges[e].to_step != p.segments[at].step ||
                                            strcmp(info->edges[e].to->name, it->name) != 0)) ++e;
            CHECK(e < info->edge_count);
            s = info->edges[e].from_step;
            CHECK_EQ(info->steps[s].kind, QNNRT_STEP_DERIVED);
            CHECK(seen[c] == 0 || seen[c] == s + 1);
            seen[c] = s + 1;
            CHECK(s < p.segments[p.conversions[c].first_reader].step);
            CHECK(s > p.segments[p.nodes[p.values[it->value].node].segment].step);
            p.conversions[c].step = (uint32_t)s;
        }
    for (c = 0; c < p.conversion_count; ++c) CHECK(seen[c] != 0);
    /* Each input of the program is one slot, and each slot one input. */
    for (at = 0; at < p.segment_count; ++at)
        for (i = 0; i < (size_t)p.segments[at].in_count; ++i) {
            const in *it = &p.segments[at].ins[i];
            const qnnrt_slot *slot;
            if (it->value != ANYWHERE) continue;
            CHECK_EQ(qnnrt_slot_find(w.pipeline, unique_address(p.segments[at].step, it->name),
                                     it->constant ? QNNRT_ROLE_CONSTANT : QNNRT_ROLE_INPUT, &slot, &err), QNNRT_OK);
            CHECK(p.classes[it->class_of].slot == NULL || p.classes[it->class_of].slot == slot);
            p.classes[it->class_of].slot = slot;
        }
    for (at = 0; at < p.class_count; ++at)
        for (c = 0; c < at; ++c) CHECK(p.classes[at].slot != p.classes[c].slot);
    for (i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot;
        CHECK_EQ(qnnrt_slot_find(w.pipeline, info->slots[i].address, info->slots[i].role, &slot, &err), QNNRT_OK);
        CHECK(slot == &info->slots[i]);
        CHECK((slot->constant != NULL) == (slot->role == QNNRT_ROLE_CONSTANT));
    }
    for (at = 0; at < p.value_count; ++at) {
        value *v = &p.values[at];
        if (!v->shown) continue;
        CHECK_EQ(qnnrt_slot_find(w.pipeline, unique_address(p.segments[p.nodes[v->node].segment].step, v->name),
                                 v->readers > 0 ? QNNRT_ROLE_EDGE : QNNRT_ROLE_OUTPUT, &v->slot, &err), QNNRT_OK);
        CHECK_EQ(v->slot->tensor->bytes, bytes_of(v->f));
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Return 1 if the step that writes b destroys a, which is still needed. */
static int destroys(const qnnrt_slot *b, const qnnrt_slot *a)
{
    const int converts = qnnrt_pipeline_get_info(w.pipeline)->steps[b->first].kind == QNNRT_STEP_DERIVED;
    if (b->role == QNNRT_ROLE_INPUT) return 0;
    if (a->role != QNNRT_ROLE_INPUT && a->first > b->first) return 0;
    if (a->role != QNNRT_ROLE_INPUT && (a->first == b->first || a->role == QNNRT_ROLE_OUTPUT)) return 1;
    return a->last > b->first || (converts && a->last == b->first);
}

/* Return 1 if writing b at its place destroys a. */
static int clash(const qnnrt_place_desc *b, const qnnrt_place_desc *a)
{
    return a != b && a->entry == b->entry && a->buffer == b->buffer &&
           a->offset < b->offset + b->slot->tensor->bytes && b->offset < a->offset + a->slot->tensor->bytes &&
           destroys(b->slot, a->slot);
}

enum { PLACES = 200 };
static qnnrt_place_desc places[PLACES];

static int place_slots(qnnrt_plan_desc *desc, qnnrt_buffer_desc *buffers)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(w.pipeline);
    const uint32_t room = 200 + below(3) * 400, density = 5 + below(3) * 25;
    size_t i, k;
    memset(places, 0, sizeof(places));
    memset(buffers, 0, 2 * sizeof(*buffers));
    buffers[0].bytes = buffers[1].bytes = room;
    desc->buffers = buffers;
    desc->buffer_count = 2;
    desc->places = places;
    for (i = 0; i < info->slot_count * desc->entry_count && desc->place_count < PLACES; ++i) {
        const qnnrt_slot *slot = &info->slots[i % info->slot_count];
        qnnrt_place_desc *place = &places[desc->place_count];
        if (slot->constant != NULL || !chance(density)) continue;
        place->entry = i / info->slot_count;
        place->slot = slot;
        place->buffer = below(2);
        place->offset = below(room - (uint32_t)slot->tensor->bytes + 1);
        if (chance(70)) place->offset = place->offset / 4 * 4;
        if (chance(40) && desc->place_count > 0) {                 /* in the place of another one */
            const qnnrt_place_desc *other = &places[below((uint32_t)desc->place_count)];
            place->buffer = other->buffer;
            if (other->offset + slot->tensor->bytes <= room) place->offset = other->offset;
        }
        ++desc->place_count;
    }
    for (i = 0; i < desc->place_count; ++i)
        for (k = 0; k < desc->place_count; ++k)
            if (clash(&places[i], &places[k])) return 1;
    return 0;
}

static int is_placed(const qnnrt_slot *slot)
{
    size_t i;
    for (i = 0; i < (size_t)w.placed; ++i) if (places[i].slot == slot) return 1;
    return 0;
}

static unsigned char *data_of(const qnnrt_slot *slot)
{
    size_t bytes;
    return (unsigned char *)qnnrt_data_slot(w.run, slot, &bytes);
}

static void make_run(void)
{
    qnnrt_entry_desc entries[2];
    qnnrt_plan_desc plan;
    qnnrt_mem_desc mem;
    qnnrt_buffer_desc buffers[2];
    qnnrt_result result;
    int i, c;
    memset(entries, 0, sizeof(entries));
    memset(&plan, 0, sizeof(plan));
    memset(&mem, 0, sizeof(mem));
    entries[0].pipeline = entries[1].pipeline = w.pipeline;
    entries[0].reuse_inputs = entries[1].reuse_inputs = w.reuse = chance(25);
    entries[0].group = entries[1].group = below(2);                /* 1: they share scratch */
    plan.entries = entries;
    plan.entry_count = (size_t)(w.run_count = 1 + chance(30));
    plan.per_tensor = w.per_tensor = chance(25);
    plan.guard = w.guard = chance(5);
    mem.no_zero = chance(20);
    if (!plan.guard && chance(25)) qnnrt_device_memory("shared", &mem);     /* which one backend registers */
    if (chance(55) && place_slots(&plan, buffers)) p.wrong = WRONG_PLACES;
    w.placed = (int)plan.place_count;
    result = qnnrt_plan_create(&plan, &w.plan, &err);
    if (p.wrong != WRONG_NOTHING) {
        TRY(check_wrong(result));
        return;
    }
    CHECK_EQ(result, QNNRT_OK);
    for (i = 0; (size_t)i < qnnrt_plan_get_info(w.plan)->block_count; ++i) {
        const qnnrt_slot *slot = qnnrt_plan_get_info(w.plan)->blocks[i].slot;
        CHECK(slot == NULL || slot->constant == NULL);
    }
    CHECK_EQ(qnnrt_mem_create(w.plan, &mem, &w.mem, &err), QNNRT_OK);
    for (i = 0; i < w.run_count; ++i) {
        CHECK_EQ(qnnrt_run_create(w.mem, (size_t)i, &w.runs[i], &err), QNNRT_OK);
        w.run = w.runs[i];
        for (c = 0; c < p.class_count; ++c)
            if (p.classes[c].constant) CHECK(data_of(p.classes[c].slot) == p.classes[c].data);
        if (chance(10)) CHECK_EQ(qnnrt_run_profile(w.runs[i], QNNRT_PROFILE_BASIC), QNNRT_OK);
    }
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void fill(facts f, unsigned char *data)
{
    int i;
    for (i = 0; i < count_of(f); ++i) {
        const double v = ((int)below(65) - 32) * 0.25 * (chance(3) ? 1e6 : 1);
        const float f32 = (float)(chance(2) ? v * 0.3 : v);
        const uint16_t f16 = half_of(fabs(v) < 60000 ? v : v / 1000);
        const int32_t i32 = chance(80) ? (int32_t)below(200) - 100 : (int32_t)(below(1u << 24) << 8);
        if (f.type == F32) memcpy(data + 4 * i, &f32, 4);
        if (f.type == F16) memcpy(data + 2 * i, &f16, 2);
        if (f.type == I32) memcpy(data + 4 * i, &i32, 4);
        if (f.type == U8) data[i] = (unsigned char)below(256);
    }
}



/* Bind some inputs, outputs and constants to memory of our own; a second time to another place in it. */
static void bind_some(int number)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(w.pipeline);
    size_t i;
    int k, c;
    for (i = 0; number == 0 && w.run_count == 1 && i < info->slot_count && w.own_count < OWN; ++i)
        if (info->slots[i].role != QNNRT_ROLE_EDGE && chance(6)) w.own_slots[w.own_count++] = &info->slots[i];
    for (k = 0; k < w.own_count; ++k) {
        const size_t bytes = (size_t)w.own_slots[k]->tensor->bytes;
        unsigned char *data = w.own[k] + below(OWN_ROOM - (uint32_t)bytes + 1);     /* at any alignment */
        unsigned char content[MOST];
        if (number > 0 && chance(50)) continue;
        memcpy(content, data_of(w.own_slots[k]), bytes);
        for (c = 0; c < p.class_count; ++c)
            if (p.classes[c].slot == w.own_slots[k] && p.classes[c].constant) {
                fill(p.classes[c].f, p.classes[c].replaced);
                p.classes[c].now = p.classes[c].replaced;
                memcpy(content, p.classes[c].replaced, bytes);
            }
        memset(w.own[k], 0xC5, OWN_ROOM);
        memcpy(data, content, bytes);
        CHECK_EQ(bind_slot(w.run, w.own_slots[k], data, bytes), QNNRT_OK);
        CHECK(data_of(w.own_slots[k]) == data);
    }
}

static int is_own(const qnnrt_slot *slot)
{
    int k;
    for (k = 0; k < w.own_count; ++k) if (w.own_slots[k] == slot) return 1;
    return 0;
}

/* Return 1 if nothing was written beside the slots in memory of our own. */
static int own_intact(void)
{
    int k, i;
    for (k = 0; k < w.own_count; ++k) {
        const unsigned char *data = data_of(w.own_slots[k]), *end = data + w.own_slots[k]->tensor->bytes;
        for (i = 0; i < OWN_ROOM; ++i)
            if ((w.own[k] + i < data || w.own[k] + i >= end) && w.own[k][i] != 0xC5) return 0;
    }
    return 1;
}

/* Write inputs, all or some, and take the bytes that the exec will read. */
static void write_inputs(int all)
{
    int c, tries, again = 1;
    for (c = 0; c < p.class_count; ++c)
        if (!p.classes[c].constant && (all || chance(40))) fill(p.classes[c].f, data_of(p.classes[c].slot));
    /* What an exec wrote over an input may not be a number for the input. */
    for (tries = 0; tries < 5 && again; ++tries)
        for (c = 0, again = 0; c < p.class_count; ++c)
            if (!p.classes[c].constant && has_nan(p.classes[c].f, data_of(p.classes[c].slot))) {
                fill(p.classes[c].f, data_of(p.classes[c].slot));
                again = 1;
            }
    for (c = 0; c < p.class_count; ++c)
        if (!p.classes[c].constant) memcpy(p.classes[c].data, data_of(p.classes[c].slot), bytes_of(p.classes[c].f));
}

/* Return the number of the first step that fails, or the number of steps. */
static size_t first_failure(void)
{
    size_t first = qnnrt_pipeline_get_info(w.pipeline)->step_count;
    int i;
    for (i = 0; i < p.conversion_count; ++i)
        if (p.conversions[i].exact && p.conversions[i].lost > 0 && p.conversions[i].step < first)
            first = p.conversions[i].step;
    for (i = 0; i < p.segment_count; ++i)
        if (p.segments[i].fails && p.segments[i].step < first) first = p.segments[i].step;
    return first;
}

static int stats_compared, stats_strange, stats_failed, stats_lost, stats_bytes, stats_single, stats_in_place,
           stats_registered;

static int equal_values(facts f, const unsigned char *a, const unsigned char *b)
{
    int i, size = sizes[f.type];
    for (i = 0; i < count_of(f); ++i) {
        const double x = get(f, a, i), y = get(f, b, i);
        if (memcmp(a + i * size, b + i * size, (size_t)size) != 0 && (x == x || y == y)) return 0;
    }
    return 1;
}

static void check_outputs(void)
{
    int i;
    for (i = 0; i < p.value_count; ++i) {
        const value *v = &p.values[i];
        if (!v->shown || (v->readers > 0 && (!w.per_tensor || is_placed(v->slot)))) continue;
        if (!equal_values(v->f, data_of(v->slot), p.data[i])) printf("  value %d differs\n", i);
        CHECK(equal_values(v->f, data_of(v->slot), p.data[i]));
        stats_bytes += (int)bytes_of(v->f);
    }
    for (i = 0; i < p.class_count; ++i)
        if (!p.classes[i].constant && (is_own(p.classes[i].slot) || (!w.reuse && !is_placed(p.classes[i].slot))))
            CHECK_EQ(memcmp(data_of(p.classes[i].slot), p.classes[i].data, bytes_of(p.classes[i].f)), 0);
}

/* Count the tensors that a backend uses in place. */
static int registered(void)
{
    const qnnrt_transfer_info *list;
    size_t count, i;
    int sum = 0;
    if (qnnrt_run_transfers(w.run, &list, &count) != QNNRT_OK) return 0;
    for (i = 0; i < count; ++i) sum += list[i].registered;
    return sum;
}

static void execute_once(int number)
{
    unsigned long long copies;
    qnnrt_result result;
    size_t failure;
    int b, c, at, calls[NODES];
    w.run = w.runs[number % w.run_count];
    TRY(bind_some(number));
    TRY(write_inputs(number < w.run_count || w.reuse));
    for (at = 0; at < p.segment_count; ++at) {
        p.segments[at].fails = p.segments[at].place == HOST && chance(1);
        calls[at] = p.segments[at].calls;
    }
    evaluate();
    failure = first_failure();
    for (b = 0; b < BACKENDS; ++b) controls[b]("trace clear", NULL, 0);
    copies = copies_of();
    result = qnnrt_exec(w.run);
    if (failure < qnnrt_pipeline_get_info(w.pipeline)->step_count) {
        const int converts = qnnrt_pipeline_get_info(w.pipeline)->steps[failure].kind == QNNRT_STEP_DERIVED;
        char text[32];
        CHECK_EQ(result, converts ? QNNRT_E_MISMATCH : QNNRT_E_IO);
        snprintf(text, sizeof(text), "step %u", (unsigned)failure);
        CHECK_STR(qnnrt_run_error(w.run)->text, text);
        ++stats_failed;
        return;
    }
    if (result != QNNRT_OK) printf("%s\n", qnnrt_run_error(w.run)->text);
    CHECK_EQ(result, QNNRT_OK);
    /* One execute for each graph, one call for each host step, and no copy beside them. */
    for (b = 0; b < BACKENDS; ++b) {
        int expected = 0;
        for (at = 0; at < p.segment_count; ++at) expected += p.segments[at].place == b;
        CHECK_EQ(executes_of(b), expected);
    }
    for (at = 0; at < p.segment_count; ++at) CHECK_EQ(p.segments[at].calls - calls[at], p.segments[at].place == HOST);
    if (w.placed == 0 && w.own_count == 0) CHECK_EQ(copies_of(), copies);
    for (c = 0; c < p.conversion_count; ++c) {
        const qnnrt_step_info *step = &qnnrt_pipeline_get_info(w.pipeline)->steps[p.conversions[c].step];
        CHECK(converted_is(step));
        if (p.strange) continue;
        CHECK_EQ(qnnrt_convert_get_info(qnnrt_convert_of(step)).lost, (uint64_t)p.conversions[c].lost);
        stats_lost += p.conversions[c].lost > 0;
    }
    if (p.strange) { ++stats_strange; return; }
    TRY(check_outputs());
    CHECK(own_intact());
    ++stats_compared;
    stats_registered += registered();
    stats_in_place += w.placed > 0;
}

/* ---- one graph on one backend ---------------------------------------------------------------- */

/* Return 1 if operators give the same bytes as all conversions. */
static int single_possible(void)
{
    int c;
    for (c = 0; c < p.conversion_count; ++c) {
        const int from = p.values[p.conversions[c].value].f.type, to = p.conversions[c].to.type;
        if (p.conversions[c].lost > 0 || !(equal_types(p.values[p.conversions[c].value].f, p.conversions[c].to) ||
                                           (from == F32 && to == F16) || (from == F16 && to == F32) ||
                                           (from == U8 && to == F32))) return 0;
    }
    return !p.strange && p.wrong == WRONG_NOTHING;
}

/* Add the operators of a conversion. */
static qnnrt_tensor add_conversion(qnnrt_builder *b, qnnrt_tensor x, facts from, facts to, int number)
{
    static const uint32_t to_nhwc[4] = { 0, 2, 3, 1 }, to_nchw[4] = { 0, 3, 1, 2 };
    qnnrt_node_desc desc;
    qnnrt_param_desc perm;
    qnnrt_tensor y;
    memset(&desc, 0, sizeof(desc));
    memset(&perm, 0, sizeof(perm));
    desc.inputs = &x;
    desc.outputs = &y;
    desc.input_count = desc.output_count = 1;
    if (from.nhwc != to.nhwc) {
        facts turned = from;
        turned.nhwc = to.nhwc;
        perm.name = "perm";
        perm.dtype = QNNRT_DTYPE_U32;
        perm.data = to.nhwc ? to_nhwc : to_nchw;
        perm.rank = 1;
        perm.dims[0] = 4;
        desc.type = "Transpose";
        desc.params = &perm;
        desc.param_count = 1;
        y = add_tensor(b, unique("turned%d", number, 0), QNNRT_TENSOR_INNER, turned);
        qnnrt_builder_node(b, &desc);
        x = y;
        desc.param_count = 0;
    }
    if (equal_types(from, to)) return x;
    desc.type = from.type == U8 ? "Dequantize" : "Cast";
    y = add_tensor(b, unique("changed%d", number, 0), QNNRT_TENSOR_INNER, to);
    qnnrt_builder_node(b, &desc);
    return y;
}

/* Build the whole program as one graph on the first backend, run it on the same inputs, and compare. */
static void run_single(void)
{
    static char names[NODES * INS][16];
    qnnrt_graph_desc desc;
    qnnrt_builder *b;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_tensor classes[NODES * INS], values[VALUES];
    int i, k, conversions = 0;
    memset(&desc, 0, sizeof(desc));
    desc.name = "whole";
    CHECK_EQ(qnnrt_builder_create(backends[0], NULL, &b, &err), QNNRT_OK);
    qnnrt_builder_graph(b, &desc);
    for (i = 0; i < p.class_count; ++i) {
        snprintf(names[i], sizeof(names[i]), "in%d", i);
        classes[i] = add_tensor(b, names[i], QNNRT_TENSOR_INPUT, p.classes[i].f);
    }
    for (i = 0; i < p.node_count; ++i) {
        const node *n = &p.nodes[i];
        const segment *s = &p.segments[n->segment];
        qnnrt_tensor x[2] = { 0, 0 }, y[2] = { 0, 0 };
        for (k = 0; k < n->in_count; ++k) {
            const use *u = &n->in[k];
            if (u->value == ANYWHERE) x[k] = classes[s->ins[u->in].class_of];
            else if (equal_facts(p.values[u->value].f, u->wants)) x[k] = values[u->value];
            else x[k] = add_conversion(b, values[u->value], p.values[u->value].f, u->wants, conversions++);
        }
        for (k = 0; k < n->out_count; ++k) {
            const value *v = &p.values[n->out[k]];
            const int read = v->readers + v->inside > 0;
            y[k] = values[n->out[k]] = add_tensor(b, unique("out%d", n->out[k], 0),
                                                  read ? QNNRT_TENSOR_INNER : QNNRT_TENSOR_OUTPUT, v->f);
        }
        add_node(b, n, x, y);
    }
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "whole", &run, &err), QNNRT_OK);
    for (i = 0; i < p.class_count; ++i)
        memcpy(qnnrt_data(run, names[i], NULL), p.classes[i].now, bytes_of(p.classes[i].f));
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    for (i = 0; i < p.value_count; ++i) {
        const value *v = &p.values[i];
        if (v->readers + v->inside > 0) continue;
        CHECK_EQ(memcmp(qnnrt_data(run, unique("out%d", i, 0), NULL), p.data[i], bytes_of(v->f)), 0);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    ++stats_single;
}

/* ---- a folder with the program --------------------------------------------------------------- */

static const char *folder;
static const char *const role_names[BACKENDS] = { "role0", "role1", "role2", "role3" };
static int stats_folders, stats_refused, stats_restarts;

static FILE *open_file(const char *name)
{
    char path[1200];
    FILE *file;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL) exit(1);
    return file;
}

/* Write "key": [ of a list; its items begin with item(). */
static void list(FILE *f, const char *before, const char *key) { fprintf(f, "%s\"%s\": [", before, key); }
static void item(FILE *f, int *count) { if ((*count)++ > 0) fprintf(f, ", "); }

static void write_tensor(FILE *f, const qnnrt_tensor_info *t)
{
    fprintf(f, "{\"name\": \"%s\", \"dtype\": \"%s\", \"dims\": [%u, %u, %u, %u]", t->name,
            qnnrt_dtype_name(t->dtype), (unsigned)t->dims[0], (unsigned)t->dims[1], (unsigned)t->dims[2],
            (unsigned)t->dims[3]);
    if (t->quant.encoding != QNNRT_ENCODING_NONE)
        fprintf(f, ", \"scale\": %.9g, \"offset\": %d", (double)t->quant.scale, (int)t->quant.offset);
    fprintf(f, "}");
}

static void write_step(FILE *f, const qnnrt_step_desc *step, const int *contexts)
{
    const qnnrt_host_step *host = step->host;
    size_t i;
    int count = 0, b = 0;
    if (host == NULL) {
        while (w.models[b] != step->model) ++b;
        fprintf(f, "{\"graph\": \"%s\", \"context\": %d}", step->graph, contexts[b]);
        return;
    }
    fprintf(f, "{\"host\": \"%s\"", host->name);
    list(f, ", ", "inputs");
    for (i = 0; i < host->input_count; ++i) { item(f, &count); write_tensor(f, &host->inputs[i]); }
    list(f, "], ", "outputs");
    for (i = 0, count = 0; i < host->output_count; ++i) { item(f, &count); write_tensor(f, &host->outputs[i]); }
    fprintf(f, "]}");
}

/* Write where a class (below class_count) or a value is in the description. */
static void write_place(FILE *f, int what)
{
    int at, i;
    if (what >= p.class_count) {
        const value *v = &p.values[what - p.class_count];
        fprintf(f, "\"step\": %d, \"output\": \"%s\"", p.nodes[v->node].segment, v->name);
        return;
    }
    for (at = 0; at < p.segment_count; ++at)
        for (i = 0; i < p.segments[at].in_count; ++i)
            if (p.segments[at].ins[i].class_of == what) {
                fprintf(f, "\"step\": %d, \"input\": \"%s\"", at, p.segments[at].ins[i].name);
                return;
            }
}

static const qnnrt_slot *slot_of(int what)
{
    return what < p.class_count ? p.classes[what].slot : p.values[what - p.class_count].slot;
}

/* Name some tensors, and keep some in two buffers. which: [PLACES] what the places are of. Return 1 if
   a place destroys a value. */
static int write_names_and_buffers(FILE *f, unsigned char *named, int *which)
{
    int what, count, b;
    size_t i, k;
    list(f, ", ", "names");
    fseek(f, -1, SEEK_CUR);
    fprintf(f, "{");
    for (what = count = 0; what < p.class_count + p.value_count; ++what) {
        named[what] = (unsigned char)(slot_of(what) != NULL && chance(20));
        if (!named[what]) continue;
        item(f, &count);
        fprintf(f, "\"user%d\": {", what);
        write_place(f, what);
        fprintf(f, "}");
    }
    memset(places, 0, sizeof(places));
    w.placed = 0;
    list(f, "}, ", "buffers");
    for (b = 0; b < 2; ++b) {
        fprintf(f, "%s{\"name\": \"buffer%d\", \"bytes\": 300, \"slots\": [", b > 0 ? ", " : "", b);
        for (what = count = 0; what < p.class_count + p.value_count; ++what) {
            const qnnrt_slot *slot = slot_of(what);
            if (slot == NULL || slot->constant != NULL || is_placed(slot) || !chance(20)) continue;
            places[w.placed].slot = slot;
            places[w.placed].buffer = (size_t)b;
            places[w.placed].offset = below(300 - (uint32_t)slot->tensor->bytes + 1) / 4 * 4;
            item(f, &count);
            fprintf(f, "{\"offset\": %u, ", (unsigned)places[w.placed].offset);
            write_place(f, what);
            fprintf(f, "}");
            which[w.placed++] = what;
        }
        fprintf(f, "]}");
    }
    for (i = 0; i < (size_t)w.placed; ++i)
        for (k = 0; k < (size_t)w.placed; ++k) if (clash(&places[i], &places[k])) return 1;
    return 0;
}

/* Write the description of the pipeline as a qnnrt.json, and the constants as one file. Return 1 if a
   place destroys a value. */
static int write_program(const int *contexts, unsigned char *named, int *which)
{
    static const char *const converts[] = { "", "values", "to_nhwc", "to_nchw" };
    FILE *f = open_file("qnnrt.json"), *data = open_file("constants.bin");
    int b, c, count = 0, wrong;
    size_t i, at = 0;
    fprintf(f, "{ \"program\": { \"version\": 1");
    list(f, ", ", "backends");
    for (b = 0; b < BACKENDS; ++b) if (w.models[b] != NULL) { item(f, &count); fprintf(f, "\"role%d\"", b); }
    list(f, "], ", "contexts");
    for (b = count = 0; b < BACKENDS; ++b) {
        if (w.models[b] == NULL) continue;
        item(f, &count);
        fprintf(f, "{\"file\": \"%d.bin\", \"backend\": \"role%d\"}", b, b);
    }
    list(f, "], ", "constants");
    for (c = count = 0; c < p.class_count; ++c) {
        uint32_t dims[4];
        if (!p.classes[c].constant) continue;
        item(f, &count);
        dims_of(p.classes[c].f, dims);
        fprintf(f, "{\"name\": \"c%d\", \"file\": \"constants.bin\", \"offset\": %u, \"dtype\": \"%s\","
                " \"dims\": [%u, %u, %u, %u]}", c, (unsigned)at, qnnrt_dtype_name(dtypes[p.classes[c].f.type]),
                (unsigned)dims[0], (unsigned)dims[1], (unsigned)dims[2], (unsigned)dims[3]);
        fwrite(p.classes[c].data, 1, bytes_of(p.classes[c].f), data);
        at += bytes_of(p.classes[c].f);
    }
    fprintf(f, "], \"pipelines\": [ { \"name\": \"program\"");
    list(f, ", ", "steps");
    for (i = 0, count = 0; i < w.desc.step_count; ++i) { item(f, &count); write_step(f, &w.steps[i], contexts); }
    list(f, "], ", "edges");
    for (i = 0, count = 0; i < w.desc.edge_count; ++i) {
        const qnnrt_edge_desc *e = &w.edges[i];
        item(f, &count);
        fprintf(f, "{\"from\": [%u, \"%s\"], \"to\": [%u, \"%s\"]", (unsigned)e->from_step, e->from,
                (unsigned)e->to_step, e->to);
        if (w.wishes[i].how != QNNRT_CONVERT_NONE) fprintf(f, ", \"convert\": \"%s\"", converts[w.wishes[i].how]);
        fprintf(f, "%s}", w.wishes[i].exact ? ", \"exact\": true" : "");
    }
    fprintf(f, "], \"edges_only\": %s", w.desc.edges_only ? "true" : "false");
    list(f, ", ", "apart");
    for (i = 0, count = 0; i < w.desc.use_count; ++i) {
        if (!w.uses[i].apart) continue;
        item(f, &count);
        fprintf(f, "[%u, \"%s\"]", (unsigned)w.uses[i].step, w.uses[i].tensor);
    }
    list(f, "], ", "constants");
    for (i = 0, count = 0; i < w.desc.use_count; ++i) {
        if (w.uses[i].constant == NULL) continue;
        for (c = 0; w.uses[i].constant != p.classes[c].data;) ++c;
        item(f, &count);
        fprintf(f, "{\"step\": %u, \"input\": \"%s\", \"constant\": \"c%d\"}", (unsigned)w.uses[i].step,
                w.uses[i].tensor, c);
    }
    fprintf(f, "]");
    wrong = write_names_and_buffers(f, named, which);
    fprintf(f, "] } ] } }\n");
    if (fclose(f) != 0 || fclose(data) != 0) exit(1);
    return wrong;
}

/* Let one of the backends restart while it executes, recover, and execute again. */
static void restart_one(qnnrt_manifest *model)
{
    size_t dies = 0;
    int b, i, at = (int)below((uint32_t)p.segment_count);
    for (i = 0; i < p.segment_count && p.segments[at].place == HOST; ++i) at = (at + 1) % p.segment_count;
    if (p.segments[at].place == HOST) return;        /* no library that could restart */
    b = p.segments[at].place;
    while (p.segments[dies].place != b) ++dies;
    TRY(write_inputs(1));
    for (at = 0; at < p.segment_count; ++at) p.segments[at].fails = 0;
    evaluate();
    if (first_failure() < p.segments[dies].step) return;
    CHECK(controls[b]("faults restart=graphExecute:1", NULL, 0) >= 0);
    CHECK_EQ(qnnrt_exec(w.run), QNNRT_E_BACKEND);
    CHECK_STR(qnnrt_run_error(w.run)->text, unique_quoted(p.segments[dies].name));
    CHECK(controls[b]("faults", NULL, 0) >= 0);
    CHECK_EQ(qnnrt_exec(w.run), QNNRT_E_BACKEND);
    if (qnnrt_manifest_recover(model, qnnrt_model_recover, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    TRY(execute_once(1));
    ++stats_restarts;
}

/* Save the program to a folder, open that, and run it. */
static void run_folder(void)
{
    qnnrt_manifest_role roles[BACKENDS];
    qnnrt_host_step functions[NODES];
    unsigned char named[NODES * INS + VALUES];
    qnnrt_manifest_open_desc desc;
    qnnrt_prepare_desc how;
    qnnrt_manifest *model;
    const int swap = chance(30);
    qnnrt_result result;
    char path[1200];
    int contexts[BACKENDS] = { 0 }, which[PLACES], b, i, count = 0, wrong;
    memset(&desc, 0, sizeof(desc));
    memset(roles, 0, sizeof(roles));
    for (b = 0; b < BACKENDS; ++b) {
        snprintf(path, sizeof(path), "%s/%d.bin", folder, b);
        unlink(path);
        if (w.models[b] == NULL) continue;
        CHECK_EQ(qnnrt_save(w.models[b], 0, path, &err), QNNRT_OK);
        roles[count].role = role_names[b];
        roles[count].backend = backends[b];
        contexts[b] = count++;
    }
    wrong = write_program(contexts, named, which);
    CHECK_EQ(qnnrt_pipeline_destroy(w.made), QNNRT_OK);
    qnnrt_conversions_free(w.conversions);
    w.conversions = NULL;
    w.made = NULL;
    for (b = 0; b < BACKENDS; ++b) {
        CHECK_EQ(qnnrt_close(w.models[b]), QNNRT_OK);
        w.models[b] = NULL;
    }
    desc.backends = roles;
    desc.backend_count = (size_t)count;
    desc.host_functions = functions;
    if (swap) desc.model.residency = QNNRT_RESIDENT_CALLER;
    memset(&how, 0, sizeof(how));
    if (chance(30)) qnnrt_device_memory("shared", &how.mem);
    for (i = 0; i < p.segment_count; ++i) {
        if (p.segments[i].place != HOST) continue;
        functions[desc.host_function_count].name = p.segments[i].name;
        functions[desc.host_function_count].exec = host_exec;
        functions[desc.host_function_count++].user = &p.segments[i];
    }
    if (qnnrt_manifest_open(folder, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(model != NULL);
    for (b = 0; swap && b < (int)qnnrt_manifest_get_info(model)->model_count; ++b)
        CHECK_EQ(qnnrt_model_swap(qnnrt_manifest_get_info(model)->models[b], 0, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_find(model, "program", &w.pipeline, &err), QNNRT_OK);
    for (i = 0; i < p.class_count; ++i) {
        p.classes[i].slot = NULL;
        p.classes[i].now = p.classes[i].data;
    }
    TRY(check_info());
    for (i = 0; i < w.placed; ++i) places[i].slot = slot_of(which[i]);
    for (i = 0; i < p.class_count + p.value_count; ++i) {
        const qnnrt_slot *slot;
        if (!named[i]) continue;
        CHECK_EQ(qnnrt_slot_find(w.pipeline, unique("user%d", i, 0), QNNRT_ROLE_ANY, &slot, &err), QNNRT_OK);
        CHECK(slot == slot_of(i));
    }
    memset(w.runs, 0, sizeof(w.runs));
    result = qnnrt_manifest_prepare(model, "program", &how, &w.runs[0], &err);
    w.run_count = 1;
    w.reuse = w.per_tensor = w.own_count = 0;
    if (wrong) {
        p.wrong = WRONG_PLACES;
        TRY(check_wrong(result));
        ++stats_refused;
    } else {
        if (result != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(result, QNNRT_OK);
        for (i = 0; i < 2; ++i) TRY(execute_once(i));
        if (chance(50)) TRY(restart_one(model));
        qnnrt_run_destroy(w.runs[0]);
    }
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    ++stats_folders;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static int outcomes[WRONGS], kinds[3], fused;

static void one_case(int number)
{
    qnnrt_result result;
    size_t s;
    int i;
    memset(&p, 0, sizeof(p));
    memset(&err, 0, sizeof(err));
    p.number = number;
    seed = (uint32_t)number * 2654435761u + 12345u;
    make_nodes();
    make_segments();
    p.named = is_chain() && chance(60);
    make_ends();
    memset(&w, 0, sizeof(w));
    for (i = 0; i < p.class_count; ++i) fill(p.classes[i].f, p.classes[i].data);
    if (build_models() != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    describe();
    result = converted_make(&w.desc, w.wishes, NULL, &w.conversions, &w.made, &err);
    w.pipeline = w.made;
    if (p.wrong != WRONG_NOTHING) {
        TRY(check_wrong(result));
        CHECK(w.pipeline == NULL);
    } else {
        if (result != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(result, QNNRT_OK);
        TRY(check_info());
        TRY(make_run());
    }
    for (i = 0; i < EXECS * w.run_count && w.runs[0] != NULL; ++i) TRY(execute_once(i));
    if (w.run != NULL && single_possible()) TRY(run_single());
    ++outcomes[p.wrong];
    for (s = 0; w.run != NULL && s < qnnrt_pipeline_get_info(w.pipeline)->step_count; ++s)
        ++kinds[qnnrt_pipeline_get_info(w.pipeline)->steps[s].kind];
    for (i = 0; i < p.segment_count; ++i) fused += p.segments[i].last > p.segments[i].first;
    for (i = 0; i < 2; ++i) qnnrt_run_destroy(w.runs[i]);
    CHECK_EQ(qnnrt_mem_destroy(w.mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(w.plan), QNNRT_OK);
    if (p.wrong == WRONG_NOTHING && chance(8)) TRY(run_folder());
    CHECK_EQ(qnnrt_pipeline_destroy(w.made), QNNRT_OK);
    qnnrt_conversions_free(w.conversions);
    for (i = 0; i < BACKENDS; ++i) if (w.models[i] != NULL) CHECK_EQ(qnnrt_close(w.models[i]), QNNRT_OK);
}

TEST(a_program_gives_the_bytes_of_the_evaluator_or_a_named_error_before_exec)
{
    const char *wish = getenv("QNNRT_PROGRAMS");
    int first = 0, count = TEST_CASES(10000), i;
    if (wish != NULL && sscanf(wish, "%d,%d", &first, &count) == 1) { count = first; first = 0; }
    CHECK(open_backends());
    folder = test_tmpdir();
    for (i = first; i < first + count; ++i) {
        one_case(i);
        if (test_state.state != TEST_RUNNING)
            printf("  in case %d (%s): QNNRT_PROGRAMS=%d,1\n", i, wrongs[p.wrong].text, i);
        CHECK_EQ(test_state.state, TEST_RUNNING);
    }
    printf("  %d programs: %d execs equal (%d bytes), %d with places, %d not compared for a NaN\n", count,
           stats_compared, stats_bytes, stats_in_place, stats_strange);
    printf("  %d execs failed as they must, %d are equal to one graph on one backend, %d tensors registered\n",
           stats_failed, stats_single, stats_registered);
    printf("  %d programs are in a folder, too; %d of them have places that destroy a value, %d restarted\n",
           stats_folders, stats_refused, stats_restarts);
    printf("  %d graphs (%d of several nodes), %d host steps, %d conversions, %d of them lost values\n",
           kinds[QNNRT_STEP_GRAPH], fused, kinds[QNNRT_STEP_HOST], kinds[QNNRT_STEP_DERIVED], stats_lost);
    for (i = 0; i < WRONGS; ++i) printf("  %5d %s\n", outcomes[i], wrongs[i].text);
    for (i = 0; i < BACKENDS; ++i) {
        char ledger[4096];
        CHECK_EQ(qnnrt_backend_close(backends[i]), QNNRT_OK);
        CHECK(controls[i]("ledger", ledger, sizeof(ledger)) >= 0);
        CHECK_EQ(strcmp(ledger, ""), 0);
    }
    if (count < 2000) return;
    for (i = 0; i < WRONGS; ++i) CHECK(outcomes[i] > 0);
    CHECK(stats_compared > count && stats_in_place > count / 20 && stats_strange < count / 10);
    CHECK(stats_failed > 0 && stats_lost > count / 20 && stats_single > count / 20);
    CHECK(stats_registered > count / 20 && stats_folders > count / 100 && stats_refused > 0 && stats_restarts > 0);
}

TEST_MAIN("programs")
{
    RUN(a_program_gives_the_bytes_of_the_evaluator_or_a_named_error_before_exec);
}
