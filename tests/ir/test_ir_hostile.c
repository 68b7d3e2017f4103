/* test_ir_hostile.c - qnnrt_ir.h and qnnrt_lower.h: recorded nodes whose shapes, dtypes, arguments and data are changed

   Each node of the recorded graphs (tests/ir/record_ir.py) is changed in one place at a time, read, inferred, checked,
   evaluated and lowered. Tensors lie in allocations of their size, so that with AddressSanitizer any
   element beyond them is noticed; each node is evaluated twice into different memory, so that any
   element that is not written is, too. */
#include "qnnrt_lower.h"
#include "test.h"
#include "ir_graph.h"
#include <signal.h>
#include <stdarg.h>

enum { INPUTS = 24, OUTPUTS = 16, ATTRS = 16, INTS = 10, DATA = 6 };

/* A node as it is written: its inputs, its arguments, what its integers are. */
typedef struct spec {
    const qnnrt_ir_node *node;
    qnnrt_ir_value       inputs[INPUTS];       /* name NULL: absent */
    size_t               input_count, attr_count, data;
    qnnrt_ir_attr        attrs[ATTRS];
    int64_t              ints[ATTRS][INTS];
} spec;

static qnnrt_error err;
static char now[4096];                         /* the text of the case that runs */
static unsigned long cases, good, evaluated, lowered;

/* What a sanitizer calls before the program ends, where there is one. */
void __sanitizer_set_death_callback(void (*call)(void)) __attribute__((weak));

static void say_case(void)
{
    printf("case %lu: %s\n    %s\n", cases, now, err.text);
    fflush(stdout);
}

static void say_aborted(int number)
{
    (void)number;
    say_case();
}

/* ---- changes ---- */

static void spec_of(spec *s, const qnnrt_ir_node *node)
{
    size_t i, k;
    memset(s, 0, sizeof(*s));
    s->node = node;
    s->input_count = node->input_count;
    s->attr_count = node->attr_count;
    for (i = 0; i < node->input_count; ++i) if (node->inputs[i] != NULL) s->inputs[i] = *node->inputs[i];
    for (i = 0; i < node->attr_count; ++i) {
        s->attrs[i] = node->attrs[i];
        if (s->attrs[i].kind != QNNRT_IR_INTS) continue;
        for (k = 0; k < s->attrs[i].count; ++k) s->ints[i][k] = s->attrs[i].ints[k];
        s->attrs[i].ints = s->ints[i];
    }
}

static const int64_t sizes[] = { 0, 1, 3 };
static const int64_t numbers[] = { 0, 1, -1, 2, 3, -3, 7, 64, -65, INT32_MAX, (int64_t)1 << 40, INT64_MAX, INT64_MIN };
static const qnnrt_dtype dtypes[] = { QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, QNNRT_DTYPE_F64, QNNRT_DTYPE_I64,
                                      QNNRT_DTYPE_I32, QNNRT_DTYPE_U8,  QNNRT_DTYPE_BOOL8 };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Take `at` from *number if it is below `of`: then a change belongs here. */
static int here(size_t *number, size_t of)
{
    if (*number < of) return 1;
    *number -= of;
    return 0;
}

static void change_rank(qnnrt_ir_value *x, size_t how)
{
    uint32_t d;
    if (how == 0) x->rank = 0;
    if (how == 1 && x->rank > 0) --x->rank;
    if (how == 2 && x->rank > 0) for (--x->rank, d = 0; d < x->rank; ++d) x->dims[d] = x->dims[d + 1];
    if (how == 3 && x->rank < QNNRT_IR_RANK) x->dims[x->rank++] = 2;
    if (how == 4 && x->rank < QNNRT_IR_RANK) {
        for (d = x->rank++; d > 0; --d) x->dims[d] = x->dims[d - 1];
        x->dims[0] = 1;
    }
    if (how == 5) for (; x->rank < QNNRT_IR_RANK; ++x->rank) x->dims[x->rank] = 1;
}

/* Change one argument. Return 0 if there are fewer changes of it. */
static int change_attr(spec *s, size_t i, size_t *number)
{
    qnnrt_ir_attr *a = &s->attrs[i];
    size_t k;
    if (here(number, 1)) { *a = s->attrs[--s->attr_count]; return 1; }
    if (a->kind == QNNRT_IR_BOOL) {
        if (!here(number, 1)) return 0;
        a->i = !a->i;
        return 1;
    }
    if (a->kind == QNNRT_IR_INT || a->kind == QNNRT_IR_FLOAT) {
        if (!here(number, COUNT(numbers))) return 0;
        a->kind = QNNRT_IR_INT;
        a->i = numbers[*number];
        return 1;
    }
    if (a->kind != QNNRT_IR_INTS) return 0;
    if (here(number, a->count * COUNT(numbers))) {
        s->ints[i][*number / COUNT(numbers)] = numbers[*number % COUNT(numbers)];
        return 1;
    }
    if (!here(number, INTS)) return 0;         /* other numbers of numbers */
    for (k = a->count, a->count = *number; k < *number; ++k) s->ints[i][k] = k == 0 ? 1 : s->ints[i][k - 1];
    return 1;
}

/* Give every dimension and argument that is `was` another size. */
static void change_all(spec *s, int64_t was, int64_t size)
{
    size_t i, k;
    uint32_t d;
    for (i = 0; i < s->input_count; ++i)
        for (d = 0; d < s->inputs[i].rank; ++d) if (s->inputs[i].dims[d] == was) s->inputs[i].dims[d] = size;
    for (i = 0; i < s->attr_count; ++i)
        for (k = 0; s->attrs[i].kind == QNNRT_IR_INTS && k < s->attrs[i].count; ++k)
            if (s->ints[i][k] == was) s->ints[i][k] = size;
}

/* Make change `number` of a node; number 0 changes nothing. Return 0 if there are fewer. */
static int change(spec *s, size_t number)
{
    size_t i, d;
    if (number-- == 0) return 1;
    for (i = 0; i < s->input_count; ++i) {
        qnnrt_ir_value *x = &s->inputs[i];
        if (x->name == NULL) continue;
        if (here(&number, x->rank * COUNT(sizes))) { x->dims[number / COUNT(sizes)] = sizes[number % COUNT(sizes)]; return 1; }
        if (here(&number, 6)) { change_rank(x, number); return 1; }
        if (here(&number, COUNT(dtypes))) { x->dtype = dtypes[number]; return 1; }
        if (here(&number, 1)) { x->name = NULL; return 1; }
        for (d = 0; d < x->rank; ++d)
            if (here(&number, COUNT(sizes))) { change_all(s, x->dims[d], sizes[number]); return 1; }
    }
    if (here(&number, 1)) { s->input_count -= s->input_count > 0; return 1; }
    if (here(&number, 1)) {
        if (s->input_count > 0 && s->input_count < INPUTS) { s->inputs[s->input_count] = s->inputs[0]; ++s->input_count; }
        return 1;
    }
    for (i = 0; i < s->attr_count; ++i) if (change_attr(s, i, &number)) return 1;
    s->data = number;
    return number < DATA;
}

/* ---- the text ---- */

typedef struct text {
    char  *at;
    size_t left;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
    va_list args;
    int used;
    va_start(args, format);
    used = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (used < 0 || (size_t)used >= t->left) { printf("a case is too long\n"); abort(); }
    t->at += used;
    t->left -= (size_t)used;
}

static void put_value(text *t, const char *prefix, size_t number, const qnnrt_ir_value *x)
{
    uint32_t d;
    put(t, "{\"name\":\"%s%lu\",\"shape\":[", prefix, (unsigned long)number);
    for (d = 0; d < x->rank; ++d) put(t, "%s%lld", d == 0 ? "" : ",", (long long)x->dims[d]);
    put(t, "],\"dtype\":\"%s\"}", qnnrt_ir_dtype_name(x->dtype));
}

static void put_attr(text *t, const qnnrt_ir_attr *a)
{
    size_t k;
    put(t, "\"%s\":", a->name);
    switch (a->kind) {
    case QNNRT_IR_INT: put(t, "%lld", (long long)a->i); return;
    case QNNRT_IR_BOOL: put(t, "%s", a->i ? "true" : "false"); return;
    case QNNRT_IR_TEXT: put(t, "\"%s\"", a->text); return;
    case QNNRT_IR_FLOAT:
        if (a->f > 1e308 || a->f < -1e308) put(t, a->f > 0 ? "Infinity" : "-Infinity");
        else if (a->f != a->f) put(t, "NaN");
        else put(t, a->f == (double)(int64_t)a->f ? "%.1f" : "%.17g", a->f);
        return;
    case QNNRT_IR_INTS:
    case QNNRT_IR_FLOATS:
        put(t, "[");
        for (k = 0; k < a->count; ++k) {
            if (k > 0) put(t, ",");
            if (a->kind == QNNRT_IR_INTS) put(t, "%lld", (long long)a->ints[k]);
            else put(t, "%.17g", a->floats[k]);
        }
        put(t, "]");
        return;
    default: put(t, "null");
    }
}

/* Write a graph of one node. What is not input 0 is a weight if `weights`. */
static void put_graph(text *t, const spec *s, int weights)
{
    const qnnrt_ir_node *node = s->node;
    const char *op = strcmp(node->op, "getitem") == 0 ? "<built-in function getitem>" : node->op;
    const char *comma = "";
    size_t i;
    int part;
    put(t, "{\"nodes\":[{\"name\":\"n\",\"op_type\":\"%s%s\",\"inputs\":[", op == node->op ? "aten." : "", op);
    for (i = 0; i < s->input_count; ++i) {
        if (s->inputs[i].name == NULL) continue;
        put(t, "%s", comma);
        put_value(t, "i", i, &s->inputs[i]);
        comma = ",";
    }
    put(t, "],\"inputs_there\":\"");
    for (i = 0; i < s->input_count; ++i) put(t, "%c", s->inputs[i].name != NULL ? 'x' : '-');
    put(t, "\",\"attrs\":{");
    for (comma = "", i = 0; i < s->attr_count; ++i) {
        if (strcmp(s->attrs[i].name, "_tensor_list_none_masks") == 0) continue;
        put(t, "%s", comma);
        put_attr(t, &s->attrs[i]);
        comma = ",";
    }
    put(t, "},\"outputs\":[");
    for (i = 0; i < node->output_count; ++i) { if (i > 0) put(t, ","); put_value(t, "o", i, node->outputs[i]); }
    put(t, "]}],\"graph_outputs\":[");
    for (i = 0; i < node->output_count; ++i) { if (i > 0) put(t, ","); put_value(t, "o", i, node->outputs[i]); }
    for (part = 0; part < 2; ++part) {
        put(t, part == 0 ? "],\"graph_inputs\":[" : "],\"weights\":[");
        for (comma = "", i = 0; i < s->input_count; ++i) {
            if (s->inputs[i].name == NULL || (part == 1) != (weights && i > 0)) continue;
            put(t, "%s", comma);
            put_value(t, "i", i, &s->inputs[i]);
            comma = ",";
        }
    }
    put(t, "]}");
}

/* ---- what must hold ---- */

static size_t bytes_of(const qnnrt_ir_value *x) { return (size_t)x->count * qnnrt_ir_dtype_bytes(x->dtype); }

/* Return memory of the size of a value, filled with numbers from `data` on. */
static void *fill(const qnnrt_ir_value *x, size_t data)
{
    static const int64_t wild[DATA] = { 0, 1, -1, 2, 1000, INT64_MIN };
    const size_t bytes = qnnrt_ir_dtype_bytes(x->dtype);
    unsigned char *out = (unsigned char *)malloc(bytes_of(x) > 0 ? bytes_of(x) : 1);
    uint64_t k;
    if (out == NULL) abort();
    for (k = 0; k < x->count; ++k) {
        const int64_t i = data == 0 ? (int64_t)(k % 2) : wild[data];
        const float f = (float)((int)(k % 7) - 3) / 2;
        if (x->dtype == QNNRT_DTYPE_F32) memcpy(out + k * 4, &f, 4);
        else if (x->dtype == QNNRT_DTYPE_I64) memcpy(out + k * 8, &i, 8);
        else memset(out + k * bytes, (int)(i & 0x3F), bytes);
    }
    return out;
}

/* Give the outputs the shapes that follow from the inputs. Return 0 if none follow. */
static int infer(qnnrt_ir *ir)
{
    qnnrt_ir_node *node = ir->nodes[0];
    size_t k;
    for (k = 0; k < node->output_count || k == 0; ++k) {
        qnnrt_ir_value none, *y = k < node->output_count ? node->outputs[k] : &none;
        qnnrt_dtype dtype;
        uint32_t d;
        memset(&none, 0, sizeof(none));
        if (qnnrt_ir_infer(node, k, &dtype, &y->rank, y->dims, &err) != QNNRT_OK) return 0;
        if (dtype != QNNRT_DTYPE_UNDEFINED) y->dtype = dtype;
        for (y->count = 1, d = 0; d < y->rank; ++d) y->count *= (uint64_t)y->dims[d];
    }
    return 1;
}

static int evaluate(const qnnrt_ir_node *node, const void *const *in)
{
    void *out[2][OUTPUTS];
    qnnrt_result ask, result = QNNRT_OK;
    size_t k;
    int i, same = 1;
    for (k = 0; k < node->output_count; ++k) if (bytes_of(node->outputs[k]) > 1 << 20) return 1;
    ask = qnnrt_ir_eval_ask(node, &err);
    for (i = 0; i < 2 && result == QNNRT_OK; ++i) {
        for (k = 0; k < node->output_count; ++k) {
            const size_t bytes = bytes_of(node->outputs[k]);
            out[i][k] = malloc(bytes > 0 ? bytes : 1);
            if (out[i][k] == NULL) abort();
            memset(out[i][k], i == 0 ? 0xA5 : 0x5A, bytes);
        }
        result = qnnrt_ir_eval_node(NULL, node, in, out[i], &err);
    }
    for (k = 0; k < node->output_count; ++k) {
        same &= result != QNNRT_OK || memcmp(out[0][k], out[1][k], bytes_of(node->outputs[k])) == 0;
        free(out[0][k]);
        if (i > 1) free(out[1][k]);
    }
    if (!same) printf("    an element of an output is not written\n");
    evaluated += result == QNNRT_OK;
    return same && (ask == QNNRT_OK || result == ask);
}

static void *limited_alloc(void *user, size_t bytes)
{
    (void)user;
    return bytes > (size_t)1 << 24 ? NULL : malloc(bytes);
}

static void limited_free(void *user, void *data)
{
    (void)user;
    free(data);
}

static void lower(qnnrt_ir *ir, qnnrt_lower_target target, int passes)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_result result;
    size_t i;
    for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;   /* of the one before */
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = limited_alloc;
    desc.hooks.free = limited_free;
    desc.target = target;
    desc.positions = 16;
    if (qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK) abort();
    result = passes ? qnnrt_lower_passes(lower, ir, &err) : QNNRT_OK;
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "g", &err);
    lowered += result == QNNRT_OK;
    qnnrt_lower_free(lower);
}

/* Play one case, where all but input 0 are known if `weights`. Return 0 if something is wrong that no
   sanitizer sees. */
static int play(const spec *s, int weights)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *ir = NULL;
    text t;
    size_t k, count;
    void *in[INPUTS];
    int right = 1, known;
    t.at = now;
    t.left = sizeof now;
    put_graph(&t, s, weights);
    memset(&desc, 0, sizeof(desc));
    desc.memory_bytes = 1 << 24;
    if (qnnrt_ir_read(now, strlen(now), &desc, &ir, &err) != QNNRT_OK) return 0;
    known = infer(ir);
    count = ir->nodes[0]->input_count;
    for (k = 0; k < count; ++k) {
        qnnrt_ir_value *x = ir->nodes[0]->inputs[k];
        in[k] = x != NULL && bytes_of(x) < 1 << 20 ? fill(x, s->data) : NULL;
        if (x == NULL || x->origin != QNNRT_IR_WEIGHT) continue;
        x->origin = QNNRT_IR_CONSTANT;
        x->data = in[k];
    }
    if (!weights) right &= evaluate(ir->nodes[0], (const void *const *)in);
    if (qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK) {
        right &= known;
        ++good;
        lower(ir, QNNRT_LOWER_HTP, 0);
        if (cases % 2 == (unsigned long)weights) lower(ir, QNNRT_LOWER_CPU, 0);
        if (weights) lower(ir, QNNRT_LOWER_REF, 1);
    }
    qnnrt_ir_free(ir);
    for (k = 0; k < count; ++k) free(in[k]);
    return right;
}

/* Play all changes of all nodes of a graph. */
static void play_all(qnnrt_ir *ir)
{
    size_t i, number, wrong = 0;
    spec s;
    CHECK(ir != NULL);
    if (__sanitizer_set_death_callback != NULL) __sanitizer_set_death_callback(say_case);
    signal(SIGABRT, say_aborted);
    cases = good = evaluated = lowered = 0;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        CHECK(node->input_count <= INPUTS && node->output_count <= OUTPUTS && node->attr_count <= ATTRS);
        for (number = i % TEST_SHARE; spec_of(&s, node), change(&s, number); number += TEST_SHARE) {
            ++cases;
            if (!play(&s, 0) || !play(&s, 1)) { say_case(); ++wrong; }
        }
    }
    signal(SIGABRT, SIG_DFL);
    printf("    %lu cases: %lu have right shapes, %lu are evaluated, %lu are lowered\n", cases, good, evaluated, lowered);
    CHECK_EQ(wrong, 0);
    qnnrt_ir_free(ir);
}

TEST(ir_changed_nodes_are_refused_or_computed)
{
    size_t i;
    for (i = 1; ir_recorded(i) != NULL; ++i) TRY(play_all(ir_file(ir_recorded(i), &err)));
    TRY(play_all(ir_file(ir_recorded(0), &err)));
    CHECK(cases > TEST_CASES(40000) && good > TEST_CASES(60000) && evaluated > TEST_CASES(30000) && lowered > TEST_CASES(100000));
}

/* Files may name the operators that passes make, too. */
TEST(ir_changed_nodes_of_passes_are_refused_or_computed)
{
    TRY(play_all(ir_graph(GRAPH(F("x", "2, 3, 4") ", " F("w", "4") ", " F("b", "4"), F("d", "2, 3, 4"), "",
        NODE("a", "q.rms_norm", F("x", "2, 3, 4") ", " F("w", "4") ", " F("b", "4"), F("a", "2, 3, 4"), "'eps': 1e-5") ", "
        NODE("l", "q.layer_norm", F("a", "2, 3, 4") ", " F("w", "4") ", " F("b", "4"), F("l", "2, 3, 4"), "'eps': 1e-5") ", "
        NODE("g", "q.gelu", F("l", "2, 3, 4"), F("g", "2, 3, 4"), "'approximate': 'tanh'") ", "
        NODE("d", "q.silu", F("g", "2, 3, 4"), F("d", "2, 3, 4"), "")) "}", NULL, &err)));
    CHECK(cases > TEST_CASES(100) && lowered > TEST_CASES(100));
}

TEST_MAIN("ir_hostile")
{
    RUN(ir_changed_nodes_are_refused_or_computed);
    RUN(ir_changed_nodes_of_passes_are_refused_or_computed);
}
