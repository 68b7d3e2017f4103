/* ggml-qnnrt-ops.cpp - see ggml-qnnrt-ops.h */
#include "ggml-qnnrt-ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

/* =====================================================================================
   VALUES                                                                        >>values
   Tensors and nodes of the graph that is described, and what comes from outside.
   Knows nothing of: single operators
   ===================================================================================== */

static qg_graph::dims dims_of(const ggml_tensor *t)
{
    return { (uint32_t)t->ne[3], (uint32_t)t->ne[2], (uint32_t)t->ne[1], (uint32_t)t->ne[0] };
}

static uint64_t count_of(const qg_graph::dims &d)
{
    uint64_t n = 1;
    for (uint32_t x : d) n *= x;
    return n;
}

static qnnrt_dtype dtype_of(ggml_type type)
{
    switch (type) {
    case GGML_TYPE_F32: return QNNRT_DTYPE_F32;
    case GGML_TYPE_F16: return QNNRT_DTYPE_F16;
    case GGML_TYPE_I32: return QNNRT_DTYPE_I32;
    default:            return QNNRT_DTYPE_UNDEFINED;
    }
}

static bool is_real(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F32 || dtype == QNNRT_DTYPE_F16;
}

static qnnrt_param_desc scalar_param(const char *name, qnnrt_dtype dtype, double value)
{
    qnnrt_param_desc p = {};
    p.name = name;
    p.dtype = dtype;
    p.value = value;
    return p;
}

static qnnrt_param_desc list_param(const char *name, qnnrt_dtype dtype, const void *data,
                                   const qg_graph::dims &d)
{
    qnnrt_param_desc p = {};
    p.name = name;
    p.dtype = dtype;
    p.data = data;
    p.rank = (uint32_t)d.size();
    for (size_t i = 0; i < d.size(); ++i) p.dims[i] = d[i];
    return p;
}

qg_value qg_graph::fail(const char *why)
{
    if (why_.empty()) why_ = why;
    return qg_value();
}

qg_value qg_graph::tensor(qnnrt_tensor_kind kind, qnnrt_dtype dtype, const dims &d,
                          qnnrt_tensor_desc desc)
{
    qg_value v;
    char name[32];
    if (!ok()) return v;
    if (d.size() > 8) return fail("more than 8 dimensions");
    snprintf(name, sizeof(name), "t%d", serial_++);
    if (desc.name == nullptr) desc.name = name;
    desc.kind = kind;
    desc.dtype = dtype;
    desc.rank = (uint32_t)d.size();
    for (size_t i = 0; i < d.size(); ++i) desc.dims[i] = d[i];
    v.t = qnnrt_builder_tensor(builder_, &desc);
    v.dtype = dtype;
    v.dims = d;
    if (v.t < 0) return fail(qnnrt_builder_error(builder_)->text);
    return v;
}

bool qg_graph::add(const char *type, const std::vector<qg_value> &in, const qg_value &out,
                   const params &p)
{
    std::vector<qnnrt_tensor> inputs;
    qnnrt_node_desc node = {};
    qnnrt_error err;
    if (!ok()) return false;
    for (const qg_value &v : in) inputs.push_back(v.t);
    node.type = type;
    node.inputs = inputs.data();
    node.input_count = inputs.size();
    node.outputs = &out.t;
    node.output_count = 1;
    node.params = p.data();
    node.param_count = p.size();
    if (ask_ && qnnrt_builder_supports(builder_, &node, &err) != QNNRT_OK) {
        fail(err.text);
        return false;
    }
    qnnrt_builder_node(builder_, &node);
    qnn_nodes_ += 1;
    if (qnnrt_builder_error(builder_)->code != QNNRT_OK) fail(qnnrt_builder_error(builder_)->text);
    return ok();
}

qg_value qg_graph::op(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                      const dims &d, const params &p)
{
    qg_value out = tensor(QNNRT_TENSOR_INNER, dtype, d);
    return add(type, in, out, p) ? out : qg_value();
}

/* Add the operator that makes the value of a ggml node. If the value leaves the segment, it becomes
   an output, in ggml's type. */
qg_value qg_graph::last(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                        const dims &d, const params &p, const ggml_tensor *n)
{
    const qnnrt_dtype want = dtype_of(n->type);
    if (!leaves_) return op(type, in, dtype, d, p);
    qg_value inner = dtype != want ? op(type, in, dtype, d, p) : qg_value();
    qg_value out = tensor(QNNRT_TENSOR_OUTPUT, want, d);
    if (!ok()) return out;
    outputs.push_back({ index_, out.t, ggml_nbytes(n) });
    if (dtype == want) return add(type, in, out, p) ? out : qg_value();
    return add("Cast", { inner }, out, {}) ? inner : qg_value();
}

qg_value qg_graph::constant(const dims &d, const std::vector<float> &values)
{
    qnnrt_tensor_desc desc = {};
    const bool half = compute() == QNNRT_DTYPE_F16;
    if (!ok()) return qg_value();
    constants_.emplace_back(values.size() * (half ? 2 : 4));
    std::vector<char> &data = constants_.back();
    if (half) ggml_fp32_to_fp16_row(values.data(), (ggml_fp16_t *)data.data(),
                                    (int64_t)values.size());
    else memcpy(data.data(), values.data(), data.size());
    desc.data = data.data();
    desc.bytes = data.size();
    desc.borrow = 1;
    return tensor(QNNRT_TENSOR_STATIC, compute(), d, desc);
}

qg_value qg_graph::reshape(const qg_value &v, const dims &d)
{
    if (!ok() || v.dims == d) return v;
    return op("Reshape", { v }, v.dtype, d);
}

qg_value qg_graph::cast(const qg_value &v, qnnrt_dtype dtype)
{
    if (!ok() || v.dtype == dtype) return v;
    return op("Cast", { v }, dtype, v.dims);
}

qg_value qg_graph::transpose(const qg_value &v, const dims &order)
{
    dims d;
    if (!ok()) return v;
    for (uint32_t i : order) d.push_back(v.dims[i]);
    if (std::is_sorted(order.begin(), order.end())) return v;
    return op("Transpose", { v }, v.dtype, d,
              { list_param("perm", QNNRT_DTYPE_U32, order.data(), { (uint32_t)order.size() }) });
}

qg_value qg_graph::slice(const qg_value &v, const dims &begin, const dims &size)
{
    std::vector<int32_t> ranges;
    if (!ok() || v.dims == size) return v;
    for (size_t i = 0; i < size.size(); ++i) {
        ranges.push_back((int32_t)begin[i]);
        ranges.push_back((int32_t)(begin[i] + size[i]));
        ranges.push_back(1);
    }
    return op("StridedSlice", { v }, v.dtype, size,
              { list_param("ranges", QNNRT_DTYPE_I32, ranges.data(),
                           { (uint32_t)size.size(), 3 }) });
}

qg_value qg_graph::repeat(const qg_value &v, const dims &d)
{
    dims times;
    if (!ok() || v.dims == d) return v;
    for (size_t i = 0; i < d.size(); ++i) times.push_back(d[i] / v.dims[i]);
    return op("Tile", { v }, v.dtype, d,
              { list_param("multiples", QNNRT_DTYPE_U32, times.data(),
                           { (uint32_t)times.size() }) });
}

/* =====================================================================================
   OUTSIDE                                                                      >>outside
   Inputs of the graph, weights, and views of both and of what the graph computes.
   ===================================================================================== */

qg_value qg_graph::input(const ggml_tensor *t, int src, qg_bind how, qnnrt_dtype dtype,
                         const dims &d, size_t bytes)
{
    auto found = outside_.find({ t, how });
    if (found != outside_.end()) return found->second;
    qg_value v = tensor(QNNRT_TENSOR_INPUT, dtype, d);
    if (!ok()) return v;
    inputs.push_back({ index_, src, how, v.t, bytes });
    return outside_[{ t, how }] = v;
}

/* Write a weight in the type of its static tensor: called by qnnrt_builder_finish(). */
static qnnrt_result load_weight(void *user, void *data, size_t bytes, qnnrt_error *)
{
    const qg_graph::weight_data *w = (const qg_graph::weight_data *)user;
    const int64_t count = ggml_nelements(w->t);
    const char *from = (const char *)w->t->data;
    if (dtype_of(w->t->type) == w->dtype) {
        memcpy(data, from, bytes);
        return QNNRT_OK;
    }
    const ggml_type_traits *traits = ggml_get_type_traits(w->t->type);
    const int64_t step = 256 * 16;               /* whole blocks of every type */
    float part[256 * 16];
    for (int64_t i = 0; i < count; i += step) {
        const int64_t n = std::min(step, count - i);
        float *to = w->dtype == QNNRT_DTYPE_F32 ? (float *)data + i : part;
        const char *at = from + (size_t)i / (size_t)traits->blck_size * traits->type_size;
        if (w->t->type == GGML_TYPE_F32) memcpy(to, at, (size_t)n * 4);
        else traits->to_float(at, to, n);
        if (w->dtype == QNNRT_DTYPE_F16) ggml_fp32_to_fp16_row(to, (ggml_fp16_t *)data + i, n);
    }
    return QNNRT_OK;
}

qg_value qg_graph::weight(const ggml_tensor *t)
{
    auto found = outside_.find({ t, -1 });
    if (found != outside_.end()) return found->second;
    qnnrt_tensor_desc desc = {};
    const qnnrt_dtype dtype = t->type == GGML_TYPE_I32 ? QNNRT_DTYPE_I32 : compute();
    weights_.push_back({ t, dtype });
    desc.load = load_weight;
    desc.load_user = &weights_.back();
    return outside_[{ t, -1 }] = tensor(QNNRT_TENSOR_STATIC, dtype, dims_of(t), desc);
}

/* Make a view of contiguous elements. Each axis of the view is a step of its own through `base`:
   the axes are sorted by stride, each is cut out of the room that the next larger stride leaves,
   and then they are put in ggml's order. */
qg_value qg_graph::view(const qg_value &base, const ggml_tensor *t, size_t offset)
{
    struct axis { uint64_t count, stride; int of; };
    const size_t element = ggml_type_size(t->type);
    std::vector<axis> axes;
    uint64_t total = count_of(base.dims), at = offset / element;
    dims whole, begin, size, order;
    if (!ok()) return base;
    if (offset % element != 0) return fail("a view that begins within an element");
    for (int i = 0; i < 4; ++i) {
        if (t->ne[i] == 1) continue;
        if (t->nb[i] == 0 || t->nb[i] % element != 0) return fail("a view with such strides");
        axes.push_back({ (uint64_t)t->ne[i], t->nb[i] / element, i });
    }
    std::stable_sort(axes.begin(), axes.end(),
                     [](const axis &a, const axis &b) { return a.stride > b.stride; });
    if (axes.empty() || axes.back().stride != 1) axes.push_back({ 1, 1, -1 });
    qg_value v = base;
    for (size_t i = 0; i < axes.size(); ++i) {
        uint64_t room = i == 0 ? total / axes[0].stride * axes[0].stride : axes[i - 1].stride;
        if (room % axes[i].stride != 0) return fail("a view whose strides do not divide");
        if (i == 0 && room != total) {           /* leave out the last, incomplete row */
            v = slice(reshape(v, { (uint32_t)total }), { 0 }, { (uint32_t)room });
            total = room;
        }
        const uint64_t first = at / axes[i].stride;
        at %= axes[i].stride;
        room /= axes[i].stride;
        if (first + axes[i].count > room) return fail("a view that leaves its row");
        whole.push_back((uint32_t)room);
        begin.push_back((uint32_t)first);
        size.push_back((uint32_t)axes[i].count);
    }
    v = slice(reshape(v, whole), begin, size);
    for (int i = 3; i >= 0; --i)
        for (size_t k = 0; k < axes.size(); ++k)
            if (axes[k].of == i) order.push_back((uint32_t)k);
    for (size_t k = 0; k < axes.size(); ++k)
        if (axes[k].of < 0) order.push_back((uint32_t)k);
    return reshape(transpose(v, order), dims_of(t));
}

/* A tensor that this graph does not compute. */
qg_value qg_graph::outside(const ggml_tensor *t, int src)
{
    const ggml_tensor *base = t->view_src;
    const bool weighs = options_.statics && options_.weight != nullptr && options_.weight(t) != 0;
    if (ggml_is_contiguous(t) && weighs) return weight(t);
    if (ggml_is_quantized(t->type)) {
        if (!ggml_is_contiguous(t)) return fail("a quantized tensor with gaps");
        return input(t, src, QG_TO_F32, QNNRT_DTYPE_F32, dims_of(t), (size_t)ggml_nelements(t) * 4);
    }
    const qnnrt_dtype dtype = dtype_of(t->type);
    if (dtype == QNNRT_DTYPE_UNDEFINED) return fail("a type that is not in the table");
    if (ggml_is_contiguous(t)) return input(t, src, QG_DIRECT, dtype, dims_of(t), ggml_nbytes(t));
    /* A view with gaps: bind all of its base. The scheduler's copies of views have no base. */
    const bool whole = base != nullptr && base->type == t->type && ggml_is_contiguous(base);
    const ggml_tensor *from = whole ? base : t;
    return view(input(from, src, whole ? QG_BASE : QG_DIRECT, dtype,
                      { (uint32_t)(ggml_nbytes(from) / ggml_type_size(from->type)) },
                      ggml_nbytes(from)),
                t, whole ? t->view_offs : 0);
}

qg_value qg_graph::get(const ggml_tensor *n, int src)
{
    const ggml_tensor *t = n->src[src];
    if (!ok()) return qg_value();
    auto found = values_.find(t);
    if (found != values_.end()) return reshape(found->second, dims_of(t));
    if (t->view_src != nullptr && qg_is_view(t)) {
        found = values_.find(t->view_src);
        if (found != values_.end()) {
            qg_value v = view(found->second, t, t->view_offs);
            return values_[t] = v;
        }
    }
    return outside(t, src);
}

qg_value qg_graph::real(const ggml_tensor *n, int src)
{
    qg_value v = get(n, src);
    return ok() && is_real(v.dtype) ? cast(v, compute()) : v;
}

/* =====================================================================================
   OPERATORS                                                                  >>operators
   ===================================================================================== */

static qg_value op_binary(qg_graph &g, const ggml_tensor *n, const char *type)
{
    const qg_graph::dims d = dims_of(n);
    qg_value a = g.real(n, 0), b = g.repeat(g.real(n, 1), d);
    return g.last(type, { a, b }, a.dtype, d, {}, n);
}

static qg_value op_rms_norm(qg_graph &g, const ggml_tensor *n, const char *type)
{
    const qg_graph::dims d = dims_of(n);
    const uint32_t axis = 3;
    const double epsilon = (double)((const float *)n->op_params)[0];
    qg_value a = g.real(n, 0);
    return g.last(type, { a, g.constant({ d[3] }, std::vector<float>(d[3], 1.0f)),
                          g.constant({ d[3] }, std::vector<float>(d[3], 0.0f)) }, a.dtype, d,
                  { list_param("axes", QNNRT_DTYPE_U32, &axis, { 1 }),
                    scalar_param("epsilon", QNNRT_DTYPE_F32, epsilon) }, n);
}

static qg_value op_mul_mat(qg_graph &g, const ggml_tensor *n, const char *type)
{
    const ggml_tensor *w = n->src[0], *x = n->src[1];
    qg_value b = g.real(n, 1), a = g.real(n, 0);
    if (!g.ok()) return a;
    if (w->ne[3] != 1 && w->ne[3] != x->ne[3]) return g.fail("a broadcast over the last axis");
    const bool one = w->ne[2] == 1 && w->ne[3] == 1;
    const uint32_t rows = (uint32_t)(ggml_nrows(x) / w->ne[2] / x->ne[3]);
    qg_graph::dims d = { (uint32_t)x->ne[3], (uint32_t)w->ne[2], rows, (uint32_t)w->ne[0] };
    if (one) d = { 1, 1, (uint32_t)ggml_nrows(x), (uint32_t)w->ne[0] };
    b = g.reshape(b, d);
    d[3] = (uint32_t)w->ne[1];
    return g.last(type, { b, a }, g.compute(), d,
                  { scalar_param("transpose_in1", QNNRT_DTYPE_BOOL8, 1) }, n);
}

struct qg_row {
    ggml_op     op;
    const char *name;                            /* as ggml_op_name() returns it */
    qg_value  (*make)(qg_graph &g, const ggml_tensor *n, const char *type);
    const char *type;                            /* QNN's */
};

static const qg_row rows[] = {
    { GGML_OP_ADD,      "ADD",      op_binary,   "ElementWiseAdd" },
    { GGML_OP_SUB,      "SUB",      op_binary,   "ElementWiseSubtract" },
    { GGML_OP_MUL,      "MUL",      op_binary,   "ElementWiseMultiply" },
    { GGML_OP_DIV,      "DIV",      op_binary,   "ElementWiseDivide" },
    { GGML_OP_RMS_NORM, "RMS_NORM", op_rms_norm, "RmsNorm" },
    { GGML_OP_MUL_MAT,  "MUL_MAT",  op_mul_mat,  "MatMul" }
};

const qg_op_name qg_op_names[] = {
    { GGML_OP_NONE, "NONE" }, { GGML_OP_ADD, "ADD" }, { GGML_OP_SUB, "SUB" },
    { GGML_OP_MUL, "MUL" }, { GGML_OP_DIV, "DIV" }, { GGML_OP_RMS_NORM, "RMS_NORM" },
    { GGML_OP_MUL_MAT, "MUL_MAT" }, { GGML_OP_SET_ROWS, "SET_ROWS" }, { GGML_OP_VIEW, "VIEW" },
    { GGML_OP_RESHAPE, "RESHAPE" }, { GGML_OP_PERMUTE, "PERMUTE" },
    { GGML_OP_TRANSPOSE, "TRANSPOSE" }
};
const size_t qg_op_name_count = sizeof(qg_op_names) / sizeof(qg_op_names[0]);

bool qg_graph::node(const ggml_tensor *n, int index, bool leaves)
{
    index_ = index;
    leaves_ = leaves;
    for (const qg_row &row : rows)
        if (row.op == n->op) {
            qg_value v = ok() ? row.make(*this, n, row.type) : qg_value();
            if (ok()) values_[n] = v;
            return ok();
        }
    fail("this operator is not in the table");
    return false;
}

/* =====================================================================================
   HOST                                                                            >>host
   ===================================================================================== */

bool qg_is_view(const ggml_tensor *n)
{
    return n->op == GGML_OP_NONE || n->op == GGML_OP_VIEW || n->op == GGML_OP_RESHAPE ||
           n->op == GGML_OP_PERMUTE || n->op == GGML_OP_TRANSPOSE || ggml_is_empty(n);
}

bool qg_on_host(const ggml_tensor *n) { return n->op == GGML_OP_SET_ROWS; }

static bool host_supports(const ggml_tensor *n, const qg_options &options, std::string *why)
{
    const ggml_tensor *from = n->src[0], *index = n->src[1];
    const bool made = n->type == GGML_TYPE_F32 ||
                      ggml_get_type_traits(n->type)->from_float_ref != nullptr;
    if (!options.set_rows) *why = "SET_ROWS is switched off (GGML_QNNRT_SET_ROWS=0)";
    else if (from->type != GGML_TYPE_F32) *why = "SET_ROWS takes rows of f32";
    else if (index->type != GGML_TYPE_I64 && index->type != GGML_TYPE_I32)
        *why = "SET_ROWS takes indices of i32 or i64";
    else if (!made) *why = "SET_ROWS cannot write rows of this type";
    else if (from->nb[0] != 4 || n->nb[0] != ggml_type_size(n->type))
        *why = "SET_ROWS takes rows without gaps";
    else return true;
    return false;
}

bool qg_host(const ggml_tensor *n, std::string *why)
{
    const ggml_tensor *a = n->src[0], *ix = n->src[1];
    for (int64_t i3 = 0; i3 < a->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < a->ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < a->ne[1]; ++i1) {
                const char *p = (const char *)ix->data + (size_t)i1 * ix->nb[0] +
                                (size_t)(i2 % ix->ne[1]) * ix->nb[1] +
                                (size_t)(i3 % ix->ne[2]) * ix->nb[2];
                const int64_t row = ix->type == GGML_TYPE_I64 ? *(const int64_t *)p
                                                              : *(const int32_t *)p;
                if (row < 0 || row >= n->ne[1]) {
                    *why = "a row that does not exist: " + std::to_string(row) + " of " +
                           std::to_string(n->ne[1]);
                    return false;
                }
                const char *from = (const char *)a->data + (size_t)i1 * a->nb[1] +
                                   (size_t)i2 * a->nb[2] + (size_t)i3 * a->nb[3];
                char *to = (char *)n->data + (size_t)row * n->nb[1] + (size_t)i2 * n->nb[2] +
                           (size_t)i3 * n->nb[3];
                if (n->type == GGML_TYPE_F32) memcpy(to, from, (size_t)a->ne[0] * 4);
                else ggml_get_type_traits(n->type)->from_float_ref((const float *)from, to,
                                                                   a->ne[0]);
            }
    return true;
}

void qg_fill(const qg_input &input, const ggml_tensor *n, void *to)
{
    const ggml_tensor *t = n->src[input.src];
    if (input.how == QG_TO_F32)
        ggml_get_type_traits(t->type)->to_float(t->data, (float *)to, ggml_nelements(t));
}

/* Ask about a node: its sources come from outside. */
bool qg_supports(const ggml_tensor *n, const qg_options &options, qnnrt_backend *backend,
                 std::string *why)
{
    qnnrt_builder *builder = nullptr;
    qnnrt_graph_desc graph = {};
    qnnrt_error err;
    if (qg_on_host(n)) return host_supports(n, options, why);
    if (dtype_of(n->type) == QNNRT_DTYPE_UNDEFINED || !ggml_is_contiguous(n)) {
        *why = "the result is not a contiguous tensor of f32, f16 or i32";
        return false;
    }
    if (qnnrt_builder_create(backend, nullptr, &builder, &err) != QNNRT_OK) {
        *why = err.text;
        return false;
    }
    struct closer {
        qnnrt_builder *b;
        ~closer() { qnnrt_builder_destroy(b); }
    } closer = { builder };
    graph.name = "ask";
    graph.fp16 = options.half;
    qnnrt_builder_graph(builder, &graph);
    qg_graph g(builder, options, true);
    const bool yes = g.node(n, 0, true);
    *why = g.why();
    return yes;
}
