/* test_ir_kv.c - qnnrt_ir.h: caches that a graph updates become caches that it reads, and new rows

   Each graph is computed before and after qnnrt_ir_pass_kv_rows(): before, with caches of 6 rows of which some are
   overwritten; after, without those rows, and with the columns of masks in the new order. */
#include "counted.h"
#include "ir_lines.h"

enum { MOST = 4096, ENDS = 16, CELLS = 6 };

/* ---- old and new graphs beside each other ---- */

typedef struct ends {
    char    names[ENDS][64];
    float   data[ENDS][MOST];          /* int64 are stored behind each other in the same bytes */
    size_t  count;
} ends;

static uint32_t random_state = 1;

static float random_number(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) / 8388608.0f - 1.0f;
}

/* Copy `count` of the rows along a dimension. */
static void pick(const float *from, const qnnrt_ir_value *value, uint32_t axis, const int64_t *rows, size_t count,
                 int64_t all, float *to)
{
    size_t outer = 1, inner = 1, i, r;
    uint32_t d;
    for (d = 0; d < value->rank; ++d) {
        if (d < axis) outer *= (size_t)value->dims[d];
        if (d > axis) inner *= (size_t)value->dims[d];
    }
    for (i = 0; i < outer; ++i)
        for (r = 0; r < count; ++r, to += inner)
            memcpy(to, from + (i * (size_t)all + (size_t)rows[r]) * inner, inner * sizeof(*to));
}

static int run(qnnrt_ir *ir, ends *in, ends *out)
{
    const void *inputs[ENDS];
    void *outputs[ENDS];
    size_t i;
    for (i = 0; i < ir->input_count; ++i) inputs[i] = in->data[i];
    for (i = 0; i < ir->output_count; ++i) outputs[i] = out->data[i];
    if (qnnrt_ir_run(ir, NULL, inputs, outputs, &err) == QNNRT_OK) return 1;
    printf("    %s\n", err.text);
    return 0;
}

static int close_to(const float *got, const float *expected, uint64_t count, const char *name)
{
    uint64_t i;
    for (i = 0; i < count; ++i) {
        const float d = got[i] - expected[i];
        if (d < 1e-5f && d > -1e-5f) continue;
        printf("    %s[%lu] is %g, expected %g\n", name, (unsigned long)i, (double)got[i], (double)expected[i]);
        return 0;
    }
    return 1;
}

/* Fill inputs that the pass has made: positions, and a causal mask of past and new columns. */
static void fill_made(const qnnrt_ir *ir, const int64_t *at, size_t at_count, ends *in)
{
    size_t i, r, c;
    for (i = 0; i < ir->input_count; ++i) {
        if (strcmp(ir->inputs[i]->name, "position_ids") == 0) memcpy(in->data[i], at, at_count * sizeof(*at));
        if (strcmp(ir->inputs[i]->name, "attention_mask") != 0) continue;
        for (r = 0; r < at_count; ++r)
            for (c = 0; c < CELLS; ++c)
                in->data[i][r * CELLS + c] = (c < CELLS - at_count ? (int64_t)c < at[0] : c - (CELLS - at_count) <= r)
                                                 ? 0 : -10000.0f;
    }
}

/* True if the pass keeps what a graph computes. `at`: the rows that are written, as inputs of integers have them. Masks
   are named mask.., their last dimension has the columns. */
static int keeps(const char *lines, const int64_t *at, size_t at_count)
{
    static ends in, out, in_new, out_new;
    static float expected[MOST];
    static const float weight[27] = { 0.5f, 1, 2, -1, 0.25f, 3, -2, 1.5f, 1, 0.75f, -0.5f, 2, 1, 1, -3 };
    qnnrt_ir *old = graph(lines), *now = graph(lines);
    qnnrt_ir_kv_info info;
    int64_t order[CELLS];
    size_t i, k, n = 0;
    int good = old != NULL && now != NULL;
    for (i = 0; i < CELLS; ++i) {
        for (k = 0; k < at_count && at[k] != (int64_t)i;) ++k;
        if (k == at_count) order[n++] = (int64_t)i;
    }
    for (i = 0; i < at_count; ++i) order[n++] = at[i];
    good = good && qnnrt_ir_fold(now, 0, NULL, &err) == QNNRT_OK &&
        qnnrt_ir_pass_kv_rows(now, 0, &info, &err) == QNNRT_OK && sound(now);
    if (!good) printf("    %s\n", err.text);
    if (good && (info.written != 1 || info.ar != at_count || info.context != CELLS)) {
        printf("    written %d, %u new, context %u\n", info.written, (unsigned)info.ar, (unsigned)info.context);
        good = 0;
    }
    for (i = 0; i < (good ? old->value_count : 0); ++i)
        if (old->values[i]->origin == QNNRT_IR_WEIGHT) old->values[i]->data = weight;
    for (i = 0; i < (good ? now->value_count : 0); ++i)
        if (now->values[i]->origin == QNNRT_IR_WEIGHT) now->values[i]->data = weight;
    for (i = 0; i < (good ? old->input_count : 0); ++i) {
        const qnnrt_ir_value *x = old->inputs[i], *y = NULL;
        uint32_t d;
        for (k = 0; k < x->count; ++k) in.data[i][k] = random_number();
        if (x->dtype == QNNRT_DTYPE_I64) memcpy(in.data[i], at, at_count * sizeof(*at));
        for (k = 0; k < now->input_count; ++k) {
            y = now->inputs[k];
            if (strcmp(y->name, x->name) == 0) break;
        }
        if (k == now->input_count) continue;
        for (d = 0; d < x->rank && x->dims[d] == y->dims[d];) ++d;
        if (d < x->rank)
            pick(in.data[i], x, d, order, CELLS - at_count, CELLS, in_new.data[k]);
        else if (strncmp(x->name, "mask", 4) == 0 && x->dtype == QNNRT_DTYPE_F32)
            pick(in.data[i], x, x->rank - 1, order, CELLS, CELLS, in_new.data[k]);
        else
            memcpy(in_new.data[k], in.data[i], sizeof(in.data[i]));
    }
    if (good) fill_made(now, at, at_count, &in_new);
    good = good && run(old, &in, &out) && run(now, &in_new, &out_new);
    for (i = 0; i < (good ? old->output_count : 0) && good; ++i) {
        const qnnrt_ir_value *x = old->outputs[i], *y = now->outputs[i];
        uint32_t d;
        for (d = 0; d < x->rank && x->dims[d] == y->dims[d];) ++d;
        if (d < x->rank) pick(out.data[i], x, d, at, at_count, CELLS, expected);
        else memcpy(expected, out.data[i], sizeof(expected));
        good = close_to(out_new.data[i], expected, y->count, y->name);
    }
    qnnrt_ir_free(old);
    qnnrt_ir_free(now);
    return good;
}

/* True if the pass refuses a graph, names these two, and changes nothing. */
static int refuses(const char *lines, const char *first, const char *second)
{
    qnnrt_ir *ir = graph(lines), *before = graph(lines);
    static char text[4000];
    qnnrt_ir_kv_info info;
    int good = ir != NULL && before != NULL && qnnrt_ir_fold(before, 0, NULL, &err) == QNNRT_OK &&
        qnnrt_ir_fold(ir, 0, NULL, &err) == QNNRT_OK;
    if (good) {
        strcpy(text, show(before));
        TEST_JUNK(err);
        good = qnnrt_ir_pass_kv_rows(ir, 1, &info, &err) == QNNRT_E_UNSUPPORTED && err.code == QNNRT_E_UNSUPPORTED;
        if (!good) printf("    is not refused\n");
        if (good && (strstr(err.text, first) == NULL || strstr(err.text, second) == NULL)) {
            printf("    %s\n", err.text);
            good = 0;
        }
        good = good && same(show(ir), text) && ir->input_count == before->input_count && info.caches == 0;
    }
    qnnrt_ir_free(ir);
    qnnrt_ir_free(before);
    return good;
}

/* ---- graphs ---- */

/* 4 heads of queries and 2 of caches, 3 numbers each; 2 new rows into 6. */
#define INPUTS "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin mask 1,1,2,6\nin at:int64 2\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
#define WRITES "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv at v {'dim': -2}\n"
#define WIDEN(x, y) \
    "u" y " 1,2,1,6,3 = unsqueeze.default " x " {'dim': 2}\ne" y " 1,2,2,6,3 = expand.default u" y \
    " {'size': [1, 2, 2, 6, 3]}\nr" y " 1,4,6,3 = reshape.default e" y " {'shape': [1, 4, 6, 3]}\n"
#define WIDE WIDEN("ck", "k") WIDEN("cv", "v")
#define SCORES "t 1,4,3,6 = transpose.int rk {'dim0': 2, 'dim1': 3}\ns 1,4,2,6 = matmul.default q t\n" \
    "m 1,4,2,6 = mul.Tensor s {'other': 0.5}\n"
#define SUM "f 1,4,2,6 = softmax.int a {'dim': -1}\ny 1,4,2,3 = matmul.default f rv\n"
#define OUTPUTS "out y\nout ck\nout cv\n"
#define ALONG "{'_tensor_list_sizes': [1], '_tensor_list_none_masks': [[true, true, false]]}\n"
#define EAGER INPUTS WRITES WIDE SCORES "a 1,4,2,6 = add.Tensor m mask\n" SUM OUTPUTS
#define ATTEND(mask) "y 1,4,2,3 = scaled_dot_product_attention.default q ck cv " mask " {'enable_gqa': true}\n"

static const int64_t at_begin[] = { 0, 1 }, at_middle[] = { 2, 3 }, at_end[] = { 4, 5 }, at_turned[] = { 5, 1 };
static const int64_t one_at[] = { 3 };

TEST(ir_kv_rows_keeps_the_numbers)
{
    static const char *const graphs[] = {
        EAGER,
        INPUTS WRITES ATTEND("mask") OUTPUTS,
        /* The mask is a product of views and of elements in its columns. */
        "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin mask 2,6\nin at:int64 2\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
        "level 1,1,1,6 = full.default {'size': [1, 1, 1, 6], 'fill_value': 0.5}\n"
        "mu 1,2,6 = unsqueeze.default mask {'dim': 0}\nmv 1,1,2,6 = view.default mu {'size': [1, 1, 2, 6]}\n"
        "ms 1,1,6,2 = transpose.int mv {'dim0': 2, 'dim1': 3}\nmt 1,1,2,6 = permute.default ms {'dims': [0, 1, 3, 2]}\n"
        "mm 1,1,2,6 = mul.Tensor mt level\nme 1,4,2,6 = expand.default mm {'size': [1, 4, 2, 6]}\n"
        WRITES WIDE SCORES "a 1,4,2,6 = add.Tensor m me\n" SUM OUTPUTS,
        /* One form of softmax in parts, keys as rows of the scores, scores that are bent. */
        INPUTS WRITES WIDE "qt 1,4,3,2 = transpose.int q {'dim0': 2, 'dim1': 3}\nst 1,4,6,2 = matmul.default rk qt\n"
        "s 1,4,2,6 = transpose.int st {'dim0': -1, 'dim1': -2}\nb 1,4,2,6 = tanh.default s\n"
        "a 1,4,2,6 = add.Tensor b mask\ntop 1,4,2,1 = amax.default a {'dim': [-1], 'keepdim': true}\n"
        "d 1,4,2,6 = sub.Tensor a top\ne 1,4,2,6 = exp.default d\nsum 1,4,2,1 = sum.dim_IntList e {'dim': [3], 'keepdim': true}\n"
        "f 1,4,2,6 = div.Tensor e sum\ny 1,4,2,3 = matmul.default f rv\n" OUTPUTS,
        /* Caches that are overwritten, as StaticCache does; the copy of an output. */
        INPUTS "ck 1,2,6,3 = index_copy_.default pk at k {'dim': 2}\ncv 1,2,6,3 = index_copy_.default pv at v {'dim': 2}\n"
        ATTEND("mask") OUTPUTS,
        /* What writes rows in other words: cache[:, :, at] = k, with and without a view of k, and scatter. */
        INPUTS "kr 2,2,3 = view.default k {'size': [2, 2, 3]}\nck 1,2,6,3 = index_put_.default pk at kr " ALONG
        "cv 1,2,6,3 = index_put.default pv at v " ALONG ATTEND("mask") OUTPUTS,
        INPUTS "iv:int64 1,1,2,1 = view.default at {'size': [1, 1, -1, 1]}\nik:int64 1,2,2,3 = expand.default iv {'size': [1, 2, 2, 3]}\n"
        "ck 1,2,6,3 = scatter.src pk ik k {'dim': 2}\nu:int64 1,2 = unsqueeze.default at {'dim': 0}\n"
        "w:int64 1,2,1 = unsqueeze.default u {'dim': 2}\niw:int64 1,2,2,3 = expand_as.default w v\n"
        "cv 1,2,6,3 = scatter_.src pv iw v {'dim': -2}\n" ATTEND("mask") OUTPUTS,
        /* Without a mask; cells before heads; the place is computed from another input. */
        "in q 1,2,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin first:int64 2\nin pk 1,6,2,3\nin pv 1,6,2,3\n"
        "at:int64 2 = add.Tensor first {'other': 0}\nat2:int64 2 = add.Tensor first {'other': 0}\n"
        "ck 1,6,2,3 = index_copy.default pk at k {'dim': 1}\ncv 1,6,2,3 = index_copy.default pv at2 v {'dim': 1}\n"
        "tk 1,2,6,3 = transpose.int ck {'dim0': 1, 'dim1': 2}\ntv 1,2,6,3 = transpose.int cv {'dim0': 1, 'dim1': 2}\n"
        "y 1,2,2,3 = scaled_dot_product_attention.default q tk tv\n" OUTPUTS,
        /* Keys are stored transposed, and narrower than the new ones. */
        "in q 1,2,2,3\nin k 1,2,3,2\nin v 1,2,2,3\nin mask 2,6\nin at:int64 2\nin pk 1,2,3,6\nin pv 1,2,6,3\n"
        "ck 1,2,3,6 = index_copy.default pk at k {'dim': 3}\ncv 1,2,6,3 = index_copy.default pv at v {'dim': 2}\n"
        "s 1,2,2,6 = matmul.default q ck\na 1,2,2,6 = add.Tensor s mask\nf 1,2,2,6 = softmax.int a {'dim': 3}\n"
        "y 1,2,2,3 = matmul.default f cv\n" OUTPUTS,
    };
    size_t i;
    for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); ++i) {
        const int good = keeps(graphs[i], at_begin, 2) && keeps(graphs[i], at_middle, 2) && keeps(graphs[i], at_end, 2) &&
            keeps(graphs[i], at_turned, 2);
        if (!good) printf("    graph %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

/* slice_scatter says where the rows go as a number: caches of a prefill that begins at row 2. */
TEST(ir_kv_rows_takes_slices_at_constant_places)
{
    static const char lines[] =
        "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin mask 1,1,2,6\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
        "ck 1,2,6,3 = slice_scatter.default pk k {'dim': 2, 'start': 2, 'end': 4}\n"
        "cv 1,2,6,3 = slice_scatter.default pv v {'dim': -2, 'start': -4, 'end': 4}\n" ATTEND("mask") OUTPUTS;
    CHECK(keeps(lines, at_middle, 2));
}

/* Writes that are no rows at one place for all heads. */
TEST(ir_kv_rows_refuses_other_writes)
{
    static const struct { const char *lines, *first; } cases[] = {
        { INPUTS "h:int64 2 = arange.default {'end': 2}\nk2 1,2,3 = select.int k {'dim': 2, 'index': 0}\n"
          "ck 1,2,6,3 = index_put.default pk h at k2 {'_tensor_list_sizes': [2], '_tensor_list_none_masks': [[true, false, false]]}\n"
          "cv 1,2,6,3 = index_copy.default pv at v {'dim': 2}\n" ATTEND("mask") OUTPUTS, "\"ck\" (index_put.default)" },
        { INPUTS "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\n"
          "cv 1,2,6,3 = slice_scatter.default pv v {'dim': 2, 'start': 0, 'end': 3, 'step': 2}\n" ATTEND("mask") OUTPUTS,
          "\"cv\" (slice_scatter.default)" },
        { "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin mask 1,1,2,6\nin at:int64 1,2,2,3\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
          "ck 1,2,6,3 = scatter.src pk at k {'dim': 2}\ncv 1,2,6,3 = scatter.src pv at v {'dim': 2}\n" ATTEND("mask") OUTPUTS,
          "\"ck\" (scatter.src)" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const int good = refuses(cases[i].lines, cases[i].first, "writes other parts of a cache than rows");
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

/* Positions, places and masks that follow from the first position, as in exports of transformers' StaticCache. */
#define FIRST "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin first:int64 -\nin pk 1,2,6,3\nin pv 1,2,6,3\n" \
    "weight w 9,3\nn:int64 2 = arange.default {'end': 2}\np0:int64 - = add.Tensor first {'other': 0}\n" \
    "p1:int64 - = add.Tensor first {'other': 0}\nat:int64 2 = add.Tensor n p0\nat1:int64 2 = add.Tensor n p1\n"
#define CAUSAL "row:int64 2,1 = unsqueeze.default at {'dim': 1}\nall:int64 6 = arange.default {'end': 6}\n" \
    "see:bool 2,6 = le.Tensor all row\n"
#define STORE "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv at1 v {'dim': 2}\n"
#define ZERO "zero - = full.default {'size': [], 'fill_value': 0.0}\nmw 2,6 = where.ScalarOther see zero {'other': -3e38}\n"

TEST(ir_kv_rows_makes_inputs_of_positions_and_masks)
{
    static const char *const graphs[] = {
        FIRST CAUSAL ZERO "me 1,1,2,6 = expand.default mw {'size': [1, 1, 2, 6]}\n" STORE WIDE SCORES
        "a 1,4,2,6 = add.Tensor m me\n" SUM OUTPUTS,
        FIRST CAUSAL STORE ATTEND("see") OUTPUTS,
        /* Attention reads a mask of booleans that also makes one of numbers. */
        FIRST CAUSAL ZERO STORE ATTEND("see") "y2 1,4,2,3 = scaled_dot_product_attention.default q ck cv mw {'enable_gqa': true}\n"
        OUTPUTS "out y2\n",
        /* The places are an input, which also makes the mask; the new places reach a table of angles. */
        "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin at:int64 2\nin pk 1,2,6,3\nin pv 1,2,6,3\n" CAUSAL ZERO WRITES
        ATTEND("mw") OUTPUTS,
        FIRST CAUSAL ZERO "cos 2,3 = embedding.default w at\nq2 1,4,2,3 = mul.Tensor q cos\n" STORE
        "y 1,4,2,3 = scaled_dot_product_attention.default q2 ck cv mw {'enable_gqa': true}\n" OUTPUTS,
    };
    static const int64_t *const places[] = { at_begin, at_middle, at_end };
    qnnrt_ir *ir;
    size_t i, k, made = 0;
    for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); ++i)
        for (k = 0; k < 3; ++k) {
            const int good = keeps(graphs[i], places[k], 2);
            if (!good) printf("    graph %lu at %lu\n", (unsigned long)i, (unsigned long)k);
            CHECK(good);
        }
    ir = graph(graphs[4]);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 1, NULL, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK_EQ(ir->input_count, 7);
    for (i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *x = ir->inputs[i];
        CHECK(strcmp(x->name, "first") != 0 && strcmp(x->name, "input_ids") != 0);
        made += strcmp(x->name, "attention_mask") == 0 || strcmp(x->name, "position_ids") == 0;
        if (strcmp(x->name, "attention_mask") == 0)
            CHECK(x->rank == 4 && x->dims[2] == 2 && x->dims[3] == 6 && x->dtype == QNNRT_DTYPE_F32);
        if (strcmp(x->name, "position_ids") == 0) CHECK(x->rank == 2 && x->dims[1] == 2 && x->dtype == QNNRT_DTYPE_I64);
    }
    CHECK_EQ(made, 2);
    qnnrt_ir_free(ir);
}

/* What looks like a causal mask, and is none; a first position that is read in other ways. */
TEST(ir_kv_rows_refuses_other_masks_and_positions)
{
    static const struct { const char *lines, *first, *second; } cases[] = {
        /* A window of 3 tokens; the token itself is not seen; a mask of booleans that makes numbers. */
        { FIRST CAUSAL ZERO "low:int64 2,1 = sub.Tensor row {'other': 3}\nnear:bool 2,6 = gt.Tensor all low\n"
          "both:bool 2,6 = __and__.Tensor see near\nmm 2,6 = where.ScalarOther both zero {'other': -3e38}\n" STORE
          ATTEND("mm") OUTPUTS, "of a cache", "" },
        { FIRST "row:int64 2,1 = unsqueeze.default at {'dim': 1}\nall:int64 6 = arange.default {'end': 6}\n"
          "see:bool 2,6 = lt.Tensor all row\n" STORE ATTEND("see") OUTPUTS, "of a cache", "" },
        { FIRST CAUSAL STORE WIDE SCORES "a 1,4,2,6 = where.ScalarOther see m {'other': -10000.0}\n" SUM OUTPUTS,
          "of a cache", "" },
        { FIRST CAUSAL "zero - = full.default {'size': [], 'fill_value': 0.0}\n"
          "mw 2,6 = where.ScalarOther see zero {'other': -1.0}\n" STORE ATTEND("mw") OUTPUTS, "of a cache", "" },
        { FIRST CAUSAL ZERO "f 2 = to.dtype at {'dtype': 'torch.float32'}\none - = to.dtype first {'dtype': 'torch.float32'}\n"
          "q2 1,4,2,3 = mul.Tensor q one\n" STORE
          "y 1,4,2,3 = scaled_dot_product_attention.default q2 ck cv mw {'enable_gqa': true}\n" OUTPUTS,
          "\"q2\" (mul.Tensor)", "reads the first position" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const int good = refuses(cases[i].lines, cases[i].first, cases[i].second);
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

/* One token: a place that rotary embedding reads as its position stays. */
TEST(ir_kv_rows_keeps_inputs_that_others_read)
{
    static const char lines[] =
        "in q 1,2,1,3\nin k 1,2,1,3\nin v 1,2,1,3\nin mask 1,6\nin at:int64 1\nin idle 2\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
        "weight w 9,3\nr 1,3 = embedding.default w at\nqr 1,2,1,3 = mul.Tensor q r\n"
        "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv at v {'dim': 2}\n"
        "y 1,2,1,3 = scaled_dot_product_attention.default qr ck cv mask\n" OUTPUTS;
    qnnrt_ir *ir = graph(lines);
    qnnrt_ir_kv_info info;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 1, &info, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK_EQ(ir->input_count, 8);
    CHECK(info.caches == 2 && info.ar == 1 && info.context == 6 && info.written == 1);
    CHECK(same(show(ir), "r=embedding.default(w,position_ids) qr=mul.Tensor(q,r) ck_1=cat.default(past_key_0_in,"
               "past_key_0_out) cv_1=cat.default(past_value_0_in,past_value_0_out) "
               "logits=scaled_dot_product_attention.default(qr,ck_1,cv_1,attention_mask) -> logits past_key_0_out "
               "past_value_0_out"));
    CHECK(ir->inputs[6]->dims[2] == 5 && ir->inputs[6]->count == 30);
    qnnrt_ir_free(ir);
    /* The place vanishes; an input that nothing has read stays. */
    ir = graph(EAGER "in idle 3\n");
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 0, NULL, &err), QNNRT_OK);
    CHECK_EQ(ir->input_count, 7);
    CHECK(strcmp(ir->inputs[3]->name, "mask") == 0 && strcmp(ir->inputs[4]->name, "pk") == 0 &&
          strcmp(ir->inputs[6]->name, "idle") == 0);
    CHECK_EQ(removed(ir, "index_copy.default"), 2);
    CHECK_STR(ir->removed[0]->mapping, "past and new rows");
    qnnrt_ir_free(ir);
    CHECK(keeps("in q 1,2,1,3\nin k 1,2,1,3\nin v 1,2,1,3\nin mask 1,6\nin at:int64 1\nin pk 1,2,6,3\nin pv 1,2,6,3\n"
                "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv at v {'dim': 2}\n"
                "y 1,2,1,3 = scaled_dot_product_attention.default q ck cv mask\n" OUTPUTS, one_at, 1));
}

/* Rows of a narrower type are converted; a cache as long as the new rows vanishes. */
TEST(ir_kv_rows_converts_and_drops)
{
    qnnrt_ir *ir = graph("in q 1,2,6,3\nin k:bfloat16 1,2,6,3\nin v 1,2,6,3\nin mask 6,6\nin at:int64 6\nin pk 1,2,6,3\n"
                         "in pv 1,2,6,3\nnk 1,2,6,3 = to.dtype k {'dtype': 'torch.float32'}\n"
                         "ck 1,2,6,3 = index_copy.default pk at nk {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv at v "
                         "{'dim': 2}\ny 1,2,6,3 = scaled_dot_product_attention.default q ck cv mask\n" OUTPUTS);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 1, NULL, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK_EQ(ir->input_count, 4);
    CHECK(same(show(ir), "past_key_0_out=to.dtype(k) logits=scaled_dot_product_attention.default(q,past_key_0_out,"
               "past_value_0_out,attention_mask) -> logits past_key_0_out past_value_0_out"));
    qnnrt_ir_free(ir);
}

/* Names follow the order of attention, not that of inputs; what has a name already gives it away. */
TEST(ir_kv_rows_names_ends_by_what_they_do)
{
    static const char step[] =
        "in b 1,2,4,3\nin ids:int64 1,2\nin logits 1,2,4,3\nin where:int64 1,2\nin c 1,2,4,3\nin d 1,2,4,3\nin m 1,1,2,6\n"
        "weight w 9,3\nweight p 20,3\nx 1,2,3 = embedding.default w ids\nz 1,2,3 = embedding.default p where\n"
        "h 1,2,3 = add.Tensor x z\nu 1,1,2,3 = unsqueeze.default h {'dim': 1}\n"
        "n1 1,2,2,3 = expand.default u {'size': [1, 2, 2, 3]}\n"
        "k1 1,2,6,3 = cat.default d n1 {'dim': 2}\nv1 1,2,6,3 = cat.default logits n1 {'dim': -2}\n"
        "y1 1,2,2,3 = scaled_dot_product_attention.default n1 k1 v1 m\n"
        "k2 1,2,6,3 = cat.default b y1 {'dim': 2}\nv2 1,2,6,3 = cat.default c y1 {'dim': 2}\n"
        "o1 1,2,2,3 = slice.Tensor k1 {'dim': 2, 'start': -2, 'end': 9223372036854775807}\n"
        "o2 1,2,2,3 = slice.Tensor v1 {'dim': 2, 'start': 4}\n"
        "o3 1,2,2,3 = slice.Tensor k2 {'dim': 2, 'start': -2}\no4 1,2,2,3 = slice.Tensor v2 {'dim': 2, 'start': -2}\n"
        "y2 1,2,2,3 = scaled_dot_product_attention.default y1 k2 v2 m\nout y2\nout o3\nout o4\nout o2\nout o1\n";
    qnnrt_ir *ir = graph(step);
    qnnrt_ir_kv_info info;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 1, &info, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK(info.caches == 4 && info.ar == 2 && info.context == 6 && info.written == 0);
    CHECK(strcmp(ir->inputs[0]->name, "past_key_1_in") == 0 && strcmp(ir->inputs[1]->name, "input_ids") == 0 &&
          strcmp(ir->inputs[2]->name, "past_value_0_in") == 0 && strcmp(ir->inputs[4]->name, "past_value_1_in") == 0 &&
          strcmp(ir->inputs[5]->name, "past_key_0_in") == 0 && strcmp(ir->inputs[6]->name, "attention_mask") == 0);
    CHECK(strcmp(ir->outputs[0]->name, "logits") == 0 && strcmp(ir->outputs[1]->name, "past_key_1_out") == 0 &&
          strcmp(ir->outputs[2]->name, "past_value_1_out") == 0 && strcmp(ir->outputs[3]->name, "past_value_0_out") == 0 &&
          strcmp(ir->outputs[4]->name, "past_key_0_out") == 0);
    qnnrt_ir_free(ir);
    /* Without names, such a graph stays as it is. */
    ir = graph(step);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 0, &info, &err), QNNRT_OK);
    CHECK(strcmp(ir->inputs[0]->name, "b") == 0 && info.caches == 4 && ir->removed_count == 0);
    qnnrt_ir_free(ir);
    /* A graph without caches. */
    ir = graph("in x 2,3\ny 2,3 = neg.default x\nout y");
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_kv_rows(ir, 1, &info, &err), QNNRT_OK);
    CHECK(info.caches == 0 && same(show(ir), "y=neg.default(x) -> y"));
    qnnrt_ir_free(ir);
}

TEST(ir_kv_rows_refuses_what_depends_on_the_order)
{
    static const struct { const char *lines, *first, *second; } cases[] = {
        { INPUTS WRITES ATTEND("mask") "out y\nout ck\n", "\"cv\" (index_copy.default) writes a cache that is no output",
          "\"pv\"" },
        { INPUTS WRITES "cp 1,2,6,3 = neg.default pk\n" ATTEND("mask") OUTPUTS "out cp\n", "\"ck\"", "not the only reader" },
        { INPUTS "in to:int64 2\nck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\n"
          "cv 1,2,6,3 = index_copy.default pv to v {'dim': 2}\n" ATTEND("mask") OUTPUTS, "\"cv\"", "at another place" },
        { INPUTS "to:int64 2 = add.Tensor at {'other': 1}\nt2:int64 2 = add.Tensor at {'other': 2}\n"
          "ck 1,2,6,3 = index_copy.default pk to k {'dim': 2}\ncv 1,2,6,3 = index_copy.default pv t2 v {'dim': 2}\n"
          ATTEND("mask") OUTPUTS, "\"cv\"", "at another place" },
        { "in q 1,4,2,3\nin k 1,2,2,3\nin v 1,2,2,3\nin at:int64 2\nin pk 1,2,6,3\nin pv 1,2,8,3\n" "ck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\n"
          "cv 1,2,8,3 = index_copy.default pv at v {'dim': 2}\nc6 1,2,6,3 = slice.Tensor cv {'dim': 2, 'end': 6}\n"
          "y 1,4,2,3 = scaled_dot_product_attention.default q ck c6 {'enable_gqa': true}\n" OUTPUTS, "\"cv\"", "other numbers" },
        { INPUTS WRITES "y 1,4,2,3 = scaled_dot_product_attention.default q ck cv {'enable_gqa': true, 'is_causal': true}\n"
          OUTPUTS, "\"y\"", "is_causal" },
        /* Masks that are computed in the graph, or constant. */
        { INPUTS WRITES WIDE SCORES "places:int64 6 = arange.default {'end': 6}\nrow:int64 2,1 = unsqueeze.default at {'dim': 1}\n"
          "no:bool 2,6 = gt.Tensor places row\na 1,4,2,6 = masked_fill.Scalar m no {'value': -10000.0}\n" SUM OUTPUTS,
          "\"no\" (gt.Tensor)", "another constant" },
        { INPUTS "weight bias 2,6\n" WRITES WIDE SCORES "b 1,4,2,6 = add.Tensor m bias\na 1,4,2,6 = add.Tensor b mask\n" SUM
          OUTPUTS, "\"b\" (add.Tensor)", "another constant or weight" },
        { INPUTS "ma 1,1,2,6 = cumsum.default mask {'dim': -1}\n" WRITES WIDE SCORES "a 1,4,2,6 = add.Tensor m ma\n" SUM OUTPUTS,
          "\"ma\" (cumsum.default)", "computes a mask" },
        /* Part of a cache, and sums with weights of the cells. */
        { INPUTS WRITES "hk 1,2,3,3 = slice.Tensor ck {'dim': 2, 'start': 0, 'end': 3}\n" ATTEND("mask") OUTPUTS "out hk\n",
          "\"hk\" (slice.Tensor)", "in their order" },
        { INPUTS "weight w 6,2\n" WRITES "tk 1,2,3,6 = transpose.int ck {'dim0': 2, 'dim1': 3}\n"
          "hk 1,2,3,2 = matmul.default tk w\n" ATTEND("mask") OUTPUTS "out hk\n", "\"hk\" (matmul.default)", "multiplies" },
        { INPUTS WRITES "n 1,2,6,3 = neg.default ck\n" ATTEND("mask") OUTPUTS "out n\n", "\"n\"", "for each cell" },
        { INPUTS WRITES "n 1,2,18 = reshape.default ck {'shape': [1, 2, 18]}\n" ATTEND("mask") OUTPUTS "out n\n", "\"n\"",
          "keep the cells" },
        { INPUTS WRITES "in other 1,2,6,3\n"
          "y 1,4,2,3 = scaled_dot_product_attention.default q ck other mask {'enable_gqa': true}\nout y\nout ck\nout cv\n",
          "\"y\"", "cells of both caches" },
        /* Keys and values cannot be told apart, and there are not as many of both. */
        { INPUTS WRITES "y 1,4,2,3 = scaled_dot_product_attention.default q ck ck mask {'enable_gqa': true}\n" OUTPUTS, "\"ck\"",
          "neither keys nor values" },
        { "in q 1,2,2,3\nin k 1,2,2,3\nin at:int64 2\nin pk 1,2,6,3\nck 1,2,6,3 = index_copy.default pk at k {'dim': 2}\n"
          "t 1,2,3,6 = transpose.int ck {'dim0': 2, 'dim1': 3}\ns 1,2,2,6 = matmul.default q t\n"
          "y 1,2,2,1 = amax.default s {'dim': [3], 'keepdim': true}\nout y\nout ck\n", "1 caches of keys", "0 of values" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const int good = refuses(cases[i].lines, cases[i].first, cases[i].second);
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

TEST(ir_kv_rows_survives_every_failing_allocation)
{
    qnnrt_ir_desc desc;
    long failed = 0;
    int done = 0;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    for (fail_at = 0; !done; ++fail_at) {
        qnnrt_result result = QNNRT_OK;
        qnnrt_ir *ir;
        allocations = 0;
        ir = graph_with(FIRST CAUSAL ZERO STORE ATTEND("mw") OUTPUTS, &desc);
        if (ir != NULL) result = qnnrt_ir_fold(ir, 0, NULL, &err);
        if (ir != NULL && result == QNNRT_OK) result = qnnrt_ir_pass_kv_rows(ir, 1, NULL, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
        done = ir != NULL && result == QNNRT_OK;
        failed += !done;
        qnnrt_ir_free(ir);
        CHECK_EQ(live, 0);
    }
    CHECK(failed > 3);
}

TEST(ir_kv_rows_checks_its_arguments)
{
    qnnrt_ir_kv_info info;
    memset(&info, 0xFF, sizeof(info));
    CHECK_EQ(qnnrt_ir_pass_kv_rows(NULL, 0, &info, &err), QNNRT_E_ARG);
    CHECK(info.caches == 0 && info.ar == 0);
    CHECK_STR(err.text, "ir is NULL");
}

TEST_MAIN("ir_kv")
{
    RUN(ir_kv_rows_keeps_the_numbers);
    RUN(ir_kv_rows_takes_slices_at_constant_places);
    RUN(ir_kv_rows_refuses_other_writes);
    RUN(ir_kv_rows_makes_inputs_of_positions_and_masks);
    RUN(ir_kv_rows_refuses_other_masks_and_positions);
    RUN(ir_kv_rows_keeps_inputs_that_others_read);
    RUN(ir_kv_rows_converts_and_drops);
    RUN(ir_kv_rows_names_ends_by_what_they_do);
    RUN(ir_kv_rows_refuses_what_depends_on_the_order);
    RUN(ir_kv_rows_survives_every_failing_allocation);
    RUN(ir_kv_rows_checks_its_arguments);
}
