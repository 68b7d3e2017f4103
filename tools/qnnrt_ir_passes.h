/* qnnrt_ir_passes.h - v0.5.0 - passes over graphs of qnnrt_ir.h: make them plain, fold, fuse

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_ir_passes.h"
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_IR_PASSES_IMPLEMENTATION
       #include "qnnrt_ir_passes.h"
   qnnrt_ir.h lies beside this file; qnnrt.h and qnnrt_json.h too, or the compiler finds them. Link
   with -ldl -lm.

       // ir: from qnnrt_ir_read(), without findings
       if (qnnrt_ir_pass_noops(ir, &err) != QNNRT_OK ||
           qnnrt_ir_fold(ir, 0, &count, &err) != QNNRT_OK ||
           qnnrt_ir_pass_rms_norm(ir, &err) != QNNRT_OK) puts(err.text);
       // ir->removed has what is gone, with its mapping

   Uses     Public names of qnnrt.h and qnnrt_ir.h, libc and libm. It knows nothing of QNN.
   Trust    As qnnrt_ir.h: graphs may be hostile, once qnnrt_ir_check() has no finding.
   Memory   That of the graph, and its allocator for what a pass needs meanwhile.
   Threads  The header creates none. One graph belongs to one thread at a time.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       pass      rewrites a whole graph; its results stay the same
       fuse      turn the nodes of a pattern into one node, such as "q.rms_norm"
       fold      compute a node that depends on constants alone; its result becomes a constant

   BUILD OPTIONS, to define before the header is first included
       QNNRT_IR_PASSES_API  replaces the storage and export prefix of all functions (default:
                            QNNRT_API)
       The options of qnnrt.h and qnnrt_ir.h work here too, such as QNNRT_STATIC.

   MANUAL

   Folding
       qnnrt_ir_fold() computes all nodes that depend on constants alone, such as the masks and
       positions of language models; qnnrt_ir_fold_weights() does so with small weights, too.

   A pass of your own
       Visit ir->nodes, look with qnnrt_ir_is() and qnnrt_ir_producer(), edit with the functions of
       qnnrt_ir.h, and end with qnnrt_ir_tidy(). Passes of other layers are written so, and all
       here: this header uses no private name.

   ROOMS (search for the tag)
       >>pass >>cleanup >>fold                                                      the floor
       >>match >>norms >>merge >>batch >>gelu >>attention >>trace >>rope             patterns
       >>columns >>causal >>kv_rows                                                 caches
       >>spans                                                                      integers
*/
#ifndef QNNRT_IR_PASSES_H
#define QNNRT_IR_PASSES_H

#include "qnnrt_ir.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_ir_passes.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_IR_PASSES_API
#define QNNRT_IR_PASSES_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Each pass rewrites a graph without findings: it does what qnnrt_ir_pass_inplace() does, then its
   own work, and tidies the graph. A node that a pass takes away is in ir->removed with its mapping;
   one that it changes has a mapping, too. The outputs of the graph keep their names, shapes and
   dtypes, and count as readers. Run qnnrt_ir_pass_noops() first: patterns are not found through
   copies and assertions.
   Returns  QNNRT_OK; QNNRT_E_MEMORY (then only qnnrt_ir_free() may follow); QNNRT_E_FORMAT as
            qnnrt_ir_tidy(); QNNRT_E_UNSUPPORTED as qnnrt_ir_pass_inplace(); QNNRT_E_ARG */

/* Compute all nodes that depend on constants alone; their outputs become constants, the nodes are
   removed with the mapping "folded". Then qnnrt_ir_tidy() runs. Weights are not constants.

   limit    largest output, in bytes (default 0: 64 MiB)
   count    receives the number of nodes that were folded; may be NULL

   What cannot be computed stays as it is. Nodes that overwrite their input are renamed first, as
   qnnrt_ir_pass_inplace() does, since what they change is not constant.
   Returns  QNNRT_OK; QNNRT_E_FORMAT (a cycle); QNNRT_E_UNSUPPORTED as qnnrt_ir_pass_inplace();
            QNNRT_E_LIMIT (qnnrt_ir_desc.fold_bytes or .fold_operations: text names the node, what
            it takes and what is left); QNNRT_E_MEMORY; QNNRT_E_ARG */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_fold(qnnrt_ir *ir, uint64_t limit, size_t *count,
                                               qnnrt_error *err);

/* Do the same, where weights that have data count as constants: tables of relative positions,
   scales of normalizations, small transposed matrices. A layer above sets qnnrt_ir_value.data to
   elements of the value's dtype, row-major, of any alignment: data of a mapped file need no copy.
   They are read during the call alone.

   limit    largest output, in bytes (default 0: 4 MiB)
   total    new constants of this call, in bytes (default 0: 64 MiB). Nodes whose outputs would
            exceed it stay as they are, and nodes that would exceed a limit of qnnrt_ir_desc

   For weights with a norm (_weight_norm), which take the place of others, only the limits of
   qnnrt_ir_desc hold.
   Returns  as qnnrt_ir_fold() */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_fold_weights(qnnrt_ir *ir, uint64_t limit, uint64_t total,
                                                       size_t *count, qnnrt_error *err);

/* Remove assertions and nodes that copy their input: alias, detach, contiguous, dropout of
   inference, to.dtype to the same dtype, views of the same shape, getitem, cat of one tensor that
   has elements. One that makes an output of the graph from an input, a weight or another output
   becomes "alias.default". */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_noops(qnnrt_ir *ir, qnnrt_error *err);

/* Rename operators of core ATen, which exports have after run_decompositions(), to those that
   passes know: convolution to conv1d, conv2d, conv3d or conv_transpose; native_layer_norm to
   layer_norm; native_batch_norm and _native_batch_norm_legit_no_training to batch_norm. Those whose
   other results are read stay. What writes rows of one dimension becomes index_copy: index_put with
   one index, slice_scatter of neighbours, scatter by an index that is expanded from one dimension.
   Negative indices, which index_put alone may have, are then out of range. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_native(qnnrt_ir *ir, qnnrt_error *err);

/* Remove nodes whose outputs nothing reads. Inputs of the graph stay. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_dead(qnnrt_ir *ir, qnnrt_error *err);

/* Turn the nodes of a normalization over the last dimension into one, in the place of the last:
   "q.rms_norm" is x / sqrt(mean(x^2) + eps) * weight, "q.layer_norm" is
   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias; weight and bias are vectors,
   or absent. Inner results must have one reader, which may be to.dtype or expand. x is the tensor
   before its conversions to wider floats. rms_norm.default and layer_norm.default over one
   dimension change, too. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_rms_norm(qnnrt_ir *ir, qnnrt_error *err);
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_layer_norm(qnnrt_ir *ir, qnnrt_error *err);

/* Turn x * sigmoid(x), and silu, into "q.silu". */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_silu(qnnrt_ir *ir, qnnrt_error *err);

/* Let matmul read the second matrix as it was before a transpose of its last two dimensions, with
   the argument transpose_b. mm and bmm with such a matrix become matmul. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_matmul_transpose(qnnrt_ir *ir, qnnrt_error *err);

/* Turn products of x with a transposed weight (matmul, mm), such products with a bias (addmm), and
   "linear.default" whose only reader adds a bias, into "linear.default". Weight and bias are
   weights or constants. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_linear(qnnrt_ir *ir, qnnrt_error *err);

/* Fold batch_norm into the convolution before it: the node of batch_norm becomes the convolution,
   with a weight and a bias that are new constants. The convolution must have no other reader, its
   weight and the vectors of batch_norm must have data: set qnnrt_ir_value.data of weights before.
   Other nodes that read the same weight keep it. batch_norm in training stays. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_bn_fold(qnnrt_ir *ir, qnnrt_error *err);

/* Turn x / 2 * (1 + erf(x / sqrt(2))), its form with tanh, and gelu, into "q.gelu". */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_gelu(qnnrt_ir *ir, qnnrt_error *err);

/* Turn softmax(query * key^T * scale + mask) * value into "scaled_dot_product_attention.default",
   in the place of the last product, with the arguments scale, enable_gqa (when one head of keys and
   values serves several queries) and, with a mask, nan_rows: softmax has NaN in rows of -infinity,
   where the operator has 0. Softmax is over the last dimension, mask is a float tensor
   that broadcasts to the scores, or absent; query or key may be scaled before. Query, key and value
   are the tensors before their conversions to wider floats, and before a transpose of the key; a
   key that is kept transposed gets a permute. Inner results must have one reader, which may be
   to.dtype or expand. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_attention(qnnrt_ir *ir, qnnrt_error *err);

/* Let "scaled_dot_product_attention.default" read keys and values before their heads are copied for
   several queries each (unsqueeze, expand, reshape; or repeat_interleave), with the argument
   enable_gqa. Both must be copied equally often, in the order of repeat_interleave. Run
   qnnrt_ir_pass_attention() before. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_gqa(qnnrt_ir *ir, qnnrt_error *err);

/* Replace cos and sin of positions, and "rope", by rows of tables: "embedding.default" of a new
   constant [positions, ..]. Backends that compute in float16 have no cos of large angles.

   positions    rows of a table; the graph may get the positions 0 to positions - 1 from then on

   The argument of cos or sin must depend on one tensor of integers, element by element, and on
   constants and weights with data, as position * inv_freq does in any order of dimensions. A table
   is computed with the graph's own nodes, and compared with them for random positions. Equal tables
   are stored once. Factors after cos stay nodes. */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_rope_table(qnnrt_ir *ir, uint32_t positions,
                                                          qnnrt_error *err);

/* Work out which integers each value can have, from the ranges of inputs and from constants:
   qnnrt_ir_value.low and .high, with .ranged 2. The graph stays as it is. An input of integers
   without a stated range is taken to have -(2^30 - 1) to 2^30 - 1, and .ranged is then 3; one that
   is an index has the range of its table, and 2. The ends are those before the dtype wraps: the
   result of an int64 node that ends at 3000000000 needs 64 bits, that of an int32 node wraps.
   Returns  QNNRT_OK; QNNRT_E_ARG */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_ranges(qnnrt_ir *ir, qnnrt_error *err);

/* What qnnrt_ir_pass_kv_rows() found. */
typedef struct qnnrt_ir_kv_info {
    size_t   caches;                 /* of keys and of values; 0: the graph has none */
    uint32_t ar;                     /* new rows of each: tokens per call */
    uint32_t context;                /* past and new rows: columns of the mask */
    int      written;                /* 1: the graph wrote into them, and was changed; 0: it
                                        returned new rows already */
} qnnrt_ir_kv_info;

/* Let a step of a language model read caches of past rows and return its new rows alone, as runners
   of compiled models expect it. A row is the key, or the value, of one token.

   names    1: rename inputs and outputs: input_ids, attention_mask, position_ids, past_key_<i>_in,
            past_value_<i>_in, past_key_<i>_out, past_value_<i>_out, logits, as far as their role is
            certain. Layers are numbered as attention comes
   info     receives what was found; may be NULL

   A cache is an input of the graph [.., context, ..] which index_copy writes `ar` new rows into, or
   what qnnrt_ir_pass_native() renames to it; attention reads the whole, and the graph returns it.
   Afterwards the input is [.., context - ar, ..], attention reads past and new rows behind each
   other, and the output is the new rows [.., ar, ..]; with ar = context the input vanishes. So does
   the input that said where the rows go, if nothing else reads it.

   The order of the columns of a mask is another one: the first context - ar are those of the past
   rows, the last ar those of the new ones. The caller of the compiled graph has to give it so. A
   causal mask that the graph computes from the place of the new rows becomes an input
   "attention_mask" [1, 1, ar, context], which is added to the scores. If it gets the first place
   alone, that becomes "position_ids" [1, ar].

   The result is the same as before for caches without the cells that would be overwritten. The pass
   follows the cells through the graph: whatever depends on their order, other than a mask that is
   an input, is refused. Run qnnrt_ir_fold() first.
   Returns  also QNNRT_E_UNSUPPORTED: text names the node and the reason. The graph is then as
            before, except for names of operators as above */
QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_kv_rows(qnnrt_ir *ir, int names,
                                                       qnnrt_ir_kv_info *info, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_IR_PASSES_H, end of the declarations */

#ifdef QNNRT_IR_PASSES_IMPLEMENTATION
#ifndef QNNRT_IR_PASSES__IMPL_ONCE
#define QNNRT_IR_PASSES__IMPL_ONCE

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   PASS                                                                            >>pass
   What all passes do: visit nodes, change them, and look at scalars.
   Needs: nothing     Knows nothing of: patterns
   ===================================================================================== */

typedef struct qnnrt_pass__work {
    qnnrt_ir     *ir;
    qnnrt_error  *err;
    qnnrt_result  result;
    int           mode;                      /* of the pass that visits */
} qnnrt_pass__work;

static int qnnrt_pass__memory(qnnrt_pass__work *p)
{
    p->result = qnnrt_error_set(p->err, QNNRT_E_MEMORY, "out of memory for a graph");
    return 0;
}

/* Visit all live nodes in order, also those that are added later in the order, then tidy the graph.
   each() returns 0 to stop, with p->result set. */
static qnnrt_result qnnrt_pass__visit(qnnrt_ir *ir, qnnrt_error *err,
                                      int (*each)(qnnrt_pass__work *p, qnnrt_ir_node *node),
                                      int mode)
{
    qnnrt_pass__work p;
    size_t i;
    p.ir = ir;
    p.err = err;
    p.result = QNNRT_OK;
    p.mode = mode;
    qnnrt_error_clear(err);
    if (ir == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "ir is NULL");
    for (i = 0; i < ir->node_count; ++i)
        if (!ir->nodes[i]->dead && !each(&p, ir->nodes[i])) return p.result;
    return qnnrt_ir_tidy(ir, err);
}

static int qnnrt_pass__become(qnnrt_pass__work *p, qnnrt_ir_node *node, const char *op,
                              qnnrt_ir_value *const *inputs, size_t count)
{
    return qnnrt_ir_become(p->ir, node, op, inputs, count) || qnnrt_pass__memory(p);
}

/* Products of matrices; times and over a number; other shapes; parts along a dimension; copies. */
static const char *const qnnrt_pass__products[] = {
    "matmul.default", "mm.default", "bmm.default", NULL
};
static const char *const qnnrt_pass__times[] = { "mul.Tensor", "mul.Scalar", NULL };
static const char *const qnnrt_pass__over[] = { "div.Tensor", "div.Scalar", NULL };
static const char *const qnnrt_pass__views[] = {
    "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "view.default",
    "reshape.default", "flatten.using_ints", "unflatten.int", NULL
};
static const char *const qnnrt_pass__cuts[] = {
    "slice.Tensor", "narrow.default", "select.int", "repeat_interleave.self_int", NULL
};
static const char *const qnnrt_pass__copies[] = {
    "to.dtype", "to.dtype_layout", "to.device", "_to_copy.default", "contiguous.default",
    "clone.default", "alias.default", "detach.default", "lift_fresh_copy.default",
    "dropout.default", "expand.default", NULL
};

/* =====================================================================================
   CLEANUP                                                                      >>cleanup
   Passes that make a graph plain: no copies, no names that mean the same, no constant nodes.
   Needs: >>pass     Knows nothing of: patterns
   ===================================================================================== */

/* Visit as qnnrt_pass__visit() does, when no node overwrites its input any more. */
static qnnrt_result qnnrt_pass__cleanup_run(qnnrt_ir *ir, qnnrt_error *err,
                                            int (*each)(qnnrt_pass__work *p, qnnrt_ir_node *node),
                                            int mode)
{
    const qnnrt_result result = qnnrt_ir_pass_inplace(ir, err);
    return result == QNNRT_OK ? qnnrt_pass__visit(ir, err, each, mode) : result;
}

/* Define a pass that visits all nodes: QNNRT_PASS__VISITS(silu, merge_silu) is
   qnnrt_ir_pass_silu() with qnnrt_pass__merge_silu(). */
#define QNNRT_PASS__VISITS(name, each) \
    QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_##name(qnnrt_ir *ir, qnnrt_error *err) \
    { return qnnrt_pass__cleanup_run(ir, err, qnnrt_pass__##each, 0); }

/* Remove a node that gives back x. If its result is an output of the graph, the producer of x makes
   that value instead, so that it keeps its name. */
static int qnnrt_pass__cleanup_remove(qnnrt_pass__work *p, qnnrt_ir_node *node, qnnrt_ir_value *x)
{
    qnnrt_ir_value *y = node->outputs[0];
    qnnrt_ir_node *from = qnnrt_ir_producer(x);
    if (y->is_output == 0) {
        qnnrt_ir_kill(p->ir, node, "no effect");
        qnnrt_ir_replace(p->ir, y, x);
        return 1;
    }
    if (from == NULL || x->is_output > 0)
        return qnnrt_ir_is(node, "alias.default") ||
               qnnrt_pass__become(p, node, "alias.default", &x, 1);
    qnnrt_ir_kill(p->ir, node, "no effect");
    qnnrt_ir_replace(p->ir, x, y);
    from->outputs[x->index] = y;
    y->node = from;
    y->index = x->index;
    x->node = NULL;
    return 1;
}

static int qnnrt_pass__cleanup_noop(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    qnnrt_ir_value *x;
    if (qnnrt_ir_is(node, "_assert_tensor_metadata.default")) {
        qnnrt_ir_kill(p->ir, node, "checked while compiling");
        return 1;
    }
    x = qnnrt_ir_unchanged(node, 1);
    return x == NULL || qnnrt_pass__cleanup_remove(p, node, x);
}

QNNRT_PASS__VISITS(noops, cleanup_noop)

/* Change a node to another operator with the same inputs, and those of its arguments that the other
   one has. Results after the first are dropped. */
static int qnnrt_pass__cleanup_rename(qnnrt_pass__work *p, qnnrt_ir_node *node, const char *op)
{
    const qnnrt_ir_attr *attrs = node->attrs;
    const size_t count = node->attr_count;
    size_t i;
    if (!qnnrt_pass__become(p, node, op, node->inputs, node->input_count)) return 0;
    for (i = 0; i < count; ++i) {
        char begin[64], first[64];
        snprintf(begin, sizeof begin, " %.60s", attrs[i].name);
        snprintf(first, sizeof first, " %.60s=", attrs[i].name);
        if ((strstr(node->info->args, begin) != NULL || strstr(node->info->args, first) != NULL) &&
            !qnnrt_ir_set(p->ir, node, &attrs[i])) return qnnrt_pass__memory(p);
    }
    for (i = 1; i < node->output_count; ++i) node->outputs[i]->node = NULL;
    node->output_count = 1;
    return 1;
}

static int qnnrt_pass__cleanup_native(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    static const char *const straight[] = { "conv1d.default", "conv2d.default", "conv3d.default" };
    static const char *const transposed[] = {
        "conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input"
    };
    static const char *const plain[][2] = {
        { "native_layer_norm.default", "layer_norm.default" },
        { "max_pool1d_with_indices.default", "max_pool1d.default" },
        { "max_pool2d_with_indices.default", "max_pool2d.default" },
        { "max_pool3d_with_indices.default", "max_pool3d.default" },
    };
    static const char *const batch[] = {
        "native_batch_norm.default", "_native_batch_norm_legit_no_training.default", NULL
    };
    const char *op = NULL;
    size_t i;
    if (node->output_count == 0) return 1;
    for (i = 1; i < node->output_count; ++i) if (node->outputs[i]->users > 0) return 1;
    if (qnnrt_ir_is(node, "convolution.default"))
        op = (qnnrt_ir_int(node, "transposed", 0) != 0 ? transposed
                                                       : straight)[node->inputs[1]->rank - 3];
    for (i = 0; i < sizeof(plain) / sizeof(plain[0]); ++i)
        if (qnnrt_ir_is(node, plain[i][0])) op = plain[i][1];
    if (qnnrt_ir_is_in(node, batch)) op = "batch_norm.default";
    if (op == NULL) return 1;
    if (!qnnrt_pass__cleanup_rename(p, node, op)) return 0;
    if (qnnrt_ir_is(node, "batch_norm.default") &&
        qnnrt_ir_attr_find(node, "training") == NULL &&
        !qnnrt_ir_set_bool(p->ir, node, "training", 0))
        return qnnrt_pass__memory(p);
    return 1;
}

/* ---- writes of rows ---- */

/* Return a value with these dims, which a view or an expansion before the node makes, or the value
   itself. NULL: out of memory. */
static qnnrt_ir_value *qnnrt_pass__cleanup_shaped(qnnrt_pass__work *p, qnnrt_ir_node *before,
                                                  qnnrt_ir_value *value, uint32_t rank,
                                                  const int64_t *dims)
{
    qnnrt_ir_value *out;
    qnnrt_ir_node *node;
    char name[300];
    if (value->rank == rank && memcmp(value->dims, dims, rank * sizeof(*dims)) == 0) return value;
    snprintf(name, sizeof name, "%.250s_rows", before->name);
    out = qnnrt_ir_add_value(p->ir, name, value->dtype, rank, dims);
    if (out == NULL) return NULL;
    node = qnnrt_ir_add_node(p->ir, before, out->count == value->count ? "view.default"
                                                                      : "expand.default",
                             &value, 1, &out, 1);
    return node != NULL && qnnrt_ir_set_ints(p->ir, node, "size", dims, rank) ? out : NULL;
}

/* Let a node be index_copy, or index_add, of rows at `index`, whose rank is 1. The rows have the
   dimensions of its output, with those of the index along the axis, or are broadcast to them. */
static int qnnrt_pass__cleanup_copies(qnnrt_pass__work *p, qnnrt_ir_node *node, uint32_t axis,
                                      qnnrt_ir_value *index, qnnrt_ir_value *rows)
{
    const qnnrt_ir_value *x = node->inputs[0];
    const int adds = qnnrt_ir_is(node, "scatter_add.default") ||
                     qnnrt_ir_int(node, "accumulate", 0) != 0;
    qnnrt_ir_value *inputs[3];
    int64_t dims[QNNRT_IR_RANK];
    memcpy(dims, x->dims, x->rank * sizeof(*dims));
    dims[axis] = (int64_t)index->count;
    inputs[0] = node->inputs[0];
    inputs[1] = index;
    inputs[2] = qnnrt_pass__cleanup_shaped(p, node, rows, x->rank, dims);
    if (inputs[2] == NULL) return qnnrt_pass__memory(p);
    return qnnrt_pass__become(p, node, adds ? "index_add.default" : "index_copy.default", inputs,
                              3) &&
           (qnnrt_ir_set_int(p->ir, node, "dim", (int64_t)axis) || qnnrt_pass__memory(p));
}

/* index_put with one index of rank 1, which is not known to count from the end */
static int qnnrt_pass__cleanup_index_put(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    qnnrt_ir_value *index = NULL;
    uint32_t axis = 0;
    size_t i;
    uint64_t k;
    for (i = 1; i + 1 < node->input_count; ++i) {
        if (node->inputs[i] == NULL) continue;
        if (index != NULL) return 1;
        index = node->inputs[i];
        axis = (uint32_t)i - 1;
    }
    if (index == NULL || index->rank != 1 || index->count == 0) return 1;
    for (k = 0; index->origin == QNNRT_IR_CONSTANT && k < index->count; ++k)
        if (index->dtype == QNNRT_DTYPE_I64 ? ((const int64_t *)index->data)[k] < 0
            : index->dtype != QNNRT_DTYPE_I32 || ((const int32_t *)index->data)[k] < 0)
            return 1;
    return qnnrt_pass__cleanup_copies(p, node, axis, index, node->inputs[node->input_count - 1]);
}

/* slice_scatter of neighbours, which has at least one */
static int qnnrt_pass__cleanup_slice_scatter(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    const qnnrt_ir_value *x = node->inputs[0];
    const int64_t dim = qnnrt_ir_int(node, "dim", 0);
    const uint32_t axis = (uint32_t)(dim < 0 ? dim + (int64_t)x->rank : dim);
    int64_t begin = qnnrt_ir_int(node, "start", 0), count = node->inputs[1]->dims[axis], i;
    qnnrt_ir_value *index;
    void *room = NULL;
    char name[300];
    if (count == 0 || (count > 1 && qnnrt_ir_int(node, "step", 1) != 1)) return 1;
    if (begin < 0) begin += x->dims[axis];
    if (begin < 0) begin = 0;
    snprintf(name, sizeof name, "%.250s_index", node->name);
    index = qnnrt_ir_add_constant(p->ir, name, QNNRT_DTYPE_I64, 1, &count, NULL, &room);
    if (index == NULL) return qnnrt_pass__memory(p);
    for (i = 0; i < count; ++i) ((int64_t *)room)[i] = begin + i;
    return qnnrt_pass__cleanup_copies(p, node, axis, index, node->inputs[1]);
}

/* scatter of whole rows: the index is expanded from one dimension */
static int qnnrt_pass__cleanup_scatter(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    static const char *const expands[] = { "expand.default", "expand_as.default", NULL };
    static const char *const views[] = {
        "view.default", "reshape.default", "unsqueeze.default", NULL
    };
    const qnnrt_ir_value *x = node->inputs[0], *ids = node->inputs[1];
    const qnnrt_ir_node *from = qnnrt_ir_producer(ids);
    const int64_t dim = qnnrt_ir_int(node, "dim", 0);
    const uint32_t axis = (uint32_t)(dim < 0 ? dim + (int64_t)x->rank : dim);
    qnnrt_ir_value *index;
    int64_t count;
    uint32_t d;
    if (x->rank == 0 || !qnnrt_ir_same_shape(ids, node->inputs[2]) || from == NULL ||
        !qnnrt_ir_is_in(from, expands)) return 1;
    index = from->inputs[0];
    count = ids->dims[axis];
    if (count == 0 || index->count != (uint64_t)count) return 1;
    for (d = 0; d < x->rank; ++d) {
        const int64_t own = d + index->rank < x->rank ? 1 : index->dims[d + index->rank - x->rank];
        if (d != axis && (own != 1 || ids->dims[d] != x->dims[d])) return 1;
    }
    while (index->rank != 1 && (from = qnnrt_ir_producer(index)) != NULL &&
           qnnrt_ir_is_in(from, views) && from->inputs[0]->count == index->count)
        index = from->inputs[0];                         /* views of one dimension */
    index = qnnrt_pass__cleanup_shaped(p, node, index, 1, &count);
    if (index == NULL) return qnnrt_pass__memory(p);
    return qnnrt_pass__cleanup_copies(p, node, axis, index, node->inputs[2]);
}

/* Make index_copy or index_add of what writes rows of one dimension. */
static int qnnrt_pass__cleanup_writes(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    if (node->output_count != 1) return 1;
    if (qnnrt_ir_is(node, "index_put.default")) return qnnrt_pass__cleanup_index_put(p, node);
    if (qnnrt_ir_is(node, "scatter.src") || qnnrt_ir_is(node, "scatter_add.default"))
        return qnnrt_pass__cleanup_scatter(p, node);
    return !qnnrt_ir_is(node, "slice_scatter.default") ||
           qnnrt_pass__cleanup_slice_scatter(p, node);
}

static int qnnrt_pass__cleanup_all(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    return qnnrt_pass__cleanup_native(p, node) && qnnrt_pass__cleanup_writes(p, node);
}

QNNRT_PASS__VISITS(native, cleanup_all)

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_dead(qnnrt_ir *ir, qnnrt_error *err)
{
    return qnnrt_ir_pass_inplace(ir, err);
}

/* =====================================================================================
   FOLD                                                                            >>fold
   Replaces nodes that depend on constants alone by their results.
   Needs: nothing     Knows nothing of: patterns
   ===================================================================================== */

/* What may be folded. */
typedef struct qnnrt_pass__fold_limits {
    uint64_t limit, left;                    /* bytes: of an output, of all outputs to come */
    int      weights;                        /* 1: weights with data count as constants */
} qnnrt_pass__fold_limits;

/* Return true if a node makes a weight of a weight: the new one takes its place, so that limits for
   further constants do not hold. */
static int qnnrt_pass__fold_replaces(const qnnrt_ir_node *node)
{
    return qnnrt_ir_is(node, "_weight_norm.default");
}

/* Return true if all inputs of a node have data, and its outputs are small enough and belong to it
   alone. *bytes receives their size. */
static int qnnrt_pass__fold_can(const qnnrt_ir_node *node, const qnnrt_pass__fold_limits *most,
                                uint64_t *bytes)
{
    size_t k;
    *bytes = 0;
    if (node->dead || node->info == NULL || node->output_count == 0) return 0;
    for (k = 0; k < node->input_count; ++k) {
        const qnnrt_ir_value *x = node->inputs[k];
        if (x == NULL) continue;
        if (x->origin != QNNRT_IR_CONSTANT && !(most->weights && x->origin == QNNRT_IR_WEIGHT))
            return 0;
        if (x->data == NULL && x->count > 0) return 0;
    }
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_ir_value *y = node->outputs[k];
        const size_t size = qnnrt_ir_dtype_bytes(y->dtype);
        const int replaces = qnnrt_pass__fold_replaces(node);
        if (size == 0 || (y->count > most->limit / size && !replaces)) return 0;
        *bytes += y->count * size;
        if (*bytes > most->left && !replaces) return 0;
    }
    return 1;
}

static qnnrt_result qnnrt_pass__fold_all(qnnrt_ir *ir, qnnrt_pass__fold_limits most, size_t *count,
                                         qnnrt_error *err)
{
    size_t i, folded = 0;
    uint64_t bytes;
    for (i = 0; i < ir->node_count; ++i) {
        qnnrt_result result;
        if (!qnnrt_pass__fold_can(ir->nodes[i], &most, &bytes)) continue;
        result = qnnrt_ir_fold_node(ir, ir->nodes[i], err);
        if (result == QNNRT_E_MEMORY || (result == QNNRT_E_LIMIT && !most.weights)) return result;
        if (result == QNNRT_OK) {
            most.left -= qnnrt_pass__fold_replaces(ir->nodes[i]) ? 0 : bytes;
            ++folded;
        } else {
            qnnrt_error_clear(err);                  /* what cannot be computed stays a node */
        }
    }
    if (count != NULL) *count = folded;
    return qnnrt_ir_tidy(ir, err);
}

/* Fold when no node overwrites its input any more: elements that change are not constant. */
static qnnrt_result qnnrt_pass__fold_run(qnnrt_ir *ir, uint64_t limit, uint64_t left, int weights,
                                         size_t *count, qnnrt_error *err)
{
    const qnnrt_result result = qnnrt_ir_pass_inplace(ir, err);
    qnnrt_pass__fold_limits most;
    most.limit = limit;
    most.left = left;
    most.weights = weights;
    if (count != NULL) *count = 0;
    return result == QNNRT_OK ? qnnrt_pass__fold_all(ir, most, count, err) : result;
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_fold(qnnrt_ir *ir, uint64_t limit, size_t *count,
                                               qnnrt_error *err)
{
    return qnnrt_pass__fold_run(ir, limit != 0 ? limit : UINT64_C(64) << 20, UINT64_MAX, 0, count,
                                err);
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_fold_weights(qnnrt_ir *ir, uint64_t limit, uint64_t total,
                                                       size_t *count, qnnrt_error *err)
{
    return qnnrt_pass__fold_run(ir, limit != 0 ? limit : UINT64_C(4) << 20,
                                total != 0 ? total : UINT64_C(64) << 20, 1, count, err);
}

/* =====================================================================================
   MATCH                                                                          >>match
   Finds the nodes of a pattern, from the last to the first.
   Needs: >>pass     Knows nothing of: patterns
   ===================================================================================== */

typedef struct qnnrt_pass__match {
    qnnrt_ir_node *inner[24];                /* nodes that the fused one replaces */
    size_t         count;
} qnnrt_pass__match;

static int qnnrt_pass__match_float(const qnnrt_ir_value *value)
{
    return value->dtype == QNNRT_DTYPE_F32 || value->dtype == QNNRT_DTYPE_F16 ||
           value->dtype == QNNRT_DTYPE_BF16 || value->dtype == QNNRT_DTYPE_F64;
}

/* Return the input of to.dtype between floats, or NULL. */
static qnnrt_ir_value *qnnrt_pass__match_cast(const qnnrt_ir_value *value)
{
    const qnnrt_ir_node *node = qnnrt_ir_producer(value);
    if (node == NULL || !qnnrt_ir_is(node, "to.dtype")) return NULL;
    return qnnrt_pass__match_float(node->inputs[0]) && qnnrt_pass__match_float(value)
           ? node->inputs[0] : NULL;
}

/* Return the value before all conversions between floats. */
static const qnnrt_ir_value *qnnrt_pass__match_root(const qnnrt_ir_value *value)
{
    const qnnrt_ir_value *x;
    while ((x = qnnrt_pass__match_cast(value)) != NULL) value = x;
    return value;
}

/* Return x before conversions to wider floats, with a dtype if there is such a one; else x. */
static qnnrt_ir_value *qnnrt_pass__match_narrow(qnnrt_ir_value *x, qnnrt_dtype dtype)
{
    qnnrt_ir_value *from = x, *best = NULL;
    for (;;) {
        qnnrt_ir_value *next = qnnrt_pass__match_cast(from);
        if (from->dtype == dtype) best = from;
        if (next == NULL || (next->dtype != from->dtype && qnnrt_ir_dtype_bytes(next->dtype) >=
                                                           qnnrt_ir_dtype_bytes(from->dtype)))
            return best != NULL ? best : x;
        from = next;
    }
}

/* Return the node that computes a value which one node reads, and keep it in the match; at most 4
   of to.dtype and expand between them are kept, too. Return NULL if there is no such node. */
static qnnrt_ir_node *qnnrt_pass__match_back(qnnrt_pass__match *m, const qnnrt_ir_value *value)
{
    size_t skipped;
    for (skipped = 0; skipped <= 4; ++skipped) {
        qnnrt_ir_node *node = qnnrt_ir_producer(value);
        if (node == NULL || value->users != 1 || value->is_output > 0 || node->output_count != 1 ||
            m->count == sizeof(m->inner) / sizeof(m->inner[0])) return NULL;
        m->inner[m->count++] = node;
        if (qnnrt_pass__match_cast(value) == NULL && !qnnrt_ir_is(node, "expand.default"))
            return node;
        value = node->inputs[0];
    }
    return NULL;
}

/* Return true if a node has the first input and one number: an argument, or a constant of one
   element. */
static int qnnrt_pass__match_number(const qnnrt_ir_node *node, double *number)
{
    const qnnrt_ir_value *c = qnnrt_ir_input(node, 1);
    float f;
    if (c == NULL) {
        *number = qnnrt_ir_float(node, "other", 0);
        return qnnrt_ir_attr_find(node, "other") != NULL;
    }
    if (c->origin != QNNRT_IR_CONSTANT || c->count != 1 || c->data == NULL) return 0;
    if (c->dtype == QNNRT_DTYPE_F64) memcpy(number, c->data, sizeof(*number));
    else if (c->dtype != QNNRT_DTYPE_F32) return 0;
    memcpy(&f, c->data, sizeof(f));
    if (c->dtype == QNNRT_DTYPE_F32) *number = (double)f;
    return 1;
}

/* Return true if a node has exactly two inputs, and no factor on the second. */
static int qnnrt_pass__match_pair(const qnnrt_ir_node *node, const char *op)
{
    const double alpha = qnnrt_ir_float(node, "alpha", 1);
    return qnnrt_ir_is(node, op) && node->input_count == 2 && node->inputs[0] != NULL &&
           node->inputs[1] != NULL && !(alpha < 1) && !(alpha > 1);
}

static int qnnrt_pass__match_power(const qnnrt_ir_node *node, double exponent)
{
    const double e = qnnrt_ir_float(node, "exponent", 0);
    return qnnrt_ir_is(node, "pow.Tensor_Scalar") && !(e < exponent) && !(e > exponent);
}

/* Return true if a node takes the mean over the last dimension and keeps that. */
static int qnnrt_pass__match_mean(const qnnrt_ir_node *node)
{
    int64_t dims[QNNRT_IR_RANK];
    if (!qnnrt_ir_is(node, "mean.dim") || node->inputs[0]->rank == 0) return 0;
    return qnnrt_ir_ints(node, "dim", dims) == 1 && qnnrt_ir_int(node, "keepdim", 0) != 0 &&
           (dims[0] == -1 || dims[0] == (int64_t)node->inputs[0]->rank - 1);
}

/* Get the order of dimensions that a node makes from those of its input. Return 0 if the node does
   not only reorder. */
static int qnnrt_pass__match_order(const qnnrt_ir_node *node, int64_t order[QNNRT_IR_RANK])
{
    const int64_t rank = node->input_count == 1 ? (int64_t)node->inputs[0]->rank : 0;
    const int transpose = qnnrt_ir_is(node, "transpose.int");
    int64_t a, b, i;
    if (qnnrt_ir_is(node, "permute.default")) {
        if (qnnrt_ir_ints(node, "dims", order) != (size_t)rank) return 0;
        for (i = 0; i < rank; ++i) if (order[i] < 0) order[i] += rank;
        return 1;
    }
    if (rank < 2 || (!transpose && !qnnrt_ir_is(node, "t.default"))) return 0;
    a = transpose ? qnnrt_ir_int(node, "dim0", 0) : 0;
    b = transpose ? qnnrt_ir_int(node, "dim1", 0) : 1;
    for (i = 0; i < rank; ++i) order[i] = i;
    a += a < 0 ? rank : 0;
    b += b < 0 ? rank : 0;
    order[a] = b;
    order[b] = a;
    return 1;
}

static int qnnrt_pass__match_plain(const int64_t *order, uint32_t rank)
{
    uint32_t i;
    for (i = 0; i < rank; ++i) if (order[i] != (int64_t)i) return 0;
    return 1;
}

/* Return true if a node takes the variance over the last dimension, without correction, and keeps
   that. */
static int qnnrt_pass__match_variance(const qnnrt_ir_node *node)
{
    int64_t dims[QNNRT_IR_RANK];
    const double correction = qnnrt_ir_float(node, "correction", 1);
    if (qnnrt_ir_is(node, "var.dim") ? qnnrt_ir_int(node, "unbiased", 1) != 0
        : !qnnrt_ir_is(node, "var.correction") || correction < 0 || correction > 0) return 0;
    return qnnrt_ir_ints(node, "dim", dims) == 1 && qnnrt_ir_int(node, "keepdim", 0) != 0 &&
           node->inputs[0]->rank > 0 &&
           (dims[0] == -1 || dims[0] == (int64_t)node->inputs[0]->rank - 1);
}

/* Kill the inner nodes of a match that nothing reads any more; their mapping names the node that
   replaces them. Readers come before what they read. */
static void qnnrt_pass__match_fuse(qnnrt_pass__work *p, const qnnrt_pass__match *m,
                                   const qnnrt_ir_node *into)
{
    char mapping[300];
    size_t i;
    snprintf(mapping, sizeof mapping, "fused into %.250s", into->name);
    for (i = 0; i < m->count; ++i)
        if (m->inner[i]->outputs[0]->users == 0) qnnrt_ir_kill(p->ir, m->inner[i], mapping);
}

/* =====================================================================================
   NORMS                                                                          >>norms
   Normalizations over the last dimension.
   Needs: >>pass >>cleanup >>match     Knows nothing of: other patterns
   ===================================================================================== */

typedef struct qnnrt_pass__norm {
    qnnrt_pass__match  m;
    qnnrt_ir_value  *x, *weight, *bias;
    double           eps;
    int              layer;                  /* 1: the mean is subtracted */
} qnnrt_pass__norm;

/* Match 1 / sqrt(mean(square) + eps), or of the variance, from the node of the root; *square
   receives the value that is squared, *reads how often: 0 for a variance. */
static int qnnrt_pass__norm_scale(qnnrt_pass__norm *n, const qnnrt_ir_node *root, int inverse,
                                  qnnrt_ir_value **square, uint32_t *reads)
{
    const qnnrt_ir_node *node = root;
    if (node == NULL) return 0;
    if (inverse && qnnrt_ir_is(node, "reciprocal.default")) {
        node = qnnrt_pass__match_back(&n->m, node->inputs[0]);
        inverse = 0;
        if (node == NULL) return 0;
    }
    if (!(inverse ? qnnrt_ir_is(node, "rsqrt.default") || qnnrt_pass__match_power(node, -0.5)
                  : qnnrt_ir_is(node, "sqrt.default") || qnnrt_pass__match_power(node, 0.5)))
        return 0;
    node = qnnrt_pass__match_back(&n->m, node->inputs[0]);
    if (node == NULL || (!qnnrt_ir_is(node, "add.Tensor") &&
                         !qnnrt_ir_is(node, "add.Scalar")) ||
        !qnnrt_pass__match_number(node, &n->eps)) return 0;
    n->eps *= qnnrt_ir_float(node, "alpha", 1);
    node = qnnrt_pass__match_back(&n->m, node->inputs[0]);
    if (!(n->eps >= 0) || node == NULL) return 0;
    *square = node->inputs[0];
    *reads = 0;
    if (qnnrt_pass__match_variance(node)) return 1;
    if (!qnnrt_pass__match_mean(node)) return 0;
    node = qnnrt_pass__match_back(&n->m, node->inputs[0]);
    if (node == NULL) return 0;
    *square = node->inputs[0];
    *reads = qnnrt_pass__match_pair(node, "mul.Tensor") ? 2 : 1;
    return *reads == 2 ? node->inputs[0] == node->inputs[1] : qnnrt_pass__match_power(node, 2) ||
           qnnrt_ir_is(node, "square.default");
}

/* Find out whether the normalized value is x - mean(x) which nothing else reads; if reads is 0, of
   the x that has the variance. */
static void qnnrt_pass__norm_center(qnnrt_pass__norm *n, const qnnrt_ir_value *square,
                                    uint32_t reads)
{
    const size_t count = n->m.count;
    qnnrt_ir_node *sub = qnnrt_ir_producer(n->x), *mean;
    if ((reads > 0 && n->x != square) || n->x->users != reads + 1 || n->x->is_output > 0 ||
        sub == NULL || !qnnrt_pass__match_pair(sub, "sub.Tensor") ||
        n->m.count == sizeof(n->m.inner) / sizeof(n->m.inner[0]) ||
        (reads == 0 && qnnrt_pass__match_root(sub->inputs[0]) != qnnrt_pass__match_root(square)))
        return;
    n->m.inner[n->m.count++] = sub;
    mean = qnnrt_pass__match_back(&n->m, sub->inputs[1]);
    if (mean == NULL || !qnnrt_pass__match_mean(mean) ||
        qnnrt_pass__match_root(mean->inputs[0]) != qnnrt_pass__match_root(sub->inputs[0])) {
        n->m.count = count;
        return;
    }
    n->layer = 1;
    n->x = sub->inputs[0];
}

/* Match x * 1 / sqrt(...), or x / sqrt(...), without weights. */
static int qnnrt_pass__norm_core(qnnrt_pass__norm *n, const qnnrt_ir_node *node)
{
    const int divide = qnnrt_pass__match_pair(node, "div.Tensor");
    const size_t count = n->m.count;
    qnnrt_ir_value *square;
    uint32_t reads;
    size_t k;
    if (!divide && !qnnrt_pass__match_pair(node, "mul.Tensor")) return 0;
    for (k = divide ? 1 : 0; k < 2; ++k) {
        n->m.count = count;
        n->x = node->inputs[1 - k];
        if (!qnnrt_pass__match_float(n->x) || !qnnrt_ir_same_shape(n->x, node->outputs[0]) ||
            !qnnrt_pass__norm_scale(n, qnnrt_pass__match_back(&n->m, node->inputs[k]),
                                    !divide, &square, &reads) ||
            (reads > 0 && qnnrt_pass__match_root(n->x) != qnnrt_pass__match_root(square))) continue;
        qnnrt_pass__norm_center(n, square, reads);
        if (reads > 0 || n->layer) return 1;
    }
    return 0;
}

/* Return true if a value is a vector of the size of the last dimension of another one. */
static int qnnrt_pass__norm_vector(const qnnrt_ir_value *vector, const qnnrt_ir_value *x)
{
    return vector->rank == 1 && x->rank > 0 && vector->dims[0] == x->dims[x->rank - 1];
}

/* Match a norm with `tail` of weight and bias after it: 2, 1 or 0 of them. */
static int qnnrt_pass__norm_match(qnnrt_pass__norm *n, const qnnrt_ir_node *node, int tail)
{
    const size_t count = n->m.count;
    size_t k;
    if (tail == 0) return qnnrt_pass__norm_core(n, node);
    if (!qnnrt_pass__match_pair(node, tail == 2 ? "add.Tensor" : "mul.Tensor")) return 0;
    for (k = 0; k < 2; ++k) {
        const qnnrt_ir_node *inner;
        n->m.count = count;
        if (!qnnrt_pass__norm_vector(node->inputs[1 - k], node->outputs[0]) ||
            !qnnrt_ir_same_shape(node->inputs[k], node->outputs[0])) continue;
        inner = qnnrt_pass__match_back(&n->m, node->inputs[k]);
        if (inner == NULL || !qnnrt_pass__norm_match(n, inner, tail - 1)) continue;
        if (tail == 2) n->bias = node->inputs[1 - k];
        else n->weight = node->inputs[1 - k];
        return 1;
    }
    return 0;
}

static int qnnrt_pass__norm_become(qnnrt_pass__work *p, qnnrt_ir_node *node,
                                   const qnnrt_pass__norm *n)
{
    qnnrt_ir_value *inputs[3];
    inputs[0] = qnnrt_pass__match_narrow(n->x, node->outputs[0]->dtype);
    inputs[1] = n->weight;
    inputs[2] = n->bias;
    if (!qnnrt_pass__become(p, node, n->layer ? "q.layer_norm" : "q.rms_norm", inputs,
                            n->bias != NULL ? 3 : n->weight != NULL ? 2 : 1))
        return 0;
    if (!qnnrt_ir_set_float(p->ir, node, "eps", n->eps)) return qnnrt_pass__memory(p);
    qnnrt_pass__match_fuse(p, &n->m, node);
    p->result = qnnrt_ir_round(p->ir, node, p->err);
    return p->result == QNNRT_OK;
}

/* Change ATen's own norm if it is over one dimension. Without eps, ATen takes that of the dtype. */
static int qnnrt_pass__norm_native(qnnrt_pass__work *p, qnnrt_ir_node *node, int layer)
{
    qnnrt_pass__norm n;
    int64_t dims[QNNRT_IR_RANK];
    memset(&n, 0, sizeof(n));
    n.layer = layer;
    n.eps = qnnrt_ir_float(node, "eps", node->inputs[0]->dtype == QNNRT_DTYPE_F32
                                        ? 1.1920928955078125e-07 : -1);
    n.x = node->inputs[0];
    n.weight = qnnrt_ir_input(node, 1);
    n.bias = qnnrt_ir_input(node, 2);
    if (qnnrt_ir_ints(node, "normalized_shape", dims) != 1 || !(n.eps >= 0)) return 1;
    return qnnrt_pass__norm_become(p, node, &n);
}

/* Match one node. p->mode: how many of weight and bias come after the norm, and whether it is a
   layer_norm. */
enum { QNNRT_PASS__LAYER = 4 };
static int qnnrt_pass__norm_node(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    const int layer = p->mode >= QNNRT_PASS__LAYER, tail = p->mode % QNNRT_PASS__LAYER;
    qnnrt_pass__norm n;
    memset(&n, 0, sizeof(n));
    if (qnnrt_ir_is(node, layer ? "layer_norm.default" : "rms_norm.default"))
        return qnnrt_pass__norm_native(p, node, layer);
    if (node->output_count != 1 || !qnnrt_pass__norm_match(&n, node, tail) || n.layer != layer ||
        !qnnrt_pass__match_float(node->outputs[0])) return 1;
    return qnnrt_pass__norm_become(p, node, &n);
}

/* Run from the mode with all of weight and bias to the one without. */
static qnnrt_result qnnrt_pass__norm_run(qnnrt_ir *ir, qnnrt_error *err, int mode, int tail)
{
    qnnrt_result result = QNNRT_OK;
    for (; tail >= 0 && result == QNNRT_OK; --tail)
        result = qnnrt_pass__cleanup_run(ir, err, qnnrt_pass__norm_node, mode + tail);
    return result;
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_rms_norm(qnnrt_ir *ir, qnnrt_error *err)
{
    return qnnrt_pass__norm_run(ir, err, 0, 1);
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_layer_norm(qnnrt_ir *ir, qnnrt_error *err)
{
    return qnnrt_pass__norm_run(ir, err, QNNRT_PASS__LAYER, 2);
}

/* =====================================================================================
   MERGE                                                                          >>merge
   Small patterns of two nodes.
   Needs: >>pass >>cleanup >>match     Knows nothing of: other patterns
   ===================================================================================== */

static int qnnrt_pass__merge_silu(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    qnnrt_pass__match m;
    size_t k;
    if (qnnrt_ir_is(node, "silu.default"))
        return qnnrt_pass__become(p, node, "q.silu", node->inputs, 1);
    if (!qnnrt_pass__match_pair(node, "mul.Tensor")) return 1;
    for (k = 0; k < 2; ++k) {
        qnnrt_ir_node *gate = qnnrt_ir_producer(node->inputs[k]);
        qnnrt_ir_value *x = node->inputs[1 - k];
        if (gate == NULL || gate->outputs[0]->users != 1 || gate->outputs[0]->is_output > 0 ||
            !qnnrt_ir_is(gate, "sigmoid.default") || gate->inputs[0] != x ||
            x->dtype != node->outputs[0]->dtype) continue;
        if (!qnnrt_pass__become(p, node, "q.silu", &x, 1)) return 0;
        m.inner[0] = gate;
        m.count = 1;
        qnnrt_pass__match_fuse(p, &m, node);
        return 1;
    }
    return 1;
}

QNNRT_PASS__VISITS(silu, merge_silu)

/* Return the input of a node that swaps the last two dimensions, or NULL. */
static qnnrt_ir_value *qnnrt_pass__merge_swapped(const qnnrt_ir_node *node)
{
    const int64_t rank = node->input_count == 1 ? (int64_t)node->inputs[0]->rank : 0;
    int64_t a = rank - 2, b = rank - 1;
    if (rank < 2) return NULL;
    if (qnnrt_ir_is(node, "transpose.int")) {
        a = qnnrt_ir_int(node, "dim0", 0);
        b = qnnrt_ir_int(node, "dim1", 0);
        if (a < 0) a += rank;
        if (b < 0) b += rank;
    } else if (!qnnrt_ir_is(node, "t.default")) {
        return NULL;
    }
    return a + b == 2 * rank - 3 && a >= rank - 2 && b >= rank - 2 ? node->inputs[0] : NULL;
}

static int qnnrt_pass__merge_matmul(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    const int64_t before = qnnrt_ir_int(node, "transpose_b", 0);
    qnnrt_ir_value *inputs[2];
    qnnrt_ir_node *swap;
    qnnrt_pass__match m;
    if (!qnnrt_ir_is_in(node, qnnrt_pass__products)) return 1;
    swap = qnnrt_ir_producer(node->inputs[1]);
    inputs[0] = node->inputs[0];
    inputs[1] = swap != NULL ? qnnrt_pass__merge_swapped(swap) : NULL;
    if (inputs[1] == NULL) return 1;
    if (!qnnrt_pass__become(p, node, "matmul.default", inputs, 2)) return 0;
    if (before == 0 && !qnnrt_ir_set_bool(p->ir, node, "transpose_b", 1))
        return qnnrt_pass__memory(p);
    m.inner[0] = swap;
    m.count = 1;
    qnnrt_pass__match_fuse(p, &m, node);
    return 1;
}

QNNRT_PASS__VISITS(matmul_transpose, merge_matmul)

/* Return true if a value has elements in the checkpoint or in the graph. */
static int qnnrt_pass__merge_static(const qnnrt_ir_value *value)
{
    return value->origin == QNNRT_IR_WEIGHT || value->origin == QNNRT_IR_CONSTANT;
}

/* Return the weight [out, in] of a product whose second matrix is its transpose, or NULL; the node
   that transposes it is kept in the match. */
static qnnrt_ir_value *qnnrt_pass__merge_weight(qnnrt_pass__match *m, const qnnrt_ir_node *node,
                                                qnnrt_ir_value *b)
{
    int64_t order[QNNRT_IR_RANK];
    qnnrt_ir_node *swap = qnnrt_ir_producer(b);
    if (b->rank != 2) return NULL;
    if (qnnrt_ir_int(node, "transpose_b", 0) != 0)
        return qnnrt_pass__merge_static(b) ? b : NULL;
    if (swap == NULL || !qnnrt_pass__match_order(swap, order) || order[0] != 1 ||
        !qnnrt_pass__merge_static(swap->inputs[0])) return NULL;
    m->inner[m->count++] = swap;
    return swap->inputs[0];
}

/* Match a bias that is added to a linear layer without one. */
static int qnnrt_pass__merge_bias(qnnrt_pass__match *m, const qnnrt_ir_node *node,
                                  qnnrt_ir_value *inputs[3])
{
    size_t k;
    if (!qnnrt_pass__match_pair(node, "add.Tensor")) return 0;
    for (k = 0; k < 2; ++k) {
        const qnnrt_ir_value *y = node->inputs[k];
        qnnrt_ir_node *linear = qnnrt_ir_producer(y);
        inputs[2] = node->inputs[1 - k];
        if (linear == NULL || y->users != 1 || y->is_output > 0 ||
            !qnnrt_ir_is(linear, "linear.default") || qnnrt_ir_input(linear, 2) != NULL ||
            !qnnrt_pass__merge_static(inputs[2]) || inputs[2]->rank != 1 || y->rank == 0 ||
            inputs[2]->dims[0] != y->dims[y->rank - 1] || inputs[2]->dtype != y->dtype ||
            !qnnrt_ir_same_shape(y, node->outputs[0])) continue;
        inputs[0] = linear->inputs[0];
        inputs[1] = linear->inputs[1];
        m->inner[m->count++] = linear;
        return 1;
    }
    return 0;
}

static int qnnrt_pass__merge_linear(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    static const char *const products[] = { "matmul.default", "mm.default", NULL };
    const double alpha = qnnrt_ir_float(node, "alpha", 1), beta = qnnrt_ir_float(node, "beta", 1);
    qnnrt_ir_value *inputs[3];
    qnnrt_pass__match m;
    m.count = 0;
    memset(inputs, 0, sizeof(inputs));
    if (qnnrt_ir_is_in(node, products)) {
        inputs[0] = node->inputs[0];
        inputs[1] = qnnrt_pass__merge_weight(&m, node, node->inputs[1]);
    } else if (qnnrt_ir_is(node, "addmm.default")) {
        inputs[0] = node->inputs[1];
        inputs[1] = qnnrt_pass__merge_weight(&m, node, node->inputs[2]);
        inputs[2] = node->inputs[0];
        if (inputs[1] == NULL || alpha < 1 || alpha > 1 || beta < 1 || beta > 1 ||
            inputs[2]->rank != 1 || inputs[2]->dims[0] != inputs[1]->dims[0]) return 1;
    } else if (!qnnrt_pass__merge_bias(&m, node, inputs)) {
        return 1;
    }
    if (inputs[1] == NULL || inputs[0]->rank < 2 || inputs[0]->dtype != inputs[1]->dtype ||
        inputs[0]->dtype != node->outputs[0]->dtype) return 1;
    if (!qnnrt_pass__become(p, node, "linear.default", inputs, inputs[2] != NULL ? 3 : 2))
        return 0;
    qnnrt_pass__match_fuse(p, &m, node);
    return 1;
}

QNNRT_PASS__VISITS(linear, merge_linear)

/* =====================================================================================
   BATCH NORM                                                                     >>batch
   Folds batch_norm into convolutions.
   Needs: >>pass >>match     Knows nothing of: other patterns
   ===================================================================================== */

/* Return element i of a tensor of any alignment; `otherwise` if the tensor is absent. */
static double qnnrt_pass__batch_at(const qnnrt_ir_value *value, uint64_t i, double otherwise)
{
    if (value == NULL) return otherwise;
    return qnnrt_ir_element_float((const char *)value->data +
                                  i * qnnrt_ir_dtype_bytes(value->dtype), value->dtype);
}

/* Compute weight and bias for the results of batch_norm: w * scale, (b - mean) * scale + beta. */
static void qnnrt_pass__batch_compute(const qnnrt_ir_node *conv, const qnnrt_ir_node *norm,
                                      qnnrt_dtype dtype, char *weight, char *bias)
{
    const qnnrt_ir_value *w = conv->inputs[1];
    const uint64_t rows = (uint64_t)w->dims[0], row = rows > 0 ? w->count / rows : 0;
    const size_t bytes = qnnrt_ir_dtype_bytes(dtype);
    const double eps = qnnrt_ir_float(norm, "eps", 1e-5);
    uint64_t i, k;
    for (i = 0; i < rows; ++i) {
        const double mean = qnnrt_pass__batch_at(norm->inputs[3], i, 0);
        const double scale = qnnrt_pass__batch_at(norm->inputs[1], i, 1) /
                             sqrt(qnnrt_pass__batch_at(norm->inputs[4], i, 1) + eps);
        const double b = qnnrt_pass__batch_at(qnnrt_ir_input(conv, 2), i, 0);
        for (k = i * row; k < (i + 1) * row; ++k)
            qnnrt_ir_element_put(weight + k * bytes, dtype, 0,
                                 qnnrt_pass__batch_at(w, k, 0) * scale);
        qnnrt_ir_element_put(bias + i * bytes, dtype, 0,
                             (b - mean) * scale + qnnrt_pass__batch_at(norm->inputs[2], i, 0));
    }
}

/* Return true if inputs of a node, from one on, are absent or floats with data. */
static int qnnrt_pass__batch_data(const qnnrt_ir_node *node, size_t from)
{
    size_t i;
    for (i = from; i < node->input_count; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        if (x != NULL && (x->data == NULL || !qnnrt_pass__match_float(x))) return 0;
    }
    return 1;
}

static int qnnrt_pass__batch_node(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    static const char *const convs[] = {
        "conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding",
        NULL
    };
    qnnrt_pass__match m;
    qnnrt_ir_node *conv;
    qnnrt_ir_value *inputs[3], *w;
    void *weight, *bias;
    char name[300];
    m.count = 0;
    if (!qnnrt_ir_is(node, "batch_norm.default") || node->input_count != 5 ||
        qnnrt_ir_int(node, "training", 1) != 0 || node->inputs[3] == NULL ||
        node->inputs[4] == NULL || !qnnrt_pass__batch_data(node, 1)) return 1;
    conv = qnnrt_pass__match_back(&m, node->inputs[0]);
    if (conv == NULL || m.count != 1 || !qnnrt_ir_is_in(conv, convs) ||
        !qnnrt_pass__batch_data(conv, 1) || conv->inputs[1] == NULL ||
        conv->outputs[0]->dtype != node->outputs[0]->dtype ||
        conv->inputs[0]->rank != conv->inputs[1]->rank) return 1;
    w = conv->inputs[1];
    inputs[0] = conv->inputs[0];
    snprintf(name, sizeof name, "%.250s_weight", node->name);
    inputs[1] = qnnrt_ir_add_constant(p->ir, name, w->dtype, w->rank, w->dims, NULL, &weight);
    snprintf(name, sizeof name, "%.250s_bias", node->name);
    inputs[2] = qnnrt_ir_add_constant(p->ir, name, w->dtype, 1, w->dims, NULL, &bias);
    if (inputs[1] == NULL || inputs[2] == NULL) return qnnrt_pass__memory(p);
    qnnrt_pass__batch_compute(conv, node, w->dtype, (char *)weight, (char *)bias);
    if (!qnnrt_pass__become(p, node, conv->op, inputs, 3)) return 0;
    node->attrs = conv->attrs;
    node->attr_count = conv->attr_count;
    qnnrt_pass__match_fuse(p, &m, node);
    return 1;
}

QNNRT_PASS__VISITS(bn_fold, batch_node)

/* =====================================================================================
   GELU                                                                            >>gelu
   Finds GELU among its multiplications, in any order.
   Needs: >>pass >>match     Knows nothing of: other patterns
   ===================================================================================== */

/* A product: numbers, and values that are not products themselves. */
typedef struct qnnrt_pass__product {
    double          number;
    qnnrt_ir_value *factors[4];
    size_t          count;                   /* more than 4: too many */
} qnnrt_pass__product;

/* Take the inputs of a product apart. Return 0 if the node is not a product. */
static int qnnrt_pass__gelu_product(qnnrt_pass__match *m, const qnnrt_ir_node *node,
                                    qnnrt_pass__product *out, int depth)
{
    const int divide = qnnrt_ir_is_in(node, qnnrt_pass__over);
    double number = 1;
    size_t i, inputs = 1;
    if (!divide && !qnnrt_ir_is_in(node, qnnrt_pass__times)) return 0;
    if (!qnnrt_pass__match_number(node, &number)) {
        if (divide || node->input_count != 2) return 0;
        number = 1;
        inputs = 2;
    }
    out->number = divide ? out->number / number : out->number * number;
    for (i = 0; i < inputs; ++i) {
        const size_t count = m->count;
        qnnrt_ir_node *inner = depth < 6 ? qnnrt_pass__match_back(m, node->inputs[i]) : NULL;
        if (inner != NULL && m->count == count + 1 &&
            qnnrt_pass__gelu_product(m, inner, out, depth + 1)) continue;
        m->count = count;
        if (out->count < 4) out->factors[out->count] = node->inputs[i];
        ++out->count;
    }
    return 1;
}

/* Return true if a value is a number, within a thousandth, times one factor. */
static int qnnrt_pass__gelu_is(qnnrt_pass__match *m, const qnnrt_ir_value *value, double number,
                               qnnrt_pass__product *out)
{
    const qnnrt_ir_node *node = qnnrt_pass__match_back(m, value);
    memset(out, 0, sizeof(*out));
    out->number = 1;
    return node != NULL && qnnrt_pass__gelu_product(m, node, out, 0) && out->count == 1 &&
           out->number > number * 0.999 && out->number < number * 1.001;
}

/* Return true if a value is 0.044715 times a power of x. */
static int qnnrt_pass__gelu_power(qnnrt_pass__match *m, const qnnrt_ir_value *value,
                                  const qnnrt_ir_value *x, int exponent)
{
    const qnnrt_ir_node *node = qnnrt_pass__match_back(m, value);
    qnnrt_pass__product term;
    size_t i;
    memset(&term, 0, sizeof(term));
    term.number = 1;
    if (node == NULL || !qnnrt_pass__gelu_product(m, node, &term, 0) || term.count > 4 ||
        term.number < 0.04471 || term.number > 0.04472) return 0;
    for (i = 0; i < term.count; ++i) {
        if (term.factors[i] == x) { --exponent; continue; }
        node = qnnrt_pass__match_back(m, term.factors[i]);
        if (node == NULL || node->inputs[0] != x) return 0;
        if (qnnrt_pass__match_power(node, 2)) exponent -= 2;
        else if (qnnrt_pass__match_power(node, 3)) exponent -= 3;
        else return 0;
    }
    return exponent == 0;
}

static int qnnrt_pass__gelu_cubic(qnnrt_pass__match *m, const qnnrt_ir_value *value,
                                  const qnnrt_ir_value *x)
{
    const qnnrt_ir_node *sum = qnnrt_pass__match_back(m, value);
    if (sum == NULL || !qnnrt_pass__match_pair(sum, "add.Tensor")) return 0;
    if (sum->inputs[0] == x) return qnnrt_pass__gelu_power(m, sum->inputs[1], x, 3);
    return sum->inputs[1] == x && qnnrt_pass__gelu_power(m, sum->inputs[0], x, 3);
}

/* Return the node whose result and 1 make a value, or NULL. */
static const qnnrt_ir_node *qnnrt_pass__gelu_one(const qnnrt_ir_node *node)
{
    double one;
    return node != NULL && (qnnrt_ir_is(node, "add.Tensor") ||
                            qnnrt_ir_is(node, "add.Scalar")) &&
           qnnrt_pass__match_number(node, &one) && !(one < 1) && !(one > 1) &&
           qnnrt_ir_attr_find(node, "alpha") == NULL ? node : NULL;
}

/* Return true if a value is sqrt(2 / pi) * (x + 0.044715 * x^3), also with x outside. */
static int qnnrt_pass__gelu_angle(qnnrt_pass__match *m, const qnnrt_ir_value *value,
                                  const qnnrt_ir_value *x)
{
    const qnnrt_ir_node *node = qnnrt_pass__match_back(m, value);
    qnnrt_pass__product all;
    memset(&all, 0, sizeof(all));
    all.number = 1;
    if (node == NULL || !qnnrt_pass__gelu_product(m, node, &all, 0) || all.number < 0.7971 ||
        all.number > 0.7987) return 0;
    if (all.count == 1) return qnnrt_pass__gelu_cubic(m, all.factors[0], x);
    if (all.count != 2 || (all.factors[0] != x && all.factors[1] != x)) return 0;
    node = qnnrt_pass__match_back(m, all.factors[all.factors[0] == x ? 1 : 0]);
    node = qnnrt_pass__gelu_one(node);
    return node != NULL && qnnrt_pass__gelu_power(m, node->inputs[0], x, 2);
}

/* Match 1 + erf(x / sqrt(2)), or 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)). Return the name of
   the form, or NULL. */
static const char *qnnrt_pass__gelu_gate(qnnrt_pass__match *m, const qnnrt_ir_value *value,
                                         const qnnrt_ir_value *x)
{
    const qnnrt_ir_node *node = qnnrt_pass__gelu_one(qnnrt_pass__match_back(m, value));
    qnnrt_pass__product inner;
    node = node != NULL ? qnnrt_pass__match_back(m, node->inputs[0]) : NULL;
    if (node == NULL) return NULL;
    if (qnnrt_ir_is(node, "erf.default"))
        return qnnrt_pass__gelu_is(m, node->inputs[0], 0.7071067811865476, &inner) &&
               inner.factors[0] == x ? "none" : NULL;
    return qnnrt_ir_is(node, "tanh.default") &&
           qnnrt_pass__gelu_angle(m, node->inputs[0], x) ? "tanh" : NULL;
}

static int qnnrt_pass__gelu_node(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    const char *how = NULL;
    const qnnrt_ir_attr *stated = qnnrt_ir_attr_find(node, "approximate");
    qnnrt_pass__match m;
    qnnrt_pass__product all;
    qnnrt_ir_value *x = qnnrt_ir_input(node, 0);
    size_t k, count;
    m.count = 0;
    if (qnnrt_ir_is(node, "gelu.default")) {
        how = stated != NULL && stated->kind == QNNRT_IR_TEXT ? stated->text : "none";
    } else {
        memset(&all, 0, sizeof(all));
        all.number = 1;
        if (!qnnrt_pass__gelu_product(&m, node, &all, 0) || all.count != 2 || all.number < 0.4999 ||
            all.number > 0.5001) return 1;
        count = m.count;
        for (k = 0; k < 2 && how == NULL; ++k) {
            m.count = count;
            x = all.factors[1 - k];
            how = qnnrt_pass__gelu_gate(&m, all.factors[k], x);
        }
        if (how == NULL || x->dtype != node->outputs[0]->dtype ||
            !qnnrt_ir_same_shape(x, node->outputs[0])) return 1;
    }
    if (!qnnrt_pass__become(p, node, "q.gelu", &x, 1)) return 0;
    if (!qnnrt_ir_set_text(p->ir, node, "approximate", how)) return qnnrt_pass__memory(p);
    qnnrt_pass__match_fuse(p, &m, node);
    return 1;
}

QNNRT_PASS__VISITS(gelu, gelu_node)

/* =====================================================================================
   ATTENTION                                                                  >>attention
   Finds scaled dot product attention among matrix products.
   Needs: >>pass >>cleanup >>match     Knows nothing of: other patterns
   ===================================================================================== */

typedef struct qnnrt_pass__attention {
    qnnrt_pass__match  m;
    qnnrt_ir_value  *inputs[4];              /* query, key, value, mask or NULL */
    double           scale;
    int              swap[3];                /* 1: the last two dimensions are to be swapped */
} qnnrt_pass__attention;

/* Return true if a node is a product of two matrices; *swap receives true if it reads the second
   one with its last two dimensions swapped. */
static int qnnrt_pass__attention_product(const qnnrt_ir_node *node, int *swap)
{
    if (!qnnrt_ir_is_in(node, qnnrt_pass__products)) return 0;
    *swap = qnnrt_ir_int(node, "transpose_b", 0) != 0;
    return 1;
}

/* Return x if a node multiplies x with a number or divides by one, which goes to *scale. */
static qnnrt_ir_value *qnnrt_pass__attention_scaled(const qnnrt_ir_node *node, double *scale)
{
    const int multiply = qnnrt_ir_is_in(node, qnnrt_pass__times);
    double number;
    if ((!multiply && !qnnrt_ir_is_in(node, qnnrt_pass__over)) ||
        !qnnrt_pass__match_number(node, &number) ||
        !qnnrt_ir_same_shape(node->inputs[0], node->outputs[0]) ||
        !(multiply || number < 0 || number > 0)) return NULL;
    number = *scale * (multiply ? number : 1 / number);
    if (!(number > -1e30 && number < 1e30)) return NULL;
    *scale = number;
    return node->inputs[0];
}

/* Follow input i of the attention back through numbers that scale it (not the values), reorderings
   that it can do without, and conversions to wider floats. order receives the one that is left. */
static void qnnrt_pass__attention_back(qnnrt_pass__attention *a, size_t i, qnnrt_dtype dtype,
                                       int64_t order[QNNRT_IR_RANK])
{
    const uint32_t rank = a->inputs[i]->rank;
    int64_t own[QNNRT_IR_RANK];
    uint32_t k;
    for (k = 0; k < rank; ++k) order[k] = k;
    if (a->swap[i]) {
        order[rank - 2] = rank - 1;
        order[rank - 1] = rank - 2;
    }
    while (a->m.count < sizeof(a->m.inner) / sizeof(a->m.inner[0])) {
        qnnrt_ir_value *x = a->inputs[i], *from = NULL;
        qnnrt_ir_node *node = qnnrt_ir_producer(x);
        if (node == NULL || node->output_count != 1) return;
        if (i < 2) from = qnnrt_pass__attention_scaled(node, &a->scale);
        if (from == NULL && x->dtype != dtype && qnnrt_pass__match_narrow(x, dtype) != x)
            from = node->inputs[0];
        if (from == NULL && !qnnrt_pass__match_plain(order, rank) &&
            qnnrt_pass__match_order(node, own)) {
            for (k = 0; k < rank; ++k) order[k] = own[order[k]];
            from = node->inputs[0];
        }
        if (from == NULL) return;
        a->m.inner[a->m.count++] = node;
        a->inputs[i] = from;
    }
}

/* Match the product of query and key, scaled. baddbmm adds a mask. */
static int qnnrt_pass__attention_core(qnnrt_pass__attention *a, const qnnrt_ir_value *scores)
{
    size_t steps;
    for (steps = 0; steps < 3 && scores != NULL; ++steps) {
        const qnnrt_ir_node *node = qnnrt_pass__match_back(&a->m, scores);
        const int sum = node != NULL && qnnrt_ir_is(node, "baddbmm.default");
        const double beta = sum ? qnnrt_ir_float(node, "beta", 1) : 1;
        if (node == NULL) return 0;
        if (sum || qnnrt_pass__attention_product(node, &a->swap[1])) {
            /* A mask that is added before the scaling would be scaled, too. */
            if (sum && (a->inputs[3] != NULL || a->scale < 1 || a->scale > 1 || beta < 1 ||
                        beta > 1)) return 0;
            if (sum) a->inputs[3] = node->inputs[0];
            if (sum) a->scale = qnnrt_ir_float(node, "alpha", 1);
            a->inputs[0] = node->inputs[sum];
            a->inputs[1] = node->inputs[1 + sum];
            a->swap[1] = sum || !a->swap[1];
            return 1;
        }
        scores = qnnrt_pass__attention_scaled(node, &a->scale);
    }
    return 0;
}

static int qnnrt_pass__attention_scores(qnnrt_pass__attention *a, const qnnrt_ir_value *scores)
{
    const qnnrt_pass__attention before = *a;
    const qnnrt_ir_node *node;
    size_t k;
    if (qnnrt_pass__attention_core(a, scores)) return 1;
    *a = before;
    node = qnnrt_pass__match_back(&a->m, scores);
    if (node == NULL || !qnnrt_pass__match_pair(node, "add.Tensor")) return 0;
    for (k = 0; k < 2; ++k) {
        const qnnrt_pass__attention sum = *a;
        a->inputs[3] = node->inputs[1 - k];
        if (qnnrt_ir_same_shape(node->inputs[k], node->outputs[0]) &&
            qnnrt_pass__attention_core(a, node->inputs[k])) return 1;
        *a = sum;
    }
    return 0;
}

/* Return true if shapes and dtypes are those of the operator. */
static int qnnrt_pass__attention_fits(const qnnrt_pass__attention *a, const qnnrt_ir_value *y,
                                      int64_t order[3][QNNRT_IR_RANK])
{
    const uint32_t r = y->rank;
    uint32_t i, d;
    for (i = 0; i < 3; ++i) {
        const qnnrt_ir_value *x = a->inputs[i];
        if (x->dtype != y->dtype || x->rank != r || !qnnrt_pass__match_float(x)) return 0;
        for (d = 0; d + 2 < r; ++d) {
            const int64_t size = x->dims[order[i][d]];
            const int64_t keys = a->inputs[1]->dims[order[1][d]];
            if (size != y->dims[d] && (i == 0 || d + 3 < r || size != 1)) return 0;
            if (i == 2 && size != keys) return 0;
        }
    }
    return a->inputs[3] == NULL || qnnrt_pass__match_float(a->inputs[3]);
}

/* Return input i in the order of the operator: with a reordering before the node if needed. */
static qnnrt_ir_value *qnnrt_pass__attention_ordered(qnnrt_pass__work *p, const qnnrt_ir_node *node,
                                                     qnnrt_ir_value *x, const int64_t *order)
{
    int64_t dims[QNNRT_IR_RANK];
    char name[300];
    qnnrt_ir_value *y;
    qnnrt_ir_node *permute;
    uint32_t i;
    if (qnnrt_pass__match_plain(order, x->rank)) return x;
    for (i = 0; i < x->rank; ++i) dims[i] = x->dims[order[i]];
    snprintf(name, sizeof name, "%.250s_order", node->name);
    y = qnnrt_ir_add_value(p->ir, name, x->dtype, x->rank, dims);
    permute = y != NULL ? qnnrt_ir_add_node(p->ir, node, "permute.default", &x, 1, &y, 1) : NULL;
    if (permute == NULL || !qnnrt_ir_set_ints(p->ir, permute, "dims", order, x->rank)) return NULL;
    return y;
}

static int qnnrt_pass__attention_become(qnnrt_pass__work *p, qnnrt_ir_node *node,
                                        qnnrt_pass__attention *a, int64_t order[3][QNNRT_IR_RANK])
{
    const uint32_t r = a->inputs[0]->rank;
    size_t i;
    for (i = 0; i < 3; ++i) {
        a->inputs[i] = qnnrt_pass__attention_ordered(p, node, a->inputs[i], order[i]);
        if (a->inputs[i] == NULL) return qnnrt_pass__memory(p);
    }
    if (!qnnrt_pass__become(p, node, "scaled_dot_product_attention.default", a->inputs,
                            a->inputs[3] != NULL ? 4 : 3)) return 0;
    if (!qnnrt_ir_set_float(p->ir, node, "scale", a->scale)) return qnnrt_pass__memory(p);
    if (a->inputs[3] != NULL && !qnnrt_ir_set_bool(p->ir, node, "nan_rows", 1))
        return qnnrt_pass__memory(p);
    if (r > 2 && a->inputs[0]->dims[r - 3] != a->inputs[1]->dims[r - 3] &&
        !qnnrt_ir_set_bool(p->ir, node, "enable_gqa", 1)) return qnnrt_pass__memory(p);
    qnnrt_pass__match_fuse(p, &a->m, node);
    return 1;
}

static int qnnrt_pass__attention_node(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    static const char *const softmaxes[] = { "softmax.int", "_softmax.default", NULL };
    qnnrt_pass__attention a;
    const qnnrt_ir_node *softmax;
    int64_t order[3][QNNRT_IR_RANK], dim;
    qnnrt_dtype dtype;
    size_t i;
    memset(&a, 0, sizeof(a));
    a.scale = 1;
    if (!qnnrt_pass__attention_product(node, &a.swap[2]) || node->inputs[0]->rank < 2 ||
        node->inputs[0]->rank != node->inputs[1]->rank) return 1;
    softmax = qnnrt_pass__match_back(&a.m, node->inputs[0]);
    if (softmax == NULL || !qnnrt_ir_is_in(softmax, softmaxes) ||
        !qnnrt_pass__match_float(softmax->outputs[0])) return 1;
    dim = qnnrt_ir_int(softmax, "dim", 0);
    if ((dim != -1 && dim != (int64_t)softmax->inputs[0]->rank - 1) ||
        !qnnrt_pass__attention_scores(&a, softmax->inputs[0])) return 1;
    a.inputs[2] = node->inputs[1];
    if (a.inputs[0]->rank != node->inputs[0]->rank || a.inputs[1]->rank != a.inputs[0]->rank ||
        !qnnrt_ir_same_shape(softmax->inputs[0], node->inputs[0]) ||
        node->inputs[1]->count == 0) return 1;
    dtype = node->outputs[0]->dtype;
    for (i = 0; i < 3; ++i) qnnrt_pass__attention_back(&a, i, dtype, order[i]);
    if (!qnnrt_pass__attention_fits(&a, node->outputs[0], order)) return 1;
    return qnnrt_pass__attention_become(p, node, &a, order);
}

QNNRT_PASS__VISITS(attention, attention_node)

/* Return true if a value is what expand makes of heads: head by head several times, and in `narrow`
   once. */
static int qnnrt_pass__attention_expands(const qnnrt_ir_value *heads, const qnnrt_ir_value *narrow,
                                         const qnnrt_ir_value *wide, const qnnrt_ir_value *all)
{
    const uint32_t r = heads->rank, at = r - 2;
    const int64_t times = all->dims[r - 3] / heads->dims[r - 3];
    uint32_t i;
    if (narrow->rank == r)                           /* one head, which becomes many */
        return qnnrt_ir_same_shape(heads, narrow) && heads->dims[r - 3] == 1 &&
               qnnrt_ir_same_shape(wide, all);
    if (narrow->rank != r + 1 || wide->rank != r + 1 || narrow->dims[at] != 1 ||
        wide->dims[at] != times) return 0;
    for (i = 0; i < r; ++i) {
        const int64_t size = heads->dims[i];
        const uint32_t place = i < at ? i : i + 1;
        if (narrow->dims[place] != size || wide->dims[place] != size) return 0;
    }
    return 1;
}

/* Return the input of a view, which is kept in the match, or NULL. */
static qnnrt_ir_value *qnnrt_pass__attention_unview(qnnrt_pass__match *m, qnnrt_ir_value *x)
{
    static const char *const views[] = {
        "reshape.default", "view.default", "unsqueeze.default",
        "flatten.using_ints", "contiguous.default", "clone.default", "alias.default", NULL
    };
    qnnrt_ir_node *node = qnnrt_ir_producer(x);
    if (node == NULL || !qnnrt_ir_is_in(node, views) ||
        m->count == sizeof(m->inner) / sizeof(m->inner[0])) return NULL;
    m->inner[m->count++] = node;
    return node->inputs[0];
}

/* Return the tensor of which a value has each head several times in a row, or NULL. */
static qnnrt_ir_value *qnnrt_pass__attention_heads(qnnrt_pass__match *m, qnnrt_ir_value *x)
{
    const uint32_t at = x->rank - 3;
    qnnrt_ir_value *wide = x, *narrow, *heads, *before;
    qnnrt_ir_node *node = qnnrt_ir_producer(x);
    if (node != NULL && qnnrt_ir_is(node, "repeat_interleave.self_int")) {
        const int64_t dim = qnnrt_ir_int(node, "dim", (int64_t)x->rank);
        m->inner[m->count++] = node;
        return dim == (int64_t)at || dim == -3 ? node->inputs[0] : NULL;
    }
    while ((before = qnnrt_pass__attention_unview(m, wide)) != NULL) wide = before;
    node = qnnrt_ir_producer(wide);
    if (node == NULL || !qnnrt_ir_is(node, "expand.default") ||
        m->count == sizeof(m->inner) / sizeof(m->inner[0])) return NULL;
    m->inner[m->count++] = node;
    narrow = heads = node->inputs[0];
    while (heads != NULL && heads->rank > x->rank) heads = qnnrt_pass__attention_unview(m, heads);
    if (heads == NULL || heads->rank != x->rank || heads->dims[at] < 1 ||
        x->dims[at] % heads->dims[at] != 0 ||
        !qnnrt_pass__attention_expands(heads, narrow, wide, x)) return NULL;
    return memcmp(heads->dims, x->dims, at * sizeof(*x->dims)) == 0 &&
           memcmp(heads->dims + at + 1, x->dims + at + 1, 2 * sizeof(*x->dims)) == 0 ? heads : NULL;
}

static int qnnrt_pass__attention_share(qnnrt_pass__work *p, qnnrt_ir_node *node)
{
    while (qnnrt_ir_is(node, "scaled_dot_product_attention.default") &&
           node->inputs[1]->rank > 2) {
        qnnrt_ir_value *x[2];
        qnnrt_pass__match m;
        uint32_t at = node->inputs[1]->rank - 3;
        size_t i;
        m.count = 0;
        x[0] = qnnrt_pass__attention_heads(&m, node->inputs[1]);
        x[1] = x[0] != NULL ? qnnrt_pass__attention_heads(&m, node->inputs[2]) : NULL;
        if (x[1] == NULL || x[0]->dims[at] != x[1]->dims[at]) return 1;
        for (i = 0; i < 2; ++i) qnnrt_ir_set_input(p->ir, node, 1 + i, x[i]);
        if (!qnnrt_ir_set_bool(p->ir, node, "enable_gqa", 1)) return qnnrt_pass__memory(p);
        if (node->mapping[0] == '\0') node->mapping = "shares heads of keys and values";
        qnnrt_pass__match_fuse(p, &m, node);
    }
    return 1;
}

QNNRT_PASS__VISITS(gqa, attention_share)

/* =====================================================================================
   TRACE                                                                          >>trace
   Follows a value back to one tensor of integers, the positions, and finds which of their
   dimensions runs along which of its own.
   Needs: >>pass >>match     Knows nothing of: tables, numbers
   ===================================================================================== */

typedef struct qnnrt_pass__traced {
    qnnrt_ir_value *value;
    int             moves;                   /* 1: it depends on the positions; 0: constant */
    int             axis[QNNRT_IR_RANK];     /* the dimension of the positions that runs along each
                                                of its own, -1: none, or one of size 1 */
    const void     *data;                    /* elements */
    void           *room;                    /* the same, if they are computed; else NULL */
    int             computed;
} qnnrt_pass__traced;

typedef struct qnnrt_pass__trace {
    qnnrt_pass__traced  cells[64];           /* in an order in which they can be computed */
    size_t            count, depth;
    qnnrt_ir_value   *source;                /* the positions, or NULL */
} qnnrt_pass__trace;

static qnnrt_pass__traced *qnnrt_pass__trace_find(qnnrt_pass__trace *t, const qnnrt_ir_value *value)
{
    size_t i;
    for (i = 0; i < t->count; ++i) if (t->cells[i].value == value) return &t->cells[i];
    return NULL;
}

static qnnrt_pass__traced *qnnrt_pass__trace_add(qnnrt_pass__trace *t, qnnrt_ir_value *value,
                                                 int moves)
{
    qnnrt_pass__traced *cell = &t->cells[t->count];
    size_t i;
    if (t->count == sizeof(t->cells) / sizeof(t->cells[0])) return NULL;
    ++t->count;
    memset(cell, 0, sizeof(*cell));
    cell->value = value;
    cell->moves = moves;
    for (i = 0; i < QNNRT_IR_RANK; ++i) cell->axis[i] = -1;
    return cell;
}

/* Element by element, with broadcast: inputs that depend on the positions do so alike. */
static int qnnrt_pass__trace_each(qnnrt_pass__trace *t, const qnnrt_ir_node *node, int *axis)
{
    const qnnrt_ir_value *y = node->outputs[0];
    size_t i, found = 0;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_pass__traced *x = qnnrt_pass__trace_find(t, node->inputs[i]);
        uint32_t d;
        if (x == NULL || !x->moves) continue;
        for (d = 0; d < y->rank; ++d) {
            const int lead = (int)d - (int)(y->rank - x->value->rank);
            const int own = lead >= 0 ? x->axis[lead] : -1;
            if (own >= 0 && x->value->dims[lead] != y->dims[d]) return 0;
            if (found > 0 && own != axis[d]) return 0;
            axis[d] = own;
        }
        ++found;
    }
    return 1;
}

/* Other shapes of the same elements: a dimension of the positions stays one dimension. */
static int qnnrt_pass__trace_view(const qnnrt_pass__traced *x, const qnnrt_ir_value *y, int *axis)
{
    uint32_t i = 0, k = 0;
    while (i < x->value->rank || k < y->rank) {
        const uint32_t from = i, to = k;
        int64_t a = 1, b = 1;
        uint32_t d;
        do {
            if (a <= b && i < x->value->rank) a *= x->value->dims[i++];
            else if (k < y->rank) b *= y->dims[k++];
            else if (i < x->value->rank) a *= x->value->dims[i++];
            else return 0;
        } while (a != b);
        for (d = from; d < i; ++d) {
            uint32_t own = to;
            if (x->axis[d] < 0) continue;
            while (own < k && y->dims[own] == 1) ++own;
            if (own == k || y->dims[own] != a || x->value->dims[d] != a) return 0;
            axis[own] = x->axis[d];
        }
    }
    return 1;
}

/* A product of matrices, one of them constant: the inner dimension is not one of the positions. */
static int qnnrt_pass__trace_product(qnnrt_pass__trace *t, const qnnrt_ir_node *node, int *axis)
{
    const qnnrt_pass__traced *a = qnnrt_pass__trace_find(t, node->inputs[0]);
    const qnnrt_pass__traced *b = qnnrt_pass__trace_find(t, node->inputs[1]);
    const qnnrt_pass__traced *x = a->moves ? a : b;
    const int swap = qnnrt_ir_int(node, "transpose_b", 0) != 0;
    const uint32_t r = x->value->rank, n = node->outputs[0]->rank;
    uint32_t inner, outer, d;
    if ((a->moves && b->moves) || a->value->rank < 2 || b->value->rank < 2 || n < r) return 0;
    inner = x == a || swap ? r - 1 : r - 2;
    outer = inner == r - 1 ? r - 2 : r - 1;
    if (x->axis[inner] >= 0) return 0;
    for (d = 0; d + 2 < r; ++d) axis[n - r + d] = x->axis[d];
    axis[x == a ? n - 2 : n - 1] = x->axis[outer];
    return 1;
}

/* cat and stack of values that depend on the positions alike. */
static int qnnrt_pass__trace_join(qnnrt_pass__trace *t, const qnnrt_ir_node *node, int *axis)
{
    const int stack = qnnrt_ir_is(node, "stack.default");
    const uint32_t r = node->outputs[0]->rank;
    int64_t dim = qnnrt_ir_int(node, "dim", 0);
    size_t i;
    uint32_t d;
    if (dim < 0) dim += r;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_pass__traced *x = qnnrt_pass__trace_find(t, node->inputs[i]);
        if (x == NULL || !x->moves || x->value->rank + (uint32_t)stack != r) return 0;
        for (d = 0; d < r; ++d) {
            const int own = !stack ? x->axis[d] : (int64_t)d < dim ? x->axis[d]
                          : (int64_t)d == dim ? -1 : x->axis[d - 1];
            if ((i > 0 && own != axis[d]) || ((int64_t)d == dim && own >= 0)) return 0;
            axis[d] = own;
        }
    }
    return 1;
}

/* Parts and repetitions along a dimension that is not one of the positions. */
static int qnnrt_pass__trace_cut(const qnnrt_pass__traced *x, const qnnrt_ir_node *node, int *axis)
{
    const int select = qnnrt_ir_is(node, "select.int");
    const uint32_t r = x->value->rank;
    int64_t dim = qnnrt_ir_int(node, "dim", qnnrt_ir_is(node, "slice.Tensor") ? 0 : r);
    uint32_t d, k = 0;
    if (dim < 0) dim += r;
    if (dim >= (int64_t)r || x->axis[dim] >= 0) return 0;
    for (d = 0; d < r; ++d) if (!select || (int64_t)d != dim) axis[k++] = x->axis[d];
    return 1;
}

static int qnnrt_pass__trace_rule(qnnrt_pass__trace *t, const qnnrt_ir_node *node, int *axis)
{
    static const char *const each[] = {
        "neg.default", "cos.default", "sin.default", "add.Tensor", "add.Scalar", "sub.Tensor",
        "sub.Scalar", "rsub.Scalar", "mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar",
        "repeat.default", NULL
    };
    static const char *const joins[] = { "cat.default", "stack.default", NULL };
    const qnnrt_pass__traced *x = qnnrt_pass__trace_find(t, node->inputs[0]);
    int64_t order[QNNRT_IR_RANK];
    uint32_t d;
    if (qnnrt_ir_is_in(node, each) || qnnrt_ir_is_in(node, qnnrt_pass__copies))
        return qnnrt_pass__trace_each(t, node, axis);
    if (qnnrt_ir_is_in(node, qnnrt_pass__views))
        return qnnrt_pass__trace_view(x, node->outputs[0], axis);
    if (qnnrt_ir_is_in(node, qnnrt_pass__products)) return qnnrt_pass__trace_product(t, node, axis);
    if (qnnrt_ir_is_in(node, joins)) return qnnrt_pass__trace_join(t, node, axis);
    if (qnnrt_ir_is_in(node, qnnrt_pass__cuts)) return qnnrt_pass__trace_cut(x, node, axis);
    if (qnnrt_ir_is(node, "rope")) {
        const qnnrt_pass__traced *positions = qnnrt_pass__trace_find(t, node->inputs[1]);
        for (d = 0; d < positions->value->rank; ++d) axis[d] = positions->axis[d];
        return !x->moves;
    }
    if (!qnnrt_pass__match_order(node, order)) return 0;
    for (d = 0; d < x->value->rank; ++d) axis[d] = x->axis[order[d]];
    return 1;
}

/* Return true if a value depends on no input of the graph. Look at so many nodes at most. */
static int qnnrt_pass__trace_still(const qnnrt_ir_value *value, unsigned *nodes)
{
    const qnnrt_ir_node *node = qnnrt_ir_producer(value);
    size_t i;
    if (node == NULL) return value->data != NULL;
    if (*nodes == 0) return 0;
    --*nodes;
    for (i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != NULL && !qnnrt_pass__trace_still(node->inputs[i], nodes)) return 0;
    return 1;
}

/* Trace a value: add it, after all that it depends on. Return 0 if that is not known to depend on
   one tensor of integers, element by element, and on constants. */
static int qnnrt_pass__trace_value(qnnrt_pass__trace *t, qnnrt_ir_value *value)
{
    static const char *const moves[] = {
        "to.dtype", "contiguous.default", "clone.default", "alias.default", "unsqueeze.default",
        "squeeze.default", "squeeze.dim", "squeeze.dims", "view.default",
        "reshape.default", "flatten.using_ints", "expand.default", "permute.default",
        "transpose.int", "t.default", NULL
    };
    qnnrt_ir_node *node = qnnrt_ir_producer(value);
    const int whole = qnnrt_ir_dtype_kind(value->dtype) == 1;
    qnnrt_pass__traced *cell;
    int any = 0, axis[QNNRT_IR_RANK];
    size_t i;
    if (qnnrt_pass__trace_find(t, value) != NULL) return 1;
    for (i = 0; i < QNNRT_IR_RANK; ++i) axis[i] = -1;
    if (node == NULL && value->data != NULL) {
        cell = qnnrt_pass__trace_add(t, value, 0);
        if (cell != NULL) cell->data = value->data;
        return cell != NULL;
    }
    if (whole && (node == NULL || !qnnrt_ir_is_in(node, moves))) {
        unsigned nodes = 256;
        if (t->source != NULL || qnnrt_pass__trace_still(value, &nodes)) return 0;
        cell = qnnrt_pass__trace_add(t, value, 1);
        if (cell == NULL) return 0;
        t->source = value;
        for (i = 0; i < value->rank; ++i) if (value->dims[i] > 1) cell->axis[i] = (int)i;
        return 1;
    }
    if (node == NULL || t->depth == 64 || node->input_count == 0 || node->inputs[0] == NULL ||
        (node->output_count != 1 && !qnnrt_ir_is(node, "rope"))) return 0;
    ++t->depth;
    for (i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == NULL) continue;
        if (!qnnrt_pass__trace_value(t, node->inputs[i])) return 0;
        any |= qnnrt_pass__trace_find(t, node->inputs[i])->moves;
    }
    --t->depth;
    if (any && !qnnrt_pass__trace_rule(t, node, axis)) return 0;
    cell = qnnrt_pass__trace_add(t, value, any);
    if (cell == NULL) return 0;
    for (i = 0; i < value->rank; ++i) if (value->dims[i] > 1) cell->axis[i] = axis[i];
    return 1;
}

/* =====================================================================================
   ROPE                                                                            >>rope
   Replaces cos and sin of positions by tables.
   Needs: >>pass >>match >>trace     Knows nothing of: other patterns
   ===================================================================================== */

typedef struct qnnrt_pass__rope {
    qnnrt_pass__work   p;
    qnnrt_pass__trace  trace;
    qnnrt_arena  arena;                  /* of one node */
    uint32_t         positions;              /* rows of a table */
    uint32_t        *at;                     /* the positions that are computed */
    const void     **in;
    void           **out;
} qnnrt_pass__rope;

enum { QNNRT_PASS__ROPE_LARGE = 1 << 24 };   /* elements of a value, and positions at a time */

/* Return true if the traced values are small enough, and the outputs of a node depend on all
   positions, on each along one dimension. */
static int qnnrt_pass__rope_can(qnnrt_pass__rope *r, const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *source = r->trace.source;
    size_t i, k;
    uint32_t d;
    if (source == NULL || source->count == 0 || source->rank == QNNRT_IR_RANK) return 0;
    if (source->ranged == 1 && (source->low < 0 || source->high >= (int64_t)r->positions)) return 0;
    for (i = 0; i < r->trace.count; ++i)
        if (r->trace.cells[i].value->count > QNNRT_PASS__ROPE_LARGE) return 0;
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_pass__traced *y = qnnrt_pass__trace_find(&r->trace, node->outputs[k]);
        uint32_t seen = 0, expected = 0;
        if (!y->moves || y->value->count == 0) return 0;
        for (d = 0; d < source->rank; ++d)
            if (source->dims[d] > 1) expected |= (uint32_t)1 << d;
        for (d = 0; d < y->value->rank; ++d) {
            if (y->axis[d] < 0) continue;
            if (seen >> y->axis[d] & 1 || y->value->dims[d] != source->dims[y->axis[d]]) return 0;
            seen |= (uint32_t)1 << y->axis[d];
        }
        if (seen != expected || y->value->count / source->count * r->positions >
                                (uint64_t)QNNRT_PASS__ROPE_LARGE * 16) return 0;
    }
    return 1;
}

/* Make room for the elements of all traced values that are not constants. */
static int qnnrt_pass__rope_room(qnnrt_pass__rope *r)
{
    size_t i, in = 1, out = 2;
    for (i = 0; i < r->trace.count; ++i) {
        qnnrt_pass__traced *cell = &r->trace.cells[i];
        const qnnrt_ir_node *node = qnnrt_ir_producer(cell->value);
        if (node != NULL && node->input_count > in) in = node->input_count;
        if (cell->data != NULL) continue;
        cell->data = cell->room = qnnrt_arena_get(&r->arena, cell->value->count + 1,
                                                  qnnrt_ir_dtype_bytes(cell->value->dtype));
        if (cell->data == NULL) return 0;
    }
    r->in = (const void **)qnnrt_arena_get(&r->arena, in, sizeof(*r->in));
    r->out = (void **)qnnrt_arena_get(&r->arena, out, sizeof(*r->out));
    r->at = (uint32_t *)qnnrt_arena_get(&r->arena, r->trace.source->count, sizeof(*r->at));
    return r->in != NULL && r->out != NULL && r->at != NULL;
}

/* Compute all traced values for the positions r->at. Return 0 if that is not possible. */
static int qnnrt_pass__rope_compute(qnnrt_pass__rope *r)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(r->trace.source->dtype);
    size_t i, k;
    for (i = 0; i < r->trace.count; ++i) {
        qnnrt_pass__traced *cell = &r->trace.cells[i];
        const qnnrt_ir_node *node = qnnrt_ir_producer(cell->value);
        if (cell->value == r->trace.source) {
            char *to = (char *)cell->room;
            for (k = 0; k < cell->value->count; ++k)
                qnnrt_ir_element_put(to + k * bytes, cell->value->dtype, r->at[k], 0);
            continue;
        }
        if (node == NULL || (cell->computed && !cell->moves)) continue;
        if (i > 0 && node == r->trace.cells[i - 1].value->node) continue;     /* its other output */
        for (k = 0; k < node->input_count; ++k)
            r->in[k] = node->inputs[k] != NULL
                           ? qnnrt_pass__trace_find(&r->trace, node->inputs[k])->data : NULL;
        for (k = 0; k < node->output_count; ++k)
            r->out[k] = qnnrt_pass__trace_find(&r->trace, node->outputs[k])->room;
        r->p.result = qnnrt_ir_eval_node(&r->arena.hooks, node, r->in, r->out, r->p.err);
        if (r->p.result != QNNRT_OK) return 0;
        cell->computed = 1;
    }
    return 1;
}

/* Copy the elements of y to the rows of r->at in a table, or compare them with those. */
static int qnnrt_pass__rope_rows(qnnrt_pass__rope *r, const qnnrt_pass__traced *y, char *table,
                                 int compare)
{
    const qnnrt_ir_value *source = r->trace.source;
    const size_t bytes = qnnrt_ir_dtype_bytes(y->value->dtype);
    const uint64_t width = y->value->count / source->count;
    uint64_t row[QNNRT_IR_RANK], place[QNNRT_IR_RANK], of[QNNRT_IR_RANK], step = 1, k;
    uint64_t at[QNNRT_IR_RANK] = {0}, position = 0, column = 0;
    uint32_t d;
    for (d = source->rank; d-- > 0; step *= (uint64_t)source->dims[d]) of[d] = step;
    for (d = y->value->rank, step = 1; d-- > 0;) {
        row[d] = y->axis[d] >= 0 ? of[y->axis[d]] : 0;
        place[d] = y->axis[d] >= 0 ? 0 : step;
        if (y->axis[d] < 0) step *= (uint64_t)y->value->dims[d];
    }
    for (k = 0; k < y->value->count; ++k) {
        const char *from = (const char *)y->data + k * bytes;
        char *to = table + (r->at[position] * width + column) * bytes;
        if (!compare) memcpy(to, from, bytes);
        else if (memcmp(to, from, bytes) != 0) return 0;
        for (d = y->value->rank; d-- > 0;) {             /* the next element */
            const uint64_t size = (uint64_t)y->value->dims[d];
            position += row[d];
            column += place[d];
            if (++at[d] < size) break;
            position -= row[d] * size;
            column -= place[d] * size;
            at[d] = 0;
        }
    }
    return 1;
}

/* Fill the tables of all outputs of a node, and compare them with the graph for two lists of
   random positions. Return 0 if they differ, or the graph cannot be computed. */
static int qnnrt_pass__rope_fill(qnnrt_pass__rope *r, const qnnrt_ir_node *node,
                                 char *const *tables)
{
    const uint64_t count = r->trace.source->count;
    uint64_t i, first;
    uint32_t random = 2463534242u;
    size_t k;
    int round;
    for (first = 0; first < r->positions; first += count) {
        for (i = 0; i < count; ++i)
            r->at[i] = (uint32_t)(first + i < r->positions ? first + i : r->positions - 1u);
        if (!qnnrt_pass__rope_compute(r)) return 0;
        for (k = 0; k < node->output_count; ++k)
            qnnrt_pass__rope_rows(r, qnnrt_pass__trace_find(&r->trace, node->outputs[k]), tables[k],
                                  0);
    }
    for (round = 0; round < 2; ++round) {
        for (i = 0; i < count; ++i) {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            r->at[i] = random % r->positions;
        }
        if (!qnnrt_pass__rope_compute(r)) return 0;
        for (k = 0; k < node->output_count; ++k)
            if (!qnnrt_pass__rope_rows(r, qnnrt_pass__trace_find(&r->trace, node->outputs[k]),
                                       tables[k], 1)) return 0;
    }
    return 1;
}

/* Return a constant with the rows of a table: an earlier one if it is equal. */
static qnnrt_ir_value *qnnrt_pass__rope_constant(qnnrt_pass__rope *r, const qnnrt_ir_value *y,
                                                 const char *table)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(y->dtype);
    int64_t dims[2];
    char name[300];
    size_t i;
    dims[0] = r->positions;
    dims[1] = (int64_t)(y->count / r->trace.source->count);
    for (i = 0; i < r->p.ir->value_count; ++i) {
        qnnrt_ir_value *old = r->p.ir->values[i];
        if (old->origin == QNNRT_IR_CONSTANT && old->data != NULL && old->dtype == y->dtype &&
            old->rank == 2 && old->dims[0] == dims[0] && old->dims[1] == dims[1] &&
            memcmp(old->data, table, (size_t)old->count * bytes) == 0) return old;
    }
    snprintf(name, sizeof name, "%.250s_table", y->name);
    return qnnrt_ir_add_constant(r->p.ir, name, y->dtype, 2, dims, table, NULL);
}

/* Add a node before another one that makes `to`, or if NULL a new value of a shape. */
static qnnrt_ir_value *qnnrt_pass__rope_step(qnnrt_pass__rope *r, const qnnrt_ir_node *before,
                                             const char *op, qnnrt_ir_value *const *inputs,
                                             const char *list, const int64_t *items,
                                             qnnrt_ir_value *to, uint32_t rank, const int64_t *dims)
{
    qnnrt_ir_node *node;
    if (to == NULL) to = qnnrt_ir_add_value(r->p.ir, before->name, inputs[0]->dtype, rank, dims);
    if (to == NULL) return NULL;
    node = qnnrt_ir_add_node(r->p.ir, before, op, inputs, list == NULL ? 2 : 1, &to, 1);
    if (node == NULL || (list != NULL && !qnnrt_ir_set_ints(r->p.ir, node, list, items, to->rank)))
        return NULL;
    return to;
}

/* Let rows of a table make an output of a node that is killed: in the shape and order of y. */
static int qnnrt_pass__rope_emit(qnnrt_pass__rope *r, const qnnrt_ir_node *node,
                                 const qnnrt_pass__traced *y, qnnrt_ir_value *table)
{
    qnnrt_ir_value *source = r->trace.source, *inputs[2], *to = y->value;
    int64_t dims[QNNRT_IR_RANK], rows[QNNRT_IR_RANK], turned[QNNRT_IR_RANK], order[QNNRT_IR_RANK];
    uint32_t d, k = 0, n = 0;
    int axis;
    memcpy(dims, source->dims, sizeof(dims));
    dims[source->rank] = table->dims[1];
    /* The rows without dimensions of 1: first those of the positions, then the others as in y. */
    for (axis = 0; axis < (int)source->rank; ++axis)
        for (d = 0, k = 0; d < to->rank; ++d) {
            if (y->axis[d] == axis) { order[k] = n; rows[n++] = to->dims[d]; }
            k += to->dims[d] > 1;
        }
    for (d = 0, k = 0; d < to->rank; ++d) {
        if (to->dims[d] == 1) continue;
        if (y->axis[d] < 0) { order[k] = n; rows[n++] = to->dims[d]; }
        turned[k++] = to->dims[d];
    }
    inputs[0] = table;
    inputs[1] = source;
    if (qnnrt_pass__match_plain(order, n)) {
        const int same = to->rank == source->rank + 1 &&
                         memcmp(to->dims, dims, to->rank * sizeof(*dims)) == 0;
        inputs[0] = qnnrt_pass__rope_step(r, node, "embedding.default", inputs, NULL, NULL,
                                          same ? to : NULL, source->rank + 1, dims);
        return inputs[0] != NULL &&
               (same || qnnrt_pass__rope_step(r, node, "view.default", inputs, "size", to->dims, to,
                                              0, NULL) != NULL);
    }
    inputs[0] = qnnrt_pass__rope_step(r, node, "embedding.default", inputs, NULL, NULL, NULL,
                                      source->rank + 1, dims);
    if (inputs[0] != NULL)
        inputs[0] = qnnrt_pass__rope_step(r, node, "view.default", inputs, "size", rows, NULL, n,
                                          rows);
    if (inputs[0] != NULL)
        inputs[0] = qnnrt_pass__rope_step(r, node, "permute.default", inputs, "dims", order, NULL,
                                          n, turned);
    return inputs[0] != NULL && qnnrt_pass__rope_step(r, node, "view.default", inputs, "size",
                                                      to->dims, to, 0, NULL) != NULL;
}

static int qnnrt_pass__rope_replace(qnnrt_pass__rope *r, qnnrt_ir_node *node)
{
    char *tables[2], mapping[300];
    size_t i, k;
    if (!qnnrt_pass__rope_room(r)) return qnnrt_pass__memory(&r->p);
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_ir_value *y = node->outputs[k];
        tables[k] = (char *)qnnrt_arena_get(&r->arena, y->count / r->trace.source->count *
                                            r->positions, qnnrt_ir_dtype_bytes(y->dtype));
        if (tables[k] == NULL) return qnnrt_pass__memory(&r->p);
    }
    if (!qnnrt_pass__rope_fill(r, node, tables)) {
        if (r->p.result == QNNRT_E_MEMORY) return 0;
        r->p.result = QNNRT_OK;                          /* what cannot be computed stays a node */
        qnnrt_error_clear(r->p.err);
        return 1;
    }
    snprintf(mapping, sizeof mapping, "became tables of %u positions", (unsigned)r->positions);
    qnnrt_ir_kill(r->p.ir, node, mapping);
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_pass__traced *y = qnnrt_pass__trace_find(&r->trace, node->outputs[k]);
        qnnrt_ir_value *table;
        if (y->value->users == 0) continue;
        table = qnnrt_pass__rope_constant(r, y->value, tables[k]);
        if (table == NULL || !qnnrt_pass__rope_emit(r, node, y, table))
            return qnnrt_pass__memory(&r->p);
    }
    snprintf(mapping, sizeof mapping, "computed into the tables of %.200s", node->name);
    for (i = r->trace.count; i-- > 0;) {
        qnnrt_ir_node *inner = qnnrt_ir_producer(r->trace.cells[i].value);
        if (r->trace.cells[i].value == r->trace.source || inner == NULL || inner == node ||
            inner->outputs[0]->users > 0 || inner->output_count != 1) continue;
        for (k = 0; k < node->output_count && inner->outputs[0] != node->outputs[k];) ++k;
        if (k == node->output_count) qnnrt_ir_kill(r->p.ir, inner, mapping);
    }
    return 1;
}

static int qnnrt_pass__rope_node(qnnrt_pass__rope *r, qnnrt_ir_node *node)
{
    static const char *const ops[] = { "cos.default", "sin.default", "rope", NULL };
    size_t k;
    int good = 1;
    if (!qnnrt_ir_is_in(node, ops)) return 1;
    memset(&r->trace, 0, sizeof(r->trace));
    for (k = 0; k < node->output_count && good; ++k)
        good = qnnrt_pass__trace_value(&r->trace, node->outputs[k]);
    if (!good || !qnnrt_pass__rope_can(r, node)) return 1;
    r->arena = qnnrt_ir_arena(r->p.ir);
    good = qnnrt_pass__rope_replace(r, node);
    qnnrt_arena_free(&r->arena);
    return good;
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_rope_table(qnnrt_ir *ir, uint32_t positions,
                                                          qnnrt_error *err)
{
    qnnrt_pass__rope r;
    qnnrt_result result;
    size_t i;
    memset(&r, 0, sizeof(r));
    qnnrt_error_clear(err);
    if (positions == 0) return qnnrt_error_set(err, QNNRT_E_ARG, "positions is 0");
    result = qnnrt_ir_pass_inplace(ir, err);
    if (result != QNNRT_OK) return result;
    r.p.ir = ir;
    r.p.err = err;
    r.p.result = QNNRT_OK;
    r.positions = positions;
    for (i = 0; i < ir->node_count; ++i)
        if (!ir->nodes[i]->dead && !qnnrt_pass__rope_node(&r, ir->nodes[i])) return r.p.result;
    return qnnrt_ir_tidy(ir, err);
}

/* =====================================================================================
   COLUMNS                                                                      >>columns
   Follows the cells of caches through a graph: which dimension of each value runs along them. What
   it lets pass gives the same result for the cells in any order.
   Needs: >>pass >>match >>trace     Knows nothing of: how caches are written
   ===================================================================================== */

/* Kinds of caches, as bits of qnnrt_pass__use.kinds; most masks of a graph. */
enum { QNNRT_PASS__KEY = 1, QNNRT_PASS__VALUE = 2, QNNRT_PASS__MASKS = 8 };
/* What becomes an input, qnnrt_pass__along.given: "position_ids" and "attention_mask". */
enum { QNNRT_PASS__GIVEN_POSITIONS = 1, QNNRT_PASS__GIVEN_MASK = 2 };

typedef struct qnnrt_pass__along {
    int      axis;                           /* the dimension that runs along the cells, -1: none */
    uint32_t cache;                          /* 1 + the cache whose elements these are, 0: none */
    int      checked;                        /* 1 + the dimension that was checked, or 0 */
    int      given;                          /* which of the inputs that >>causal makes it becomes,
                                                0: none */
    int      follows;                        /* 1: it is computed from such an input */
} qnnrt_pass__along;

/* What products of matrices do with a cache. */
typedef struct qnnrt_pass__use {
    int    kinds;                            /* KEY: cells stay columns; VALUE: they are summed */
    size_t at;                               /* of the first such product, in the order of nodes */
} qnnrt_pass__use;

typedef struct qnnrt_pass__columns {
    qnnrt_pass__work   p;
    qnnrt_pass__along *of;                   /* [ir->value_count] */
    qnnrt_pass__use   *uses;                 /* [caches] */
    int64_t          cells;
    qnnrt_ir_value  *masks[QNNRT_PASS__MASKS]; /* inputs of the graph with a column for each cell */
    size_t           mask_count;
} qnnrt_pass__columns;

static int qnnrt_pass__columns_refuse(qnnrt_pass__columns *c, const qnnrt_ir_node *node,
                                      const char *why)
{
    c->p.result = qnnrt_error_set(c->p.err, QNNRT_E_UNSUPPORTED, "node \"%.150s\" (%.60s) %s",
                                  node->name, node->op, why);
    qnnrt_error_hint(c->p.err, QNNRT_OK, "Export the model with its mask as an input, and with "
                     "attention over whole caches.");
    return 0;
}

/* Return true for operators that compute each element from those in its place, with broadcast.
   Those have a recipe; but the weights of prelu run along the channels. */
static int qnnrt_pass__columns_each(const qnnrt_ir_node *node)
{
    return qnnrt_ir_is_in(node, qnnrt_pass__copies) ||
           (qnnrt_ir_recipe(node) != NULL && !qnnrt_ir_is(node, "prelu.default"));
}

/* Return the dimension of y that dimension d of x becomes in another shape, or -1. */
static int qnnrt_pass__columns_view(qnnrt_ir_value *x, const qnnrt_ir_value *y, int d)
{
    qnnrt_pass__traced from;
    int axis[QNNRT_IR_RANK];
    uint32_t i;
    memset(&from, 0, sizeof(from));
    from.value = x;
    for (i = 0; i < QNNRT_IR_RANK; ++i) from.axis[i] = axis[i] = -1;
    from.axis[d] = 0;
    if (!qnnrt_pass__trace_view(&from, y, axis)) return -1;
    for (i = 0; i < y->rank; ++i) if (axis[i] == 0) return (int)i;
    return -1;
}

/* Return true if a constant has the same elements all along dimension d. */
static int qnnrt_pass__columns_level(const qnnrt_ir_value *x, int d)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(x->dtype);
    size_t inner = bytes, outer = 1, i, k;
    uint32_t r;
    for (r = 0; r < x->rank; ++r) {
        if (r < (uint32_t)d) outer *= (size_t)x->dims[r];
        if (r > (uint32_t)d) inner *= (size_t)x->dims[r];
    }
    for (i = 0; i < outer; ++i) {
        const char *first = (const char *)x->data + i * inner * (size_t)x->dims[d];
        for (k = 1; k < (size_t)x->dims[d]; ++k)
            if (memcmp(first, first + k * inner, inner) != 0) return 0;
    }
    return 1;
}

/* Check that each column of an operand, along its dimension d, depends on that column of inputs of
   the graph alone: masks. Return 0 if not, with an error. */
static int qnnrt_pass__columns_mask(qnnrt_pass__columns *c, const qnnrt_ir_node *reader,
                                    qnnrt_ir_value *x, int d, unsigned depth)
{
    qnnrt_pass__along *own = &c->of[x->number];
    const qnnrt_ir_node *node = qnnrt_ir_producer(x);
    int64_t order[QNNRT_IR_RANK];
    size_t i;
    if (x->dims[d] == 1 || own->checked == d + 1) return 1;
    if (own->given == QNNRT_PASS__GIVEN_MASK && d == (int)x->rank - 1 &&
        !c->of[reader->outputs[0]->number].follows) return 1;
    own->checked = d + 1;
    if (x->origin == QNNRT_IR_INPUT) {
        for (i = 0; i < c->mask_count && c->masks[i] != x;) ++i;
        if (i == QNNRT_PASS__MASKS)
            return qnnrt_pass__columns_refuse(c, reader, "reads too many masks");
        if (i == c->mask_count) c->masks[c->mask_count++] = x;
        return 1;
    }
    if (x->origin == QNNRT_IR_CONSTANT && x->data != NULL && qnnrt_pass__columns_level(x, d))
        return 1;
    if (node == NULL || own->axis >= 0 || depth == 64)
        return qnnrt_pass__columns_refuse(c, reader, "reads another constant or weight for each "
                                                     "cell of a cache");
    if (qnnrt_pass__columns_each(node)) {
        for (i = 0; i < node->input_count; ++i) {
            qnnrt_ir_value *in = node->inputs[i];
            const int lead = in != NULL ? d - (int)(x->rank - in->rank) : -1;
            if (lead >= 0 && !qnnrt_pass__columns_mask(c, node, in, lead, depth + 1)) return 0;
        }
        return 1;
    }
    if (qnnrt_ir_is_in(node, qnnrt_pass__views)) {
        const int from = qnnrt_pass__columns_view(x, node->inputs[0], d);
        if (from >= 0) return qnnrt_pass__columns_mask(c, node, node->inputs[0], from, depth + 1);
    }
    if (qnnrt_pass__match_order(node, order))
        return qnnrt_pass__columns_mask(c, node, node->inputs[0], (int)order[d], depth + 1);
    if (qnnrt_ir_is(node, "slice.Tensor") && node->inputs[0]->dims[d] == x->dims[d])
        return qnnrt_pass__columns_mask(c, node, node->inputs[0], d, depth + 1);
    return qnnrt_pass__columns_refuse(c, node, "computes a mask for the cells of a cache in their "
                                               "order");
}

static int qnnrt_pass__columns_set(qnnrt_pass__columns *c, const qnnrt_ir_node *node, int axis,
                                   uint32_t cache)
{
    qnnrt_pass__along *y = &c->of[node->outputs[0]->number];
    if (axis < 0 || node->outputs[0]->dims[axis] != c->cells)
        return qnnrt_pass__columns_refuse(c, node, "does not keep the cells of a cache apart");
    y->axis = axis;
    y->cache = cache;
    return 1;
}

static void qnnrt_pass__columns_use(qnnrt_pass__columns *c, const qnnrt_ir_node *node,
                                    const qnnrt_ir_value *x, int kind)
{
    const uint32_t cache = c->of[x->number].cache;
    qnnrt_pass__use *use = cache > 0 ? &c->uses[cache - 1] : NULL;
    if (use == NULL) return;
    if (use->kinds == 0) use->at = node->at;
    use->kinds |= kind;
}

/* Element by element: inputs run along the cells in one dimension of the result, or are masks. */
static int qnnrt_pass__columns_join(qnnrt_pass__columns *c, const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *y = node->outputs[0];
    uint32_t cache = 0;
    int axis = -1;
    size_t i;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        const qnnrt_pass__along *own = x != NULL ? &c->of[x->number] : NULL;
        const int lead = x != NULL ? (int)(y->rank - x->rank) : 0;
        if (own == NULL || own->axis < 0) continue;
        if (axis >= 0 && axis != own->axis + lead)
            return qnnrt_pass__columns_refuse(c, node, "reads the cells of caches along two "
                                                       "dimensions");
        cache = axis >= 0 && cache != own->cache ? 0 : own->cache;
        axis = own->axis + lead;
    }
    for (i = 0; i < node->input_count; ++i) {
        qnnrt_ir_value *x = node->inputs[i];
        const int d = x != NULL ? axis - (int)(y->rank - x->rank) : -1;
        if (d < 0 || c->of[x->number].axis >= 0) continue;
        if (!qnnrt_pass__columns_mask(c, node, x, d, 0)) return 0;
    }
    return qnnrt_pass__columns_set(c, node, axis, cache);
}

/* A product of matrices: cells are the columns of the result, or both matrices are summed over
   them. */
static int qnnrt_pass__columns_product(qnnrt_pass__columns *c, const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *a = node->inputs[0], *b = node->inputs[1];
    const int swap = qnnrt_ir_int(node, "transpose_b", 0) != 0;
    const int ar = (int)a->rank, br = (int)b->rank, rank = (int)node->outputs[0]->rank;
    const int am = c->of[a->number].axis, bm = c->of[b->number].axis;
    const int inner = swap ? br - 1 : br - 2, outer = swap ? br - 2 : br - 1;
    if (ar >= 2 && br >= 2 && am == ar - 1 && bm == inner) {
        qnnrt_pass__columns_use(c, node, a, QNNRT_PASS__VALUE);
        qnnrt_pass__columns_use(c, node, b, QNNRT_PASS__VALUE);
        return 1;
    }
    if (ar >= 2 && br >= 2 && am < 0 && bm == outer) {
        qnnrt_pass__columns_use(c, node, b, QNNRT_PASS__KEY);
        return qnnrt_pass__columns_set(c, node, rank - 1, 0);
    }
    if (ar >= 2 && br >= 2 && bm < 0 && am == ar - 2) {
        qnnrt_pass__columns_use(c, node, a, QNNRT_PASS__KEY);
        return qnnrt_pass__columns_set(c, node, rank - 2, 0);
    }
    return qnnrt_pass__columns_refuse(c, node, "multiplies the cells of a cache with numbers of "
                                               "their order");
}

static int qnnrt_pass__columns_attention(qnnrt_pass__columns *c, const qnnrt_ir_node *node)
{
    qnnrt_ir_value *key = node->inputs[1], *value = node->inputs[2];
    qnnrt_ir_value *mask = qnnrt_ir_input(node, 3);
    if (c->of[node->inputs[0]->number].axis >= 0 || c->of[key->number].axis != (int)key->rank - 2 ||
        c->of[value->number].axis != (int)value->rank - 2)
        return qnnrt_pass__columns_refuse(c, node, "does not read the cells of both caches as "
                                                   "rows");
    if (qnnrt_ir_int(node, "is_causal", 0) != 0)
        return qnnrt_pass__columns_refuse(c, node, "masks the cells of a cache by their order "
                                                   "(is_causal)");
    if (mask != NULL && mask->rank > 0 &&
        !qnnrt_pass__columns_mask(c, node, mask, (int)mask->rank - 1, 0)) return 0;
    qnnrt_pass__columns_use(c, node, key, QNNRT_PASS__KEY);
    qnnrt_pass__columns_use(c, node, value, QNNRT_PASS__VALUE);
    return 1;
}

static int qnnrt_pass__columns_reduce(qnnrt_pass__columns *c, const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *x = node->inputs[0];
    const int axis = c->of[x->number].axis;
    const int keep = qnnrt_ir_int(node, "keepdim", 0) != 0;
    int64_t dims[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(node, "dim", dims);
    int before = 0;
    size_t i;
    if (count == 0) return 1;                                    /* over all */
    for (i = 0; i < count; ++i) {
        if (dims[i] < 0) dims[i] += x->rank;
        if (dims[i] == axis) return 1;
        before += dims[i] < axis;
    }
    return qnnrt_pass__columns_set(c, node, keep ? axis : axis - before, 0);
}

static int qnnrt_pass__columns_node(qnnrt_pass__columns *c, const qnnrt_ir_node *node)
{
    static const char *const softmaxes[] = {
        "softmax.int", "_softmax.default", "log_softmax.int", NULL
    };
    static const char *const reductions[] = {
        "sum.dim_IntList", "mean.dim", "amax.default", "amin.default", NULL
    };
    const qnnrt_pass__along *x = NULL;
    int64_t order[QNNRT_IR_RANK];
    size_t i;
    for (i = 0; i < node->input_count && x == NULL; ++i)
        if (node->inputs[i] != NULL && c->of[node->inputs[i]->number].axis >= 0)
            x = &c->of[node->inputs[i]->number];
    if (x == NULL || node->output_count == 0) return 1;
    if (qnnrt_pass__columns_each(node)) return qnnrt_pass__columns_join(c, node);
    if (qnnrt_ir_is_in(node, qnnrt_pass__products)) return qnnrt_pass__columns_product(c, node);
    if (qnnrt_ir_is(node, "scaled_dot_product_attention.default"))
        return qnnrt_pass__columns_attention(c, node);
    if (qnnrt_ir_is_in(node, softmaxes)) return qnnrt_pass__columns_set(c, node, x->axis, 0);
    if (qnnrt_ir_is_in(node, reductions)) return qnnrt_pass__columns_reduce(c, node);
    if (qnnrt_ir_is_in(node, qnnrt_pass__views))
        return qnnrt_pass__columns_set(c, node, qnnrt_pass__columns_view(node->inputs[0],
                                                                         node->outputs[0], x->axis),
                                       x->cache);
    if (qnnrt_pass__match_order(node, order)) {
        for (i = 0; order[i] != x->axis;) ++i;
        return qnnrt_pass__columns_set(c, node, (int)i, x->cache);
    }
    if (qnnrt_ir_is_in(node, qnnrt_pass__cuts)) {
        qnnrt_pass__traced from;
        int axis[QNNRT_IR_RANK];
        memset(&from, 0, sizeof(from));
        from.value = node->inputs[0];
        for (i = 0; i < QNNRT_IR_RANK; ++i) from.axis[i] = axis[i] = -1;
        from.axis[x->axis] = 0;
        if (qnnrt_pass__trace_cut(&from, node, axis)) {
            for (i = 0; axis[i] != 0;) ++i;
            return qnnrt_pass__columns_set(c, node, (int)i, x->cache);
        }
    }
    return qnnrt_pass__columns_refuse(c, node, "reads the cells of a cache in their order");
}

/* =====================================================================================
   CAUSAL                                                                        >>causal
   Finds positions and causal masks that a graph computes from one input: the position of its first
   token, or the positions of all. It computes them for some positions, and compares.
   Needs: >>pass >>columns     Knows nothing of: caches, attention
   ===================================================================================== */

enum { QNNRT_PASS__CAUSAL_LARGE = 1 << 24 };  /* elements of a value */

typedef struct qnnrt_pass__causal {
    qnnrt_pass__columns *c;
    qnnrt_arena    arena;                /* of the elements */
    qnnrt_ir_value    *source;               /* an input of integers */
    qnnrt_ir_value    *positions;            /* an input with all of them; NULL: not known */
    int64_t            ar, cells;
    size_t             count;                /* of values; those that are made later follow none */
    void             **data;                 /* [count] NULL: not from source */
    unsigned char     *raw;                  /* [count] 1: read as it is, not through
                                                positions or masks */
    const void        *in[16];
} qnnrt_pass__causal;

/* Return the only input of integers that a value depends on, or NULL. */
static qnnrt_ir_value *qnnrt_pass__causal_source(qnnrt_ir_value *value, unsigned depth)
{
    const qnnrt_ir_node *node = qnnrt_ir_producer(value);
    qnnrt_ir_value *found = NULL;
    size_t i;
    if (value->origin == QNNRT_IR_INPUT)
        return qnnrt_ir_dtype_kind(value->dtype) == 1 ? value : NULL;
    if (node == NULL || depth == 0) return NULL;
    for (i = 0; i < node->input_count; ++i) {
        qnnrt_ir_value *from = node->inputs[i] != NULL
                                   ? qnnrt_pass__causal_source(node->inputs[i], depth - 1) : NULL;
        if (from != NULL && found != NULL && from != found) return NULL;
        if (from != NULL) found = from;
    }
    return found;
}

/* Make room for all values that follow from the source and from constants alone. Return 0 when out
   of memory. */
static int qnnrt_pass__causal_room(qnnrt_pass__causal *f)
{
    const qnnrt_ir *ir = f->c->p.ir;
    size_t i, k;
    f->count = ir->value_count;
    f->data = (void **)qnnrt_arena_get(&f->arena, f->count + 1, sizeof(*f->data));
    f->raw = (unsigned char *)qnnrt_arena_get(&f->arena, f->count + 1, 1);
    if (f->data == NULL || f->raw == NULL) return 0;
    f->data[f->source->number] = qnnrt_arena_get(&f->arena, (size_t)f->source->count + 1,
                                                 sizeof(int64_t));
    if (f->data[f->source->number] == NULL) return 0;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        int follows = 0, good = node->output_count == 1 && node->input_count <= 16 &&
                                node->outputs[0]->count <= QNNRT_PASS__CAUSAL_LARGE;
        for (k = 0; k < node->input_count && good; ++k) {
            const qnnrt_ir_value *x = node->inputs[k];
            if (x == NULL) continue;
            follows |= f->data[x->number] != NULL;
            good = f->data[x->number] != NULL ||
                   (x->origin == QNNRT_IR_CONSTANT && x->data != NULL);
        }
        if (!good || !follows) continue;
        f->data[node->outputs[0]->number] = qnnrt_arena_get(
            &f->arena, (size_t)node->outputs[0]->count + 1,
            qnnrt_ir_dtype_bytes(node->outputs[0]->dtype));
        if (f->data[node->outputs[0]->number] == NULL) return 0;
    }
    return 1;
}

/* Compute all values for a first position; what cannot be computed does not follow. Return 0 when
   out of memory. */
static int qnnrt_pass__causal_compute(qnnrt_pass__causal *f, int64_t first)
{
    const qnnrt_ir *ir = f->c->p.ir;
    const size_t bytes = qnnrt_ir_dtype_bytes(f->source->dtype);
    qnnrt_result result;
    qnnrt_error err;
    size_t i, k;
    for (i = 0; i < (size_t)f->source->count; ++i)
        qnnrt_ir_element_put((char *)f->data[f->source->number] + i * bytes, f->source->dtype,
                             first + (int64_t)i, 0);
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        void **y = node->output_count == 1 ? &f->data[node->outputs[0]->number] : NULL;
        if (y == NULL || *y == NULL) continue;
        for (k = 0; k < node->input_count && *y != NULL; ++k) {
            const qnnrt_ir_value *x = node->inputs[k];
            f->in[k] = x == NULL ? NULL : f->data[x->number] != NULL ? f->data[x->number] : x->data;
            if (x != NULL && f->in[k] == NULL) *y = NULL;
        }
        if (*y == NULL) continue;
        result = qnnrt_ir_eval_node(&f->arena.hooks, node, f->in, y, &err);
        if (result == QNNRT_E_MEMORY) return 0;
        if (result != QNNRT_OK) *y = NULL;
    }
    return 1;
}

/* Return true if the elements of a value are the positions from `first` on. */
static int qnnrt_pass__causal_positions(const qnnrt_pass__causal *f, const qnnrt_ir_value *value,
                                        int64_t first)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(value->dtype);
    const char *data = (const char *)f->data[value->number];
    int64_t i;
    if (value->count != (uint64_t)f->ar || qnnrt_ir_dtype_kind(value->dtype) != 1) return 0;
    for (i = 0; i < f->ar; ++i)
        if (qnnrt_ir_element_int(data + (size_t)i * bytes, value->dtype) != first + i) return 0;
    return 1;
}

/* Return true if a value lets the token at each position from `first` on see the cells up to its
   own: true, or 0 where others are -10000 or less. */
static int qnnrt_pass__causal_mask(const qnnrt_pass__causal *f, const qnnrt_ir_value *value,
                                   int64_t first)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(value->dtype);
    const char *at = (const char *)f->data[value->number];
    const int kind = qnnrt_ir_dtype_kind(value->dtype);
    int64_t i, k;
    if (value->rank < 2 || value->dims[value->rank - 1] != f->cells || kind == 1 || kind < 0 ||
        value->count != (uint64_t)f->ar * (uint64_t)f->cells) return 0;
    for (i = 0; i < f->ar; ++i)
        for (k = 0; k < f->cells; ++k, at += bytes) {
            const int seen = k <= first + i;
            const double x = kind == 0 ? 0 : qnnrt_ir_element_float(at, value->dtype);
            if (kind == 0 ? (*at != 0) != seen : seen ? x < 0 || x > 0 : !(x <= -10000.0)) return 0;
        }
    return 1;
}

/* Return true if a node reads a value that follows from the source, and does not follow itself. */
static int qnnrt_pass__causal_ends(const qnnrt_pass__causal *f, const qnnrt_ir_node *node,
                                   const qnnrt_ir_value *value)
{
    const size_t y = node->output_count > 0 ? node->outputs[0]->number : f->count;
    size_t k;
    if (node->output_count == 0 || (y < f->count && f->data[y] != NULL)) return 0;
    for (k = 0; k < node->input_count; ++k) if (node->inputs[k] == value) return 1;
    return 0;
}

/* Return the node that reads a mask, if it does not follow from the source; NULL: there is none. A
   mask of booleans must be one of scaled_dot_product_attention: *good receives 0 if it is not. */
static const qnnrt_ir_node *qnnrt_pass__causal_reader(const qnnrt_pass__causal *f,
                                                      const qnnrt_ir_value *mask, int *good)
{
    const qnnrt_ir *ir = f->c->p.ir;
    const qnnrt_ir_node *found = NULL;
    size_t i;
    *good = 1;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        if (!qnnrt_pass__causal_ends(f, node, mask)) continue;
        found = node;
        if (mask->dtype == QNNRT_DTYPE_BOOL8 &&
            !qnnrt_ir_is(node, "scaled_dot_product_attention.default")) *good = 0;
    }
    return found;
}

/* Mark positions and masks in f->c->of. Return 0 when out of memory. */
static int qnnrt_pass__causal_find(qnnrt_pass__causal *f)
{
    const qnnrt_ir *ir = f->c->p.ir;
    const int rounds = f->ar * f->cells > 1 << 18 ? 5 : 16;
    uint32_t random = 2463534242u;
    size_t i;
    int round, good;
    if (!qnnrt_pass__causal_room(f)) return 0;
    for (round = 0; round < rounds; ++round) {
        const int64_t last = f->cells - f->ar;
        const int64_t first = round < 2 && round <= last ? round
                              : round == 2 ? last : (int64_t)(random % ((uint32_t)last + 1));
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        if (!qnnrt_pass__causal_compute(f, first)) return 0;
        for (i = 0; i < ir->value_count; ++i) {
            const qnnrt_ir_value *value = ir->values[i];
            int *given = &f->c->of[i].given;
            if (f->data[i] == NULL || (round > 0 && *given == 0)) *given = 0;
            else if (qnnrt_pass__causal_positions(f, value, first))
                *given = QNNRT_PASS__GIVEN_POSITIONS;
            else
                *given = qnnrt_pass__causal_mask(f, value, first) ? QNNRT_PASS__GIVEN_MASK : 0;
        }
    }
    for (i = 0; i < ir->value_count; ++i) {
        f->c->of[i].follows = f->data[i] != NULL;
        if (f->c->of[i].given != QNNRT_PASS__GIVEN_MASK) continue;
        qnnrt_pass__causal_reader(f, ir->values[i], &good);
        if (!good) f->c->of[i].given = 0;
    }
    return 1;
}

/* Check that nothing reads the source but through positions and masks. Return 0 if not. */
static int qnnrt_pass__causal_check(qnnrt_pass__causal *f)
{
    const qnnrt_ir *ir = f->c->p.ir;
    size_t i, k;
    f->raw[f->source->number] = f->c->of[f->source->number].given == 0;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        for (k = 0; k < node->input_count; ++k) {
            const qnnrt_ir_value *x = node->inputs[k];
            const qnnrt_ir_value *y = node->output_count > 0 ? node->outputs[0] : NULL;
            if (x == NULL || y == NULL || !f->raw[x->number]) continue;
            if (f->data[y->number] == NULL)
                return qnnrt_pass__columns_refuse(f->c, node, "reads the first position in another "
                                                  "way than as positions or as a causal mask");
            f->raw[y->number] = f->c->of[y->number].given == 0;
        }
    }
    return 1;
}

/* Let all readers of a value read an input instead, in its shape and of a dtype. */
static int qnnrt_pass__causal_replace(qnnrt_pass__causal *f, const qnnrt_ir_value *old,
                                      qnnrt_ir_value *input, qnnrt_dtype dtype)
{
    qnnrt_pass__work *p = &f->c->p;
    const qnnrt_ir_node *before = old->node;
    qnnrt_ir_value *view = input, *now;
    qnnrt_ir_node *node;
    if (!qnnrt_ir_same_shape(old, input)) {
        view = qnnrt_ir_add_value(p->ir, input->name, input->dtype, old->rank, old->dims);
        node = view != NULL ? qnnrt_ir_add_node(p->ir, before, "view.default", &input, 1, &view, 1)
                            : NULL;
        if (node == NULL || !qnnrt_ir_set_ints(p->ir, node, "size", old->dims, old->rank))
            return qnnrt_pass__memory(p);
    }
    now = view;
    if (view->dtype != dtype) {
        now = qnnrt_ir_add_value(p->ir, input->name, dtype, old->rank, old->dims);
        if (now == NULL) return qnnrt_pass__memory(p);
        if (!qnnrt_ir_convert(p->ir, before, view, now)) return qnnrt_pass__memory(p);
    }
    qnnrt_ir_replace(p->ir, old, now);
    return 1;
}

/* Make inputs of positions, if the source has the first one alone, and of the masks. */
static int qnnrt_pass__causal_apply(qnnrt_pass__causal *f)
{
    qnnrt_ir *ir = f->c->p.ir;
    const size_t count = ir->value_count;
    const int alone = f->c->of[f->source->number].given == 0;
    qnnrt_ir_value *mask = NULL;
    int64_t dims[4] = { 1, 1, 0, 0 };
    size_t i;
    f->positions = alone ? NULL : f->source;
    for (i = 0; i < count; ++i) {
        const qnnrt_ir_value *value = ir->values[i];
        const int given = f->c->of[i].given;
        const qnnrt_ir_node *reader = NULL;
        qnnrt_dtype dtype = value->dtype;
        int good;
        if (given == 0 || value->origin != QNNRT_IR_NODE) continue;
        if (given == QNNRT_PASS__GIVEN_MASK) {
            reader = qnnrt_pass__causal_reader(f, value, &good);
            if (reader == NULL) continue;
            if (dtype == QNNRT_DTYPE_BOOL8) dtype = reader->inputs[0]->dtype;
            dims[2] = f->ar;
            dims[3] = f->cells;
            if (mask == NULL && f->c->mask_count < QNNRT_PASS__MASKS) {
                mask = qnnrt_ir_add_input(ir, "attention_mask", dtype, 4, dims);
                f->c->masks[f->c->mask_count++] = mask;
            }
        } else if (alone) {
            dims[1] = f->ar;
            if (f->positions == NULL)
                f->positions = qnnrt_ir_add_input(ir, "position_ids", f->source->dtype, 2,
                                                      dims);
            dims[1] = 1;
        } else {
            continue;
        }
        if ((reader != NULL ? mask : f->positions) == NULL)
            return qnnrt_pass__memory(&f->c->p);
        if (!qnnrt_pass__causal_replace(f, value, reader != NULL ? mask : f->positions, dtype))
            return 0;
    }
    return 1;
}

/* =====================================================================================
   KEYS AND VALUES                                                              >>kv_rows
   Caches that a graph updates become caches that it reads, and new rows that it returns.
   Needs: >>pass >>cleanup >>match >>columns >>causal
   Knows nothing of: how attention is computed
   ===================================================================================== */

typedef struct qnnrt_pass__kv_cache {
    qnnrt_ir_value *past, *rows;             /* input of the graph; what is new */
    qnnrt_ir_value *whole;                   /* what attention reads: past and new rows */
    qnnrt_ir_value *index;                   /* where the rows go; NULL: behind the past ones */
    qnnrt_ir_node  *node;                    /* that makes `whole` */
    qnnrt_ir_value *out;                     /* output of the graph */
    uint32_t        axis;                    /* the dimension of the cells */
} qnnrt_pass__kv_cache;

typedef struct qnnrt_pass__kv {
    qnnrt_pass__columns   c;                 /* c.p is the pass */
    qnnrt_arena     arena;
    qnnrt_pass__kv_cache *caches;            /* [count], in the order of the graph's inputs */
    size_t              count;
    qnnrt_pass__causal    causal;            /* .source NULL: it finds nothing */
    unsigned char      *read;                /* [ir->input_count] 1: a node read it at first */
    int64_t             ar;
} qnnrt_pass__kv;

static int qnnrt_pass__kv_refuse(qnnrt_pass__kv *k, const qnnrt_ir_node *node, const char *why,
                                 const char *name)
{
    k->c.p.result = qnnrt_error_set(k->c.p.err, QNNRT_E_UNSUPPORTED, "node \"%.150s\" (%.60s) %s "
                                    "\"%.150s\"", node->name, node->op, why, name);
    return 0;
}

static qnnrt_ir_node *qnnrt_pass__kv_reader(const qnnrt_ir *ir, const qnnrt_ir_value *value)
{
    size_t i, n;
    if (value->users != 1 || value->is_output > 0) return NULL;
    for (i = 0; i < ir->node_count; ++i)
        for (n = 0; n < ir->nodes[i]->input_count && !ir->nodes[i]->dead; ++n)
            if (ir->nodes[i]->inputs[n] == value) return ir->nodes[i];
    return NULL;
}

static qnnrt_ir_value *qnnrt_pass__kv_output(const qnnrt_ir *ir, const qnnrt_ir_value *value)
{
    size_t i;
    for (i = 0; i < ir->output_count; ++i) if (ir->outputs[i] == value) return ir->outputs[i];
    return NULL;
}

/* Return the argument "dim" of a node in the dimensions of a value. */
static uint32_t qnnrt_pass__kv_dim(const qnnrt_ir_node *node, const qnnrt_ir_value *value)
{
    const int64_t dim = qnnrt_ir_int(node, "dim", 0);
    return (uint32_t)(dim < 0 ? dim + (int64_t)value->rank : dim);
}

static int qnnrt_pass__kv_written(qnnrt_pass__kv *k, qnnrt_ir_value *past, qnnrt_ir_node *node,
                                  qnnrt_pass__kv_cache *cache)
{
    if (!qnnrt_ir_is(node, "index_copy.default") || node->inputs[0] != past) return 0;
    cache->past = past;
    cache->node = node;
    cache->index = node->inputs[1];
    cache->rows = node->inputs[2];
    cache->whole = node->outputs[0];
    cache->out = qnnrt_pass__kv_output(k->c.p.ir, cache->whole);
    cache->axis = qnnrt_pass__kv_dim(node, past);
    return 1;
}

/* Match cat(past, rows) of an input of the graph, where the rows are an output. */
static int qnnrt_pass__kv_joined(qnnrt_pass__kv *k, qnnrt_ir_value *past, qnnrt_ir_node *node,
                                 qnnrt_pass__kv_cache *cache)
{
    const qnnrt_ir *ir = k->c.p.ir;
    const int joins = qnnrt_ir_is(node, "cat.default");
    size_t i;
    if (!joins || node->input_count != 2 || node->inputs[0] != past) return 0;
    cache->past = past;
    cache->node = node;
    cache->rows = node->inputs[1];
    cache->whole = node->outputs[0];
    cache->axis = qnnrt_pass__kv_dim(node, past);
    cache->out = qnnrt_pass__kv_output(ir, cache->rows);
    for (i = 0; i < ir->output_count && cache->out == NULL; ++i) {
        const qnnrt_ir_node *cut = qnnrt_ir_producer(ir->outputs[i]);
        if (cut == NULL || !qnnrt_ir_is(cut, "slice.Tensor") ||
            cut->inputs[0] != cache->whole || qnnrt_ir_int(cut, "step", 1) != 1 ||
            qnnrt_pass__kv_dim(cut, past) != cache->axis) continue;
        if (qnnrt_ir_int(cut, "end", INT64_MAX) < cache->whole->dims[cache->axis] ||
            !qnnrt_ir_same_shape(cut->outputs[0], cache->rows)) continue;
        cache->out = ir->outputs[i];
    }
    return cache->out != NULL;
}

/* Return true if two values are computed alike from the same inputs. */
static int qnnrt_pass__kv_same(const qnnrt_ir_value *a, const qnnrt_ir_value *b, unsigned depth)
{
    const qnnrt_ir_node *x = qnnrt_ir_producer(a), *y = qnnrt_ir_producer(b);
    size_t i;
    if (a == b) return 1;
    if (a == NULL || b == NULL || depth == 0 || a->dtype != b->dtype ||
        !qnnrt_ir_same_shape(a, b)) return 0;
    if (x == NULL || y == NULL)
        return a->origin == QNNRT_IR_CONSTANT && b->origin == QNNRT_IR_CONSTANT &&
               a->data != NULL && b->data != NULL &&
               memcmp(a->data, b->data, (size_t)a->count * qnnrt_ir_dtype_bytes(a->dtype)) == 0;
    if (strcmp(x->op, y->op) != 0 || x->input_count != y->input_count || a->index != b->index ||
        x->attr_count != y->attr_count) return 0;
    for (i = 0; i < x->attr_count; ++i) {
        const qnnrt_ir_attr *m = &x->attrs[i], *n = &y->attrs[i];
        if (strcmp(m->name, n->name) != 0 || m->kind != n->kind || m->i != n->i ||
            memcmp(&m->f, &n->f, sizeof(m->f)) != 0 || strcmp(m->text, n->text) != 0 ||
            m->count != n->count) return 0;
        if (m->count > 0 && memcmp(m->floats, n->floats, m->count * sizeof(*m->floats)) != 0)
            return 0;
    }
    for (i = 0; i < x->input_count; ++i)
        if (!qnnrt_pass__kv_same(x->inputs[i], y->inputs[i], depth - 1)) return 0;
    return 1;
}

static int qnnrt_pass__kv_agree(qnnrt_pass__kv *k)
{
    size_t i;
    for (i = 0; i < k->count; ++i) {
        const qnnrt_pass__kv_cache *cache = &k->caches[i], *first = &k->caches[0];
        const uint32_t axis = cache->axis;
        if (cache->out == NULL)
            return qnnrt_pass__kv_refuse(k, cache->node, "writes a cache that is no output of the "
                                                         "graph:", cache->past->name);
        if ((cache->index == NULL) != (first->index == NULL))
            return qnnrt_pass__kv_refuse(k, cache->node, "has another form than the node of cache",
                                         first->past->name);
        if (cache->whole->dims[axis] != first->whole->dims[first->axis] ||
            cache->rows->dims[axis] != first->rows->dims[first->axis])
            return qnnrt_pass__kv_refuse(k, cache->node, "has other numbers of cells or new rows "
                                                         "than the node of cache",
                                         first->past->name);
        if (!qnnrt_pass__kv_same(cache->index, first->index, 16))
            return qnnrt_pass__kv_refuse(k, cache->node, "writes at another place than the node of "
                                                         "cache", first->past->name);
    }
    k->ar = k->count > 0 ? k->caches[0].rows->dims[k->caches[0].axis] : 0;
    k->c.cells = k->count > 0 ? k->caches[0].whole->dims[k->caches[0].axis] : 0;
    return 1;
}

static int qnnrt_pass__kv_find(qnnrt_pass__kv *k)
{
    static const char *const writes[] = {
        "index_put.default", "slice_scatter.default", "scatter.src", "masked_scatter.default", NULL
    };
    const qnnrt_ir *ir = k->c.p.ir;
    size_t i, n;
    k->caches = (qnnrt_pass__kv_cache *)qnnrt_arena_get(&k->arena, ir->input_count + 1,
                                                        sizeof(*k->caches));
    k->read = (unsigned char *)qnnrt_arena_get(&k->arena, ir->input_count + 3, 1);
    if (k->caches == NULL || k->read == NULL) return qnnrt_pass__memory(&k->c.p);
    memset(k->read, 0, ir->input_count + 3);             /* two inputs may be added */
    for (i = 0; i < ir->input_count; ++i) {
        qnnrt_ir_value *past = ir->inputs[i];
        qnnrt_pass__kv_cache *cache = &k->caches[k->count];
        qnnrt_ir_node *node = qnnrt_pass__kv_reader(ir, past);
        k->read[i] = past->users > 0;
        if (past->rank < 2 || !qnnrt_pass__match_float(past)) continue;
        for (n = 0; n < ir->node_count && past->users > 1; ++n)
            if (qnnrt_ir_is(ir->nodes[n], "index_copy.default") &&
                ir->nodes[n]->inputs[0] == past)
                return qnnrt_pass__kv_refuse(k, ir->nodes[n], "is not the only reader of cache",
                                             past->name);
        if (node == NULL) continue;
        memset(cache, 0, sizeof(*cache));
        if (qnnrt_pass__kv_written(k, past, node, cache) ||
            qnnrt_pass__kv_joined(k, past, node, cache)) ++k->count;
        else if (qnnrt_ir_is_in(node, writes) && node->inputs[0] == past)
            return qnnrt_pass__kv_refuse(k, node, "writes other parts of a cache than rows at one"
                                                  " place of each:", past->name);
    }
    return qnnrt_pass__kv_agree(k);
}

/* Make the records of values and caches, and find the positions and masks that follow from what the
   caches are written by. */
static int qnnrt_pass__kv_places(qnnrt_pass__kv *k)
{
    const qnnrt_ir *ir = k->c.p.ir;
    qnnrt_pass__columns *c = &k->c;
    qnnrt_pass__causal *f = &k->causal;
    size_t i;
    c->of = (qnnrt_pass__along *)qnnrt_arena_get(&k->arena, ir->value_count + 1, sizeof(*c->of));
    c->uses = (qnnrt_pass__use *)qnnrt_arena_get(&k->arena, k->count + 1, sizeof(*c->uses));
    if (c->of == NULL || c->uses == NULL) return qnnrt_pass__memory(&c->p);
    memset(c->uses, 0, (k->count + 1) * sizeof(*c->uses));
    memset(c->of, 0, (ir->value_count + 1) * sizeof(*c->of));
    for (i = 0; i < ir->value_count; ++i) c->of[i].axis = -1;
    f->source = k->caches[0].index != NULL ? qnnrt_pass__causal_source(k->caches[0].index, 32)
                                           : NULL;
    if (f->source != NULL && f->source->count != 1 && f->source->count != (uint64_t)k->ar)
        f->source = NULL;
    if (f->source == NULL) return 1;
    f->c = c;
    f->ar = k->ar;
    f->cells = c->cells;
    f->arena = qnnrt_ir_arena(k->c.p.ir);
    return qnnrt_pass__causal_find(f) ? qnnrt_pass__causal_check(f) : qnnrt_pass__memory(&c->p);
}

/* Follow the cells of all caches. */
static int qnnrt_pass__kv_trace(qnnrt_pass__kv *k)
{
    const qnnrt_ir *ir = k->c.p.ir;
    qnnrt_pass__columns *c = &k->c;
    size_t i, n;
    for (i = 0; i < k->count; ++i) {
        c->of[k->caches[i].whole->number].axis = (int)k->caches[i].axis;
        c->of[k->caches[i].whole->number].cache = (uint32_t)i + 1;
    }
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        if (node->output_count == 0) continue;
        for (n = 0; n < k->count && k->caches[n].out != node->outputs[0];) ++n;
        if (n < k->count) continue;                      /* new rows as a slice of the whole */
        if (!qnnrt_pass__columns_node(c, node)) return 0;
    }
    for (i = 0; i < ir->output_count; ++i) {
        const qnnrt_ir_value *y = ir->outputs[i];
        for (n = 0; n < k->count && k->caches[n].out != y;) ++n;
        if (n == k->count && c->of[y->number].axis >= 0)
            return qnnrt_pass__kv_refuse(k, y->node, "returns something for each cell of the "
                                                     "caches:", y->name);
    }
    return 1;
}

/* Let the graph read one cache of fewer cells, and return its new rows. */
static int qnnrt_pass__kv_change(qnnrt_pass__kv *k, qnnrt_pass__kv_cache *cache)
{
    qnnrt_pass__work *p = &k->c.p;
    qnnrt_ir_node *node = cache->node, *join;
    qnnrt_ir_value *rows = cache->rows, *parts[2], *whole;
    int64_t dims[QNNRT_IR_RANK];
    char name[300];
    size_t i;
    if (rows->dtype != cache->past->dtype) {
        snprintf(name, sizeof name, "%.250s_rows", node->name);
        rows = qnnrt_ir_add_value(p->ir, name, cache->past->dtype, rows->rank, rows->dims);
        if (rows == NULL) return qnnrt_pass__memory(p);
        if (!qnnrt_ir_convert(p->ir, node, cache->rows, rows)) return qnnrt_pass__memory(p);
    }
    whole = rows;
    if (k->ar < k->c.cells) {
        parts[0] = cache->past;
        parts[1] = rows;
        whole = qnnrt_ir_add_value(p->ir, node->name, rows->dtype, rows->rank, cache->past->dims);
        join = whole != NULL ? qnnrt_ir_add_node(p->ir, node, "cat.default", parts, 2, &whole, 1)
                             : NULL;
        if (join == NULL || !qnnrt_ir_set_int(p->ir, join, "dim", cache->axis))
            return qnnrt_pass__memory(p);
        join->mapping = "reads past and new rows";
    }
    qnnrt_ir_kill(p->ir, node, "became past and new rows");
    qnnrt_ir_replace(p->ir, cache->whole, whole);
    for (i = 0; i < p->ir->output_count && whole != rows; ++i) {
        if (p->ir->outputs[i] != whole) continue;
        p->ir->outputs[i] = rows;
        ++rows->is_output;
        ++rows->users;
        --whole->is_output;
        --whole->users;
    }
    memcpy(dims, cache->past->dims, sizeof(dims));
    dims[cache->axis] -= k->ar;
    qnnrt_ir_set_shape(cache->past, cache->past->dtype, cache->past->rank, dims);
    cache->whole = whole;
    cache->rows = cache->out = rows;
    return 1;
}

/* Take inputs away that no node reads any more. */
static void qnnrt_pass__kv_inputs(qnnrt_pass__kv *k)
{
    qnnrt_ir *ir = k->c.p.ir;
    size_t i, kept = 0;
    for (i = 0; i < ir->input_count; ++i)
        if (ir->inputs[i]->users > 0 || !k->read[i]) ir->inputs[kept++] = ir->inputs[i];
    ir->input_count = kept;
}

/* Return the input of the graph of which a value is a view or a conversion, or NULL. */
static qnnrt_ir_value *qnnrt_pass__kv_input(qnnrt_ir_value *value)
{
    unsigned depth;
    for (depth = 0; depth < 16 && value != NULL; ++depth) {
        const qnnrt_ir_node *node = qnnrt_ir_producer(value);
        if (value->origin == QNNRT_IR_INPUT) return value;
        if (node == NULL || node->input_count == 0 ||
            (!qnnrt_ir_is_in(node, qnnrt_pass__views) && !qnnrt_ir_is(node, "to.dtype")))
            return NULL;
        value = node->inputs[0];
    }
    return NULL;
}

/* Return the input with token ids, which are rows of a weight; positions may be, too. */
static qnnrt_ir_value *qnnrt_pass__kv_tokens(const qnnrt_pass__kv *k)
{
    const qnnrt_ir *ir = k->c.p.ir;
    size_t i;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        qnnrt_ir_value *from;
        if (!qnnrt_ir_is(node, "embedding.default") ||
            node->inputs[0]->origin != QNNRT_IR_WEIGHT) continue;
        from = qnnrt_pass__kv_input(node->inputs[1]);
        if (from != NULL && from != k->causal.positions) return from;
    }
    return NULL;
}

/* Give the names of Qualcomm's hub to all inputs and outputs that are not caches and whose role is
   certain. */
static int qnnrt_pass__kv_others(qnnrt_pass__kv *k)
{
    qnnrt_ir *ir = k->c.p.ir;
    qnnrt_ir_value *tokens = qnnrt_pass__kv_tokens(k), *places = NULL, *logits = NULL;
    size_t i, n, place_count = 0, logits_count = 0;
    for (i = 0; i < ir->input_count; ++i) {
        qnnrt_ir_value *x = ir->inputs[i];
        if (x == tokens || qnnrt_pass__match_float(x) || x->users == 0 ||
            x->count != (uint64_t)k->ar) continue;
        places = x;
        ++place_count;
    }
    for (i = 0; i < ir->output_count; ++i) {
        for (n = 0; n < k->count && k->caches[n].out != ir->outputs[i];) ++n;
        if (n < k->count) continue;
        logits = ir->outputs[i];
        ++logits_count;
    }
    return (tokens == NULL || qnnrt_ir_set_name(ir, tokens, "input_ids")) &&
           (place_count != 1 || qnnrt_ir_set_name(ir, places, "position_ids")) &&
           (k->c.mask_count != 1 || qnnrt_ir_set_name(ir, k->c.masks[0], "attention_mask")) &&
           (logits_count != 1 || qnnrt_ir_set_name(ir, logits, "logits"));
}

/* Check that each cache has keys or values, and that there are as many of both. */
static int qnnrt_pass__kv_kinds(qnnrt_pass__kv *k)
{
    qnnrt_pass__work *p = &k->c.p;
    unsigned long counts[3] = { 0, 0, 0 };
    size_t i;
    for (i = 0; i < k->count; ++i) {
        const int kinds = k->c.uses[i].kinds;
        if (kinds != QNNRT_PASS__KEY && kinds != QNNRT_PASS__VALUE)
            return qnnrt_pass__kv_refuse(k, k->caches[i].node,
                                         "makes neither keys nor values for attention from cache",
                                         k->caches[i].past->name);
        ++counts[kinds];
    }
    if (counts[QNNRT_PASS__KEY] == counts[QNNRT_PASS__VALUE]) return 1;
    p->result = qnnrt_error_set(p->err, QNNRT_E_UNSUPPORTED, "the graph has %lu caches of keys and "
                                "%lu of values", counts[QNNRT_PASS__KEY],
                                counts[QNNRT_PASS__VALUE]);
    return 0;
}

/* Give names to all inputs and outputs. Keys and values are numbered as attention reads them. */
static int qnnrt_pass__kv_names(qnnrt_pass__kv *k)
{
    const qnnrt_pass__use *uses = k->c.uses;
    size_t i, n;
    char name[64];
    for (i = 0; i < k->count; ++i) {
        const char *kind = uses[i].kinds == QNNRT_PASS__KEY ? "key" : "value";
        unsigned layer = 0;
        for (n = 0; n < k->count; ++n)
            layer += uses[n].kinds == uses[i].kinds &&
                     (uses[n].at < uses[i].at || (uses[n].at == uses[i].at && n < i));
        snprintf(name, sizeof name, "past_%s_%u_in", kind, layer);
        if (!qnnrt_ir_set_name(k->c.p.ir, k->caches[i].past, name)) return 0;
        snprintf(name, sizeof name, "past_%s_%u_out", kind, layer);
        if (!qnnrt_ir_set_name(k->c.p.ir, k->caches[i].out, name)) return 0;
    }
    return qnnrt_pass__kv_others(k);
}

static void qnnrt_pass__kv_tell(const qnnrt_pass__kv *k, qnnrt_ir_kv_info *info)
{
    info->caches = k->count;
    info->ar = (uint32_t)k->ar;
    info->context = (uint32_t)k->c.cells;
    info->written = k->caches[0].index != NULL;
}

static int qnnrt_pass__kv_all(qnnrt_pass__kv *k, int names, qnnrt_ir_kv_info *info)
{
    size_t i;
    int written;
    if (!qnnrt_pass__kv_find(k)) return 0;
    if (k->count == 0) return 1;
    written = k->caches[0].index != NULL;
    if (!written && !names) {
        qnnrt_pass__kv_tell(k, info);
        return 1;
    }
    if (!qnnrt_pass__kv_places(k) || !qnnrt_pass__kv_trace(k)) return 0;
    if (names && !qnnrt_pass__kv_kinds(k)) return 0;
    if (k->causal.source != NULL && !qnnrt_pass__causal_apply(&k->causal)) return 0;
    for (i = 0; i < k->count && written; ++i)
        if (!qnnrt_pass__kv_change(k, &k->caches[i])) return 0;
    if (written) {
        k->c.p.result = qnnrt_ir_tidy(k->c.p.ir, k->c.p.err);
        if (k->c.p.result != QNNRT_OK) return 0;
        qnnrt_pass__kv_inputs(k);
    }
    qnnrt_pass__kv_tell(k, info);
    return !names || qnnrt_pass__kv_names(k) || qnnrt_pass__memory(&k->c.p);
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_kv_rows(qnnrt_ir *ir, int names,
                                                       qnnrt_ir_kv_info *info, qnnrt_error *err)
{
    qnnrt_ir_kv_info found;
    qnnrt_pass__kv k;
    qnnrt_result result;
    memset(&found, 0, sizeof(found));
    if (info != NULL) *info = found;
    qnnrt_error_clear(err);
    result = qnnrt_pass__cleanup_run(ir, err, qnnrt_pass__cleanup_writes, 0);
    if (result != QNNRT_OK) return result;
    memset(&k, 0, sizeof(k));
    k.c.p.ir = ir;
    k.c.p.err = err;
    k.c.p.result = QNNRT_OK;
    k.arena = qnnrt_ir_arena(ir);
    qnnrt_pass__kv_all(&k, names, &found);
    qnnrt_arena_free(&k.causal.arena);
    qnnrt_arena_free(&k.arena);
    if (k.c.p.result == QNNRT_OK && info != NULL) *info = found;
    return k.c.p.result;
}

/* =====================================================================================
   SPANS                                                                          >>spans
   The integers that values can have.
   Needs: nothing     Knows nothing of: passes, libraries
   ===================================================================================== */

/* Ends of what integers can be. Doubles hold those around int32 exactly, and do not wrap. */
typedef struct qnnrt_pass__span {
    double low, high;
} qnnrt_pass__span;

/* Return true if one of the names is that of an operator, without its overload, or of a word. */
static int qnnrt_pass__spans_named(const char *op, const char *names)
{
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        if (strncmp(op, names, length) == 0 && strchr(". ", op[length]) != NULL)
            return 1;
        names += length + strspn(names + length, " ");
    }
    return 0;
}

static const double qnnrt_pass__spans_assumed = 1073741823.0;

static qnnrt_pass__span qnnrt_pass__spans_make(double low, double high)
{
    qnnrt_pass__span out;
    out.low = low;
    out.high = high;
    return out;
}

static qnnrt_pass__span qnnrt_pass__spans_hull(qnnrt_pass__span a, qnnrt_pass__span b)
{
    return qnnrt_pass__spans_make(a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
}

/* Return the part of a span from low to high, or the nearest end. */
static qnnrt_pass__span qnnrt_pass__spans_cut(qnnrt_pass__span a, double low, double high)
{
    a.low = a.low < low ? low : a.low > high ? high : a.low;
    a.high = a.high < low ? low : a.high > high ? high : a.high;
    return a;
}

static double qnnrt_pass__spans_size(qnnrt_pass__span a)
{
    return -a.low > a.high ? -a.low : a.high;
}

static qnnrt_pass__span qnnrt_pass__spans_dtype(qnnrt_dtype dtype)
{
    const int bits = 8 * (int)qnnrt_ir_dtype_bytes(dtype);
    if (qnnrt_ir_dtype_kind(dtype) == 0) return qnnrt_pass__spans_make(0, 1);
    if (dtype == QNNRT_DTYPE_U8) return qnnrt_pass__spans_make(0, 255);
    return qnnrt_pass__spans_make(-ldexp(1, bits - 1), ldexp(1, bits - 1) - 1);
}

/* Return what a value can be. Of floats nothing is known. */
static qnnrt_pass__span qnnrt_pass__spans_of(const qnnrt_ir_value *value)
{
    const qnnrt_pass__span unknown = qnnrt_pass__spans_make(-qnnrt_pass__spans_assumed,
                                                            qnnrt_pass__spans_assumed);
    qnnrt_pass__span all;
    if (value == NULL || qnnrt_ir_dtype_kind(value->dtype) > 1) return unknown;
    all = qnnrt_pass__spans_dtype(value->dtype);
    if (qnnrt_ir_dtype_kind(value->dtype) == 0) return all;
    if (!value->ranged) return qnnrt_pass__spans_cut(unknown, all.low, all.high);
    if ((double)value->low < all.low || (double)value->high > all.high) return all;
    return qnnrt_pass__spans_make((double)value->low, (double)value->high);
}

/* Return operand i of a node: an input, or the number in an argument. */
static qnnrt_pass__span qnnrt_pass__spans_in(const qnnrt_ir_node *node, size_t i, const char *name)
{
    const qnnrt_ir_value *value = qnnrt_ir_input(node, i);
    double f;
    if (value != NULL || name == NULL) return qnnrt_pass__spans_of(value);
    f = qnnrt_ir_float(node, name, 0);
    return qnnrt_pass__spans_make(floor(f), ceil(f));
}

static qnnrt_pass__span qnnrt_pass__spans_scale(qnnrt_pass__span a, double k)
{
    return k < 0 ? qnnrt_pass__spans_make(a.high * k, a.low * k)
                 : qnnrt_pass__spans_make(a.low * k, a.high * k);
}

static qnnrt_pass__span qnnrt_pass__spans_times(qnnrt_pass__span a, qnnrt_pass__span b)
{
    return qnnrt_pass__spans_hull(qnnrt_pass__spans_scale(a, b.low),
                                  qnnrt_pass__spans_scale(a, b.high));
}

/* Inputs of the kind of the output, with the numbers that are given beside them. */
static qnnrt_pass__span qnnrt_pass__spans_moved(const qnnrt_ir_node *node, uint32_t inputs)
{
    static const char *const numbers[] = { "value", "other", "self", "fill_value", "s" };
    qnnrt_pass__span out = qnnrt_pass__spans_make(0, 0);
    int some = 0;
    size_t i;
    for (i = 0; i < node->input_count + sizeof(numbers) / sizeof(numbers[0]); ++i) {
        const size_t n = i - node->input_count;
        qnnrt_pass__span one;
        if (i < node->input_count) {
            if (node->inputs[i] == NULL || (inputs >> (i < 31 ? i : 31) & 1) == 0) continue;
            one = qnnrt_pass__spans_of(node->inputs[i]);
        } else {
            if (qnnrt_ir_attr_find(node, numbers[n]) == NULL) continue;
            one = qnnrt_pass__spans_in(node, node->input_count, numbers[n]);
        }
        out = some++ ? qnnrt_pass__spans_hull(out, one) : one;
    }
    return out;
}

/* The same, beside zeros. */
static qnnrt_pass__span qnnrt_pass__spans_padded(const qnnrt_ir_node *node, uint32_t inputs)
{
    return qnnrt_pass__spans_hull(qnnrt_pass__spans_make(0, 0),
                                  qnnrt_pass__spans_moved(node, inputs));
}

/* Return what a word of a recipe makes of a and b, or of a alone. */
static qnnrt_pass__span qnnrt_pass__spans_word(const char *word, qnnrt_pass__span a,
                                               qnnrt_pass__span b)
{
    const double size = qnnrt_pass__spans_size(a), far = qnnrt_pass__spans_size(b);
    const int most = qnnrt_pass__spans_named(word, "max");
    double power = 1;
    if (qnnrt_pass__spans_named(word, "+"))
        return qnnrt_pass__spans_make(a.low + b.low, a.high + b.high);
    if (qnnrt_pass__spans_named(word, "-"))
        return qnnrt_pass__spans_make(a.low - b.high, a.high - b.low);
    if (qnnrt_pass__spans_named(word, "*")) return qnnrt_pass__spans_times(a, b);
    if (most || qnnrt_pass__spans_named(word, "min"))
        return qnnrt_pass__spans_make((a.low > b.low) == most ? a.low : b.low,
                                      (a.high > b.high) == most ? a.high : b.high);
    if (qnnrt_pass__spans_named(word, "%"))
        return qnnrt_pass__spans_make(b.low < 0 ? b.low + 1 : 0, b.high > 0 ? b.high - 1 : 0);
    if (qnnrt_pass__spans_named(word, "fmod")) return qnnrt_pass__spans_make(1 - far, far - 1);
    if (qnnrt_pass__spans_named(word, "~"))
        return qnnrt_pass__spans_make(-a.high - 1, -a.low - 1);
    if (qnnrt_pass__spans_named(word, "abs"))
        return qnnrt_pass__spans_make(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, size);
    if (qnnrt_pass__spans_named(word, "sign")) return qnnrt_pass__spans_cut(a, -1, 1);
    if (qnnrt_pass__spans_named(word, "<<")) {
        power = pow(2, b.high < 64 ? b.high : 64);
        return qnnrt_pass__spans_times(a, qnnrt_pass__spans_make(0, power));
    }
    if (qnnrt_pass__spans_named(word, ">>"))
        return qnnrt_pass__spans_hull(a, qnnrt_pass__spans_make(0, 0));
    if (qnnrt_pass__spans_named(word, "// / quotient")) {
        /* Nearer to 0 than the number that is divided, or by less than 1 below it. */
        if (b.low < 1) return qnnrt_pass__spans_make(-size, size);
        return qnnrt_pass__spans_make(floor(a.low / (a.low < 0 ? b.low : b.high)),
                                      floor(a.high / (a.high < 0 ? b.high : b.low)));
    }
    if (qnnrt_pass__spans_named(word, "pow")) {
        power = pow(size, b.high > 0 ? b.high : 1);
        return qnnrt_pass__spans_make(a.low < 0 ? -power : 0, power);
    }
    if (!qnnrt_pass__spans_named(word, "& or ^")) return qnnrt_pass__spans_make(0, 1);
    while (power <= size || power <= far) power *= 2;    /* bits: the power of two around both */
    return qnnrt_pass__spans_make(a.low < 0 || b.low < 0 ? -power : 0, power - 1);
}

static qnnrt_pass__span qnnrt_pass__spans_recipe(const qnnrt_ir_node *node, uint32_t mode)
{
    static const char *const words[] = {     /* of one operand, two and three */
        "abs sign ~", "+ - * / // quotient % fmod pow max min & or ^ << >> == != < <= > >=", "?" };
    const char *word = qnnrt_ir_recipe(node);
    qnnrt_pass__span stack[8], *x;
    int input[8];                            /* the one that an operand is, -1: none */
    size_t top = 0, all;
    (void)mode;
    for (; *word != '\0'; word += strcspn(word, " "), word += strspn(word, " ")) {
        qnnrt_ir_attr number;
        for (all = 0; all < 3 && !qnnrt_pass__spans_named(word, words[all]);) ++all;
        all = (all + 1) % 4;
        x = &stack[top -= all];
        if (all == 0) {
            input[top] = qnnrt_ir_recipe_operand(node, word, &number);
            *x = input[top] >= 0 ? qnnrt_pass__spans_of(node->inputs[input[top]])
                                 : qnnrt_pass__spans_make(floor(number.f), ceil(number.f));
        } else {
            if (all == 3) *x = qnnrt_pass__spans_hull(x[1], x[2]);
            else if (*word == '*' && input[top] >= 0 && input[top] == input[top + 1])
                *x = qnnrt_pass__spans_make(0, pow(qnnrt_pass__spans_size(*x), 2));
            else *x = qnnrt_pass__spans_word(word, x[0], x[all - 1]);
            input[top] = -1;
        }
        ++top;
    }
    return stack[0];
}

/* a + value * b * c, and the product alone */
static qnnrt_pass__span qnnrt_pass__spans_product_sum(const qnnrt_ir_node *node, uint32_t mode)
{
    const qnnrt_pass__span a = qnnrt_pass__spans_in(node, 0, NULL);
    const qnnrt_pass__span b = qnnrt_pass__spans_scale(qnnrt_pass__spans_times(
        qnnrt_pass__spans_in(node, 1, NULL), qnnrt_pass__spans_in(node, 2, NULL)),
        qnnrt_ir_float(node, "value", 1));
    (void)mode;
    return qnnrt_pass__spans_hull(b, qnnrt_pass__spans_make(a.low + b.low, a.high + b.high));
}

/* Return how many elements of the input one of the output comes from. */
static double qnnrt_pass__spans_many(const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(node, 0), *y = node->outputs[0];
    const int64_t dim = qnnrt_ir_int(node, "dim", 0);
    if (x == NULL || x->count == 0 || y->count == 0) return 1;
    if (x->count != y->count || x->rank == 0) return (double)x->count / (double)y->count;
    return (double)x->dims[dim < 0 ? (uint32_t)(dim + x->rank) % x->rank : (uint32_t)dim % x->rank];
}

/* Sums of elements; mode 1: each sum up to one. */
static qnnrt_pass__span qnnrt_pass__spans_total(const qnnrt_ir_node *node, uint32_t mode)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(node, 0);
    const qnnrt_pass__span a = qnnrt_pass__spans_of(x);
    const int same = x != NULL && x->count == node->outputs[0]->count && mode == 0;
    const double many = same ? 1 : qnnrt_pass__spans_many(node);
    const qnnrt_pass__span sum = qnnrt_pass__spans_scale(a, many);
    return mode == 0 ? sum : qnnrt_pass__spans_hull(a, sum);
}

static qnnrt_pass__span qnnrt_pass__spans_factors(const qnnrt_ir_node *node, uint32_t mode)
{
    const qnnrt_pass__span a = qnnrt_pass__spans_in(node, 0, NULL);
    const double size = qnnrt_pass__spans_size(a);
    const double most = size > 1 ? pow(size, qnnrt_pass__spans_many(node)) : 1;
    (void)mode;
    return qnnrt_pass__spans_make(a.low < 0 ? -most : 0, most);
}

/* mode 0: places along a dimension of input 0, or in all of it; 1, 2: before, in or behind the
   elements of input 0 or 1, or how many there are. */
static qnnrt_pass__span qnnrt_pass__spans_place(const qnnrt_ir_node *node, uint32_t mode)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(node, mode > 0 ? mode - 1 : 0);
    const double count = x != NULL ? (double)x->count : 0;
    return qnnrt_pass__spans_make(0, mode > 0 || count < 1 ? count : count - 1);
}

/* Products of matrices, with what is added to them. */
static qnnrt_pass__span qnnrt_pass__spans_matrix(const qnnrt_ir_node *node, uint32_t first)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(node, first);
    const double n = x != NULL && x->rank > 0 ? (double)x->dims[x->rank - 1] : 1;
    const double size = qnnrt_pass__spans_size(qnnrt_pass__spans_of(x)) *
                        qnnrt_pass__spans_size(qnnrt_pass__spans_in(node, first + 1, NULL)) * n;
    const qnnrt_pass__span more = qnnrt_pass__spans_in(node, 0, NULL);
    const double add = first > 0 ? qnnrt_pass__spans_size(more) : 0;
    return qnnrt_pass__spans_make(-size - add, size + add);
}

/* Elements that take the places of others, or are added to them. */
static qnnrt_pass__span qnnrt_pass__spans_joined(const qnnrt_ir_node *node, uint32_t mode)
{
    const int value = qnnrt_ir_attr_find(node, "value") != NULL;
    const size_t last = node->input_count - (value ? 0 : 1);     /* the source */
    const qnnrt_ir_attr *way = qnnrt_ir_attr_find(node, "reduce");
    const qnnrt_pass__span a = qnnrt_pass__spans_in(node, 0, NULL);
    const qnnrt_pass__span b = qnnrt_pass__spans_in(node, last, value ? "value" : NULL);
    const char *const text = way != NULL ? way->text : "";
    double size = qnnrt_pass__spans_size(b) * fabs(qnnrt_ir_float(node, "alpha", 1));
    size_t i;
    (void)mode;
    if (text[0] == 'p' || text[0] == 'm')                /* products, and means by their sums */
        return qnnrt_pass__spans_make(-HUGE_VAL, HUGE_VAL);
    if (strncmp(text, "am", 2) == 0 ||
        (way == NULL && strstr(node->op, "_add") == NULL &&
         qnnrt_ir_int(node, "accumulate", 0) == 0)) return qnnrt_pass__spans_hull(a, b);
    for (i = 1; i < last; ++i)
        if (node->inputs[i] != NULL) size *= (double)node->inputs[i]->count;
    size += qnnrt_pass__spans_size(a);
    return qnnrt_pass__spans_make(-size, size);
}

static qnnrt_pass__span qnnrt_pass__spans_steps(const qnnrt_ir_node *node, uint32_t mode)
{
    const double start = qnnrt_ir_float(node, "start", 0), end = qnnrt_ir_float(node, "end", 0);
    (void)mode;
    return qnnrt_pass__spans_make(start < end ? start : end, start < end ? end : start);
}

static qnnrt_pass__span qnnrt_pass__spans_ones(const qnnrt_ir_node *node, uint32_t mode)
{
    (void)node;
    return qnnrt_pass__spans_make(0, (double)mode);
}

static qnnrt_pass__span qnnrt_pass__spans_difference(const qnnrt_ir_node *node, uint32_t mode)
{
    const qnnrt_pass__span a = qnnrt_pass__spans_in(node, 0, NULL);
    (void)mode;
    return qnnrt_pass__spans_make(a.low - a.high, a.high - a.low);
}

/* How the integers of an output follow from those of inputs. ops: names, or their parts before
   ".". */
typedef struct qnnrt_pass__spans_rule {
    const char *ops;
    qnnrt_pass__span (*run)(const qnnrt_ir_node *node, uint32_t mode);
    uint32_t mode;
} qnnrt_pass__spans_rule;

static const qnnrt_pass__spans_rule qnnrt_pass__spans_rules[] = {
    { "addcmul", qnnrt_pass__spans_product_sum, 0 },
    { "add sub rsub mul square div floor_divide remainder fmod pow neg bitwise_not abs sgn sign "
      "maximum max.other minimum min.other fmax fmin clamp clamp_min clamp_max hardtanh relu6 relu "
      "__lshift__ bitwise_left_shift __rshift__ bitwise_right_shift __and__ __or__ __xor__ "
      "bitwise_and bitwise_or bitwise_xor where masked_fill threshold heaviside",
      qnnrt_pass__spans_recipe, 0 },
    { "tril triu pad constant_pad_nd", qnnrt_pass__spans_padded, 1 },
    { "slice_scatter select_scatter diagonal_scatter as_strided_scatter",
      qnnrt_pass__spans_moved, 3 },
    { "sum", qnnrt_pass__spans_total, 0 },
    { "cumsum", qnnrt_pass__spans_total, 1 },
    { "prod cumprod", qnnrt_pass__spans_factors, 0 },
    { "diff", qnnrt_pass__spans_difference, 0 },
    { "argmax argmin argsort", qnnrt_pass__spans_place, 0 },
    { "matmul mm bmm mv", qnnrt_pass__spans_matrix, 0 },
    { "addmm baddbmm", qnnrt_pass__spans_matrix, 1 },
    { "arange linspace", qnnrt_pass__spans_steps, 0 },
    { "ones ones_like new_ones one_hot eye", qnnrt_pass__spans_ones, 1 },
    { "zeros zeros_like new_zeros", qnnrt_pass__spans_ones, 0 },
    { "full full_like new_full fill scalar_tensor", qnnrt_pass__spans_moved, 0 },
    { "masked_scatter index_fill index_copy", qnnrt_pass__spans_moved, 5 },
    { "scatter scatter_add scatter_reduce put index_add index_reduce index_put",
      qnnrt_pass__spans_joined, 0 },
    { "searchsorted bincount", qnnrt_pass__spans_place, 1 },
    { "bucketize", qnnrt_pass__spans_place, 2 },
    { "cat stack", qnnrt_pass__spans_moved, 0xFFFFFFFF },
    { "copy", qnnrt_pass__spans_moved, 2 },
    { "nan_to_num alias detach clone contiguous lift_fresh_copy lift_fresh to "
      "_to_copy type_as view reshape view_as reshape_as expand expand_as flatten unflatten "
      "unsqueeze squeeze permute transpose t numpy_T movedim slice narrow select split "
      "split_with_sizes chunk unbind repeat repeat_interleave roll flip index index_select "
      "gather embedding getitem dropout feature_dropout floor ceil round trunc amax amin max "
      "min topk sort msort kthvalue median nanmedian mode cummax cummin swapaxes mT diagonal "
      "unfold as_strided rot90 tensor_split take take_along_dim max_pool1d max_pool2d "
      "upsample_nearest2d pixel_shuffle", qnnrt_pass__spans_moved, 1 },
};

/* Return an end of a span as an integer; NaN is the `otherwise` end. */
static int64_t qnnrt_pass__spans_end(double f, int64_t otherwise)
{
    return f >= 9.2e18 ? INT64_MAX : f <= -9.2e18 ? INT64_MIN : f == f ? (int64_t)f : otherwise;
}

static void qnnrt_pass__spans_set(qnnrt_ir_value *value, qnnrt_pass__span span, int ranged)
{
    value->ranged = ranged;
    value->low = qnnrt_pass__spans_end(span.low, INT64_MIN);
    value->high = qnnrt_pass__spans_end(span.high, INT64_MAX);
}

static void qnnrt_pass__spans_node(qnnrt_ir_node *node)
{
    const size_t count = sizeof(qnnrt_pass__spans_rules) / sizeof(qnnrt_pass__spans_rules[0]);
    const qnnrt_pass__spans_rule *rule = qnnrt_pass__spans_rules;
    size_t i;
    while (rule < qnnrt_pass__spans_rules + count && !qnnrt_pass__spans_named(node->op, rule->ops))
        ++rule;
    for (i = 0; i < node->output_count; ++i) {
        qnnrt_ir_value *out = node->outputs[i];
        qnnrt_pass__span span;
        if (qnnrt_ir_dtype_kind(out->dtype) != 1) continue;
        out->ranged = 0;
        span = qnnrt_pass__spans_of(out);
        if (rule < qnnrt_pass__spans_rules + count) {
            /* The second result of topk, sort and max.dim is an index. */
            const int place = i > 0 && strchr("tsmkcn", node->op[0]) != NULL &&
                strncmp(node->op, "split", 5) != 0 && strncmp(node->op, "chunk", 5) != 0 &&
                strncmp(node->op, "tensor_split", 12) != 0;
            span = place ? qnnrt_pass__spans_place(node, 0) : rule->run(node, rule->mode);
        }
        qnnrt_pass__spans_set(out, span, 2);
    }
}

/* Get the range of a constant, or of an input without one. */
static void qnnrt_pass__spans_begin(qnnrt_ir_value *value)
{
    const size_t bytes = qnnrt_ir_dtype_bytes(value->dtype);
    const unsigned char *data = (const unsigned char *)value->data;
    qnnrt_pass__span span;
    uint64_t i;
    if (value->origin == QNNRT_IR_NODE || value->ranged == 1 || value->ranged == 2 ||
        qnnrt_ir_dtype_kind(value->dtype) != 1) return;
    value->ranged = 0;
    span = qnnrt_pass__spans_of(value);
    for (i = 0; data != NULL && i < value->count; ++i) {
        const double at = (double)qnnrt_ir_element_int(data + i * bytes, value->dtype);
        span = i == 0 ? qnnrt_pass__spans_make(at, at)
                      : qnnrt_pass__spans_hull(span, qnnrt_pass__spans_make(at, at));
    }
    qnnrt_pass__spans_set(value, span, data != NULL ? 2 : 3);
}

/* Let the input that an index comes from have the range of a table. */
static void qnnrt_pass__spans_index(const qnnrt_ir_node *node)
{
    static const char *const same[] = { "alias", "detach", "clone", "contiguous", "to", "_to_copy",
        "view", "reshape", "expand", "flatten", "unflatten", "unsqueeze", "squeeze", "permute",
        "transpose", "t", "repeat" };
    const int rows = qnnrt_pass__spans_named(node->op, "embedding");
    const qnnrt_ir_value *table = qnnrt_ir_input(node, 0);
    qnnrt_ir_value *index = qnnrt_ir_input(node, 1);
    const qnnrt_ir_node *from;
    int64_t axis, size;
    size_t i = 0;
    if (!rows && !qnnrt_pass__spans_named(node->op, "index_select") &&
        !qnnrt_pass__spans_named(node->op, "gather")) return;
    if (table == NULL || index == NULL || table->rank == 0) return;
    axis = rows ? 0 : qnnrt_ir_int(node, "dim", 0);
    size = table->dims[axis < 0 ? axis + (int64_t)table->rank : axis];
    while (i < sizeof(same) / sizeof(same[0]) && (from = qnnrt_ir_producer(index)) != NULL &&
           qnnrt_ir_input(from, 0) != NULL) {
        for (i = 0; i < sizeof(same) / sizeof(same[0]) &&
             !qnnrt_pass__spans_named(from->op, same[i]); ++i) {}
        if (i < sizeof(same) / sizeof(same[0])) index = from->inputs[0];
    }
    if (index->origin == QNNRT_IR_INPUT && index->ranged != 1 && size > 0 &&
        qnnrt_ir_dtype_kind(index->dtype) == 1)
        qnnrt_pass__spans_set(index, qnnrt_pass__spans_make(0, (double)size - 1), 2);
}

QNNRT_IR_PASSES_API qnnrt_result qnnrt_ir_pass_ranges(qnnrt_ir *ir, qnnrt_error *err)
{
    size_t i;
    if (ir == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "ir is NULL");
    for (i = 0; i < ir->node_count; ++i) qnnrt_pass__spans_index(ir->nodes[i]);
    for (i = 0; i < ir->value_count; ++i) qnnrt_pass__spans_begin(ir->values[i]);
    for (i = 0; i < ir->node_count; ++i) qnnrt_pass__spans_node(ir->nodes[i]);
    return qnnrt_error_clear(err);
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_IR_PASSES__IMPL_ONCE */
#endif /* QNNRT_IR_PASSES_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version: the passes of qnnrt_ir.h 0.4.0.
   --------------------------------------------------------------------------------------------- */
