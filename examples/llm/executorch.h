/* executorch.h - the graph of a part with the inputs and outputs of ExecuTorch's exports

       part.edit = to_executorch;                  // of llm_graphs.h, which is included before

   Each head has tensors of its own for keys and values: input_2_args_128_0. The first part takes
   positions, and has cosines and sines for all; the others take what it gives. */
#ifndef EXECUTORCH_H
#define EXECUTORCH_H

enum { KEYS, VALUES };

/* A graph in work, and its inputs and outputs. */
typedef struct family {
    const llm_model *model;
    qnnrt_ir        *ir;
    int64_t          tokens, half, context;
    uint32_t         first;             /* layer */
    const qnnrt_ir_value *inputs[8 + 2 * LLM_LAYERS * LLM_HEADS];
    const qnnrt_ir_value *outputs[8 + 2 * LLM_LAYERS * LLM_HEADS];
    size_t           input_count, output_count;
} family;

/* Add a value of two (c 0), three (d 0) or four dims. */
static qnnrt_ir_value *value(const family *f, const char *name, int64_t a, int64_t b, int64_t c,
                             int64_t d)
{
    const int64_t dims[4] = { a, b, c, d };
    qnnrt_ir_value *v = qnnrt_ir_add_value(f->ir, name, QNNRT_DTYPE_F32,
                                           c == 0 ? 2 : d == 0 ? 3 : 4, dims);
    if (v == NULL) stop("out of memory");
    return v;
}

/* Add a node with one output, and return that. dim: its argument "dim", -1: none */
static qnnrt_ir_value *node(const family *f, const qnnrt_ir_node *before, const char *op,
                            qnnrt_ir_value *const *inputs, size_t count, int dim,
                            qnnrt_ir_value *out)
{
    qnnrt_ir_node *made = qnnrt_ir_add_node(f->ir, before, op, inputs, count, &out, 1);
    if (made == NULL || (dim >= 0 && !qnnrt_ir_set_int(f->ir, made, "dim", dim)))
        stop("out of memory");
    return out;
}

/* Let `out` have the elements of x. */
static qnnrt_ir_value *reshape(const family *f, const qnnrt_ir_node *before, qnnrt_ir_value *x,
                               qnnrt_ir_value *out)
{
    node(f, before, "reshape.default", &x, 1, -1, out);
    if (!qnnrt_ir_set_ints(f->ir, out->node, "shape", out->dims, out->rank)) stop("out of memory");
    return out;
}

static qnnrt_ir_value *find_value(const qnnrt_ir *ir, const char *name)
{
    size_t i = 0;
    while (i < ir->value_count && strcmp(ir->values[i]->name, name) != 0) ++i;
    if (i == ir->value_count) stop("the graph does not have the tensors of the hub");
    return ir->values[i];
}

/* Return the first node that reads a value. */
static qnnrt_ir_node *reader_of(const family *f, const qnnrt_ir_value *v)
{
    size_t i, k;
    for (i = 0; i < f->ir->node_count; ++i)
        for (k = 0; k < f->ir->nodes[i]->input_count; ++k)
            if (f->ir->nodes[i]->inputs[k] == v) return f->ir->nodes[i];
    stop("the graph does not have the nodes of the hub");
    return NULL;
}

/* Let all that reads a value read `now` as dims, [4], under the name of the value. */
static void stand_in(const family *f, qnnrt_ir_value *old, qnnrt_ir_value *now, const int64_t *dims)
{
    const char *name = old->name;
    const qnnrt_ir_node *reader = reader_of(f, old);
    qnnrt_ir_value *out = value(f, name, dims[0], dims[1], dims[2], dims[3]);
    qnnrt_ir_replace(f->ir, old, out);
    reshape(f, reader, now, out);
    if (!qnnrt_ir_set_name(f->ir, out, name)) stop("out of memory");
}

/* Add an input of the new graph, "input_<i>_<text>_0"; i counts them. */
static qnnrt_ir_value *take(family *f, qnnrt_ir_value *v, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "input_%u_%s_0", (unsigned)f->input_count, text);
    if (!qnnrt_ir_set_name(f->ir, v, name)) stop("out of memory");
    f->inputs[f->input_count++] = v;
    return v;
}

/* Put an output at a place. It is the n-th of its kind: "<stem>_0", "<stem>_1_0", "<stem>_2_0" */
static void give(family *f, qnnrt_ir_value *v, const char *stem, uint32_t n, size_t at)
{
    char name[96], number[16] = "";
    if (n > 0) snprintf(number, sizeof number, "_%u", (unsigned)n);
    snprintf(name, sizeof name, "%s%s_0", stem, number);
    if (!qnnrt_ir_set_name(f->ir, v, name)) stop("out of memory");
    f->outputs[at] = v;
    f->output_count += 1;
}

/* Read cosines or sines of the tokens' positions from a table of all positions. In 16 bits they are
   what qnnrt_write_f32() would store, with ties to even. */
static qnnrt_ir_value *look_up(const family *f, qnnrt_ir_value *positions,
                               double (*function)(double))
{
    const int64_t dims[2] = { f->context, f->half };
    const qnnrt_ir_node *first = f->ir->nodes[0];
    void *data;
    qnnrt_ir_value *in[2], *rows = value(f, "rows", 1, f->tokens, f->half, 0);
    int64_t row, i;
    in[0] = qnnrt_ir_add_constant(f->ir, "freqs", QNNRT_DTYPE_F32, 2, dims, NULL, &data);
    in[1] = positions;
    if (in[0] == NULL) stop("out of memory");
    for (row = 0; row < f->context; ++row)
        for (i = 0; i < f->half; ++i) {
            const double angle = (double)row * pow(f->model->is.theta,
                                                   -(double)i / (double)f->half);
            float real = (float)function(angle);
            if (f->model->ranges != NULL) real = rintf(real * 32768) / 32768;
            ((float *)data)[row * f->half + i] = real;
        }
    node(f, first, "embedding.default", in, 2, -1, rows);
    return reshape(f, first, rows, value(f, "angles", f->tokens, f->half, 0, 0));
}

/* Join heads before a node, unless there is one. */
static qnnrt_ir_value *join(const family *f, const qnnrt_ir_node *before,
                            qnnrt_ir_value *const *heads)
{
    const uint32_t kv = f->model->is.kv_heads;
    if (kv == 1) return heads[0];
    return node(f, before, "cat.default", heads, kv, 0,
                value(f, "heads", kv, heads[0]->dims[1], heads[0]->dims[2], 0));
}

/* Let the keys or values of a layer be a tensor for each head, those of earlier tokens and the new
   ones. args_<j> counts the keys of all layers and heads first, then the values. */
static void split_cache(family *f, int which, uint32_t layer)
{
    static const char *const words[2] = { "key", "value" };
    static const char *const stems[2] = { "output_aten_permute_copy_default",
                                          "output_aten_view_copy_default" };
    const uint32_t kv = f->model->is.kv_heads;
    const uint32_t first = (which == VALUES ? f->model->is.layers * kv : 0) + layer * kv;
    const size_t at = (2 * (size_t)(layer - f->first) + (size_t)which) * kv;
    qnnrt_ir_value *past, *now, *both, *flat, *olds[LLM_HEADS], *news[LLM_HEADS];
    qnnrt_ir_node *cat;
    int64_t rows, columns, flat_dims[3], dims[4];
    char name[64];
    uint32_t h;
    snprintf(name, sizeof name, "past_%s_%u_in", words[which], (unsigned)layer);
    past = find_value(f->ir, name);
    snprintf(name, sizeof name, "past_%s_%u_out", words[which], (unsigned)layer);
    now = find_value(f->ir, name);
    rows = now->dims[2];
    columns = now->dims[3];
    cat = reader_of(f, past);
    both = cat->outputs[0];
    flat = reshape(f, cat, now, value(f, "flat", kv, rows, columns, 0));
    for (h = 0; h < kv; ++h) {
        snprintf(name, sizeof name, "args_%u", (unsigned)(first + h));
        olds[h] = take(f, value(f, name, 1, past->dims[2], past->dims[3], 0), name);
        news[h] = kv == 1 ? flat : node(f, cat, "slice.Tensor", &flat, 1, 0,
                                        value(f, "head", 1, rows, columns, 0));
        if (kv > 1 && (!qnnrt_ir_set_int(f->ir, news[h]->node, "start", h) ||
                       !qnnrt_ir_set_int(f->ir, news[h]->node, "end", (int64_t)h + 1)))
            stop("out of memory");
        give(f, news[h], stems[which], layer * kv + h, at + h);
    }
    /* What is joined is what is given, so that it has the same encoding. */
    memcpy(dims, both->dims, sizeof dims);
    flat_dims[0] = kv;
    flat_dims[1] = dims[2];
    flat_dims[2] = dims[3];
    if (!qnnrt_ir_set_input(f->ir, cat, 0, join(f, cat, olds)) ||
        !qnnrt_ir_set_input(f->ir, cat, 1, join(f, cat, news)) ||
        !qnnrt_ir_set_int(f->ir, cat, "dim", which == KEYS ? 2 : 1) ||
        !qnnrt_ir_set_shape(both, QNNRT_DTYPE_F32, 3, flat_dims))
        stop("out of memory");
    stand_in(f, both, both, dims);
}

/* Take ids and positions, or the hidden state. Return the positions, or NULL. */
static qnnrt_ir_value *take_tokens(family *f, int embedding)
{
    const int64_t dims[2] = { 1, f->tokens };
    qnnrt_ir_value *positions;
    take(f, f->ir->inputs[0], embedding ? "tokens" : "llama_fallback_default");
    if (!embedding) return NULL;
    positions = qnnrt_ir_add_value(f->ir, "positions", QNNRT_DTYPE_I64, 2, dims);
    if (positions == NULL) stop("out of memory");
    return take(f, positions, "input_pos");
}

/* Take or compute cosines and sines. positions: NULL: they are inputs */
static void take_angles(family *f, qnnrt_ir_value *positions, qnnrt_ir_value *angles[2])
{
    static const char *const names[2][2] = {
        { "position_ids_cos", "aten_view_copy_default" },
        { "position_ids_sin", "aten_view_copy_default_1" },
    };
    double (*const functions[2])(double) = { cos, sin };
    qnnrt_ir_value *all;
    for (int i = 0; i < 2; ++i) {
        angles[i] = positions != NULL ? look_up(f, positions, functions[i])
                    : take(f, value(f, "angles", f->tokens, f->half, 0, 0), names[i][1]);
        all = find_value(f->ir, names[i][0]);
        stand_in(f, all, angles[i], all->dims);
    }
}

/* Make a graph with the inputs and outputs of the other family, in the order of its exports. */
static qnnrt_ir *to_executorch(const llm_model *m, const llm_part *part, qnnrt_ir *ir)
{
    static const char stem[] = "output_quantized_decomposed_dequantize_per_tensor_tensor";
    const qnnrt_llm_graph_desc *d = &part->graph;
    const uint32_t first = qnnrt_llm_graph_first_layer(&m->is, d->part, d->parts);
    const uint32_t end = qnnrt_llm_graph_first_layer(&m->is, d->part + 1, d->parts);
    qnnrt_ir_value *mask = find_value(ir, "attention_mask"), *last = ir->outputs[2 * (end - first)];
    qnnrt_ir_value *positions, *angles[2];
    family *f = (family *)room(1, sizeof *f);
    qnnrt_ir *made;
    qnnrt_error err;
    uint32_t i;
    qnnrt_result result;
    f->model = m;
    f->ir = ir;
    f->first = first;
    f->tokens = mask->dims[2];
    f->context = mask->dims[3];
    f->half = m->is.head_dim / 2;
    positions = take_tokens(f, d->part == 0);
    if (positions != NULL) take_angles(f, positions, angles);
    for (i = first; i < end; ++i) {
        split_cache(f, VALUES, i);
        if (i == first && positions == NULL) take_angles(f, NULL, angles);
        split_cache(f, KEYS, i);
        if (i == first)
            stand_in(f, mask, take(f, value(f, "mask", 1, f->tokens, f->context, 0), "atten_mask"),
                     mask->dims);
    }
    if (end == m->is.layers)
        give(f, last, "output_aten_squeeze_copy_dims", 0, f->output_count);
    else                                        /* a layer has two additions */
        give(f, last, "output_aten_add_tensor", 2 * end - 1, f->output_count);
    for (i = 0; i < 2 && positions != NULL && end < m->is.layers; ++i)
        give(f, angles[i], stem, i, f->output_count);
    result = qnnrt_ir_extract(ir, (const qnnrt_ir_node *const *)ir->nodes, ir->node_count,
                              f->inputs, f->input_count, f->outputs, f->output_count, NULL, &made,
                              &err);
    if (result != QNNRT_OK) stop_error(&err);
    free(f);
    return made;
}

#endif
