/* ops_sweep.h - random nodes for ops.c, in the language of ops_cases.h

   Each generator draws shapes and attributes of one family of operators. Sizes are small enough for
   an emulator: at most SWEEP_ELEMENTS elements per tensor. */

enum { SWEEP_ELEMENTS = 3000, SWEEP_TEXT = 600 };

typedef struct ops_sweep {
    uint64_t state;
    char op[48], variant[24], types[48], in[SWEEP_TEXT], out[SWEEP_TEXT], params[SWEEP_TEXT], tolerance[32];
} ops_sweep;

typedef struct sweep_shape { uint32_t rank, dims[RANK]; } sweep_shape;

static int sweep_pick(ops_sweep *s, int low, int high) { return (int)next_integer(&s->state, low, high); }

static int sweep_chance(ops_sweep *s, int percent) { return sweep_pick(s, 0, 99) < percent; }

static void sweep_add(char text[SWEEP_TEXT], const char *format, ...)
{
    size_t length = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + length, SWEEP_TEXT - length, format, list);
    va_end(list);
}

static uint32_t sweep_size(ops_sweep *s)
{
    int kind = sweep_pick(s, 0, 99);
    if (kind < 20) return 1;
    if (kind < 50) return (uint32_t)sweep_pick(s, 2, 4);
    if (kind < 80) return (uint32_t)sweep_pick(s, 5, 16);
    if (kind < 90) return (uint32_t)sweep_pick(s, 17, 40);
    return (uint32_t)(8 << sweep_pick(s, 0, 4));
}

static uint32_t sweep_count(const sweep_shape *shape)
{
    uint32_t count = 1, i;
    for (i = 0; i < shape->rank; ++i) count *= shape->dims[i];
    return count;
}

/* Draw a shape of a rank in a range. */
static sweep_shape sweep_draw(ops_sweep *s, int low, int high)
{
    sweep_shape shape;
    uint32_t i;
    memset(&shape, 0, sizeof shape);
    shape.rank = (uint32_t)sweep_pick(s, low, high);
    for (i = 0; i < shape.rank; ++i) shape.dims[i] = sweep_size(s);
    while (sweep_count(&shape) > SWEEP_ELEMENTS) {
        i = (uint32_t)sweep_pick(s, 0, (int)shape.rank - 1);
        shape.dims[i] = (shape.dims[i] + 1) / 2;
    }
    return shape;
}

static void sweep_dims(char text[SWEEP_TEXT], const sweep_shape *shape)
{
    uint32_t i;
    for (i = 0; i < shape->rank; ++i) sweep_add(text, "%s%u", i == 0 ? "[" : ",", (unsigned)shape->dims[i]);
    sweep_add(text, "]");
}

/* Add a tensor; `more` is what follows its dimensions. */
static void sweep_tensor(char text[SWEEP_TEXT], const char *name, const sweep_shape *shape, const char *more)
{
    sweep_add(text, "%s%s", *text == '\0' ? "" : " ", name);
    sweep_dims(text, shape);
    sweep_add(text, "%s", more);
}

static void sweep_param(ops_sweep *s, const char *format, ...)
{
    va_list list;
    char text[SWEEP_TEXT];
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sweep_add(s->params, "%s%s", *s->params == '\0' ? "" : " ", text);
}

static const char *sweep_word(ops_sweep *s, const char *list, char word[48])
{
    int count = 1, at;
    const char *p;
    for (p = list; *p != '\0'; ++p) count += *p == ' ';
    for (at = sweep_pick(s, 0, count - 1), p = list; at > 0; --at) p += strcspn(p, " ") + 1;
    snprintf(word, 48, "%.*s", (int)strcspn(p, " "), p);
    return word;
}

/* ---- families --------------------------------------------------------------------------------- */

static void sweep_unary(ops_sweep *s)
{
    static const struct { const char *op, *params, *range, *types, *tolerance; } rows[] = {
        { "Relu", "", "", "f32 f16", "exact" }, { "Sigmoid", "", "{-6,6}", "f32 f16", "" },
        { "Tanh", "", "{-3,3}", "f32 f16", "" }, { "Gelu", "", "{-4,4}", "f32 f16", "" },
        { "HardSwish", "", "{-4,4}", "f32 f16", "" }, { "Elu", "alpha=0.7", "{-4,4}", "f32 f16", "" },
        { "Relu6", "", "{-4,8}", "f32 f16", "" },
        { "ReluMinMax", "min_value=-0.5 max_value=0.75", "{-2,2}", "f32 f16", "" },
        { "ReluMinMax", "min_value=0.0 max_value=6.0", "{-2,8}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=0 alpha=1.0", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=1", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=2 alpha=0.2 beta=0.5", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=2 alpha=0.166667 beta=0.5", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=3", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=4", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=5 min_value=-0.5 max_value=0.75", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=6", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=7 beta=1.0 threshold=20.0", "{-4,4}", "f32 f16", "" },
        { "ElementWiseNeuron", "operation=8", "{-3,3}", "f32 f16", "" },
        { "ElementWiseNeg", "", "", "f32 f16 i32", "" }, { "ElementWiseExp", "", "{-3,2}", "f32 f16", "" },
        { "ElementWiseLog", "", "{0.1,4}", "f32 f16", "" }, { "ElementWiseRsqrt", "", "{0.2,4}", "f32 f16", "" },
        { "ElementWiseSquareRoot", "", "{0,4}", "f32 f16", "" }, { "ElementWiseSin", "", "{-3,3}", "f32 f16", "" },
        { "ElementWiseCos", "", "{-3,3}", "f32 f16", "" }, { "ElementWiseAbs", "", "", "f32 f16 i32", "" },
        { "ElementWiseFloor", "", "=(0.3,-1.6,2.4,-3.2,1.7,-0.4,3.3,-2.7,0.8)", "f32 f16", "" },
        { "ElementWiseCeil", "", "=(0.3,-1.6,2.4,-3.2,1.7,-0.4,3.3,-2.7,0.8)", "f32 f16", "" },
        { "ElementWiseRound", "", "=(0.3,-1.6,2.4,-3.2,1.7,-0.4,3.3,-2.7,0.8)", "f32 f16", "" },
        { "ElementWiseSign", "", "{-4,4}", "f32 f16", "" }, { "ElementWiseNot", "", "", "b8", "" },
        { "LogSoftmax", "", "{-4,4}", "f32 f16", "" }
    };
    int i = sweep_pick(s, 0, (int)(sizeof rows / sizeof rows[0]) - 1);
    sweep_shape x = sweep_draw(s, 1, 5);
    /* One value near 0 has a large relative error. */
    if (sweep_count(&x) == 1) x.dims[x.rank - 1] = 5;
    strcpy(s->op, rows[i].op);
    strcpy(s->types, rows[i].types);
    strcpy(s->params, rows[i].params);
    strcpy(s->tolerance, rows[i].tolerance);
    if (strcmp(s->op, "LogSoftmax") == 0) sweep_param(s, "axis=%u", (unsigned)sweep_pick(s, 0, (int)x.rank - 1));
    sweep_tensor(s->in, "x", &x, rows[i].range);
    sweep_tensor(s->out, "y", &x, "");
}

/* Draw a shape that broadcasts to `to`. */
static sweep_shape sweep_broadcast(ops_sweep *s, const sweep_shape *to)
{
    sweep_shape shape = *to;
    uint32_t i, drop;
    int kind = sweep_pick(s, 0, 3);
    if (kind == 0) return shape;
    if (kind == 1) {                                    /* one value */
        memset(&shape, 0, sizeof shape);
        shape.rank = (uint32_t)sweep_pick(s, 1, (int)to->rank);
        for (i = 0; i < shape.rank; ++i) shape.dims[i] = 1;
        return shape;
    }
    drop = kind == 2 ? 0 : (uint32_t)sweep_pick(s, 0, (int)to->rank - 1);
    shape.rank -= drop;
    for (i = 0; i < shape.rank; ++i) shape.dims[i] = sweep_chance(s, 45) ? 1 : to->dims[i + drop];
    return shape;
}

static void sweep_binary(ops_sweep *s)
{
    static const struct { const char *op, *params, *x, *y, *types; int is_bool; } rows[] = {
        { "ElementWiseAdd", "", "", "{-2,1}", "f32 f16 i32", 0 },
        { "ElementWiseSubtract", "", "", "{-2,1}", "f32 f16 i32", 0 },
        { "ElementWiseMultiply", "", "", "{-2,1}", "f32 f16 i32", 0 },
        { "ElementWiseDivide", "", "", "{1,9}", "f32 f16 i32", 0 },
        { "ElementWiseMaximum", "", "", "", "f32 f16 i32", 0 },
        { "ElementWiseMinimum", "", "", "", "f32 f16 i32", 0 },
        { "ElementWisePower", "", "{0.5,2}", "{-2,2}", "f32 f16", 0 },
        { "ElementWiseSquaredDifference", "", "", "{-1,1}", "f32 f16", 0 },
        { "ElementWiseFloorDiv", "", "=(7.3,-5.6,2.4,-8.2,1.7,-0.4,3.5)", "=(1.1,2.3,2.9,1.9)", "f32 f16 i32", 0 },
        { "ElementWiseMod", "", "{-90,90}", "=(7,-7,2,-3)", "i32", 0 },
        { "ElementWiseAnd", "", "", "", "b8", 0 }, { "ElementWiseOr", "", "", "", "b8", 0 },
        { "ElementWiseEqual", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 },
        { "ElementWiseNotEqual", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 },
        { "ElementWiseGreater", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 },
        { "ElementWiseGreaterEqual", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 },
        { "ElementWiseLess", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 },
        { "ElementWiseLessEqual", "", "=(1,0.5,-0.5,1.25,3)", "=(1,0.5,0.25)", "f32 f16 i32", 1 }
    };
    int i = sweep_pick(s, 0, (int)(sizeof rows / sizeof rows[0]) - 1), swap = sweep_chance(s, 30);
    sweep_shape z = sweep_draw(s, 1, 5), x = z, y = sweep_broadcast(s, &z);
    char more[128];
    uint32_t k;
    if (sweep_chance(s, 15) && y.rank == z.rank)        /* both broadcast */
        for (k = 0; k < z.rank; ++k) if (y.dims[k] == z.dims[k] && sweep_chance(s, 40)) x.dims[k] = 1;
    strcpy(s->op, rows[i].op);
    strcpy(s->types, rows[i].types);
    strcpy(s->params, rows[i].params);
    snprintf(more, sizeof more, "%s%s", sweep_chance(s, 30) && !swap ? "!" : "", rows[i].y);
    sweep_tensor(s->in, "x", swap ? &y : &x, rows[i].x);
    sweep_tensor(s->in, "y", swap ? &x : &y, more);
    sweep_tensor(s->out, "z", &z, rows[i].is_bool ? ":b8" : "");
}

static void sweep_select(ops_sweep *s)
{
    sweep_shape z = sweep_draw(s, 1, 5), c = z, x = z, y = z;
    int which = sweep_pick(s, 0, 3);
    if (which == 0) c = sweep_broadcast(s, &z);
    if (which == 1) x = sweep_broadcast(s, &z);
    if (which == 2) y = sweep_broadcast(s, &z);
    strcpy(s->op, "ElementWiseSelect");
    strcpy(s->types, "f32 f16 i32");
    strcpy(s->tolerance, "exact");
    sweep_tensor(s->in, "c", &c, ":b8");
    sweep_tensor(s->in, "x", &x, "");
    sweep_tensor(s->in, "y", &y, which == 2 && sweep_chance(s, 50) ? "!" : "");
    sweep_tensor(s->out, "z", &z, "");
}

static void sweep_matmul(ops_sweep *s)
{
    int rank = sweep_pick(s, 2, 5), t0 = sweep_chance(s, 20), t1 = sweep_chance(s, 40), bias = 0,
        still = sweep_chance(s, 40);
    sweep_shape x, y, z;
    uint32_t m = sweep_size(s), n = sweep_size(s), k = sweep_size(s), last = (uint32_t)rank - 1, before = last - 1, i;
    memset(&x, 0, sizeof x);
    while (m * k > 1000 || k * n > 1000 || m * n > 1000) { m = (m + 1) / 2; n = (n + 1) / 2; k = (k + 1) / 2; }
    x.rank = y.rank = z.rank = (uint32_t)rank;
    y = z = x;
    for (i = 0; i < before; ++i) {
        int kind = sweep_pick(s, 0, 9);
        z.dims[i] = (uint32_t)sweep_pick(s, 1, rank == 5 ? 2 : 3);
        x.dims[i] = kind == 0 ? 1 : z.dims[i];
        y.dims[i] = kind == 1 ? 1 : z.dims[i];
    }
    x.dims[before] = t0 ? k : m;
    x.dims[last] = t0 ? m : k;
    y.dims[before] = t1 ? n : k;
    y.dims[last] = t1 ? k : n;
    z.dims[before] = m;
    z.dims[last] = n;
    if (rank > 2 && sweep_chance(s, 25)) {              /* a matrix for all */
        y.rank = 2;
        y.dims[0] = y.dims[before];
        y.dims[1] = y.dims[last];
        for (i = 0; i < before; ++i) z.dims[i] = x.dims[i];
        bias = sweep_chance(s, 30);
    }
    strcpy(s->op, "MatMul");
    strcpy(s->types, "f32 f16");
    sweep_tensor(s->in, "x", &x, "");
    sweep_tensor(s->in, "y", &y, still ? "!{-1,1}" : "{-1,1}");
    if (bias) sweep_add(s->in, " b[%u]!", (unsigned)n);
    sweep_tensor(s->out, "z", &z, "");
    if (t0 || sweep_chance(s, 20)) sweep_param(s, "transpose_in0=%s", t0 ? "true" : "false");
    if (t1 || sweep_chance(s, 20)) sweep_param(s, "transpose_in1=%s", t1 ? "true" : "false");
}

static void sweep_fc(ops_sweep *s)
{
    sweep_shape x = sweep_draw(s, 1, 4);
    uint32_t k = x.dims[x.rank - 1], n = sweep_size(s);
    while (n * k > 2000) n = (n + 1) / 2;
    strcpy(s->op, "FullyConnected");
    strcpy(s->types, "f32 f16");
    sweep_tensor(s->in, "x", &x, "");
    sweep_add(s->in, " w[%u,%u]%s{-1,1}", (unsigned)n, (unsigned)k, sweep_chance(s, 80) ? "!" : "");
    if (sweep_chance(s, 60)) sweep_add(s->in, " b[%u]!{-1,1}", (unsigned)n);
    sweep_add(s->out, "y[%u,%u]", (unsigned)(sweep_count(&x) / k), (unsigned)n);
}

static void sweep_conv(ops_sweep *s)
{
    static const char *const ops[] = { "Conv2d", "DepthWiseConv2d", "TransposeConv2d" };
    int which = sweep_pick(s, 0, 9);
    const char *op = ops[which < 5 ? 0 : which < 8 ? 1 : 2];
    int one = sweep_chance(s, 25), transposed = op == ops[2];
    uint32_t h, w, kh, kw, sh, sw, dh, dw, pt, pb, pl, pr, c, n, group, oh, ow, a, multiplier, qh = 0, qw = 0;
    for (;;) {
        group = multiplier = 1;
        a = sweep_chance(s, 75) ? 1 : (uint32_t)sweep_pick(s, 2, 3);
        h = one ? 1 : (uint32_t)sweep_pick(s, 1, 14);
        w = (uint32_t)sweep_pick(s, 1, one ? 40 : 14);
        kh = one ? 1 : (uint32_t)sweep_pick(s, 1, 5);
        kw = (uint32_t)sweep_pick(s, 1, 5);
        sh = one ? 1 : (uint32_t)sweep_pick(s, 1, 3);
        sw = sweep_chance(s, 70) ? sh : (uint32_t)sweep_pick(s, 1, 3);
        dh = transposed || sweep_chance(s, 70) ? 1 : (uint32_t)sweep_pick(s, 2, 3);
        dw = transposed || sweep_chance(s, 80) ? dh : (uint32_t)sweep_pick(s, 1, 3);
        if (one) dh = 1;
        pt = one ? 0 : (uint32_t)sweep_pick(s, 0, (int)kh - 1);
        pb = one ? 0 : sweep_chance(s, 70) ? pt : (uint32_t)sweep_pick(s, 0, (int)kh - 1);
        pl = (uint32_t)sweep_pick(s, 0, (int)kw - 1);
        pr = sweep_chance(s, 70) ? pl : (uint32_t)sweep_pick(s, 0, (int)kw - 1);
        c = (uint32_t)sweep_pick(s, 1, 12);
        n = (uint32_t)sweep_pick(s, 1, 12);
        if (op == ops[0] && sweep_chance(s, 35)) {
            group = (uint32_t)sweep_pick(s, 2, 4);
            c = group * (uint32_t)sweep_pick(s, 1, 3);
            n = group * (uint32_t)sweep_pick(s, 1, 3);
        }
        if (op == ops[1]) { multiplier = sweep_chance(s, 70) ? 1 : (uint32_t)sweep_pick(s, 2, 3);
            n = c * multiplier; }
        if (h * w * c * a > SWEEP_ELEMENTS || kh * kw * c / group * n > SWEEP_ELEMENTS) continue;
        if (transposed) {
            qh = sh > 1 ? (uint32_t)sweep_pick(s, 0, (int)sh - 1) : 0;
            qw = sw > 1 ? (uint32_t)sweep_pick(s, 0, (int)sw - 1) : 0;
            if ((h - 1) * sh + kh + qh <= pt + pb || (w - 1) * sw + kw + qw <= pl + pr) continue;
            oh = (h - 1) * sh + kh + qh - pt - pb;
            ow = (w - 1) * sw + kw + qw - pl - pr;
        } else {
            if (h + pt + pb < dh * (kh - 1) + 1 || w + pl + pr < dw * (kw - 1) + 1) continue;
            oh = (h + pt + pb - dh * (kh - 1) - 1) / sh + 1;
            ow = (w + pl + pr - dw * (kw - 1) - 1) / sw + 1;
        }
        if (oh * ow * n * a <= SWEEP_ELEMENTS) break;
    }
    strcpy(s->op, op);
    strcpy(s->types, "f32 f16");
    sweep_add(s->in, "x[%u,%u,%u,%u] w[%u,%u,%u,%u]%s{-1,1}", a, h, w, c, kh, kw, op == ops[1] ? 1 : c / group, n,
              sweep_chance(s, 85) ? "!" : "");
    if (sweep_chance(s, 70)) sweep_add(s->in, " b[%u]!{-1,1}", n);
    sweep_add(s->out, "y[%u,%u,%u,%u]", a, oh, ow, n);
    sweep_param(s, "stride=[%u,%u] pad_amount=[%u,%u;%u,%u]", sh, sw, pt, pb, pl, pr);
    if (!transposed && (dh > 1 || dw > 1 || sweep_chance(s, 30))) sweep_param(s, "dilation=[%u,%u]", dh, dw);
    if (group > 1) sweep_param(s, "group=%u", group);
    if (qh > 0 || qw > 0) sweep_param(s, "output_padding=[%u,%u]", qh, qw);
}

static void sweep_pool(ops_sweep *s)
{
    int max = sweep_chance(s, 50);
    uint32_t h, w, kh, kw, sh, sw, pt, pb, pl, pr, c, a, oh, ow;
    for (;;) {
        a = sweep_chance(s, 70) ? 1 : 2;
        h = (uint32_t)sweep_pick(s, 1, 15);
        w = (uint32_t)sweep_pick(s, 1, 15);
        kh = (uint32_t)sweep_pick(s, 1, 5);
        kw = sweep_chance(s, 60) ? kh : (uint32_t)sweep_pick(s, 1, 5);
        sh = (uint32_t)sweep_pick(s, 1, 3);
        sw = sweep_chance(s, 60) ? sh : (uint32_t)sweep_pick(s, 1, 3);
        pt = (uint32_t)sweep_pick(s, 0, (int)kh / 2);
        pb = sweep_chance(s, 60) ? pt : (uint32_t)sweep_pick(s, 0, (int)kh - 1);
        pl = (uint32_t)sweep_pick(s, 0, (int)kw / 2);
        pr = sweep_chance(s, 60) ? pl : (uint32_t)sweep_pick(s, 0, (int)kw - 1);
        c = sweep_size(s);
        if (h * w * c * a > SWEEP_ELEMENTS || h + pt + pb < kh || w + pl + pr < kw) continue;
        oh = (h + pt + pb - kh) / sh + 1;
        ow = (w + pl + pr - kw) / sw + 1;
        break;
    }
    strcpy(s->op, max ? "PoolMax2d" : "PoolAvg2d");
    strcpy(s->types, "f32 f16");
    if (max) strcpy(s->tolerance, "exact");
    sweep_add(s->in, "x[%u,%u,%u,%u]%s", a, h, w, c, sweep_chance(s, 50) ? "{-2,-1}" : "");
    sweep_add(s->out, "y[%u,%u,%u,%u]", a, oh, ow, c);
    sweep_param(s, "filter_size=[%u,%u] stride=[%u,%u] pad_amount=[%u,%u;%u,%u]", kh, kw, sh, sw, pt, pb, pl, pr);
    if (!max && sweep_chance(s, 60)) sweep_param(s, "count_pad_for_edges=%s", sweep_chance(s, 50) ? "true" : "false");
}

static void sweep_norm(ops_sweep *s)
{
    char word[48];
    const char *op = sweep_word(s,
        "RmsNorm RmsNorm LayerNorm LayerNorm Batchnorm InstanceNorm GroupNorm L2Norm Softmax", word);
    int norm = strcmp(op, "RmsNorm") == 0 || strcmp(op, "LayerNorm") == 0;
    sweep_shape x = sweep_draw(s, 1, strcmp(op, "RmsNorm") == 0 ? 4 : 5);
    uint32_t c, group = 1;
    if (strcmp(op, "InstanceNorm") == 0 || strcmp(op, "GroupNorm") == 0)
        do x = sweep_draw(s, 4, 4); while (x.dims[1] * x.dims[2] < 4);
    if (strcmp(op, "GroupNorm") == 0) {
        group = (uint32_t)sweep_pick(s, 1, 4);
        x.dims[3] = (x.dims[3] + group - 1) / group * group;
    }
    c = x.dims[x.rank - 1];
    if (norm && c < 3) { c = 3 + c; x.dims[x.rank - 1] = c; }
    strcpy(s->op, op);
    strcpy(s->types, "f32 f16");
    sweep_tensor(s->in, "x", &x, strcmp(op, "Softmax") == 0 ? "{-4,4}" : "");
    sweep_tensor(s->out, "y", &x, "");
    if (strcmp(op, "RmsNorm") == 0) {
        sweep_add(s->in, " g[%u]!{0.5,1.5}", c);
        if (sweep_chance(s, 80)) sweep_add(s->in, " b[%u]!=(0)", c);
        sweep_param(s, "epsilon=0.000001 axes=[%u]", x.rank - 1);
    } else if (norm) {
        sweep_add(s->in, " g[%u]!{0.5,1.5}", c);
        if (sweep_chance(s, 80)) sweep_add(s->in, " b[%u]!{-1,1}", c);
        sweep_param(s, "epsilon=0.00001 axes=[%u]", x.rank - 1);
    } else if (strcmp(op, "L2Norm") == 0) sweep_param(s, "axis=%u", (unsigned)sweep_pick(s, 0, (int)x.rank - 1));
    else if (strcmp(op, "Softmax") == 0) sweep_param(s, "axis=%u", sweep_chance(s, 80) ? x.rank - 1 : 0);
    else sweep_add(s->in, " g[%u]!{0.5,1.5} b[%u]!{-1,1}", c, c);
    if (strcmp(op, "InstanceNorm") == 0) sweep_param(s, "epsilon=0.00001");
    if (strcmp(op, "GroupNorm") == 0) sweep_param(s, "epsilon=0.00001 group=%u", group);
}

static void sweep_move(ops_sweep *s)
{
    char word[48];
    const char *op = sweep_word(s,
        "Reshape Transpose Transpose Concat Concat Split StridedSlice StridedSlice Tile Pad Pad Pack UnPack", word);
    sweep_shape x = sweep_draw(s, 1, 5), y = x;
    uint32_t axis = (uint32_t)sweep_pick(s, 0, (int)x.rank - 1), i, k;
    static const char *const names[] = { "x", "y", "z", "u" };
    strcpy(s->op, op);
    strcpy(s->types, strcmp(op, "Pad") == 0 ? "f32 f16" : "f32 f16 i32");
    strcpy(s->tolerance, "exact");
    if (strcmp(op, "Reshape") == 0) {
        uint32_t count = sweep_count(&x);
        y.rank = (uint32_t)sweep_pick(s, 1, 5);
        for (i = 0; i + 1 < y.rank; ++i) {
            do k = (uint32_t)sweep_pick(s, 1, 12); while (count % k != 0);
            y.dims[i] = k;
            count /= k;
        }
        y.dims[y.rank - 1] = count;
    } else if (strcmp(op, "Transpose") == 0) {
        uint32_t perm[RANK];
        for (i = 0; i < x.rank; ++i) perm[i] = i;
        for (i = x.rank; i > 1; --i) {
            uint32_t old = perm[i - 1];
            k = (uint32_t)sweep_pick(s, 0, (int)i - 1);
            perm[i - 1] = perm[k];
            perm[k] = old;
        }
        sweep_add(s->params, "perm=[");
        for (i = 0; i < x.rank; ++i) {
            y.dims[i] = x.dims[perm[i]];
            sweep_add(s->params, "%s%u", i > 0 ? "," : "", (unsigned)perm[i]);
        }
        sweep_add(s->params, "]");
    } else if (strcmp(op, "Concat") == 0) {
        uint32_t parts = (uint32_t)sweep_pick(s, 1, 4);
        y.dims[axis] = 0;
        for (k = 0; k < parts; ++k) {
            x.dims[axis] = sweep_size(s);
            while (sweep_count(&x) > 1000 && x.dims[axis] > 1) x.dims[axis] = (x.dims[axis] + 1) / 2;
            y.dims[axis] += x.dims[axis];
            sweep_tensor(s->in, names[k], &x, k > 0 && sweep_chance(s, 20) ? "!" : "");
        }
        sweep_add(s->params, "axis=%u", (unsigned)axis);
        sweep_tensor(s->out, "out", &y, "");
        return;
    } else if (strcmp(op, "Split") == 0) {
        uint32_t parts = (uint32_t)sweep_pick(s, 2, 4), total = 0;
        sweep_add(s->params, "axis=%u split_index=[", (unsigned)axis);
        for (k = 0; k < parts; ++k) {
            y.dims[axis] = (uint32_t)sweep_pick(s, 1, 9);
            total += y.dims[axis];
            sweep_tensor(s->out, names[k], &y, "");
            if (k + 1 < parts) sweep_add(s->params, "%s%u", k > 0 ? "," : "", (unsigned)total);
        }
        x.dims[axis] = total;
        sweep_tensor(s->in, "in", &x, "");
        sweep_add(s->params, "]");
        return;
    } else if (strcmp(op, "StridedSlice") == 0) {
        sweep_add(s->params, "ranges=i[");
        for (i = 0; i < x.rank; ++i) {
            int begin = 0, end = (int)x.dims[i], step = 1;
            if (sweep_chance(s, 60)) {
                begin = sweep_pick(s, 0, end - 1);
                end = sweep_pick(s, begin + 1, end);
                if (sweep_chance(s, 40)) step = sweep_pick(s, 2, 3);
            }
            y.dims[i] = (uint32_t)((end - begin + step - 1) / step);
            sweep_add(s->params, "%s%d,%d,%d", i > 0 ? ";" : "", begin, end, step);
        }
        if (x.rank == 1) { s->params[0] = '\0'; *s->in = '\0'; sweep_move(s); return; }
        sweep_add(s->params, "]");
    } else if (strcmp(op, "Tile") == 0) {
        sweep_add(s->params, "multiples=[");
        for (i = 0; i < x.rank; ++i) {
            k = sweep_chance(s, 60) ? 1 : (uint32_t)sweep_pick(s, 2, 4);
            while (sweep_count(&y) * k > SWEEP_ELEMENTS && k > 1) --k;
            y.dims[i] *= k;
            sweep_add(s->params, "%s%u", i > 0 ? "," : "", (unsigned)k);
        }
        sweep_add(s->params, "]");
    } else if (strcmp(op, "Pad") == 0) {
        int scheme = sweep_pick(s, 0, 3);
        if (x.rank == 1) { *s->in = '\0'; sweep_move(s); return; }
        sweep_add(s->params, "scheme=%d pad_amount=[", scheme);
        for (i = 0; i < x.rank; ++i) {
            uint32_t most = scheme == 0 || scheme == 3 ? 3 : x.dims[i] - (scheme == 2);
            uint32_t before = sweep_chance(s, 50) ? 0 : (uint32_t)sweep_pick(s, 0, (int)(most < 3 ? most : 3));
            uint32_t after = sweep_chance(s, 50) ? 0 : (uint32_t)sweep_pick(s, 0, (int)(most < 3 ? most : 3));
            y.dims[i] += before + after;
            sweep_add(s->params, "%s%u,%u", i > 0 ? ";" : "", (unsigned)before, (unsigned)after);
        }
        sweep_add(s->params, "]");
        if (scheme == 0 && sweep_chance(s, 50)) sweep_param(s, "pad_constant_value=1.5");
    } else if (strcmp(op, "Pack") == 0) {
        uint32_t parts = (uint32_t)sweep_pick(s, 1, 4);
        if (x.rank == 5) x.rank = 4;
        if (axis > x.rank) axis = x.rank;
        for (k = 0; k < parts; ++k) sweep_tensor(s->in, names[k], &x, "");
        for (y = x, i = y.rank++; i > axis; --i) y.dims[i] = y.dims[i - 1];
        y.dims[axis] = parts;
        while (sweep_count(&y) > 4096) { *s->in = '\0'; sweep_move(s); return; }
        sweep_tensor(s->out, "out", &y, "");
        sweep_add(s->params, "axis=%u", (unsigned)axis);
        return;
    } else {
        uint32_t parts = (uint32_t)sweep_pick(s, 1, 4);
        if (x.rank == 1) { *s->in = '\0'; sweep_move(s); return; }
        x.dims[axis] = parts;
        for (y = x, i = axis; i + 1 < y.rank; ++i) y.dims[i] = y.dims[i + 1];
        --y.rank;
        for (k = 0; k < parts; ++k) sweep_tensor(s->out, names[k], &y, "");
        sweep_tensor(s->in, "in", &x, "");
        sweep_add(s->params, "axis=%u", (unsigned)axis);
        return;
    }
    sweep_tensor(s->in, "x", &x, "");
    sweep_tensor(s->out, "y", &y, "");
}

static void sweep_gather(ops_sweep *s)
{
    char word[48], more[64];
    const char *op = sweep_word(s, "Gather Gather Gather GatherNd GatherElements ScatterNd ScatterNd", word);
    sweep_shape x = sweep_draw(s, 1, 4), i, y;
    uint32_t axis, k, n = 0;
    memset(&y, 0, sizeof y);
    strcpy(s->op, op);
    strcpy(s->types, "f32 f16 i32");
    strcpy(s->tolerance, "exact");
    if (strcmp(op, "Gather") == 0) {
        axis = sweep_chance(s, 35) ? 0 : (uint32_t)sweep_pick(s, 0, (int)x.rank - 1);
        do i = sweep_draw(s, 1, 2);
            while (sweep_count(&i) > 24 || sweep_count(&x) / x.dims[axis] * sweep_count(&i) > 4096);
        for (k = 0; k < axis; ++k) y.dims[n++] = x.dims[k];
        for (k = 0; k < i.rank; ++k) y.dims[n++] = i.dims[k];
        for (k = axis + 1; k < x.rank; ++k) y.dims[n++] = x.dims[k];
        snprintf(more, sizeof more, ":i32{0,%u}%s", (unsigned)x.dims[axis] - 1, sweep_chance(s, 40) ? "!" : "");
        sweep_tensor(s->in, "x", &x, sweep_chance(s, 40) && more[strlen(more) - 1] != '!' ? "!" : "");
        sweep_tensor(s->in, "i", &i, more);
        sweep_param(s, "axis=i%u", (unsigned)axis);
    } else if (strcmp(op, "GatherElements") == 0) {
        axis = (uint32_t)sweep_pick(s, 0, (int)x.rank - 1);
        i = x;
        i.dims[axis] = (uint32_t)sweep_pick(s, 1, 6);
        snprintf(more, sizeof more, ":i32{0,%u}", (unsigned)x.dims[axis] - 1);
        y = i;
        n = i.rank;
        sweep_tensor(s->in, "x", &x, "");
        sweep_tensor(s->in, "i", &i, more);
        sweep_param(s, "axis=%u", (unsigned)axis);
    } else {
        uint32_t depth = (uint32_t)sweep_pick(s, 1, (int)x.rank), least = 4096;
        int scatter = strcmp(op, "ScatterNd") == 0;
        for (k = 0; k < depth; ++k) if (x.dims[k] < least) least = x.dims[k];
        i.rank = 2;
        i.dims[0] = (uint32_t)sweep_pick(s, 1, 4);
        i.dims[1] = depth;
        y.dims[n++] = i.dims[0];
        for (k = depth; k < x.rank; ++k) y.dims[n++] = x.dims[k];
        snprintf(more, sizeof more, ":i32{0,%u}", (unsigned)least - 1);
        y.rank = n;
        sweep_tensor(s->in, "x", &x, "");
        if (scatter) {                                   /* rows must differ: one row, or the numbers in a row */
            if (i.dims[0] > least) y.dims[0] = i.dims[0] = 1;
            if (depth == 1 && i.dims[0] > 1) {
                snprintf(more, sizeof more, ":i32=(");
                for (k = 0; k < i.dims[0]; ++k) snprintf(more + strlen(more), 8, "%s%u", k > 0 ? "," : "",
                    (unsigned)(least - 1 - k));
                snprintf(more + strlen(more), 4, ")");
            } else y.dims[0] = i.dims[0] = 1;
        }
        sweep_tensor(s->in, "i", &i, more);
        if (scatter) {
            sweep_tensor(s->in, "u", &y, "");
            sweep_tensor(s->out, "y", &x, "");
            return;
        }
        if (sweep_count(&y) == 0) die("sweep");
        sweep_param(s, "batch_dims=0");
    }
    y.rank = n;
    sweep_tensor(s->out, "y", &y, "");
}

static void sweep_reduce(ops_sweep *s)
{
    char word[48];
    const char *op = sweep_word(s,
        "ReduceMean ReduceMean ReduceSum ReduceMax ReduceMin Argmax Argmin TopK CumulativeSum", word);
    sweep_shape x = sweep_draw(s, 1, 5), y = x;
    uint32_t axis = (uint32_t)sweep_pick(s, 0, (int)x.rank - 1), i, n = 0;
    int keep = sweep_chance(s, 50), first = 1;
    strcpy(s->op, op);
    strcpy(s->types, strcmp(op, "ReduceMean") == 0 ? "f32 f16" : "f32 f16 i32");
    if (strcmp(op, "TopK") == 0) {
        uint32_t k = (uint32_t)sweep_pick(s, 1, (int)x.dims[x.rank - 1] < 9 ? (int)x.dims[x.rank - 1] : 9);
        strcpy(s->tolerance, "exact");
        y.dims[x.rank - 1] = k;
        sweep_tensor(s->in, "x", &x, "{-1500,1500}#");
        sweep_tensor(s->out, "y", &y, "");
        sweep_tensor(s->out, "i", &y, ":i32");
        sweep_param(s, "k=%u", (unsigned)k);
        return;
    }
    if (strcmp(op, "CumulativeSum") == 0) {
        sweep_tensor(s->in, "x", &x, "");
        sweep_tensor(s->out, "y", &x, "");
        sweep_param(s, "axis=%u exclusive=%s reverse=%s", (unsigned)axis, sweep_chance(s, 30) ? "true" : "false",
                    sweep_chance(s, 30) ? "true" : "false");
        return;
    }
    if (strncmp(op, "Arg", 3) == 0) {
        y.dims[axis] = 1;
        if (!keep && x.rank > 1) for (i = axis, --y.rank; i < y.rank; ++i) y.dims[i] = x.dims[i + 1];
        else keep = 1;
        sweep_tensor(s->in, "x", &x, "{-1500,1500}#");
        sweep_tensor(s->out, "y", &y, ":i32");
        sweep_param(s, "axis=%u keep_dims=%s", (unsigned)axis, keep ? "true" : "false");
        return;
    }
    sweep_add(s->params, "axes=[");
    for (i = 0; i < x.rank; ++i) {
        if (i == axis || sweep_chance(s, 30)) {
            sweep_add(s->params, "%s%u", first ? "" : ",", (unsigned)i);
            first = 0;
            if (keep) y.dims[n++] = 1;
        } else y.dims[n++] = x.dims[i];
    }
    sweep_add(s->params, "]");
    y.rank = n;
    if (n == 0) { y.rank = y.dims[0] = 1; }
    sweep_param(s, "keep_dims=%s", keep ? "true" : "false");
    sweep_tensor(s->in, "x", &x, "");
    sweep_tensor(s->out, "y", &y, "");
}

static void sweep_cast(ops_sweep *s)
{
    sweep_shape x = sweep_draw(s, 1, 5);
    static const char *const to[] = { ":f32", ":f16", ":i32", ":b8", ":u32" };
    int k = sweep_pick(s, 0, 4);
    strcpy(s->op, "Cast");
    sweep_word(s, "f32 f16 i32 b8", s->types);
    strcpy(s->tolerance, k == 1 ? "f32:1e-3 f16:1e-3" : "exact");
    sweep_tensor(s->in, "x", &x, k == 3 ? "=(0,1,1)" : k == 4 && *s->types != 'b' ? "{0,20}" : "");
    sweep_tensor(s->out, "y", &x, to[k]);
}

static void sweep_picture(ops_sweep *s)
{
    char word[48];
    const char *op = sweep_word(s, "ResizeBilinear ResizeBilinear ResizeNearestNeighbor DepthToSpace SpaceToDepth",
        word);
    uint32_t h = (uint32_t)sweep_pick(s, 1, 9), w = (uint32_t)sweep_pick(s, 1, 9), c = sweep_size(s),
        a = sweep_chance(s, 75) ? 1 : 2;
    while (h * w * c * a > 700) c = (c + 1) / 2;
    strcpy(s->op, op);
    strcpy(s->types, "f32 f16");
    if (strncmp(op, "Resize", 6) == 0) {
        uint32_t oh = (uint32_t)sweep_pick(s, 1, 18), ow = (uint32_t)sweep_pick(s, 1, 18);
        int mode = sweep_pick(s, 0, 2);
        if (sweep_chance(s, 50)) { oh = 2 * h; ow = 2 * w; }
        while (oh * ow * c * a > 4096) { oh = (oh + 1) / 2; ow = (ow + 1) / 2; }
        sweep_add(s->in, "x[%u,%u,%u,%u]", a, h, w, c);
        sweep_add(s->out, "y[%u,%u,%u,%u]", a, oh, ow, c);
        if (mode == 1) sweep_param(s, "align_corners=true");
        if (mode == 2) sweep_param(s, "half_pixel_centers=true");
        if (op[6] == 'N') strcpy(s->tolerance, "exact");
    } else {
        int block = sweep_pick(s, 2, 3), mode = sweep_pick(s, 0, 1);
        uint32_t b = (uint32_t)block;
        strcpy(s->tolerance, "exact");
        if (*op == 'D') { c = (c + 3) / 4; sweep_add(s->in, "x[%u,%u,%u,%u]", a, h, w, c * b * b); sweep_add(s->out,
            "y[%u,%u,%u,%u]", a, h * b, w * b, c); }
        else { c = (c + 3) / 4; sweep_add(s->in, "x[%u,%u,%u,%u]", a, h * b, w * b, c); sweep_add(s->out,
            "y[%u,%u,%u,%u]", a, h, w, c * b * b); }
        sweep_param(s, "block_size=[%d,%d] mode=%d", block, block, mode);
    }
}

typedef void (*sweep_family)(ops_sweep *s);
static const struct { const char *name; sweep_family draw; } sweep_families[] = {
    { "unary", sweep_unary }, { "binary", sweep_binary }, { "select", sweep_select }, { "matmul", sweep_matmul },
    { "fc", sweep_fc }, { "conv", sweep_conv }, { "pool", sweep_pool }, { "norm", sweep_norm }, { "move",
        sweep_move },
    { "gather", sweep_gather }, { "reduce", sweep_reduce }, { "cast", sweep_cast }, { "picture", sweep_picture }
};
enum { SWEEP_FAMILIES = sizeof sweep_families / sizeof sweep_families[0] };

/* Let a row of the table be what was drawn. */
static void sweep_row(const ops_sweep *s, ops_case *row)
{
    row->op = s->op;
    row->variant = s->variant;
    row->types = s->types;
    row->in = s->in;
    row->out = s->out;
    row->params = s->params;
    row->tolerance = s->tolerance;
}

/* Draw node `number` of a family. */
static void sweep_draw_case(ops_sweep *s, uint64_t seed, int family, unsigned number, ops_case *row)
{
    memset(s, 0, sizeof *s);
    s->state = seed * 1000003u + number * 7919u + (uint64_t)family;
    snprintf(s->variant, sizeof s->variant, "%s%u", sweep_families[family].name, number);
    sweep_families[family].draw(s);
    sweep_row(s, row);
}
