/* ops_broadcast.h - every way of broadcasting two operands, for ops.c

   An axis of the result is one of four: both operands have it, x has 1 there, y has 1 there, or both have
   1. A pattern has one letter per axis: n x y 1. All patterns of ranks 1 to a limit are made, for each
   operator and type, in the forms of broadcast_forms: a library rewrites a Reshape before an operator, so
   that a node that is right alone may be wrong behind one. */

typedef struct broadcast_op { const char *op, *x, *y, *types, *to; } broadcast_op;

/* Values whose results do not depend on rounding: int32 is divided without a rest below 0. */
static const broadcast_op broadcast_ops[] = {
    { "ElementWiseAdd", "", "{-2,1}", "f32 f16 i32 u8 u16", "{-3,3}" },
    { "ElementWiseSubtract", "", "{-2,1}", "f32 f16 i32 u8 u16", "{-3,3}" },
    { "ElementWiseMultiply", "", "", "f32 f16 i32 u8 u16", "{-3,3}" },
    { "ElementWiseDivide", "{0,90}", "{1,9}", "f32 f16 i32 u8 u16", "{0,90}" },
    { "ElementWiseMaximum", "", "", "f32 f16 i32 u8 u16", "" },
    { "ElementWiseMinimum", "", "", "f32 f16 i32 u8 u16", "" },
    { "ElementWisePower", "{0.5,2}", "{-2,2}", "f32 f16", "" },
    { "ElementWiseSquaredDifference", "", "{-1,1}", "f32 f16", "" },
    { "ElementWiseFloorDiv", "=(7.3,5.6,2.4,8.2,1.7,0.4,3.5)", "=(1.1,2.3,2.9,1.9)", "f32 f16 i32", "" },
    { "ElementWiseMod", "{0,90}", "=(7,5,2,3)", "i32", "" },
    { "ElementWiseAnd", "", "", "b8", "" }, { "ElementWiseOr", "", "", "b8", "" },
    { "ElementWiseXor", "", "", "b8", "" },
    { "ElementWiseEqual", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" },
    { "ElementWiseNotEqual", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" },
    { "ElementWiseGreater", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" },
    { "ElementWiseGreaterEqual", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" },
    { "ElementWiseLess", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" },
    { "ElementWiseLessEqual", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", ":b8" }
};
enum { BROADCAST_OPS = sizeof broadcast_ops / sizeof broadcast_ops[0] };

/* A form of a node. made: 1, a Reshape makes the operand of a tensor without axes of 1; 2, of one of rank 1. */
typedef struct broadcast_form {
    const char *name;
    uint32_t    sizes[5];                /* of the axes, the last one last */
    int         still, shorter;          /* y is static; y is without its first axes of 1 */
    int         made[2];                 /* x, y */
} broadcast_form;

static const broadcast_form broadcast_forms[] = {
    { "direct",  { 2, 3, 5, 4, 6 }, 0, 0, { 0, 0 } },
    { "static",  { 3, 2, 4, 6, 8 }, 1, 0, { 0, 0 } },
    { "short",   { 2, 3, 5, 4, 6 }, 0, 1, { 0, 0 } },
    { "made",    { 2, 3, 5, 4, 6 }, 0, 0, { 1, 1 } },
    { "x_made",  { 4, 4, 4, 4, 4 }, 0, 0, { 1, 0 } },
    { "y_made",  { 4, 4, 4, 4, 4 }, 0, 0, { 0, 1 } },
    { "alike",   { 4, 4, 4, 4, 4 }, 0, 0, { 1, 1 } },
    { "flat",    { 4, 4, 4, 4, 4 }, 0, 0, { 2, 2 } },
    { "x_flat",  { 4, 4, 4, 4, 4 }, 0, 0, { 2, 1 } }
};
enum { BROADCAST_FORMS = sizeof broadcast_forms / sizeof broadcast_forms[0] };

/* Write the pattern of a number: base 4, the first axis first. */
static void broadcast_pattern(uint32_t number, uint32_t rank, char pattern[RANK + 1])
{
    uint32_t i;
    for (i = rank; i > 0; --i, number /= 4) pattern[i - 1] = "nxy1"[number % 4];
    pattern[rank] = '\0';
}

/* Say of what a Reshape makes an operand; return 0 if that has the same shape. */
static int broadcast_made(const sweep_shape *shape, int made, char more[SWEEP_TEXT])
{
    sweep_shape source;
    uint32_t i;
    if (made == 0) return 1;
    memset(&source, 0, sizeof source);
    for (i = 0; i < shape->rank; ++i)
        if (shape->dims[i] > 1 && made == 1) source.dims[source.rank++] = shape->dims[i];
    if (source.rank == 0) source.dims[source.rank++] = sweep_count(shape);
    if (source.rank == shape->rank) return 0;
    sweep_add(more, "@");
    sweep_dims(more, &source);
    return 1;
}

/* Make one node, or return 0 if the pattern has no such form. */
static int broadcast_node(const broadcast_op *op, const char *pattern, const broadcast_form *form, ops_sweep *s,
                          ops_case *row)
{
    const uint32_t rank = (uint32_t)strlen(pattern);
    sweep_shape x, y, z;
    char more[2][SWEEP_TEXT];
    uint32_t i, k;
    memset(s, 0, sizeof *s);
    memset(&x, 0, sizeof x);
    x.rank = rank;
    y = z = x;
    for (i = 0; i < rank; ++i) {
        const uint32_t size = form->sizes[i + 5 - rank];
        x.dims[i] = pattern[i] == 'n' || pattern[i] == 'y' ? size : 1;
        y.dims[i] = pattern[i] == 'n' || pattern[i] == 'x' ? size : 1;
        z.dims[i] = pattern[i] == '1' ? 1 : size;
    }
    if (form->shorter) {
        for (k = 0; k + 1 < rank && y.dims[k] == 1; ++k) {}
        if (k == 0) return 0;
        y.rank -= k;
        for (i = 0; i < y.rank; ++i) y.dims[i] = y.dims[i + k];
    }
    if (sweep_count(&z) == 1) return 0;      /* a single value near 0 has a large relative error */
    strcpy(s->op, op->op);
    strcpy(s->types, op->types);
    snprintf(s->variant, sizeof s->variant, "%s-%s", pattern, form->name);
    snprintf(more[0], sizeof more[0], "%s", op->x);
    snprintf(more[1], sizeof more[1], "%s%s", form->still ? "!" : "", op->y);
    if (!broadcast_made(&x, form->made[0], more[0]) || !broadcast_made(&y, form->made[1], more[1])) return 0;
    sweep_tensor(s->in, "x", &x, more[0]);
    sweep_tensor(s->in, "y", &y, more[1]);
    sweep_tensor(s->out, "z", &z, op->to);
    sweep_row(s, row);
    return 1;
}

/* Make all patterns of the operators whose name contains `only`, in the forms whose name contains `form`. */
static const ops_case *broadcast_rows(uint32_t most, const char *only, const char *form, size_t *count)
{
    size_t total = 0;
    uint32_t rank, number;
    ops_sweep *draws;
    ops_case *rows;
    int op, f;
    for (rank = 1; rank <= most; ++rank) total += ((size_t)1 << 2 * rank) * BROADCAST_FORMS;
    for (op = f = 0; op < BROADCAST_OPS; ++op) f += strstr(broadcast_ops[op].op, only) != NULL;
    draws = (ops_sweep *)make(total * (size_t)f, sizeof *draws);
    rows = (ops_case *)make(total * (size_t)f, sizeof *rows);
    *count = 0;
    for (op = 0; op < BROADCAST_OPS; ++op)
        for (rank = 1; rank <= most && strstr(broadcast_ops[op].op, only) != NULL; ++rank)
            for (number = 0; number < (uint32_t)1 << 2 * rank; ++number)
                for (f = 0; f < BROADCAST_FORMS; ++f) {
                    char pattern[RANK + 1];
                    broadcast_pattern(number, rank, pattern);
                    if (strstr(broadcast_forms[f].name, form) == NULL) continue;
                    *count += (size_t)broadcast_node(&broadcast_ops[op], pattern, &broadcast_forms[f], &draws[*count],
                                                     &rows[*count]);
                }
    return rows;
}
