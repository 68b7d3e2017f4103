/* test_ir_passes.c - qnnrt_ir_passes.h

   Graphs in this file are lines of ir_lines.h, and the result is compared as text: "y=add.Tensor(x,w)". With
   QNNRT_SAMPLES, a genuine file is read, too.

   The reference implementation of this IR has defects, which are numbered; where a test says "defect 2", it would
   have found that one. */
#include "counted.h"
#include "ir_lines.h"
#include "ir_graph.h"
#include <math.h>

typedef qnnrt_result (*pass)(qnnrt_ir *, qnnrt_error *);

/* Run a pass; the graph must be `expected` after it, and after a second run. */
static int becomes(const char *lines, pass run, const char *expected)
{
    qnnrt_ir *ir = graph(lines);
    int good = ir != NULL, i;
    for (i = 0; i < 2 && good; ++i)
        good = run(ir, &err) == QNNRT_OK && sound(ir) && same(show(ir), expected);
    qnnrt_ir_free(ir);
    return good;
}

static size_t live_nodes(const qnnrt_ir *ir, const char *op)
{
    size_t i, count = 0;
    for (i = 0; i < ir->node_count; ++i) count += strcmp(ir->nodes[i]->op, op) == 0;
    return count;
}

/* ---- inplace ---- */

TEST(ir_inplace_renames)
{
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\ny 2,3 = relu_.default a\nout y", qnnrt_ir_pass_inplace,
                  "a=neg.default(x) y=relu.default(a) -> y"));
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = add_.Tensor a x\ny 2,3 = clamp_.default b {'min': 0}\nout y",
                  qnnrt_ir_pass_inplace, "a=neg.default(x) b=add.Tensor(a,x) y=clamp.default(b) -> y"));
    /* detach_ overwrites nothing; "__and__" has no form that overwrites. */
    CHECK(becomes("in x:int64 2,3\na:int64 2,3 = detach_.default x\ny:int64 2,3 = __and__.Scalar a {'other': 1}\nout y",
                  qnnrt_ir_pass_inplace, "a=detach.default(x) y=__and__.Scalar(a) -> y"));
}

TEST(ir_inplace_lets_later_readers_see_the_change)
{
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = abs.default a\nr 2,3 = relu_.default a\n"
                  "y 2,3 = add.Tensor a b\nout y\nout r", qnnrt_ir_pass_inplace,
                  "a=neg.default(x) b=abs.default(a) r=relu.default(a) y=add.Tensor(r,b) -> y r"));
    /* Two changes, one after the other. */
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = relu_.default a\nc 2,3 = mul_.Tensor a {'other': 2}\n"
                  "y 2,3 = add.Tensor a b\nout y", qnnrt_ir_pass_inplace,
                  "a=neg.default(x) b=relu.default(a) c=mul.Tensor(b) y=add.Tensor(c,c) -> y"));
    /* Other names of the same tensor; the result of r itself is unused. */
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = alias.default a\nr 2,3 = relu_.default b\n"
                  "y 2,3 = abs.default a\nout y", qnnrt_ir_pass_dead,
                  "a=neg.default(x) b=alias.default(a) r=relu.default(b) y=abs.default(r) -> y"));
    /* The only view of a value that nothing else reads. */
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nv 3,2 = view.default a {'size': [3, 2]}\n"
                  "y 3,2 = relu_.default v\nout y", qnnrt_ir_pass_inplace,
                  "a=neg.default(x) v=view.default(a) y=relu.default(v) -> y"));
}

TEST(ir_inplace_refuses_memory_that_is_read_through_another_value)
{
    static const char *const graphs[] = {
        "in x 2,3\na 2,3 = neg.default x\nv 3,2 = view.default a {'size': [3, 2]}\nr 3,2 = relu_.default v\n"
        "y 2,3 = abs.default a\nout y\nout r",
        "in x 2,3\na 2,3 = neg.default x\nv 3,2 = view.default a {'size': [3, 2]}\nr 2,3 = relu_.default a\n"
        "y 3,2 = abs.default v\nout y\nout r",
        "in x 2,3\na 2,3 = neg.default x\nr 2,3 = relu_.default a\nout a\nout r",
    };
    size_t i;
    for (i = 0; i < 3; ++i) {
        qnnrt_ir *ir = graph(graphs[i]);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(err.code, QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "\"r\" (relu_.default)");
        CHECK_STR(err.text, i == 0 ? "\"a\"" : i == 1 ? "\"v\"" : "end of the graph");
        CHECK(err.hint[0] != '\0');
        qnnrt_ir_free(ir);
    }
}

/* The next call would have to see the change. */
TEST(ir_inplace_refuses_to_change_weights_and_buffers)
{
    static const char *const graphs[] = {
        "in x 2,3\nweight w 2,3\nr 2,3 = add_.Tensor w x\nout r",
        "in x 2,3\nweight w 2,3\nr 2,3 = copy_.default w x\ny 2,3 = neg.default x\nout y",
        "in x 2,3\nweight w 3,2\nv 2,3 = view.default w {'size': [2, 3]}\na 2,3 = alias.default v\n"
        "r 2,3 = mul_.Tensor a x\ny 3,2 = neg.default w\nout y",
        "in x 1,3\nin i:int64 1\nweight w 2,3\nr 2,3 = index_copy_.default w i x {'dim': 0}\nout r",
    };
    qnnrt_ir *ir;
    size_t i;
    for (i = 0; i < 4; ++i) {
        ir = graph(graphs[i]);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "node \"r\"");
        CHECK_STR(err.text, "changes \"key_w\", which is a weight or a buffer of the checkpoint");
        CHECK_STR(err.hint, "qnnrt.export()");
        qnnrt_ir_free(ir);
    }
    /* A copy of it belongs to the call. */
    CHECK(becomes("in x 2,3\nweight w 2,3\nc 2,3 = lift_fresh_copy.default w\nr 2,3 = add_.Tensor c x\nout r",
                  qnnrt_ir_pass_inplace, "c=lift_fresh_copy.default(w) r=add.Tensor(c,x) -> r"));
}

TEST(ir_inplace_keeps_the_dtype)
{
    qnnrt_ir *ir = graph("in x:bfloat16 2,3\nin z 2,3\na:bfloat16 2,3 = neg.default x\ny:bfloat16 2,3 = add_.Tensor a z\n"
                         "out y");
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK(same(show(ir), "a=neg.default(x) y_1=add.Tensor(a,z) y=to.dtype(y_1) -> y"));
    CHECK(ir->nodes[1]->outputs[0]->dtype == QNNRT_DTYPE_F32 && ir->outputs[0]->dtype == QNNRT_DTYPE_BF16);
    CHECK_STR(ir->nodes[1]->mapping, "became add.Tensor, was add_.Tensor");
    qnnrt_ir_free(ir);
}

static qnnrt_result fold(qnnrt_ir *ir, qnnrt_error *e)
{
    return qnnrt_ir_fold(ir, 0, NULL, e);
}

TEST(ir_tidy_and_fold_keep_what_is_overwritten)
{
    static const char lines[] = "in x 2,3\na 2,3 = neg.default x\nr 2,3 = relu_.default a\nu 2,3 = abs.default x\n"
                                "y 2,3 = abs.default a\nout y";
    static const char constants[] = "in x 2,3\na 2,3 = full.default {'size': [2, 3], 'fill_value': 1.0}\n"
        "b 2,3 = neg.default a\nr 2,3 = add_.Tensor a {'other': 2}\nc 2,3 = neg.default a\nd 2,3 = add.Tensor x b\n"
        "y 2,3 = add.Tensor d c\nout y";
    qnnrt_ir *ir = graph(lines);
    size_t folded = 0;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "a=neg.default(x) r=relu_.default(a) y=abs.default(a) -> y"));
    CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "a=neg.default(x) r=relu.default(a) y=abs.default(r) -> y"));
    qnnrt_ir_free(ir);
    /* Fold comes first: the old elements for b, the new ones for c. */
    CHECK(becomes(lines, fold, "a=neg.default(x) r=relu.default(a) y=abs.default(r) -> y"));
    ir = graph(constants);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, &folded, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "d=add.Tensor(x,b) y=add.Tensor(d,c) -> y"));
    CHECK_EQ(folded, 4);
    CHECK(*(const float *)ir->nodes[0]->inputs[1]->data < -0.9f && *(const float *)ir->nodes[0]->inputs[1]->data > -1.1f);
    CHECK(*(const float *)ir->nodes[1]->inputs[1]->data < -2.9f && *(const float *)ir->nodes[1]->inputs[1]->data > -3.1f);
    qnnrt_ir_free(ir);
    /* What cannot be renamed is not folded either. */
    ir = graph("in x 2,3\na 2,3 = neg.default x\nv 3,2 = view.default a {'size': [3, 2]}\nr 3,2 = relu_.default v\n"
               "y 2,3 = abs.default a\nout y\nout r");
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, NULL, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"r\" (relu_.default)");
    qnnrt_ir_free(ir);
}

/* ---- noops ---- */

TEST(ir_noops_removes_copies)
{
    static const char *const lines[] = {
        "alias.default a", "detach.default a", "detach_.default a", "contiguous.default a", "clone.default a",
        "to.dtype a {'dtype': 'torch.float32'}", "view.default a {'size': [2, 3]}", "view.default a {'size': [-1, 3]}",
        "reshape.default a {'shape': [2, 3]}", "expand.default a {'size': [2, -1]}", "slice.Tensor a {'dim': 1}",
        "slice.Tensor a {'dim': 1, 'start': 0, 'end': 9223372036854775807}", "flatten.using_ints a {'start_dim': 1}",
        "dropout.default a {'p': 0.0, 'train': True}", "dropout.default a {'p': 0.5, 'train': False}",
        "cat.default a e {'dim': 1}", "cat.default e a {'dim': -1}", "getitem x a {'index': 1}", "squeeze.dim a {'dim': 0}",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        char text[600], *at;
        snprintf(text, sizeof text, "in x 2,3\nweight e 0\na 2,3 = neg.default x\nb 2,3 = %s\ny 2,3 = abs.default b\nout y",
                 lines[i]);
        if ((at = strstr(text, "True")) != NULL) memcpy(at, "true", 4);
        if ((at = strstr(text, "False")) != NULL) memcpy(at, "false", 5);
        if (!becomes(text, qnnrt_ir_pass_noops, "a=neg.default(x) y=abs.default(a) -> y")) printf("    %s\n", lines[i]);
        CHECK(becomes(text, qnnrt_ir_pass_noops, "a=neg.default(x) y=abs.default(a) -> y"));
    }
}

TEST(ir_noops_keeps_what_changes_something)
{
    static const char *const lines[] = {
        "b:float16 2,3 = to.dtype a {'dtype': 'torch.float16'}", "b 3,2 = view.default a {'size': [3, 2]}",
        "b 2,2,3 = expand.default a {'size': [2, 2, 3]}", "b 2,2 = slice.Tensor a {'dim': 1, 'start': 1}",
        "b 2,3 = dropout.default a {'p': 0.5, 'train': true}", "b 4,3 = cat.default a a", "b 3,2 = t.default a",
        "b 2,3 = relu.default a",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        char text[600];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, "in x 2,3\na 2,3 = neg.default x\n%s\nout b", lines[i]);
        ir = graph(text);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_noops(ir, &err), QNNRT_OK);
        CHECK(sound(ir) && ir->node_count == 2 && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_noops_removes_assertions)
{
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\n= _assert_tensor_metadata.default a {'dtype': 'torch.float32'}\n"
                  "y 2,3 = abs.default a\nout y", qnnrt_ir_pass_noops, "a=neg.default(x) y=abs.default(a) -> y"));
}

TEST(ir_noops_keeps_the_names_of_outputs)
{
    /* The producer makes the value of the output; other readers follow. */
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = abs.default a\ny 2,3 = alias.default a\nout y\nout b",
                  qnnrt_ir_pass_noops, "y=neg.default(x) b=abs.default(y) -> y b"));
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = alias.default a\ny 2,3 = alias.default b\nout y",
                  qnnrt_ir_pass_noops, "y=neg.default(x) -> y"));
    /* Inputs, weights and other outputs have names of their own. */
    CHECK(becomes("in x 2,3\ny 2,3 = contiguous.default x\nout y", qnnrt_ir_pass_noops, "y=alias.default(x) -> y"));
    CHECK(becomes("weight w 2,3\ny 2,3 = detach_.default w\nout y", qnnrt_ir_pass_noops, "y=alias.default(w) -> y"));
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\ny 2,3 = view.default a {'size': [2, 3]}\nout y\nout a",
                  qnnrt_ir_pass_noops, "a=neg.default(x) y=alias.default(a) -> y a"));
    CHECK(becomes("in x 2,3\na 2,3 = neg.default x\nb 2,3 = alias.default a\nc 2,3 = alias.default a\nout b\nout c",
                  qnnrt_ir_pass_noops, "b=neg.default(x) c=alias.default(b) -> b c"));
    /* One of several outputs of a node. */
    CHECK(becomes("in x 4,3\na 2,3 b 2,3 = chunk.default x {'chunks': 2}\ny 2,3 = getitem a b {'index': 1}\n"
                  "z 2,3 = getitem a b {'index': 0}\nq 2,3 = neg.default z\nout y\nout q", qnnrt_ir_pass_noops,
                  "a,y=chunk.default(x) q=neg.default(a) -> y q"));
}

TEST(ir_noops_keeps_copies_that_protect)
{
    /* y = x + relu(x), not 2 relu(x) */
    static const char text[] = "in x 2,3\na 2,3 = neg.default x\nc 2,3 = clone.default a\nr 2,3 = relu_.default c\n"
                               "y 2,3 = add.Tensor a r\nout y";
    CHECK(becomes(text, qnnrt_ir_pass_inplace,
                  "a=neg.default(x) c=clone.default(a) r=relu.default(c) y=add.Tensor(a,r) -> y"));
    CHECK(becomes(text, qnnrt_ir_pass_noops, "a=neg.default(x) r=relu.default(a) y=add.Tensor(a,r) -> y"));
}

/* ---- dead ---- */

TEST(ir_dead_removes_what_nothing_reads)
{
    qnnrt_ir *ir = graph("in x 2,3\nin unread 2\na 2,3 = neg.default x\nb 2,3 = abs.default a\nc 2,3 = abs.default b\nout a");
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_dead(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "a=neg.default(x) -> a"));
    CHECK(ir->input_count == 2 && ir->removed_count == 2);
    CHECK_STR(ir->removed[0]->mapping, "unused");
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_ir_pass_dead(NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_pass_noops(NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_pass_inplace(NULL, &err), QNNRT_E_ARG);
}

/* ---- patterns, with numbers ---- */

/* Compute a float32 graph; inputs and weights depend on their names. Elements are in value->note. */
static int compute(qnnrt_ir *ir)
{
    size_t i, k;
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        float *data = (float *)calloc(value->count + 1, 8);
        if (data == NULL) abort();
        for (k = 0; k < value->count && value->dtype == QNNRT_DTYPE_F32; ++k)
            data[k] = (float)((int)((size_t)value->name[0] * 31 + k * 17 + k * k * 7) % 41 - 20) / 8;
        if (value->name[0] == 'v') for (k = 0; k < value->count; ++k) data[k] = data[k] * data[k] + 1;
        value->note = data;
        if (value->origin == QNNRT_IR_WEIGHT) value->data = data;
        if (value->origin == QNNRT_IR_CONSTANT) memcpy(data, value->data, value->count * qnnrt_ir_dtype_bytes(value->dtype));
    }
    for (i = 0; i < ir->node_count; ++i) {
        const void *inputs[8];
        void *outputs[8];
        for (k = 0; k < ir->nodes[i]->input_count; ++k)
            inputs[k] = ir->nodes[i]->inputs[k] != NULL ? ir->nodes[i]->inputs[k]->note : NULL;
        for (k = 0; k < ir->nodes[i]->output_count; ++k) outputs[k] = ir->nodes[i]->outputs[k]->note;
        if (qnnrt_ir_eval_node(NULL, ir->nodes[i], inputs, outputs, &err) != QNNRT_OK) {
            printf("    %s\n", err.text);
            return 0;
        }
    }
    return 1;
}

static void free_graph(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; ir != NULL && i < ir->value_count; ++i) free(ir->values[i]->note);
    qnnrt_ir_free(ir);
}

/* True if a pass gives the expected graph, twice, and its outputs have the numbers of the original. */
static int fuses(const char *lines, pass run, const char *expected)
{
    qnnrt_ir *before = graph(lines), *after = graph(lines);
    int good = before != NULL && after != NULL && compute(before) && run(after, &err) == QNNRT_OK && sound(after) &&
               same(show(after), expected) && compute(after);
    size_t i, k;
    for (i = 0; good && i < before->output_count; ++i) {
        const float *a = (const float *)before->outputs[i]->note, *b = (const float *)after->outputs[i]->note;
        if (before->outputs[i]->dtype != QNNRT_DTYPE_F32) continue;
        for (k = 0; k < before->outputs[i]->count; ++k)
            if (!(a[k] - b[k] < 1e-4f && b[k] - a[k] < 1e-4f) && !(isnan(a[k]) && isnan(b[k]))) {
                printf("    %s[%lu] was %g, is %g\n", before->outputs[i]->name, (unsigned long)k, (double)a[k], (double)b[k]);
                good = 0;
            }
    }
    free_graph(before);
    free_graph(after);
    return good && becomes(lines, run, expected);
}

#define SQUARE "p 2,4 = pow.Tensor_Scalar x {'exponent': 2}\n"
#define MEAN "m 2,1 = mean.dim p {'dim': [-1], 'keepdim': true}\ne 2,1 = add.Tensor m {'other': 1e-2}\n"
#define ROOT MEAN "r 2,1 = rsqrt.default e\n"

TEST(ir_rms_norm_is_found)
{
    CHECK(fuses("in x 2,4\nweight w 4\n" SQUARE ROOT "n 2,4 = mul.Tensor x r\ny 2,4 = mul.Tensor w n\nout y",
                qnnrt_ir_pass_rms_norm, "y=q.rms_norm(x,w) -> y"));
    CHECK(fuses("in x 2,4\nweight w 4\np 2,4 = mul.Tensor x x\n" ROOT "n 2,4 = mul.Tensor r x\n"
                "y 2,4 = mul.Tensor n w\nout y", qnnrt_ir_pass_rms_norm, "y=q.rms_norm(x,w) -> y"));
    CHECK(fuses("in x 2,4\n" SQUARE MEAN "s 2,1 = sqrt.default e\ny 2,4 = div.Tensor x s\nout y", qnnrt_ir_pass_rms_norm,
                "y=q.rms_norm(x) -> y"));
    CHECK(fuses("in x 2,4\n" SQUARE MEAN "s 2,1 = sqrt.default e\nr 2,1 = reciprocal.default s\nz 2,4 = expand.default r "
                "{'size': [2, 4]}\ny 2,4 = mul.Tensor x z\nout y", qnnrt_ir_pass_rms_norm, "y=q.rms_norm(x) -> y"));
    CHECK(fuses("in x 2,4\nweight w 4\ny 2,4 = rms_norm.default x w {'normalized_shape': [4], 'eps': 0.5}\nout y",
                qnnrt_ir_pass_rms_norm, "y=q.rms_norm(x,w) -> y"));
    /* The weight is computed after the norm begins: the fused node is in the place of the last. */
    CHECK(fuses("in x 2,4\nweight w 4\n" SQUARE ROOT "n 2,4 = mul.Tensor x r\nv 4 = add.Tensor w {'other': 1}\n"
                "y 2,4 = mul.Tensor n v\nout y", qnnrt_ir_pass_rms_norm, "v=add.Tensor(w) y=q.rms_norm(x,v) -> y"));
}

TEST(ir_rms_norm_is_found_through_conversions)
{
    qnnrt_ir *ir;
    static const char lines[] = "in x:bfloat16 2,4\nweight w:bfloat16 4\nc 2,4 = to.dtype x {'dtype': 'torch.float32'}\n"
        "p 2,4 = pow.Tensor_Scalar c {'exponent': 2}\n" ROOT "n 2,4 = mul.Tensor c r\n"
        "t:bfloat16 2,4 = to.dtype n {'dtype': 'torch.bfloat16'}\ny:bfloat16 2,4 = mul.Tensor w t\nout y";
    ir = graph(lines);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_rms_norm(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "y=q.rms_norm(x,w) -> y"));
    CHECK(qnnrt_ir_float(ir->nodes[0], "eps", 0) > 0.0099 && qnnrt_ir_float(ir->nodes[0], "eps", 0) < 0.0101);
    CHECK_STR(ir->nodes[0]->mapping, "was mul.Tensor");
    CHECK_EQ(ir->removed_count, 7);
    CHECK_STR(ir->removed[1]->mapping, "fused into y");
    qnnrt_ir_free(ir);
    /* The weight is float32: so is the result, and x after its conversion. */
    CHECK(becomes("in x:bfloat16 2,4\nweight w 4\nc 2,4 = to.dtype x {'dtype': 'torch.float32'}\n"
                  "p 2,4 = pow.Tensor_Scalar c {'exponent': 2}\n" ROOT "n 2,4 = mul.Tensor c r\n"
                  "y 2,4 = mul.Tensor w n\nout y", qnnrt_ir_pass_rms_norm,
                  "c=to.dtype(x) y=q.rms_norm(c,w) -> y"));
}

TEST(ir_rms_norm_leaves_what_others_read)
{
    /* Defect 8: outputs of the graph are readers. */
    static const char *const lines[] = {
        "in x 2,4\n" SQUARE ROOT "y 2,4 = mul.Tensor x r\nout y\nout r",
        "in x 2,4\n" SQUARE ROOT "y 2,4 = mul.Tensor x r\nz 2,1 = neg.default m\nout y\nout z",
        "in x 2,4\nin z 2,4\n" SQUARE ROOT "y 2,4 = mul.Tensor z r\nout y",
        "in x 2,4\np 2,4 = pow.Tensor_Scalar x {'exponent': 3}\n" ROOT "y 2,4 = mul.Tensor x r\nout y",
        "in x 4,4\np 4,4 = pow.Tensor_Scalar x {'exponent': 2}\nm 1,4 = mean.dim p {'dim': [0], 'keepdim': true}\n"
        "e 1,4 = add.Tensor m {'other': 1e-2}\nr 1,4 = rsqrt.default e\ny 4,4 = mul.Tensor x r\nout y",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_rms_norm(ir, &err), QNNRT_OK);
        CHECK(live_nodes(ir, "q.rms_norm") == 0 && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
    /* A norm that is an output itself stays, without the weight. */
    CHECK(fuses("in x 2,4\nweight w 4\n" SQUARE ROOT "n 2,4 = mul.Tensor x r\ny 2,4 = mul.Tensor w n\nout y\nout n",
                qnnrt_ir_pass_rms_norm, "n=q.rms_norm(x) y=mul.Tensor(w,n) -> y n"));
}

#define CENTER "a 2,1 = mean.dim x {'dim': [-1], 'keepdim': true}\nd 2,4 = sub.Tensor x a\n" \
    "p 2,4 = pow.Tensor_Scalar d {'exponent': 2}\n"

#define VARIANCE(op, args) "a 2,1 = mean.dim x {'dim': [-1], 'keepdim': true}\nd 2,4 = sub.Tensor x a\n" \
    "m 2,1 = var." op " x " args "\ne 2,1 = add.Tensor m {'other': 1e-2}\nr 2,1 = sqrt.default e\n"

TEST(ir_layer_norm_is_found)
{
    CHECK(fuses("in x 2,4\nweight w 4\nweight b 4\n" CENTER ROOT "n 2,4 = mul.Tensor d r\nk 2,4 = mul.Tensor w n\n"
                "y 2,4 = add.Tensor k b\nout y", qnnrt_ir_pass_layer_norm, "y=q.layer_norm(x,w,b) -> y"));
    CHECK(fuses("in x 2,4\nweight w 4\n" CENTER ROOT "n 2,4 = mul.Tensor d r\ny 2,4 = mul.Tensor w n\nout y",
                qnnrt_ir_pass_layer_norm, "y=q.layer_norm(x,w) -> y"));
    CHECK(fuses("in x 2,4\n" CENTER MEAN "s 2,1 = sqrt.default e\ny 2,4 = div.Tensor d s\nout y",
                qnnrt_ir_pass_layer_norm, "y=q.layer_norm(x) -> y"));
    CHECK(fuses("in x 2,4\nweight w 4\nweight b 4\ny 2,4 = layer_norm.default x w b {'normalized_shape': [4]}\nout y",
                qnnrt_ir_pass_layer_norm, "y=q.layer_norm(x,w,b) -> y"));
    /* With the variance, in both names, and of another correction or another tensor. */
    CHECK(fuses("in x 2,4\nweight w 4\nweight b 4\n" VARIANCE("correction", "{'dim': [-1], 'correction': 0, 'keepdim': true}")
                "n 2,4 = div.Tensor d r\nk 2,4 = mul.Tensor w n\ny 2,4 = add.Tensor k b\nout y", qnnrt_ir_pass_layer_norm,
                "y=q.layer_norm(x,w,b) -> y"));
    CHECK(fuses("in x 2,4\n" VARIANCE("dim", "{'dim': [1], 'unbiased': false, 'keepdim': true}")
                "y 2,4 = div.Tensor d r\nout y", qnnrt_ir_pass_layer_norm, "y=q.layer_norm(x) -> y"));
    CHECK(fuses("in x 2,4\n" VARIANCE("correction", "{'dim': [-1], 'keepdim': true}") "y 2,4 = div.Tensor d r\nout y",
                qnnrt_ir_pass_layer_norm, "a=mean.dim(x) d=sub.Tensor(x,a) m=var.correction(x) e=add.Tensor(m) r=sqrt.default(e) "
                "y=div.Tensor(d,r) -> y"));
    CHECK(fuses("in x 2,4\n" VARIANCE("correction", "{'dim': [-1], 'correction': 0, 'keepdim': true}")
                "y 2,4 = div.Tensor x r\nout y\nout d", qnnrt_ir_pass_layer_norm,
                "a=mean.dim(x) d=sub.Tensor(x,a) m=var.correction(x) e=add.Tensor(m) r=sqrt.default(e) y=div.Tensor(x,r) -> y d"));
    CHECK(fuses("in x 2,4\n" VARIANCE("correction", "{'dim': [-1], 'correction': 0, 'keepdim': true}")
                "y 2,4 = div.Tensor d r\nout y", qnnrt_ir_pass_rms_norm,
                "a=mean.dim(x) d=sub.Tensor(x,a) m=var.correction(x) e=add.Tensor(m) r=sqrt.default(e) y=div.Tensor(d,r) -> y"));
    /* rms_norm leaves it alone, except if something else reads the difference. */
    CHECK(fuses("in x 2,4\n" CENTER ROOT "y 2,4 = mul.Tensor d r\nout y", qnnrt_ir_pass_rms_norm,
                "a=mean.dim(x) d=sub.Tensor(x,a) p=pow.Tensor_Scalar(d) m=mean.dim(p) e=add.Tensor(m) r=rsqrt.default(e) "
                "y=mul.Tensor(d,r) -> y"));
    CHECK(fuses("in x 2,4\n" CENTER ROOT "y 2,4 = mul.Tensor d r\nout y\nout d", qnnrt_ir_pass_rms_norm,
                "a=mean.dim(x) d=sub.Tensor(x,a) y=q.rms_norm(d) -> y d"));
}

TEST(ir_silu_is_found)
{
    CHECK(fuses("in x 2,4\ng 2,4 = sigmoid.default x\ny 2,4 = mul.Tensor x g\nout y", qnnrt_ir_pass_silu,
                "y=q.silu(x) -> y"));
    /* silu * up stays two nodes, in any order. */
    CHECK(fuses("in x 2,4\ng 2,4 = silu.default x\nu 2,4 = neg.default x\ny 2,4 = mul.Tensor g u\nout y",
                qnnrt_ir_pass_silu, "g=q.silu(x) u=neg.default(x) y=mul.Tensor(g,u) -> y"));
    CHECK(fuses("in x 2,4\ng 2,4 = sigmoid.default x\ny 2,4 = mul.Tensor g x\nout y\nout g", qnnrt_ir_pass_silu,
                "g=sigmoid.default(x) y=mul.Tensor(g,x) -> y g"));
    CHECK(fuses("in x 2,4\nin z 2,4\ng 2,4 = sigmoid.default x\ny 2,4 = mul.Tensor g z\nout y", qnnrt_ir_pass_silu,
                "g=sigmoid.default(x) y=mul.Tensor(g,z) -> y"));
}

#define ERF "s 2,4 = div.Tensor x {'other': 1.4142135623730951}\nf 2,4 = erf.default s\ng 2,4 = add.Tensor f {'other': 1}\n"

TEST(ir_gelu_is_found)
{
    CHECK(fuses("in x 2,4\n" ERF "h 2,4 = mul.Tensor x {'other': 0.5}\ny 2,4 = mul.Tensor h g\nout y", qnnrt_ir_pass_gelu,
                "y=q.gelu(x) -> y"));
    CHECK(fuses("in x 2,4\n" ERF "h 2,4 = mul.Tensor g x\ny 2,4 = div.Tensor h {'other': 2}\nout y", qnnrt_ir_pass_gelu,
                "y=q.gelu(x) -> y"));
    CHECK(fuses("in x 2,4\nc 2,4 = pow.Tensor_Scalar x {'exponent': 3}\nk 2,4 = mul.Tensor c {'other': 0.044715}\n"
                "a 2,4 = add.Tensor x k\ns 2,4 = mul.Tensor a {'other': 0.7978845608028654}\nf 2,4 = tanh.default s\n"
                "g 2,4 = add.Tensor f {'other': 1.0}\nh 2,4 = mul.Tensor x {'other': 0.5}\ny 2,4 = mul.Tensor h g\nout y",
                qnnrt_ir_pass_gelu, "y=q.gelu(x) -> y"));
    CHECK(fuses("in x 2,4\ny 2,4 = gelu.default x {'approximate': 'tanh'}\nout y", qnnrt_ir_pass_gelu, "y=q.gelu(x) -> y"));
    /* The cube as a product, and x outside of the brackets, as transformers' NewGELU and FastGELU have them. */
    CHECK(fuses("in x 2,4\nh 2,4 = mul.Tensor x {'other': 0.5}\na 2,4 = mul.Tensor x x\nb 2,4 = mul.Tensor a x\n"
                "k 2,4 = mul.Tensor b {'other': 0.044715}\nc 2,4 = add.Tensor k x\n"
                "s 2,4 = mul.Scalar c {'other': 0.7978845608028654}\nf 2,4 = tanh.default s\n"
                "g 2,4 = add.Scalar f {'other': 1.0}\ny 2,4 = mul.Tensor h g\nout y", qnnrt_ir_pass_gelu, "y=q.gelu(x) -> y"));
    CHECK(fuses("in x 2,4\nh 2,4 = mul.Tensor x {'other': 0.5}\na 2,4 = mul.Tensor x {'other': 0.7978845608}\n"
                "b 2,4 = mul.Tensor x {'other': 0.044715}\nc 2,4 = mul.Tensor b x\nd 2,4 = add.Tensor c {'other': 1.0}\n"
                "s 2,4 = mul.Tensor a d\nf 2,4 = tanh.default s\ng 2,4 = add.Tensor f {'other': 1.0}\n"
                "y 2,4 = mul.Tensor h g\nout y", qnnrt_ir_pass_gelu, "y=q.gelu(x) -> y"));
    /* The square instead of the cube; another factor; x * sigmoid(1.702 x) is another function. */
    CHECK(fuses("in x 2,4\nc 2,4 = pow.Tensor_Scalar x {'exponent': 2}\nk 2,4 = mul.Tensor c {'other': 0.044715}\n"
                "a 2,4 = add.Tensor x k\ns 2,4 = mul.Tensor a {'other': 0.7978845608028654}\nf 2,4 = tanh.default s\n"
                "g 2,4 = add.Tensor f {'other': 1.0}\nh 2,4 = mul.Tensor x {'other': 0.5}\ny 2,4 = mul.Tensor h g\nout y",
                qnnrt_ir_pass_gelu, "c=pow.Tensor_Scalar(x) k=mul.Tensor(c) a=add.Tensor(x,k) s=mul.Tensor(a) f=tanh.default(s) "
                "g=add.Tensor(f) h=mul.Tensor(x) y=mul.Tensor(h,g) -> y"));
    CHECK(fuses("in x 2,4\nc 2,4 = pow.Tensor_Scalar x {'exponent': 3}\nk 2,4 = mul.Tensor c {'other': 0.04}\n"
                "a 2,4 = add.Tensor x k\ns 2,4 = mul.Tensor a {'other': 0.7978845608028654}\nf 2,4 = tanh.default s\n"
                "g 2,4 = add.Tensor f {'other': 1.0}\nh 2,4 = mul.Tensor x {'other': 0.5}\ny 2,4 = mul.Tensor h g\nout y",
                qnnrt_ir_pass_gelu, "c=pow.Tensor_Scalar(x) k=mul.Tensor(c) a=add.Tensor(x,k) s=mul.Tensor(a) f=tanh.default(s) "
                "g=add.Tensor(f) h=mul.Tensor(x) y=mul.Tensor(h,g) -> y"));
    CHECK(fuses("in x 2,4\ns 2,4 = mul.Tensor x {'other': 1.702}\ng 2,4 = sigmoid.default s\ny 2,4 = mul.Tensor x g\nout y",
                qnnrt_ir_pass_gelu, "s=mul.Tensor(x) g=sigmoid.default(s) y=mul.Tensor(x,g) -> y"));
    CHECK(fuses("in x 2,4\ns 2,4 = mul.Tensor x {'other': 1.702}\ng 2,4 = sigmoid.default s\ny 2,4 = mul.Tensor x g\nout y",
                qnnrt_ir_pass_silu, "s=mul.Tensor(x) g=sigmoid.default(s) y=mul.Tensor(x,g) -> y"));
    /* Other factors, and inner results that are outputs. */
    CHECK(fuses("in x 2,4\n" ERF "y 2,4 = mul.Tensor x g\nout y", qnnrt_ir_pass_gelu,
                "s=div.Tensor(x) f=erf.default(s) g=add.Tensor(f) y=mul.Tensor(x,g) -> y"));
    CHECK(fuses("in x 2,4\n" ERF "h 2,4 = mul.Tensor g x\ny 2,4 = div.Tensor h {'other': 2}\nout y\nout f",
                qnnrt_ir_pass_gelu, "s=div.Tensor(x) f=erf.default(s) g=add.Tensor(f) h=mul.Tensor(g,x) y=div.Tensor(h) -> y f"));
}

TEST(ir_matmul_reads_before_the_transpose)
{
    CHECK(fuses("in x 2,4\nin z 3,4\nt 4,3 = transpose.int z {'dim0': 0, 'dim1': 1}\ny 2,3 = matmul.default x t\nout y",
                qnnrt_ir_pass_matmul_transpose, "y=matmul.default(x,z) -> y"));
    CHECK(fuses("in x 2,2,4\nin z 2,3,4\nt 2,4,3 = transpose.int z {'dim0': -1, 'dim1': 1}\ny 2,2,3 = bmm.default x t\n"
                "out y", qnnrt_ir_pass_matmul_transpose, "y=matmul.default(x,z) -> y"));
    CHECK(fuses("in x 2,4\nweight w 3,4\nt 4,3 = t.default w\ny 2,3 = mm.default x t\nout y\nout t",
                qnnrt_ir_pass_matmul_transpose, "t=t.default(w) y=matmul.default(x,w) -> y t"));
    /* Not the last two dimensions. */
    CHECK(fuses("in x 2,2,4\nin z 4,2,3\nt 2,4,3 = transpose.int z {'dim0': 0, 'dim1': 1}\ny 2,2,3 = matmul.default x t\n"
                "out y", qnnrt_ir_pass_matmul_transpose, "t=transpose.int(z) y=matmul.default(x,t) -> y"));
}

#define DENSE "in x 2,4\nweight w 3,4\nweight b 3\nt 4,3 = t.default w\n"

TEST(ir_linear_is_found)
{
    CHECK(fuses(DENSE "y 2,3 = addmm.default b x t\nout y", qnnrt_ir_pass_linear, "y=linear.default(x,w,b) -> y"));
    CHECK(fuses(DENSE "y 2,3 = mm.default x t\nout y", qnnrt_ir_pass_linear, "y=linear.default(x,w) -> y"));
    CHECK(fuses(DENSE "z 2,3 = mm.default x t\ny 2,3 = add.Tensor z b\nout y", qnnrt_ir_pass_linear,
                "y=linear.default(x,w,b) -> y"));
    CHECK(fuses("in x 1,2,4\nweight w 3,4\nweight b 3\nt 4,3 = permute.default w {'dims': [1, 0]}\n"
                "z 1,2,3 = matmul.default x t\ny 1,2,3 = add.Tensor b z\nout y", qnnrt_ir_pass_linear,
                "y=linear.default(x,w,b) -> y"));
    CHECK(fuses("in x 2,4\nweight w 3,4\ny 2,3 = matmul.default x w {'transpose_b': true}\nout y", qnnrt_ir_pass_linear,
                "y=linear.default(x,w) -> y"));
    /* The transposed weight has other readers. */
    CHECK(fuses(DENSE "y 2,3 = addmm.default b x t\nout y\nout t", qnnrt_ir_pass_linear,
                "t=t.default(w) y=linear.default(x,w,b) -> y t"));
}

TEST(ir_linear_leaves_other_products)
{
    static const char *const lines[] = {
        /* Factors, a bias of another shape, a weight [in, out], a matrix that is no weight, a vector. */
        DENSE "y 2,3 = addmm.default b x t {'alpha': 2}\nout y", DENSE "y 2,3 = addmm.default b x t {'beta': 0.5}\nout y",
        "in x 2,4\nweight w 3,4\nweight b 2,1\nt 4,3 = t.default w\ny 2,3 = addmm.default b x t\nout y",
        "in x 2,4\nweight w 3,4\nweight b 1\nt 4,3 = t.default w\ny 2,3 = addmm.default b x t\nout y",
        "in x 2,4\nweight w 4,3\nweight b 3\ny 2,3 = addmm.default b x w\nout y",
        "in x 2,4\nin w 3,4\nt 4,3 = t.default w\ny 2,3 = mm.default x t\nout y",
        "in x 4\nweight w 3,4\nt 4,3 = t.default w\ny 3 = matmul.default x t\nout y",
        /* A bias that is computed, that is scaled, for a result that others read. */
        "in x 2,4\nin b 3\nweight w 3,4\nz 2,3 = linear.default x w\ny 2,3 = add.Tensor z b\nout y",
        "in x 2,4\nweight b 3\nweight w 3,4\nz 2,3 = linear.default x w\ny 2,3 = add.Tensor z b {'alpha': 2}\nout y",
        "in x 2,4\nweight b 3\nweight w 3,4\nz 2,3 = linear.default x w\ny 2,3 = add.Tensor z b\nout y\nout z",
        "in x 2,4\nweight b 3\nweight w 3,4\nz 2,3 = linear.default x w b\ny 2,3 = add.Tensor z b\nout y",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_linear(ir, &err), QNNRT_OK);
        if (ir->removed_count != 0) printf("    case %lu\n", (unsigned long)i);
        CHECK(sound(ir) && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
}

/* ---- attention ---- */

/* 2 heads of 4 numbers, 3 rows, 5 cells. */
#define QKV "in q 1,2,3,4\nin k 1,2,5,4\nin v 1,2,5,4\n"
#define TURN "t 1,2,4,5 = transpose.int k {'dim0': 2, 'dim1': 3}\n"
#define FUSED "y=scaled_dot_product_attention.default"

/* True if the pass gives the numbers of the original and one attention, with a scale. */
static int attends(const char *lines, const char *expected, double scale)
{
    qnnrt_ir *ir = graph(lines);
    const qnnrt_ir_node *last;
    int good = ir != NULL && qnnrt_ir_pass_attention(ir, &err) == QNNRT_OK;
    last = good ? ir->nodes[ir->node_count - 1] : NULL;
    if (good && !(qnnrt_ir_float(last, "scale", 99) > scale - 1e-6 && qnnrt_ir_float(last, "scale", 99) < scale + 1e-6)) {
        printf("    scale %g, expected %g\n", qnnrt_ir_float(last, "scale", 99), scale);
        good = 0;
    }
    qnnrt_ir_free(ir);
    return good && fuses(lines, qnnrt_ir_pass_attention, expected);
}

TEST(ir_attention_is_found)
{
    static const struct { const char *lines, *expected; double scale; } cases[] = {
        { QKV TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = mul.Tensor s {'other': 0.5}\n"
          "f 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y", FUSED "(q,k,v) -> y", 0.5 },
        /* Without a scale; divided by one; the other name of softmax and of the last dimension. */
        { QKV TURN "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = _softmax.default s {'dim': 3, 'half_to_float': false}\n"
          "y 1,2,3,4 = matmul.default f v\nout y", FUSED "(q,k,v) -> y", 1 },
        { QKV TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = div.Tensor s {'other': 8.0}\n"
          "f 1,2,3,5 = softmax.int m {'dim': 3, 'dtype': 'torch.float32'}\ny 1,2,3,4 = matmul.default f v\nout y",
          FUSED "(q,k,v) -> y", 0.125 },
        /* A mask, on either side, of any shape that broadcasts. */
        { QKV "in mask 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = mul.Tensor s {'other': 0.5}\n"
          "a 1,2,3,5 = add.Tensor m mask\nf 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
          FUSED "(q,k,v,mask) -> y", 0.5 },
        { QKV "in mask 2,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor mask s\n"
          "f 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y", FUSED "(q,k,v,mask) -> y", 1 },
        { QKV "in mask 1,2,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\nn 1,2,3,5 = mul.Tensor mask {'other': 2}\n"
          "a 1,2,3,5 = add.Tensor n s\nf 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
          "n=mul.Tensor(mask) " FUSED "(q,k,v,n) -> y", 1 },
        /* Query, key or both are scaled before, the key on either side of its transpose. */
        { QKV "p 1,2,3,4 = mul.Tensor q {'other': 0.25}\n" TURN "s 1,2,3,5 = matmul.default p t\n"
          "f 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y", FUSED "(q,k,v) -> y", 0.25 },
        { QKV "p 1,2,3,4 = mul.Tensor q {'other': 0.5}\n" TURN "n 1,2,4,5 = mul.Tensor t {'other': 0.5}\n"
          "s 1,2,3,5 = matmul.default p n\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
          FUSED "(q,k,v) -> y", 0.25 },
        { QKV "n 1,2,5,4 = div.Tensor k {'other': 2}\nt 1,2,4,5 = permute.default n {'dims': [0, 1, -1, 2]}\n"
          "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
          FUSED "(q,k,v) -> y", 0.5 },
        /* A product that reads the transposed matrix. */
        { QKV "s 1,2,3,5 = matmul.default q k {'transpose_b': true}\nf 1,2,3,5 = softmax.int s {'dim': -1}\n"
          "y 1,2,3,4 = matmul.default f v\nout y", FUSED "(q,k,v) -> y", 1 },
        /* 2 and 3 dimensions; the mask is a part of the product. */
        { "in q 3,4\nin k 5,4\nin v 5,2\nt 4,5 = t.default k\ns 3,5 = mm.default q t\nf 3,5 = softmax.int s {'dim': 1}\n"
          "y 3,2 = mm.default f v\nout y", FUSED "(q,k,v) -> y", 1 },
        { "in q 2,3,4\nin k 2,5,4\nin v 2,5,4\nin mask 2,1,5\nt 2,4,5 = transpose.int k {'dim0': 1, 'dim1': 2}\n"
          "s 2,3,5 = baddbmm.default mask q t {'alpha': 0.5}\nf 2,3,5 = softmax.int s {'dim': -1}\n"
          "y 2,3,4 = bmm.default f v\nout y", FUSED "(q,k,v,mask) -> y", 0.5 },
        /* One head of keys and values serves all queries. */
        { "in q 1,2,3,4\nin k 1,1,5,4\nin v 1,1,5,4\nt 1,1,4,5 = transpose.int k {'dim0': 2, 'dim1': 3}\n"
          "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
          FUSED "(q,k,v) -> y", 1 },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const int good = attends(cases[i].lines, cases[i].expected, cases[i].scale);
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

TEST(ir_attention_reorders_keys_and_values)
{
    /* The key lies transposed: a permute, and with an earlier one a single permute. */
    CHECK(attends("in q 1,2,3,4\nin t 1,2,4,5\nin v 1,2,5,4\ns 1,2,3,5 = matmul.default q t\n"
                  "f 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
                  "y_order=permute.default(t) " FUSED "(q,y_order,v) -> y", 1));
    CHECK(attends("in q 1,2,3,4\nin k 1,5,2,4\nin v 1,2,5,4\nt 1,2,4,5 = permute.default k {'dims': [0, 2, 3, 1]}\n"
                  "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\n"
                  "out y", "y_order=permute.default(k) " FUSED "(q,y_order,v) -> y", 1));
    CHECK(attends("in q 1,2,3,4\nin k 1,2,5,4\nin v 1,2,4,5\n" TURN "s 1,2,3,5 = matmul.default q t\n"
                  "f 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v {'transpose_b': true}\nout y",
                  "y_order=permute.default(v) " FUSED "(q,k,y_order) -> y", 1));
    /* Other readers of the transposed or scaled tensors keep them. */
    CHECK(attends(QKV "p 1,2,3,4 = mul.Tensor q {'other': 0.25}\n" TURN "z 1,2,4,5 = neg.default t\n"
                  "s 1,2,3,5 = matmul.default p t\nf 1,2,3,5 = softmax.int s {'dim': -1}\n"
                  "y 1,2,3,4 = matmul.default f v\nout p\nout z\nout y",
                  "p=mul.Tensor(q) t=transpose.int(k) z=neg.default(t) " FUSED "(q,k,v) -> p z y", 0.25));
    /* Defect 9: the values are computed after the scores. */
    CHECK(attends("in q 1,2,3,4\nin k 1,2,5,4\nin w 1,2,5,4\n" TURN "s 1,2,3,5 = matmul.default q t\n"
                  "f 1,2,3,5 = softmax.int s {'dim': -1}\nv 1,2,5,4 = neg.default w\ny 1,2,3,4 = matmul.default f v\nout y",
                  "v=neg.default(w) " FUSED "(q,k,v) -> y", 1));
}

TEST(ir_attention_reads_before_conversions)
{
    static const char lines[] = "in q:bfloat16 1,2,3,4\nin k:bfloat16 1,2,5,4\nin v:bfloat16 1,2,5,4\nin mask 1,1,3,5\n"
        "a 1,2,3,4 = to.dtype q {'dtype': 'torch.float32'}\nb 1,2,5,4 = to.dtype k {'dtype': 'torch.float32'}\n"
        "t 1,2,4,5 = transpose.int b {'dim0': 2, 'dim1': 3}\ns 1,2,3,5 = matmul.default a t\n"
        "m 1,2,3,5 = mul.Tensor s {'other': 0.5}\nn 1,2,3,5 = add.Tensor m mask\n"
        "f 1,2,3,5 = softmax.int n {'dim': -1, 'dtype': 'torch.float32'}\n"
        "c:bfloat16 1,2,3,5 = to.dtype f {'dtype': 'torch.bfloat16'}\ny:bfloat16 1,2,3,4 = matmul.default c v\nout y";
    qnnrt_ir *ir = graph(lines);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_attention(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), FUSED "(q,k,v,mask) -> y"));
    CHECK_EQ(ir->removed_count, 8);
    CHECK_STR(ir->removed[0]->mapping, "fused into y");
    CHECK_STR(ir->nodes[0]->mapping, "was matmul.default");
    qnnrt_ir_free(ir);
    CHECK(becomes(lines, qnnrt_ir_pass_attention, FUSED "(q,k,v,mask) -> y"));
}

TEST(ir_attention_leaves_what_is_another_thing)
{
    static const char *const lines[] = {
        /* Scores, weights or the scaled ones are read by others, or are outputs. */
        QKV TURN "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\n"
        "out y\nout f",
        QKV TURN "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\nz 1,2,3,5 = neg.default s\n"
        "y 1,2,3,4 = matmul.default f v\nout y\nout z",
        QKV TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = mul.Tensor s {'other': 2}\n"
        "f 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y\nout m",
        /* Softmax over the rows. */
        QKV TURN "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': 2}\ny 1,2,3,4 = matmul.default f v\nout y",
        /* A mask of numbers 0 and 1, a mask that is scaled, two masks, a factor on the mask. */
        QKV "in mask:bool 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s mask\n"
        "f 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        QKV "in mask:int64 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s mask\n"
        "f 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        QKV "in mask 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s mask\n"
        "m 1,2,3,5 = mul.Tensor a {'other': 0.5}\nf 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        QKV "in mask 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s mask\n"
        "m 1,2,3,5 = add.Tensor a mask\nf 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        QKV "in mask 1,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s mask {'alpha': 2}\n"
        "f 1,2,3,5 = softmax.int a {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        "in q 2,3,4\nin t 2,4,5\nin v 2,5,4\nin mask 2,1,5\ns 2,3,5 = baddbmm.default mask q t {'beta': 0.5}\n"
        "f 2,3,5 = softmax.int s {'dim': -1}\ny 2,3,4 = bmm.default f v\nout y",
        /* A mask that has more batches than the scores. */
        QKV "in mask 2,1,3,5\n" TURN "s 1,2,3,5 = matmul.default q t\na 2,2,3,5 = add.Tensor s mask\n"
        "f 2,2,3,5 = softmax.int a {'dim': -1}\ny 2,2,3,4 = matmul.default f v\nout y",
        /* A scale that is a tensor (of cross-covariance attention), and one that is not a number. */
        QKV "in w 2,1,1\n" TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = mul.Tensor s w\n"
        "f 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        QKV TURN "s 1,2,3,5 = matmul.default q t\nm 1,2,3,5 = div.Tensor s {'other': 0.0}\n"
        "f 1,2,3,5 = softmax.int m {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        /* Batches that broadcast. */
        "in q 2,2,3,4\nin k 1,2,5,4\nin v 1,2,5,4\n" TURN "s 2,2,3,5 = matmul.default q t\nf 2,2,3,5 = softmax.int s {'dim': -1}\n"
        "y 2,2,3,4 = matmul.default f v\nout y",
        "in q 1,2,3,4\nin k 2,5,4\nin v 1,2,5,4\nt 2,4,5 = transpose.int k {'dim0': 1, 'dim1': 2}\ns 1,2,3,5 = matmul.default q t\n"
        "f 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        /* Defect 9: one head of keys, two of values. */
        "in q 1,2,3,4\nin k 1,1,5,4\nin v 1,2,5,4\nt 1,1,4,5 = transpose.int k {'dim0': 2, 'dim1': 3}\n"
        "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\ny 1,2,3,4 = matmul.default f v\nout y",
        /* The weights are the second matrix. */
        "in q 1,2,3,4\nin t 1,2,4,5\nin v 1,2,6,3\ns 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\n"
        "y 1,2,6,5 = matmul.default v f\nout y",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        if (ir == NULL) printf("    case %lu\n", (unsigned long)i);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_attention(ir, &err), QNNRT_OK);
        if (live_nodes(ir, "scaled_dot_product_attention.default") != 0) printf("    case %lu\n", (unsigned long)i);
        CHECK_EQ(live_nodes(ir, "scaled_dot_product_attention.default"), 0);
        CHECK(sound(ir) && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
}

/* Softmax of a row of -infinity is NaN, where PyTorch's attention has 0. */
TEST(ir_attention_keeps_the_nan_of_softmax)
{
    static const char lines[] = QKV "m 1,1,3,5 = full.default {'size': [1, 1, 3, 5], 'fill_value': -Infinity}\n"
        TURN "s 1,2,3,5 = matmul.default q t\na 1,2,3,5 = add.Tensor s m\nf 1,2,3,5 = softmax.int a {'dim': -1}\n"
        "y 1,2,3,4 = matmul.default f v\nout y";
    qnnrt_ir *ir = graph(lines);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_attention(ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_int(ir->nodes[ir->node_count - 1], "nan_rows", 0), 1);
    qnnrt_ir_free(ir);
    CHECK(fuses(lines, qnnrt_ir_pass_attention, "m=full.default) " FUSED "(q,k,v,m) -> y"));
    ir = graph(QKV TURN "s 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\n"
               "y 1,2,3,4 = matmul.default f v\nout y");
    CHECK_EQ(qnnrt_ir_pass_attention(ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_int(ir->nodes[ir->node_count - 1], "nan_rows", 0), 0);
    qnnrt_ir_free(ir);
}

TEST(ir_attention_of_fewer_heads_needs_enable_gqa)
{
    qnnrt_ir_attr off;
    qnnrt_ir *ir = graph("in q 2,4,3,4\nin k 2,2,5,4\nin v 2,2,5,4\nin z 1,2,5,4\n"
                         "y 2,4,3,4 = scaled_dot_product_attention.default q k v {'enable_gqa': true}\nout y");
    CHECK(ir != NULL);
    memset(&off, 0, sizeof(off));
    off.name = "enable_gqa";
    off.kind = QNNRT_IR_BOOL;
    CHECK(qnnrt_ir_set(ir, ir->nodes[0], &off));
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "enable_gqa");
    /* Evaluation would read past the end of the keys. */
    CHECK(qnnrt_ir_set_input(ir, ir->nodes[0], 1, ir->inputs[3]));
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "dimension 0");
    qnnrt_ir_free(ir);
}

/* 4 heads of queries, 2 of keys and values, each repeated. */
#define HEADS "in q 1,4,3,4\nin k 1,2,5,4\nin v 1,2,5,4\n"
#define ATTEND "y 1,4,3,4 = scaled_dot_product_attention.default q kk vv\nout y"
#define REPEAT(x) "u" x " 1,2,1,5,4 = unsqueeze.default " x " {'dim': 2}\n" \
    "e" x " 1,2,2,5,4 = expand.default u" x " {'size': [1, 2, 2, 5, 4]}\n"

TEST(ir_gqa_reads_before_heads_are_copied)
{
    static const char *const lines[] = {
        HEADS REPEAT("k") "kk 1,4,5,4 = reshape.default ek {'shape': [1, 4, 5, 4]}\n"
        REPEAT("v") "vv 1,4,5,4 = view.default ev {'size': [1, -1, 5, 4]}\n" ATTEND,
        HEADS REPEAT("k") "ck 1,2,2,5,4 = clone.default ek\nkk 1,4,5,4 = _unsafe_view.default ck {'size': [1, 4, 5, 4]}\n"
        REPEAT("v") "vv 1,4,5,4 = flatten.using_ints ev {'start_dim': 1, 'end_dim': 2}\n" ATTEND,
        HEADS "kk 1,4,5,4 = repeat_interleave.self_int k {'repeats': 2, 'dim': 1}\n"
        "vv 1,4,5,4 = repeat_interleave.self_int v {'repeats': 2, 'dim': -3}\n" ATTEND,
        /* One head for all, with expand alone. */
        "in q 1,4,3,4\nin k 1,1,5,4\nin v 1,1,5,4\nkk 1,4,5,4 = expand.default k {'size': [1, 4, 5, 4]}\n"
        "vv 1,4,5,4 = expand.default v {'size': [-1, 4, -1, -1]}\n" ATTEND,
        /* Copied twice. */
        "in q 1,4,3,4\nin k 1,1,5,4\nin v 1,1,5,4\nek 1,2,5,4 = repeat_interleave.self_int k {'repeats': 2, 'dim': 1}\n"
        "ev 1,2,5,4 = repeat_interleave.self_int v {'repeats': 2, 'dim': 1}\n"
        "kk 1,4,5,4 = repeat_interleave.self_int ek {'repeats': 2, 'dim': 1}\n"
        "vv 1,4,5,4 = repeat_interleave.self_int ev {'repeats': 2, 'dim': 1}\n" ATTEND,
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        const int good = fuses(lines[i], qnnrt_ir_pass_gqa, "y=scaled_dot_product_attention.default(q,k,v) -> y");
        qnnrt_ir *ir = graph(lines[i]);
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good && ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_gqa(ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_int(ir->nodes[0], "enable_gqa", 0), 1);
        CHECK_STR(ir->removed[0]->mapping, "fused into y");
        CHECK(ir->nodes[0]->mapping[0] != '\0');
        qnnrt_ir_free(ir);
    }
    /* Copies that others read stay for them. */
    CHECK(fuses(HEADS REPEAT("k") "kk 1,4,5,4 = reshape.default ek {'shape': [1, 4, 5, 4]}\n"
                "vv 1,4,5,4 = repeat_interleave.self_int v {'repeats': 2, 'dim': 1}\n" ATTEND "\nout kk", qnnrt_ir_pass_gqa,
                "uk=unsqueeze.default(k) ek=expand.default(uk) kk=reshape.default(ek) "
                "y=scaled_dot_product_attention.default(q,k,v) -> y kk"));
}

TEST(ir_gqa_leaves_other_orders)
{
    static const char *const lines[] = {
        /* Heads 0 1 0 1 instead of 0 0 1 1. */
        HEADS "uk 1,1,2,5,4 = unsqueeze.default k {'dim': 1}\nek 1,2,2,5,4 = expand.default uk {'size': [1, 2, 2, 5, 4]}\n"
        "kk 1,4,5,4 = reshape.default ek {'shape': [1, 4, 5, 4]}\nuv 1,1,2,5,4 = unsqueeze.default v {'dim': 1}\n"
        "ev 1,2,2,5,4 = expand.default uv {'size': [1, 2, 2, 5, 4]}\nvv 1,4,5,4 = reshape.default ev {'shape': [1, 4, 5, 4]}\n"
        ATTEND,
        HEADS "kk 1,4,5,4 = repeat.default k {'repeats': [1, 2, 1, 1]}\nvv 1,4,5,4 = repeat.default v {'repeats': [1, 2, 1, 1]}\n"
        ATTEND,
        /* Only the keys are copied; both, but not equally often. */
        "in q 1,4,3,4\nin k 1,2,5,4\nin vv 1,4,5,4\nkk 1,4,5,4 = repeat_interleave.self_int k {'repeats': 2, 'dim': 1}\n" ATTEND,
        "in q 1,4,3,4\nin k 1,2,5,4\nin v 1,1,5,4\nkk 1,4,5,4 = repeat_interleave.self_int k {'repeats': 2, 'dim': 1}\n"
        "vv 1,4,5,4 = repeat_interleave.self_int v {'repeats': 4, 'dim': 1}\n" ATTEND,
        /* Rows are copied, not heads. */
        "in q 1,4,3,4\nin k 1,4,5,4\nin v 1,4,5,4\nkk 1,4,10,4 = repeat_interleave.self_int k {'repeats': 2, 'dim': 2}\n"
        "vv 1,4,10,4 = repeat_interleave.self_int v {'repeats': 2, 'dim': 2}\n" ATTEND,
        "in q 1,4,3,4\nin k 1,4,1,4\nin v 1,4,1,4\nkk 1,4,5,4 = expand.default k {'size': [1, 4, 5, 4]}\n"
        "vv 1,4,5,4 = expand.default v {'size': [1, 4, 5, 4]}\n" ATTEND,
        "in q 1,4,3,1\nin k 1,1,5,1\nin v 1,1,5,1\nek 1,1,5,4 = expand.default k {'size': [1, 1, 5, 4]}\n"
        "kk 1,4,5,1 = reshape.default ek {'shape': [1, 4, 5, 1]}\nev 1,1,5,4 = expand.default v {'size': [1, 1, 5, 4]}\n"
        "vv 1,4,5,1 = reshape.default ev {'shape': [1, 4, 5, 1]}\n"
        "y 1,4,3,1 = scaled_dot_product_attention.default q kk vv\nout y",
        /* The batch is copied, too. */
        "in q 2,4,3,4\nin k 1,1,5,4\nin v 1,1,5,4\nkk 2,4,5,4 = expand.default k {'size': [2, 4, 5, 4]}\n"
        "vv 2,4,5,4 = expand.default v {'size': [2, 4, 5, 4]}\ny 2,4,3,4 = scaled_dot_product_attention.default q kk vv\nout y",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_pass_gqa(ir, &err), QNNRT_OK);
        if (ir->removed_count != 0) printf("    case %lu\n", (unsigned long)i);
        CHECK(sound(ir) && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_repeat_interleave_is_computed)
{
    static const char *const lines[] = {
        "in x 2,3\na 2,6 = repeat_interleave.self_int x {'repeats': 2, 'dim': 1}\nu 2,3,1 = unsqueeze.default x {'dim': 2}\n"
        "e 2,3,2 = expand.default u {'size': [2, 3, 2]}\nb 2,6 = reshape.default e {'shape': [2, 6]}\nout a\nout b",
        "in x 2,3\na 12 = repeat_interleave.self_int x {'repeats': 2}\nu 2,3,1 = unsqueeze.default x {'dim': 2}\n"
        "e 2,3,2 = expand.default u {'size': [2, 3, 2]}\nb 12 = reshape.default e {'shape': [12]}\nout a\nout b",
        "in x 2,3\na 6,3 = repeat_interleave.self_int x {'repeats': 3, 'dim': -2}\nu 2,1,3 = unsqueeze.default x {'dim': 1}\n"
        "e 2,3,3 = expand.default u {'size': [2, 3, 3]}\nb 6,3 = reshape.default e {'shape': [6, 3]}\nout a\nout b",
    };
    size_t i;
    for (i = 0; i < 3; ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        CHECK(ir != NULL && compute(ir));
        CHECK(memcmp(ir->outputs[0]->note, ir->outputs[1]->note, ir->outputs[0]->count * sizeof(float)) == 0);
        free_graph(ir);
    }
}

/* ---- tables of positions ---- */

enum { ROWS = 50 };

/* Compute a graph with integer inputs of `seed`, and float32 outputs that go to `out`. */
static int compute_at(qnnrt_ir *ir, int seed, float *out)
{
    void *inputs[8], *outputs[8];
    qnnrt_ir_run_desc desc;
    size_t i, k;
    int good;
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *x = ir->inputs[i];
        inputs[i] = calloc(x->count + 1, 8);
        if (inputs[i] == NULL) abort();
        for (k = 0; k < x->count; ++k) {
            const int at = (int)((k * 7 + k * k * 3 + (size_t)seed * 11) % ROWS);
            if (x->dtype == QNNRT_DTYPE_I64) ((int64_t *)inputs[i])[k] = at;
            else if (x->dtype == QNNRT_DTYPE_I32) ((int32_t *)inputs[i])[k] = at;
            else ((float *)inputs[i])[k] = (float)at / 8;
        }
    }
    for (i = 0; i < ir->output_count; out += ir->outputs[i++]->count) outputs[i] = out;
    good = qnnrt_ir_run(ir, &desc, (const void *const *)inputs, outputs, &err) == QNNRT_OK;
    if (!good) printf("    %s\n", err.text);
    for (i = 0; i < ir->input_count; ++i) free(inputs[i]);
    return good;
}

static qnnrt_result tables(qnnrt_ir *ir, qnnrt_error *e)
{
    return qnnrt_ir_pass_rope_table(ir, ROWS, e);
}

static const float frequencies[] = { 1.0f, 0.31622776f, 0.1f, 0.01f };

/* Give the weights that are named f their numbers. */
static void give(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT && ir->values[i]->name[0] == 'f') ir->values[i]->data = frequencies;
}

/* True if the pass gives the expected graph, twice, and the same numbers for all positions below ROWS, bit by bit. */
static int tabulates(const char *lines, const char *expected)
{
    static float before[2000], after[2000];
    qnnrt_ir *ir = graph(lines), *made = graph(lines);
    int good = ir != NULL && made != NULL, i;
    for (i = 0; i < 2 && good; ++i) {
        give(ir);
        give(made);
        good = tables(made, &err) == QNNRT_OK && sound(made) && same(show(made), expected);
    }
    for (i = 0; i < 5 && good; ++i) {
        memset(before, 0, sizeof(before));
        memset(after, 1, sizeof(after));
        good = compute_at(ir, i, before) && compute_at(made, i, after);
        if (good && memcmp(before, after, (size_t)ir->outputs[0]->count * sizeof(float)) != 0) {
            printf("    the numbers differ\n");
            good = 0;
        }
    }
    qnnrt_ir_free(ir);
    qnnrt_ir_free(made);
    return good;
}

/* As transformers' models have it: inv_freq [1, 4, 1] times positions [1, 1, 6], transposed, twice side by side. */
#define ANGLES "in p:int64 1,6\nweight f 4\nu 1,4 = unsqueeze.default f {'dim': 0}\nw 1,4,1 = unsqueeze.default u {'dim': 2}\n" \
    "g 1,4,1 = expand.default w {'size': [1, -1, 1]}\ni:int64 1,1,6 = unsqueeze.default p {'dim': 1}\n" \
    "j 1,1,6 = to.dtype i {'dtype': 'torch.float32'}\na 1,4,6 = matmul.default g j\n" \
    "t 1,6,4 = transpose.int a {'dim0': 1, 'dim1': 2}\n"
#define TWICE "e 1,6,8 = cat.default t t {'dim': -1}\n"

TEST(ir_rope_table_replaces_cos_and_sin)
{
    static const struct { const char *lines, *expected; } cases[] = {
        { ANGLES TWICE "y 1,6,8 = cos.default e\nout y", "y=embedding.default(y_table,p) -> y" },
        { ANGLES TWICE "y 1,6,8 = cos.default e\nz 1,6,8 = sin.default e\nx 1,6,8 = mul.Tensor y {'other': 1.5}\nout x\nout z",
          "y=embedding.default(y_table,p) z=embedding.default(z_table,p) x=mul.Tensor(y) -> x z" },
        /* cos before the transpose: rows are reordered. */
        { ANGLES "c 1,4,6 = cos.default a\ny 1,6,4 = transpose.int c {'dim0': 1, 'dim1': 2}\nout y",
          "c_1=embedding.default(c_table,p) c_2=view.default(c_1) c_3=permute.default(c_2) c=view.default(c_3) "
          "y=transpose.int(c) -> y" },
        /* A product of elements; dimensions of 1 between; positions of 32 bits; positions that are computed. */
        { "in p:int32 6\nweight f 4\nq:int32 6,1 = view.default p {'size': [6, 1]}\nk 6,1 = to.dtype q {'dtype': 'torch.float32'}\n"
          "a 6,4 = mul.Tensor k f\nb 6,1,4 = unsqueeze.default a {'dim': 1}\ny 6,1,4 = sin.default b\nout y",
          "y_1=embedding.default(y_table,p) y=view.default(y_1) -> y" },
        { "in p:int64 6\nweight f 4\nq:int64 6 = add.Tensor p {'other': -1}\nm:int64 6 = abs.default q\n"
          "k 6 = to.dtype m {'dtype': 'torch.float32'}\nb 6,1 = unsqueeze.default k {'dim': 1}\na 6,4 = mul.Tensor b f\n"
          "y 6,4 = cos.default a\nout y", "q=add.Tensor(p) m=abs.default(q) y=embedding.default(y_table,m) -> y" },
        /* A batch, and each frequency twice in a row. */
        { "in p:int64 2,3\nweight f 4\nk:int64 2,3,1 = unsqueeze.default p {'dim': -1}\nb 2,3,4 = mul.Tensor k f\n"
          "s 2,3,4,2 = stack.default b b {'dim': -1}\na 2,3,8 = flatten.using_ints s {'start_dim': 2}\n"
          "y 2,3,8 = cos.default a\nout y", "y=embedding.default(y_table,p) -> y" },
        { "in p:int64 2,3\nweight f 4\nk:int64 2,3,1 = unsqueeze.default p {'dim': -1}\nb 2,3,4 = mul.Tensor k f\n"
          "a 2,3,8 = repeat_interleave.self_int b {'repeats': 2, 'dim': -1}\nc 2,3,3 = slice.Tensor a {'dim': 2, 'start': 5}\n"
          "y 2,3,3 = cos.default c\nout y", "y=embedding.default(y_table,p) -> y" },
        /* One position. */
        { "in p:int64 1,1\nweight f 4\nk 1,1 = to.dtype p {'dtype': 'torch.float32'}\na 1,4 = mul.Tensor k f\n"
          "b 2,4 = cat.default a a {'dim': 0}\ny 2,4 = cos.default b\nout y",
          "y_1=embedding.default(y_table,p) y=view.default(y_1) -> y" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const int good = tabulates(cases[i].lines, cases[i].expected);
        if (!good) printf("    case %lu\n", (unsigned long)i);
        CHECK(good);
    }
}

TEST(ir_rope_table_replaces_the_rope_of_exporters)
{
    qnnrt_ir *one;
    CHECK(tabulates("in p:int64 1,3\nweight f 4\nc 1,3,8 s 1,3,8 = rope f p\ny 1,3,8 = add.Tensor c s\nout y",
                    "c=embedding.default(c_table,p) s=embedding.default(s_table,p) y=add.Tensor(c,s) -> y"));
    /* In bfloat16, as the genuine file has it; only cos is read. */
    one = graph("in p:int64 1,3\nweight f 4\nc:bfloat16 1,3,8 s:bfloat16 1,3,8 = rope f p\ny:bfloat16 1,3,8 = neg.default c\nout y");
    CHECK(one != NULL);
    give(one);
    CHECK_EQ(tables(one, &err), QNNRT_OK);
    CHECK(sound(one) && same(show(one), "c=embedding.default(c_table,p) y=neg.default(c) -> y"));
    CHECK(one->nodes[0]->inputs[0]->dtype == QNNRT_DTYPE_BF16 && one->nodes[0]->inputs[0]->dims[0] == ROWS);
    CHECK_STR(one->removed[0]->mapping, "became tables of 50 positions");
    qnnrt_ir_free(one);
}

TEST(ir_rope_table_stores_equal_tables_once)
{
    qnnrt_ir *ir = graph(ANGLES TWICE "c 1,6,8 = cos.default e\nk 1,6,8 = cat.default t t {'dim': 2}\nd 1,6,8 = cos.default k\n"
                         "y 1,6,8 = add.Tensor c d\nout y");
    size_t removed_count;
    CHECK(ir != NULL);
    give(ir);
    CHECK_EQ(tables(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "c=embedding.default(c_table,p) d=embedding.default(c_table,p) y=add.Tensor(c,d) -> y"));
    removed_count = ir->removed_count;
    CHECK_EQ(removed_count, 11);
    CHECK_STR(ir->removed[removed_count - 1]->mapping, "tables");
    qnnrt_ir_free(ir);
}

TEST(ir_rope_table_leaves_what_is_no_table)
{
    static const char *const lines[] = {
        /* Without the numbers of the frequencies; of floats; of two lists of positions. */
        "in p:int64 6,1\nweight g 4\na 6,4 = mul.Tensor p g\ny 6,4 = cos.default a\nout y",
        "in p 6,1\nweight f 4\na 6,4 = mul.Tensor p f\ny 6,4 = cos.default a\nout y",
        "in p:int64 6,1\nin q:int64 6,1\nweight f 4\na 6,4 = mul.Tensor p f\nb 6,4 = mul.Tensor a q\ny 6,4 = cos.default b\nout y",
        /* Positions that folding makes constant, and that may be larger than the table. */
        "weight f 4\np:int64 60 = arange.default {'end': 60}\nu:int64 60,1 = unsqueeze.default p {'dim': 1}\n"
        "a 60,4 = mul.Tensor u f\ny 60,4 = cos.default a\nout y",
        /* Distances of positions; a sum over them; the same vector along both dimensions. */
        "in p:int64 4\nweight f 4\nk 4 = to.dtype p {'dtype': 'torch.float32'}\nu 4,1 = unsqueeze.default k {'dim': 1}\n"
        "d 4,4 = sub.Tensor u k\ny 4,4 = cos.default d\nout y",
        "in p:int64 4\nweight f 4\nk 4 = to.dtype p {'dtype': 'torch.float32'}\ns 4 = cumsum.default k {'dim': 0}\n"
        "y 4 = cos.default s\nout y",
        "in p:int64 4\nweight f 4\nk 4 = mul.Tensor p f\nu 4,1 = unsqueeze.default k {'dim': 1}\nd 4,4 = mul.Tensor u f\n"
        "z 4,4 = matmul.default d d\ny 4,4 = cos.default z\nout y",
        /* The inner dimension of a product, a part of the positions, all in one dimension with the frequencies. */
        "in p:int64 1,4\nweight f 4,1\nk 1,4 = to.dtype p {'dtype': 'torch.float32'}\na 1,1 = matmul.default k f\n"
        "y 1,1 = cos.default a\nout y",
        "in p:int64 6,1\nweight f 4\na 6,4 = mul.Tensor p f\nb 3,4 = slice.Tensor a {'dim': 0, 'start': 3}\n"
        "y 3,4 = cos.default b\nout y",
        "in p:int64 6,1\nweight f 4\na 6,4 = mul.Tensor p f\nb 24 = view.default a {'size': [24]}\ny 24 = cos.default b\nout y",
        "in p:int64 4\nweight f 2,1\nk 4 = to.dtype p {'dtype': 'torch.float32'}\na 2,4 = mul.Tensor f k\n"
        "b 4,2 = view.default a {'size': [4, 2]}\ny 4,2 = cos.default b\nout y",
    };
    size_t i;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        qnnrt_ir *ir = graph(lines[i]);
        CHECK(ir != NULL);
        give(ir);
        CHECK_EQ(tables(ir, &err), QNNRT_OK);
        if (live_nodes(ir, "cos.default") != 1) printf("    case %lu\n", (unsigned long)i);
        CHECK(sound(ir) && live_nodes(ir, "cos.default") == 1 && ir->removed_count == 0);
        qnnrt_ir_free(ir);
    }
    CHECK_EQ(qnnrt_ir_pass_rope_table(NULL, 1, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_pass_rope_table(NULL, 0, &err), QNNRT_E_ARG);
}

/* Fold with data in the weights. True if the graph and the numbers are as expected. */
static int folds_by(pass run, const char *lines, const char *expected)
{
    qnnrt_ir *before = graph(lines), *after = graph(lines);
    size_t i, k;
    int good = before != NULL && after != NULL && compute(before);
    for (i = 0; good && i < after->value_count; ++i)          /* in the same order */
        if (after->values[i]->origin == QNNRT_IR_WEIGHT) after->values[i]->data = before->values[i]->data;
    good = good && run(after, &err) == QNNRT_OK && sound(after) && same(show(after), expected) &&
           compute(after);
    for (i = 0; good && i < before->output_count; ++i) {
        const float *a = (const float *)before->outputs[i]->note, *b = (const float *)after->outputs[i]->note;
        for (k = 0; k < before->outputs[i]->count; ++k) good = good && a[k] - b[k] < 1e-4f && b[k] - a[k] < 1e-4f;
        if (!good) printf("    %s differs\n", before->outputs[i]->name);
    }
    free_graph(before);
    free_graph(after);
    return good;
}

static int folds(const char *lines, const char *expected)
{
    return folds_by(qnnrt_ir_pass_bn_fold, lines, expected);
}

#define BATCH " g h m v {'training': false, 'momentum': 0.1, 'eps': 1e-5}\n"
#define CONV "in x 1,2,4,4\nweight w 3,2,3,3\nweight b 3\nweight g 3\nweight h 3\nweight m 3\nweight v 3\n"

TEST(ir_bn_fold_keeps_the_numbers)
{
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w b {'stride': [1, 1]}\ny 1,3,2,2 = batch_norm.default c" BATCH "out y",
                "y=conv2d.default(x,y_weight,y_bias) -> y"));
    /* Defect 1: a convolution without a bias gets one; its arguments stay. */
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w {'stride': [2, 2], 'padding': [1, 1]}\n"
                "y 1,3,2,2 = batch_norm.default c" BATCH "out y", "y=conv2d.default(x,y_weight,y_bias) -> y"));
    /* Defect 2: two convolutions share a weight: each has its own after it, or the old one. */
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w\nd 1,3,2,2 = conv2d.default x w b\n"
                "y 1,3,2,2 = batch_norm.default c" BATCH "z 1,3,2,2 = batch_norm.default d" BATCH "k 1,3,2,2 = conv2d.default x w\n"
                "out y\nout z\nout k", "y=conv2d.default(x,y_weight,y_bias) z=conv2d.default(x,z_weight,z_bias) "
                "k=conv2d.default(x,w) -> y z k"));
}

TEST(ir_bn_fold_leaves_what_others_read)
{
    /* Defect 2: others read the result of the convolution. Defect 8: it is an output of the graph. */
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w b\ny 1,3,2,2 = batch_norm.default c" BATCH "out y\nout c",
                "c=conv2d.default(x,w,b) y=batch_norm.default(c,g,h,m,v) -> y c"));
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w b\ny 1,3,2,2 = batch_norm.default c" BATCH
                "z 1,3,2,2 = neg.default c\nout y\nout z",
                "c=conv2d.default(x,w,b) y=batch_norm.default(c,g,h,m,v) z=neg.default(c) -> y z"));
    /* Defect 3: not directly after the convolution, it stays, with its numbers. */
    CHECK(folds(CONV "c 1,3,2,2 = conv2d.default x w b\nr 1,3,2,2 = relu.default c\ny 1,3,2,2 = batch_norm.default r" BATCH
                "out y", "c=conv2d.default(x,w,b) r=relu.default(c) y=batch_norm.default(r,g,h,m,v) -> y"));
    /* Without data of the weights. */
    CHECK(becomes(CONV "c 1,3,2,2 = conv2d.default x w b\ny 1,3,2,2 = batch_norm.default c" BATCH "out y",
                  qnnrt_ir_pass_bn_fold, "c=conv2d.default(x,w,b) y=batch_norm.default(c,g,h,m,v) -> y"));
}

/* ---- patterns after patterns ---- */

static qnnrt_result all_fusions(qnnrt_ir *ir, qnnrt_error *e)
{
    static const pass list[] = { qnnrt_ir_pass_noops, qnnrt_ir_pass_linear, qnnrt_ir_pass_attention, qnnrt_ir_pass_gelu,
                                 qnnrt_ir_pass_layer_norm, qnnrt_ir_pass_rms_norm, qnnrt_ir_pass_silu };
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < sizeof(list) / sizeof(list[0]) && result == QNNRT_OK; ++i) result = list[i](ir, e);
    return result;
}

TEST(ir_fused_results_are_inputs_of_later_patterns)
{
    /* Defect 9: a norm, silu * up from it in both orders, a norm of that. */
    CHECK(fuses("in x 2,4\nweight w 4\n" SQUARE ROOT "n 2,4 = mul.Tensor x r\nk 2,4 = mul.Tensor w n\n"
                "g 2,4 = sigmoid.default k\ns 2,4 = mul.Tensor k g\nu 2,4 = neg.default k\nd 2,4 = mul.Tensor u s\n"
                "q 2,4 = mul.Tensor d d\nc 2,1 = mean.dim q {'dim': [1], 'keepdim': true}\nb 2,1 = add.Tensor c {'other': 0.5}\n"
                "a 2,1 = rsqrt.default b\ny 2,4 = mul.Tensor d a\nout y", all_fusions,
                "k=q.rms_norm(x,w) s=q.silu(k) u=neg.default(k) d=mul.Tensor(u,s) y=q.rms_norm(d) -> y"));
    /* Attention of normalized queries, whose result is gated. */
    CHECK(fuses("in x 2,4\nin k 5,4\nin v 5,4\n" SQUARE ROOT "q 2,4 = mul.Tensor x r\nt 4,5 = t.default k\n"
                "s 2,5 = matmul.default q t\nf 2,5 = softmax.int s {'dim': -1}\no 2,4 = matmul.default f v\n"
                "g 2,4 = sigmoid.default o\ny 2,4 = mul.Tensor o g\nout y", all_fusions,
                "q=q.rms_norm(x) o=scaled_dot_product_attention.default(q,k,v) y=q.silu(o) -> y"));
}

TEST(ir_tied_weights_stay_two_values_of_one_key)
{
    /* Defect 13: both placeholders of one tensor keep their key, and passes read the data of both. */
    static const float data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    qnnrt_ir *ir = graph("in i:int64 2\nweight e 2,4 tied\nweight h 2,4 tied\nx 2,4 = embedding.default e i\n"
                         "t 4,2 = t.default h\ny 2,2 = mm.default x t\nout y");
    size_t i, found = 0;
    CHECK(ir != NULL);
    CHECK_EQ(all_fusions(ir, &err), QNNRT_OK);
    CHECK(sound(ir) && same(show(ir), "x=embedding.default(e,i) y=linear.default(x,h) -> y"));
    for (i = 0; i < ir->value_count; ++i) {
        if (ir->values[i]->origin != QNNRT_IR_WEIGHT) continue;
        CHECK(strcmp(ir->values[i]->key, "tied") == 0 && ir->values[i]->users == 1);
        ir->values[i]->data = data;
        ++found;
    }
    CHECK_EQ(found, 2);
    qnnrt_ir_free(ir);
}

/* ---- native ---- */

TEST(ir_native_forms_become_those_of_layers)
{
    CHECK(fuses("in x 1,2,4,4\nweight w 3,2,3,3\nweight b 3\ny 1,3,2,2 = convolution.default x w b {'stride': [1, 1], 'padding': "
                "[0, 0], 'dilation': [1, 1], 'transposed': false, 'output_padding': [0, 0], 'groups': 1}\nout y",
                qnnrt_ir_pass_native, "y=conv2d.default(x,w,b) -> y"));
    CHECK(fuses("in x 1,4,6\nweight w 4,2,3\ny 1,4,3 = convolution.default x w {'stride': [2], 'padding': [1], 'dilation': [1], "
                "'transposed': false, 'output_padding': [0], 'groups': 2}\nout y", qnnrt_ir_pass_native,
                "y=conv1d.default(x,w) -> y"));
    CHECK(fuses("in x 1,2,3,3\nweight w 2,3,2,2\ny 1,3,7,6 = convolution.default x w {'stride': [2, 2], 'padding': [0, 0], "
                "'dilation': [1, 1], 'transposed': true, 'output_padding': [1, 0], 'groups': 1}\nout y", qnnrt_ir_pass_native,
                "y=conv_transpose2d.input(x,w) -> y"));
    CHECK(fuses("in x 2,4\nweight w 4\nweight b 4\ny 2,4 m 2,1 r 2,1 = native_layer_norm.default x w b {'normalized_shape': [4], "
                "'eps': 0.5}\nout y", qnnrt_ir_pass_native, "y=layer_norm.default(x,w,b) -> y"));
    CHECK(fuses("in c 1,3,2,2\nweight g 3\nweight h 3\nweight m 3\nweight v 3\ny 1,3,2,2 s 0 t 0 = "
                "_native_batch_norm_legit_no_training.default c g h m v {'momentum': 0.1, 'eps': 0.5}\nout y",
                qnnrt_ir_pass_native, "y=batch_norm.default(c,g,h,m,v) -> y"));
    CHECK(fuses("in c 1,3,2,2\nweight g 3\nweight h 3\nweight m 3\nweight v 3\ny 1,3,2,2 s 0 t 0 = native_batch_norm.default "
                "c g h m v {'training': false, 'momentum': 0.1, 'eps': 0.5}\nout y", qnnrt_ir_pass_native,
                "y=batch_norm.default(c,g,h,m,v) -> y"));
    /* Other results are read. */
    CHECK(fuses("in x 2,4\ny 2,4 m 2,1 r 2,1 = native_layer_norm.default x {'normalized_shape': [4], 'eps': 0.5}\nout y\nout r",
                qnnrt_ir_pass_native, "y,m,r=native_layer_norm.default(x) -> y r"));
}

TEST(ir_native_writes_of_rows_add_where_they_add)
{
    CHECK(fuses("in x 4,3\nin i:int64 2\nin v 2,3\ny 4,3 = index_put.default x i v {'accumulate': true}\nout y", qnnrt_ir_pass_native,
                "y=index_add.default(x,i,v) -> y"));
    CHECK(fuses("in x 4,3\nin i:int64 2\nin v 2,3\ny 4,3 = index_put.default x i v {'accumulate': false}\nout y", qnnrt_ir_pass_native,
                "y=index_copy.default(x,i,v) -> y"));
    CHECK(fuses("in x 4,3\nin i:int64 2,1\nin v 2,3\ne:int64 2,3 = expand.default i {'size': [2, 3]}\n"
                "y 4,3 = scatter_add.default x e v {'dim': 0}\nout y", qnnrt_ir_pass_native,
                "y_rows=view.default(i) y=index_add.default(x,y_rows,v) -> y"));
}

static qnnrt_result native_fold(qnnrt_ir *ir, qnnrt_error *e)
{
    qnnrt_result result = qnnrt_ir_pass_noops(ir, e);
    if (result == QNNRT_OK) result = qnnrt_ir_pass_native(ir, e);
    return result == QNNRT_OK ? qnnrt_ir_pass_bn_fold(ir, e) : result;
}

TEST(ir_native_batch_norm_is_folded)
{
    CHECK(folds_by(native_fold, CONV "c 1,3,2,2 = convolution.default x w {'stride': [1, 1], 'padding': [0, 0], 'dilation': [1, 1], "
                   "'transposed': false, 'output_padding': [0, 0], 'groups': 1}\nk 1,3,2,2 s 0 t 0 = "
                   "_native_batch_norm_legit_no_training.default c g h m v {'momentum': 0.1, 'eps': 1e-5}\n"
                   "y 1,3,2,2 = getitem k s t {'index': 0}\nout y", "y=conv2d.default(x,k_weight,k_bias) -> y"));
}

/* ---- files ---- */

static const struct { const char *name; pass run; } passes[] = {
    { "inplace", qnnrt_ir_pass_inplace }, { "noops", qnnrt_ir_pass_noops }, { "dead", qnnrt_ir_pass_dead },
    { "gelu", qnnrt_ir_pass_gelu }, { "bn_fold", qnnrt_ir_pass_bn_fold }, { "layer_norm", qnnrt_ir_pass_layer_norm },
    { "rms_norm", qnnrt_ir_pass_rms_norm }, { "silu", qnnrt_ir_pass_silu },
    { "native", qnnrt_ir_pass_native }, { "rope_table", tables }, { "linear", qnnrt_ir_pass_linear }, { "attention", qnnrt_ir_pass_attention }, { "gqa", qnnrt_ir_pass_gqa },
    { "matmul_transpose", qnnrt_ir_pass_matmul_transpose },
};
enum { PASSES = sizeof(passes) / sizeof(passes[0]) };

TEST(ir_passes_keep_the_data_files_sound)
{
    static const char *const files[] = { "tiny_cnn", "tiny_prefill", "tiny_decode", "torch_cnn", "torch_llama" };
    size_t i, k, o;
    for (i = 0; i < 5; ++i) {
        char names[400][64];
        qnnrt_ir *ir = ir_file(files[i], &err);
        CHECK(ir != NULL);
        CHECK(ir->output_count <= 400);
        for (o = 0; o < ir->output_count; ++o) snprintf(names[o], 64, "%.60s", ir->outputs[o]->name);
        for (k = 0; k < PASSES; ++k) {
            CHECK_EQ(passes[k].run(ir, &err), QNNRT_OK);
            CHECK(sound(ir));
            for (o = 0; o < ir->output_count; ++o) CHECK(strcmp(names[o], ir->outputs[o]->name) == 0);
        }
        CHECK_EQ(live_nodes(ir, "relu_.default"), 0);
        CHECK_EQ(live_nodes(ir, "_assert_tensor_metadata.default"), 0);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_passes_find_what_a_genuine_file_has)
{
    char path[1200];
    void *text;
    size_t bytes, k, before;
    const qnnrt_ir_desc desc = ir_plain_rope();
    qnnrt_ir *ir = NULL;
    if (test_getenv("QNNRT_SAMPLES") == NULL) SKIP("QNNRT_SAMPLES is not set");
    snprintf(path, sizeof path, "%.1000s/ir/qwen2_prefill_ir.json", test_getenv("QNNRT_SAMPLES"));
    text = test_read_file(path, &bytes);
    CHECK(text != NULL);
    CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, &desc, &ir, &err), QNNRT_OK);
    free(text);
    before = ir->node_count;
    for (k = 0; k < PASSES; ++k) CHECK_EQ(passes[k].run(ir, &err), QNNRT_OK);
    CHECK(sound(ir));
    CHECK_EQ(removed(ir, "_assert_tensor_metadata.default"), 142);
    CHECK_EQ(removed(ir, "alias.default"), 29);
    CHECK_EQ(removed(ir, "detach.default"), 56);
    CHECK_EQ(removed(ir, "dropout.default"), 28);
    CHECK_EQ(removed(ir, "contiguous.default"), 28);
    CHECK_EQ(removed(ir, "getitem"), 2);
    CHECK_EQ(removed(ir, "cat.default"), 56);
    CHECK_EQ(live_nodes(ir, "q.rms_norm"), 57);
    CHECK_EQ(live_nodes(ir, "q.silu"), 28);
    CHECK_EQ(live_nodes(ir, "rsqrt.default") + live_nodes(ir, "to.dtype"), 0);
    CHECK_EQ(removed(ir, "transpose.int"), 28);
    CHECK_EQ(live_nodes(ir, "scaled_dot_product_attention.default"), 28);
    CHECK_EQ(removed(ir, "expand.default"), 56);
    CHECK_EQ(live_nodes(ir, "softmax.int") + live_nodes(ir, "matmul.default"), 0);
    CHECK_EQ(ir->node_count + ir->removed_count, before);
    qnnrt_ir_free(ir);
}

TEST(ir_passes_survive_every_failing_allocation)
{
    static const char *const lines[] = {
        "in x 2,4\nweight w 4\na 2,4 = neg.default x\nb 2,4 = relu_.default a\nc 2,4 = alias.default b\n"
        "p 2,4 = pow.Tensor_Scalar c {'exponent': 2}\nm 2,1 = mean.dim p {'dim': [-1], 'keepdim': true}\n"
        "e 2,1 = add.Tensor m {'other': 1e-6}\nr 2,1 = rsqrt.default e\nn 2,4 = mul.Tensor c r\ny 2,4 = mul.Tensor w n\nout y",
        ANGLES "c 1,4,6 = cos.default a\nz 1,6,4 = sin.default t\ny 1,6,4 = transpose.int c {'dim0': 1, 'dim1': 2}\nout y\nout z",
        "in q 1,2,3,4\nin t 1,2,4,5\nin v 1,2,5,4\ns 1,2,3,5 = matmul.default q t\nf 1,2,3,5 = softmax.int s {'dim': -1}\n"
        "y 1,2,3,4 = matmul.default f v\nout y",
    };
    qnnrt_ir_desc desc;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        long failed = 0;
        int done = 0;
        for (fail_at = 0; !done; ++fail_at) {
            qnnrt_result result = QNNRT_OK;
            qnnrt_ir *ir;
            size_t k;
            allocations = 0;
            ir = graph_with(lines[i], &desc);
            if (ir != NULL) give(ir);
            for (k = 0; k < PASSES && ir != NULL && result == QNNRT_OK; ++k) result = passes[k].run(ir, &err);
            CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
            done = ir != NULL && result == QNNRT_OK;
            failed += !done;
            qnnrt_ir_free(ir);
            CHECK_EQ(live, 0);
        }
        CHECK(failed > 3);
    }
}

/* ---- ranges ---- */

/* The range of the output of one operator on int64 inputs x [4] (0 to 3000000), y [4] (not stated) and w [2,4]
   (0 or 1). */
static int ranges_are(const char *op, const char *in, const char *shape, const char *attrs, double low, double high)
{
    char text[2000];
    qnnrt_ir *ir;
    int good;
    snprintf(text, sizeof text, "{'graph_inputs': [" V("x", "int64", "4") ", " V("y", "int64", "4") ", " V("w", "int64", "2, 4") "], "
             "'graph_outputs': [{'name': 'z', 'shape': [%s], 'dtype': 'int64'}], 'weights': [], 'format': 'qnnrt.graph', "
             "'version': 1, 'ranges': {'x': [0, 3000000], 'w': [0, 1]}, 'nodes': [{'name': 'z', 'op_type': 'aten.%s', "
             "'inputs': [%s], 'outputs': [{'name': 'z', 'shape': [%s], 'dtype': 'int64'}], 'attrs': {%s}}]}",
             shape, op, in, shape, attrs);
    if ((ir = ir_graph(text, NULL, &err)) == NULL || qnnrt_ir_pass_ranges(ir, &err) != QNNRT_OK) return 0;
    good = ir->inputs[0]->ranged == 1 && ir->inputs[1]->ranged == 3 && ir->outputs[0]->ranged == 2 &&
           ir->inputs[1]->low == -1073741823 && (double)ir->outputs[0]->low >= low && (double)ir->outputs[0]->low <= low &&
           (double)ir->outputs[0]->high >= high && (double)ir->outputs[0]->high <= high;
    if (!good) printf("    %s: %.0f to %.0f\n", op, (double)ir->outputs[0]->low, (double)ir->outputs[0]->high);
    qnnrt_ir_free(ir);
    return good;
}

TEST(ir_ranges_follow_from_inputs)
{
    static const char x[] = V("x", "int64", "4"), xy[] = V("x", "int64", "4") ", " V("y", "int64", "4"), w[] = V("w", "int64", "2, 4");
    CHECK(ranges_are("mul.Tensor", x, "4", "'other': 1000", 0, 3e9));
    CHECK(ranges_are("mul.Tensor", x, "4", "'other': -1000", -3e9, 0));
    CHECK(ranges_are("add.Tensor", x, "4", "'other': 1", 1, 3000001));
    CHECK(ranges_are("add.Tensor", xy, "4", "", -1073741823, 1076741823));
    CHECK(ranges_are("sub.Tensor", xy, "4", "'alpha': 2", -2147483646, 2150483646));
    CHECK(ranges_are("rsub.Scalar", x, "4", "'other': 1", -2999999, 1));
    CHECK(ranges_are("sub.Tensor", x, "4", "'self': 2", -2999998, 2));   /* the number comes first */
    CHECK(ranges_are("remainder.Scalar_Tensor", x, "4", "'self': 7", 0, 2999999));
    CHECK(ranges_are("square.default", V("y", "int64", "4"), "4", "", 0, 1073741823.0 * 1073741823.0));
    CHECK(ranges_are("floor_divide.default", x, "4", "'other': 1000", 0, 3000));
    CHECK(ranges_are("remainder.Scalar", x, "4", "'other': 7", 0, 6));
    CHECK(ranges_are("pow.Tensor_Scalar", x, "4", "'exponent': 2", 0, 9e12));
    CHECK(ranges_are("neg.default", x, "4", "", -3000000, 0));
    CHECK(ranges_are("abs.default", V("y", "int64", "4"), "4", "", 0, 1073741823));
    CHECK(ranges_are("clamp.default", V("y", "int64", "4"), "4", "'min': -5, 'max': 9", -5, 9));
    CHECK(ranges_are("maximum.default", xy, "4", "", 0, 1073741823));
    CHECK(ranges_are("minimum.default", xy, "4", "", -1073741823, 3000000));
    CHECK(ranges_are("sum.dim_IntList", w, "2", "'dim': [1]", 0, 4));
    CHECK(ranges_are("sum.dim_IntList", x, "", "'dim': [0]", 0, 12e6));
    CHECK(ranges_are("cumsum.default", w, "2, 4", "'dim': 1", 0, 4));
    CHECK(ranges_are("argmax.default", w, "2", "'dim': 1", 0, 7));
    CHECK(ranges_are("cat.default", xy, "8", "'dim': 0", -1073741823, 1073741823));
    CHECK(ranges_are("view.default", x, "2, 2", "'size': [2, 2]", 0, 3000000));
}

TEST_MAIN("ir_passes")
{
    RUN(ir_inplace_renames);
    RUN(ir_inplace_lets_later_readers_see_the_change);
    RUN(ir_inplace_refuses_memory_that_is_read_through_another_value);
    RUN(ir_inplace_refuses_to_change_weights_and_buffers);
    RUN(ir_inplace_keeps_the_dtype);
    RUN(ir_tidy_and_fold_keep_what_is_overwritten);
    RUN(ir_noops_removes_copies);
    RUN(ir_noops_keeps_what_changes_something);
    RUN(ir_noops_removes_assertions);
    RUN(ir_noops_keeps_the_names_of_outputs);
    RUN(ir_noops_keeps_copies_that_protect);
    RUN(ir_dead_removes_what_nothing_reads);
    RUN(ir_rms_norm_is_found);
    RUN(ir_rms_norm_is_found_through_conversions);
    RUN(ir_rms_norm_leaves_what_others_read);
    RUN(ir_layer_norm_is_found);
    RUN(ir_silu_is_found);
    RUN(ir_matmul_reads_before_the_transpose);
    RUN(ir_gelu_is_found);
    RUN(ir_linear_is_found);
    RUN(ir_linear_leaves_other_products);
    RUN(ir_attention_is_found);
    RUN(ir_attention_reorders_keys_and_values);
    RUN(ir_attention_reads_before_conversions);
    RUN(ir_attention_leaves_what_is_another_thing);
    RUN(ir_attention_keeps_the_nan_of_softmax);
    RUN(ir_attention_of_fewer_heads_needs_enable_gqa);
    RUN(ir_gqa_reads_before_heads_are_copied);
    RUN(ir_gqa_leaves_other_orders);
    RUN(ir_repeat_interleave_is_computed);
    RUN(ir_rope_table_replaces_cos_and_sin);
    RUN(ir_rope_table_replaces_the_rope_of_exporters);
    RUN(ir_rope_table_stores_equal_tables_once);
    RUN(ir_rope_table_leaves_what_is_no_table);
    RUN(ir_bn_fold_keeps_the_numbers);
    RUN(ir_bn_fold_leaves_what_others_read);
    RUN(ir_fused_results_are_inputs_of_later_patterns);
    RUN(ir_native_forms_become_those_of_layers);
    RUN(ir_native_writes_of_rows_add_where_they_add);
    RUN(ir_native_batch_norm_is_folded);
    RUN(ir_tied_weights_stay_two_values_of_one_key);
    RUN(ir_passes_keep_the_data_files_sound);
    RUN(ir_passes_find_what_a_genuine_file_has);
    RUN(ir_ranges_follow_from_inputs);
    RUN(ir_passes_survive_every_failing_allocation);
}
