/* ggml-qnnrt-ops.cpp - see ggml-qnnrt-ops.h */
#include "ggml-qnnrt-ops.h"
#include "tools/qnnrt_quirks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

/* =====================================================================================
   TENSORS                                                                      >>tensors
   Shapes and types of ggml tensors, and copies of their elements.
   Knows nothing of: graphs, QNN's operators
   ===================================================================================== */

using dims = qg_graph::dims;
using refused = qg_graph::refused;

static dims dims_of(const ggml_tensor *t)
{
    return { (uint32_t)t->ne[3], (uint32_t)t->ne[2], (uint32_t)t->ne[1], (uint32_t)t->ne[0] };
}

static uint64_t count_of(const dims &d)
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

static size_t bytes_of(qnnrt_dtype dtype) { return dtype == QNNRT_DTYPE_F16 ? 2 : 4; }

static bool is_real(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F32 || dtype == QNNRT_DTYPE_F16;
}

/* Return whether elements of a type can be read as float32. */
static bool has_floats(ggml_type type)
{
    return type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float != nullptr;
}

static bool takes_floats(ggml_type type)
{
    return type == GGML_TYPE_F32 || ggml_get_type_traits(type)->from_float_ref != nullptr;
}

static bool is_empty(const ggml_tensor *t)
{
    return t->ne[0] == 0 || t->ne[1] == 0 || t->ne[2] == 0 || t->ne[3] == 0;
}

/* Return whether dims and strides fit the 32 bits of QNN. */
static bool fits(const ggml_tensor *t)
{
    uint64_t count = 1;
    for (int i = 0; i < 4; ++i) {
        if (t->ne[i] < 1 || t->ne[i] > INT32_MAX) return false;
        count *= (uint64_t)t->ne[i];             /* at most 2^62 before the check below */
        if (count > INT32_MAX) return false;
    }
    return true;
}

static float param_f32(const ggml_tensor *n, int i)
{
    float f;
    memcpy(&f, &n->op_params[i], sizeof(f));
    return f;
}

static int32_t param_i32(const ggml_tensor *n, int i) { return n->op_params[i]; }

/* Read `count` elements in a row, `stride` bytes apart. A quantized row has no stride. */
static void read_floats(ggml_type type, const char *from, size_t stride, float *to, int64_t count)
{
    const ggml_type_traits *traits = ggml_get_type_traits(type);
    if (stride == traits->type_size) {
        if (type == GGML_TYPE_F32) memcpy(to, from, (size_t)count * 4);
        else traits->to_float(from, to, count);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        if (type == GGML_TYPE_F32) memcpy(to + i, from + (size_t)i * stride, 4);
        else traits->to_float(from + (size_t)i * stride, to + i, 1);
    }
}

static const char *row_of(const ggml_tensor *t, int64_t i1, int64_t i2, int64_t i3)
{
    return (const char *)t->data + (size_t)i1 * t->nb[1] + (size_t)i2 * t->nb[2] +
           (size_t)i3 * t->nb[3];
}

/* Call `row(pointer, number)` for each row of a tensor, in the order of its elements. */
template <class F> static void each_row(const ggml_tensor *t, F row)
{
    int64_t number = 0;
    for (int64_t i3 = 0; i3 < t->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < t->ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < t->ne[1]; ++i1) row(row_of(t, i1, i2, i3), number++);
}

/* Write the elements of a tensor without gaps, as they are. */
static void gather_same(const ggml_tensor *t, void *to)
{
    const size_t unit = ggml_type_size(t->type);
    const size_t units = (size_t)(t->ne[0] / ggml_blck_size(t->type));
    if (ggml_is_contiguous(t)) {
        memcpy(to, t->data, ggml_nbytes(t));
        return;
    }
    each_row(t, [&](const char *from, int64_t number) {
        char *at = (char *)to + (size_t)number * units * unit;
        if (t->nb[0] == unit) memcpy(at, from, units * unit);
        else for (size_t i = 0; i < units; ++i) memcpy(at + i * unit, from + i * t->nb[0], unit);
    });
}

static void gather_floats(const ggml_tensor *t, float *to)
{
    each_row(t, [&](const char *from, int64_t number) {
        read_floats(t->type, from, t->nb[0], to + number * t->ne[0], t->ne[0]);
    });
}

/* Write a weight in the type of its static tensor: qnnrt_builder_finish() calls it. */
static qnnrt_result load_weight(void *user, void *data, size_t bytes, qnnrt_error *)
{
    qg_graph::weight_data *w = (qg_graph::weight_data *)user;
    const ggml_tensor *t = w->t;
    if (dtype_of(t->type) == w->dtype) {
        memcpy(data, t->data, bytes);
        return QNNRT_OK;
    }
    if (w->dtype == QNNRT_DTYPE_F32) {
        gather_floats(t, (float *)data);
        return QNNRT_OK;
    }
    const ggml_type_traits *traits = ggml_get_type_traits(t->type);
    const int64_t count = ggml_nelements(t), step = 4096;    /* whole blocks of every type */
    float part[4096], back[4096];
    for (int64_t i = 0; i < count; i += step) {
        const int64_t n = std::min(step, count - i);
        read_floats(t->type, (const char *)t->data + (size_t)(i / traits->blck_size) *
                    traits->type_size, traits->type_size, part, n);
        ggml_fp32_to_fp16_row(part, (ggml_fp16_t *)data + i, n);
        ggml_fp16_to_fp32_row((ggml_fp16_t *)data + i, back, n);
        for (int64_t k = 0; k < n; ++k) {
            const double value = part[k], change = (double)back[k] - value;
            if (std::isinf(back[k]) && std::isfinite(part[k])) w->beyond += 1;
            else if (std::isfinite(change)) w->error += change * change;
            if (std::isfinite(part[k])) w->norm += value * value;
        }
    }
    return QNNRT_OK;
}

/* =====================================================================================
   VIEWS                                                                          >>views
   How QNN cuts a view out of contiguous elements.
   Knows nothing of: graphs
   ===================================================================================== */

/* The elements are seen as `whole`, [begin, begin + size) is cut out, and `order` puts the axes in
   ggml's order. tail: elements at the end that `whole` leaves out. */
struct cut {
    dims     whole, begin, size, order;
    uint64_t total;
};

/* Find out how. The axes of the view are sorted by stride, and each is cut out of the room that the
   next larger stride leaves. Returns NULL, or why it is not possible. */
static const char *find_cut(const ggml_tensor *t, uint64_t total, cut *c)
{
    struct axis { uint64_t count, stride; int of; };
    const size_t element = ggml_type_size(t->type);
    std::vector<axis> axes;
    uint64_t at = t->view_offs / element;
    if (ggml_blck_size(t->type) != 1) return "a view of blocks";
    if (t->view_offs % element != 0) return "a view that begins within an element";
    for (int i = 0; i < 4; ++i) {
        if (t->ne[i] == 1) continue;
        if (t->nb[i] == 0 || t->nb[i] % element != 0) return "a view with such strides";
        axes.push_back({ (uint64_t)t->ne[i], t->nb[i] / element, i });
    }
    std::stable_sort(axes.begin(), axes.end(),
                     [](const axis &a, const axis &b) { return a.stride > b.stride; });
    if (axes.empty() || axes.back().stride != 1) axes.push_back({ 1, 1, -1 });
    c->total = total / axes[0].stride * axes[0].stride;
    for (size_t i = 0; i < axes.size(); ++i) {
        uint64_t room = i == 0 ? c->total : axes[i - 1].stride;
        const uint64_t first = at / axes[i].stride;
        if (room % axes[i].stride != 0) return "a view whose strides do not divide each other";
        at %= axes[i].stride;
        room /= axes[i].stride;
        if (first + axes[i].count > room) return "a view that goes beyond its row";
        c->whole.push_back((uint32_t)room);
        c->begin.push_back((uint32_t)first);
        c->size.push_back((uint32_t)axes[i].count);
    }
    for (int i = 3; i >= -1; --i)
        for (size_t k = 0; k < axes.size(); ++k)
            if (axes[k].of == i) c->order.push_back((uint32_t)k);
    return NULL;
}

/* Return whether the view is all of its base, in the same order. */
static bool is_all(const ggml_tensor *t)
{
    return t->view_offs == 0 && ggml_is_contiguous(t) &&
           ggml_nelements(t) == ggml_nelements(t->view_src) && t->type == t->view_src->type;
}

bool qg_is_view(const ggml_tensor *n)
{
    return n->op == GGML_OP_NONE || n->op == GGML_OP_VIEW || n->op == GGML_OP_RESHAPE ||
           n->op == GGML_OP_PERMUTE || n->op == GGML_OP_TRANSPOSE || is_empty(n);
}

/* Return whether the node writes into a part of another tensor, or in another order. */
static bool writes_part(const ggml_tensor *n)
{
    return n->view_src != nullptr && !qg_is_view(n) && !is_all(n);
}

bool qg_from_memory(const ggml_tensor *n, int src)
{
    const ggml_tensor *t = n->src[src];
    cut c;
    if (t == nullptr) return false;
    if ((n->op == GGML_OP_ROPE || n->op == GGML_OP_ROPE_BACK) && src > 0) return true;
    if (t->view_src == nullptr || !qg_is_view(t)) return false;
    return t->type != t->view_src->type || !ggml_is_contiguous(t->view_src) ||
           find_cut(t, (uint64_t)ggml_nelements(t->view_src), &c) != NULL;
}

/* =====================================================================================
   GRAPH                                                                          >>graph
   Tensors and operations of the graph that is described. Equal operations are made once.
   Needs: >>tensors >>views     Knows nothing of: single operators of ggml
   ===================================================================================== */

static qg_param number(const char *name, qnnrt_dtype dtype, double value)
{
    return { name, dtype, value, {}, {} };
}
static qg_param real_number(const char *name, double value)
{
    return number(name, QNNRT_DTYPE_F32, value);
}
static qg_param flag(const char *name) { return number(name, QNNRT_DTYPE_BOOL8, 1); }
static qg_param whole_number(const char *name, uint32_t value)
{
    return number(name, QNNRT_DTYPE_U32, value);
}
static qg_param list(const char *name, const dims &values)
{
    return { name, QNNRT_DTYPE_U32, 0, values, { (uint32_t)values.size() } };
}

/* Operators of which HTP has no float32 kernel, although it accepts them: x86-64, 2.47 to 2.51. */
static bool only_half_on_htp(const char *type)
{
    static const char *const types[] = { "Gather", "RmsNorm", "Gelu", "Elu" };
    for (const char *t : types) if (strcmp(t, type) == 0) return true;
    return false;
}

/* Return the library as qnnrt_quirk_find() names it. */
static const char *family_of(const qg_options &options)
{
    return options.backend == QG_HTP ? "Htp" : options.backend == QG_CPU ? "Cpu" : "Ref";
}

bool qg_graph::on(const char *family) const { return strcmp(family, family_of(options_)) == 0; }

bool qg_graph::is_static(const ggml_tensor *t) const
{
    return options_.statics && options_.weight != nullptr && options_.weight(t) != 0;
}

qg_value qg_graph::tensor_of(qnnrt_tensor_kind kind, qnnrt_dtype dtype, const dims &d,
                             const void *data, size_t bytes)
{
    qg_value v;
    if (count_of(d) > INT32_MAX) throw refused{ "a tensor of more than 2^31 elements" };
    v.t = (int)tensors_.size();
    v.dtype = dtype;
    v.dims = d;
    tensors_.push_back({ kind, dtype, d, data, bytes, nullptr, nullptr, -1, false });
    return v;
}

/* A static tensor with data of our own. Equal ones are made once. */
qg_value qg_graph::stored(const void *data, size_t bytes, qnnrt_dtype dtype, const dims &d)
{
    std::string key = "constant ";
    key.append((const char *)&dtype, sizeof(dtype));
    key.append((const char *)d.data(), d.size() * 4);
    key.append((const char *)data, bytes);
    auto found = same_.find(key);
    if (found != same_.end()) return found->second;
    constants_.emplace_back((const char *)data, (const char *)data + bytes);
    return same_[key] = tensor_of(QNNRT_TENSOR_STATIC, dtype, d, constants_.back().data(), bytes);
}

qg_value qg_graph::constant(const dims &d, const std::vector<float> &values)
{
    if (compute() == QNNRT_DTYPE_F32)
        return stored(values.data(), values.size() * 4, QNNRT_DTYPE_F32, d);
    std::vector<ggml_fp16_t> halves(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        halves[i] = ggml_fp32_to_fp16(std::min(65504.0f, std::max(-65504.0f, values[i])));
    return stored(halves.data(), halves.size() * 2, QNNRT_DTYPE_F16, d);
}

qg_value qg_graph::integers(const dims &d, const std::vector<int32_t> &values)
{
    return stored(values.data(), values.size() * 4, QNNRT_DTYPE_I32, d);
}

void qg_graph::describe(const tensor &t, qnnrt_tensor_desc *desc) const
{
    memset(desc, 0, sizeof(*desc));
    desc->kind = t.kind;
    desc->dtype = t.dtype;
    desc->rank = (uint32_t)t.d.size();
    for (size_t i = 0; i < t.d.size(); ++i) desc->dims[i] = t.d[i];
    desc->data = t.data;
    desc->bytes = t.bytes;
    desc->borrow = QNNRT_BORROW_FINISH;
    desc->blocks = t.blocks;
    if (t.weight != nullptr) {
        desc->load = load_weight;
        desc->load_user = t.weight;
        if (options_.content != nullptr) desc->identity = options_.content(t.weight->t);
    }
}

static std::vector<qnnrt_param_desc> describe_params(const qg_graph::params &p)
{
    std::vector<qnnrt_param_desc> descs(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
        memset(&descs[i], 0, sizeof(descs[i]));
        descs[i].name = p[i].name;
        descs[i].dtype = p[i].dtype;
        descs[i].value = p[i].value;
        if (p[i].dims.empty()) continue;
        descs[i].data = p[i].list.data();
        descs[i].rank = (uint32_t)p[i].dims.size();
        for (size_t k = 0; k < p[i].dims.size(); ++k) descs[i].dims[k] = p[i].dims[k];
    }
    return descs;
}

/* Return whether the list of wrong operators names this node for the library. */
bool qg_graph::known_wrong(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                           const dims &d, const params &p, std::string *why) const
{
    std::vector<qnnrt_tensor_desc> descs(in.size() + 1);
    std::vector<const qnnrt_tensor_desc *> sources;
    const std::vector<qnnrt_param_desc> ps = describe_params(p);
    for (size_t i = 0; i < in.size(); ++i) {
        describe(tensors_[(size_t)in[i].t], &descs[i]);
        sources.push_back(&descs[i]);
    }
    describe({ QNNRT_TENSOR_INNER, dtype, d, nullptr, 0, nullptr, nullptr, -1, false },
             &descs[in.size()]);
    const qnnrt_tensor_desc *out = &descs[in.size()];
    const qnnrt_quirk_node node = { type, sources.data(), sources.size(), &out, 1, ps.data(),
                                    ps.size() };
    const qnnrt_quirk *k = qnnrt_quirk_find(family_of(options_), options_.release.c_str(), &node);
    /* A beta of RmsNorm that is not added does no harm: ours are zeros. */
    if (k == nullptr || strcmp(k->name, "htp-beta") == 0) return false;
    if (why != nullptr) *why = std::string(type) + ": " + k->name + ": " + k->why;
    return true;
}

qg_value qg_graph::op(const char *type, const std::vector<qg_value> &in, const dims &d,
                      const params &p, qnnrt_dtype dtype)
{
    std::string key, why;
    if (dtype == QNNRT_DTYPE_UNDEFINED) dtype = in[0].dtype;
    if (dtype == QNNRT_DTYPE_F32 && on("Htp") && only_half_on_htp(type)) {
        std::vector<qg_value> halves;
        for (const qg_value &v : in)
            halves.push_back(is_real(v.dtype) ? cast(v, QNNRT_DTYPE_F16) : v);
        return cast(op(type, halves, d, p, QNNRT_DTYPE_F16), QNNRT_DTYPE_F32);
    }
    key = type;
    key.push_back('\0');
    key.append((const char *)&dtype, sizeof(dtype));
    for (uint32_t x : d) key.append((const char *)&x, 4);
    key.push_back('|');
    for (const qg_value &v : in) key.append((const char *)&v.t, sizeof(v.t));
    for (const qg_param &q : p) {
        key.append(q.name);
        key.push_back('\0');
        key.append((const char *)&q.value, sizeof(q.value));
        key.append((const char *)q.list.data(), q.list.size() * 4);
    }
    auto found = same_.find(key);
    if (found != same_.end()) return found->second;
    if (known_wrong(type, in, dtype, d, p, &why)) throw refused{ why };
    qg_value out = tensor_of(QNNRT_TENSOR_INNER, dtype, d);
    std::vector<int> from;
    for (const qg_value &v : in) from.push_back(v.t);
    operations_.push_back({ type, from, out.t, p, false });
    return same_[key] = out;
}

qg_value qg_graph::reshape(const qg_value &v, const dims &d)
{
    return v.dims == d ? v : op("Reshape", { v }, d);
}

qg_value qg_graph::cast(const qg_value &v, qnnrt_dtype dtype)
{
    return v.dtype == dtype ? v : op("Cast", { v }, v.dims, {}, dtype);
}

qg_value qg_graph::transpose(const qg_value &v, const dims &order)
{
    dims d, kept;
    for (uint32_t i : order) {
        d.push_back(v.dims[i]);
        if (v.dims[i] != 1) kept.push_back(i);
    }
    /* Axes of one element may move without moving data. */
    if (std::is_sorted(kept.begin(), kept.end())) return reshape(v, d);
    return op("Transpose", { v }, d, { list("perm", order) });
}

qg_value qg_graph::slice(const qg_value &v, const dims &begin, const dims &size, const dims &step)
{
    qg_param ranges = { "ranges", QNNRT_DTYPE_I32, 0, {}, { (uint32_t)size.size(), 3 } };
    if (v.dims == size) return v;
    for (size_t i = 0; i < size.size(); ++i) {
        const uint32_t by = step.empty() ? 1 : step[i];
        ranges.list.insert(ranges.list.end(), { begin[i], begin[i] + (size[i] - 1) * by + 1, by });
    }
    return op("StridedSlice", { v }, size, { ranges });
}

qg_value qg_graph::repeat(const qg_value &v, const dims &d)
{
    dims times;
    if (v.dims == d) return v;
    for (size_t i = 0; i < d.size(); ++i) {
        if (d[i] % v.dims[i] != 0) throw refused{ "a shape that is not a multiple" };
        times.push_back(d[i] / v.dims[i]);
    }
    return op("Tile", { v }, d, { list("multiples", times) });
}

qg_value qg_graph::concat(const std::vector<qg_value> &v, uint32_t axis)
{
    dims d = v[0].dims;
    for (size_t i = 1; i < v.size(); ++i) d[axis] += v[i].dims[axis];
    return v.size() == 1 ? v[0] : op("Concat", v, d, { whole_number("axis", axis) });
}

/* HTP takes minutes for thousands of rows of one element. Drop axes of one element from the end. */
static void drop_ones(dims *a, dims *b)
{
    for (size_t i = a->size(); i-- > 0 && a->back() == 1 && b->back() == 1;) {
        a->pop_back();
        b->pop_back();
        a->insert(a->begin(), 1);
        b->insert(b->begin(), 1);
    }
}

qg_value qg_graph::unary(const char *type, const qg_value &a, const params &p)
{
    dims d = a.dims, same = d;
    if (on("Htp")) drop_ones(&d, &same);
    return reshape(op(type, { reshape(a, d) }, d, p), a.dims);
}

/* Two operands, one of which may have 1 in place of a dimension. */
qg_value qg_graph::binary(const char *type, const qg_value &a, const qg_value &b)
{
    dims less_a = a.dims, less_b = b.dims;
    if (on("Htp") && less_a.size() == less_b.size() && less_a.back() == 1 && less_b.back() == 1 &&
        count_of(less_a) > 1) {
        drop_ones(&less_a, &less_b);
        const qg_value z = binary(type, reshape(a, less_a), reshape(b, less_b));
        dims full = a.dims;
        for (size_t i = 0; i < full.size(); ++i) full[i] = std::max(full[i], b.dims[i]);
        return reshape(z, full);
    }
    dims d = a.dims.size() >= b.dims.size() ? a.dims : b.dims;
    const dims &less = a.dims.size() >= b.dims.size() ? b.dims : a.dims;
    for (size_t i = 0; i < less.size(); ++i) {
        uint32_t &x = d[d.size() - less.size() + i];
        x = std::max(x, less[i]);
    }
    return op(type, { a, b }, d);
}

/* ---- from outside ---- */

qg_value qg_graph::input(const std::string &key, int src, qg_bind how, qnnrt_dtype dtype,
                         const dims &d)
{
    auto found = same_.find(key);
    if (found != same_.end()) return found->second;
    qg_value v = tensor_of(QNNRT_TENSOR_INPUT, dtype, d);
    inputs_.push_back({ index_, src, how, v.t, (size_t)count_of(d) * bytes_of(dtype) });
    return same_[key] = v;
}

static std::string pointer_key(const char *what, const void *p)
{
    return std::string(what).append((const char *)&p, sizeof(p));
}

/* A tensor that this graph does not compute. */
qg_value qg_graph::outside(const ggml_tensor *n, int src)
{
    const ggml_tensor *t = n->src[src];
    qnnrt_dtype dtype = dtype_of(t->type);
    if (!fits(t)) throw refused{ "a tensor of more than 2^31 elements" };
    if (dtype == QNNRT_DTYPE_UNDEFINED && !has_floats(t->type))
        throw refused{ std::string("a source of type ") + ggml_type_name(t->type) };
    if (ggml_is_contiguous(t) && is_static(t)) {
        const std::string key = pointer_key("weight ", t);
        auto found = same_.find(key);
        if (found != same_.end()) return found->second;
        qg_value v = tensor_of(QNNRT_TENSOR_STATIC, dtype == QNNRT_DTYPE_I32 ? dtype : compute(),
                               dims_of(t));
        weights_.push_back({ t, v.dtype, 0, 0, 0 });
        tensors_.back().weight = &weights_.back();
        return same_[key] = v;
    }
    const qg_bind how = dtype == QNNRT_DTYPE_UNDEFINED ? QG_TO_F32 :
                        ggml_is_contiguous(t) ? QG_DIRECT : QG_COPY;
    if (how == QG_TO_F32) dtype = QNNRT_DTYPE_F32;
    return input(pointer_key("input ", t), src, how, dtype, dims_of(t));
}

/* A view of what the graph computes. */
qg_value qg_graph::view(const qg_value &base, const ggml_tensor *t)
{
    const uint64_t total = count_of(base.dims);
    cut c;
    const char *why = find_cut(t, total, &c);
    qg_value v = base;
    if (why != NULL) throw refused{ why };
    if (c.total != total) v = slice(reshape(v, { (uint32_t)total }), { 0 }, { (uint32_t)c.total });
    if (c.whole == c.size) return reshape(transpose(reshape(v, c.whole), c.order), dims_of(t));
    v = slice(reshape(v, c.whole), c.begin, c.size);
    return reshape(transpose(v, c.order), dims_of(t));
}

qg_value qg_graph::get(const ggml_tensor *n, int src)
{
    const ggml_tensor *t = n->src[src];
    auto found = values_.find(t);
    if (found == values_.end() && t->view_src != nullptr && qg_is_view(t)) {
        found = values_.find(t->view_src);
        if (found != values_.end()) {
            if (t->type != t->view_src->type) throw refused{ "a view of another type" };
            return view(found->second, t);
        }
    }
    qg_value v = found != values_.end() ? reshape(found->second, dims_of(t)) : outside(n, src);
    return on("Cpu") && v.dtype == QNNRT_DTYPE_F16 ? cast(v, QNNRT_DTYPE_F32) : v;
}

qg_value qg_graph::real(const ggml_tensor *n, int src)
{
    qg_value v = get(n, src);
    if (!is_real(v.dtype))
        throw refused{ std::string("a source of type ") + ggml_type_name(n->src[src]->type) };
    return cast(v, compute());
}

qg_value qg_graph::angles(const ggml_tensor *n, bool sine)
{
    std::string key = pointer_key(sine ? "sin " : "cos ", n->src[1]);
    const uint32_t pairs = (uint32_t)param_i32(n, 1) / (param_i32(n, 2) == GGML_ROPE_TYPE_VISION ? 1
                                                                                               : 2);
    key.append((const char *)&n->src[2], sizeof(n->src[2]));
    key.append((const char *)&n->ne[2], sizeof(n->ne[2]));
    key.append((const char *)n->op_params, sizeof(n->op_params));
    key.push_back(n->op == GGML_OP_ROPE_BACK);
    return cast(input(key, 1, sine ? QG_ROPE_SIN : QG_ROPE_COS, QNNRT_DTYPE_F32,
                      { 1, (uint32_t)n->ne[2], 1, pairs }), compute());
}

/* Codes and scales as they are: 16 bytes with two codes each, after the scale. */
qg_value qg_graph::blocks(const ggml_tensor *n, int src)
{
    const ggml_tensor *t = n->src[src];
    const std::string key = pointer_key("blocks ", t);
    const size_t block = 32, bytes = 18;         /* values and bytes of one */
    const size_t count = (size_t)ggml_nelements(t);
    auto found = same_.find(key);
    if (found != same_.end()) return found->second;
    blocks_.emplace_back();
    block_data &to = blocks_.back();
    to.codes.resize(count);
    to.scales.assign(count / block, 1.0f);       /* a question needs no data */
    for (size_t i = 0; i < count / block && !ask_; ++i) {
        const uint8_t *p = (const uint8_t *)t->data + i * bytes;
        ggml_fp16_t scale;
        memcpy(&scale, p, sizeof(scale));
        to.scales[i] = ggml_fp16_to_fp32(scale);
        for (size_t k = 0; k < block / 2; ++k) {
            to.codes[i * block + k] = (int8_t)((p[2 + k] & 15) - 8);
            to.codes[i * block + block / 2 + k] = (int8_t)((p[2 + k] >> 4) - 8);
        }
    }
    to.b = {};
    to.b.form = QNNRT_BLOCK_PLAIN;
    to.b.axis = 0;
    to.b.block_axis = 1;
    to.b.block = (uint32_t)block;
    to.b.scales = to.scales.data();
    qg_value v = tensor_of(QNNRT_TENSOR_STATIC, QNNRT_DTYPE_S8Q,
                           { (uint32_t)t->ne[1], (uint32_t)t->ne[0] }, to.codes.data(), count);
    tensors_.back().blocks = &to.b;
    return same_[key] = v;
}

/* ---- into the builder ---- */

/* Let a value leave the graph, as an output of its own. */
void qg_graph::leave(const leaving &l)
{
    tensor &t = tensors_[(size_t)l.v.t];
    qg_value v = l.v;
    if (t.kind != QNNRT_TENSOR_INNER || t.dtype != l.want) {
        const char *type = v.dtype != l.want ? "Cast" : "Reshape";
        std::string why;
        if (known_wrong(type, { v }, l.want, v.dims, {}, &why)) throw refused{ why };
        v = tensor_of(QNNRT_TENSOR_OUTPUT, l.want, v.dims);
        operations_.push_back({ type, { l.v.t }, v.t, {}, false });
    } else t.kind = QNNRT_TENSOR_OUTPUT;
    outputs.push_back({ l.node, l.how, v.t, (size_t)count_of(v.dims) * bytes_of(l.want) });
}

void qg_graph::give(tensor &t)
{
    qnnrt_tensor_desc desc;
    describe(t, &desc);
    t.id = qnnrt_builder_tensor(builder_, &desc);
    if (t.id < 0) throw refused{ qnnrt_builder_error(builder_)->text };
}

void qg_graph::emit()
{
    for (const leaving &l : leaving_) leave(l);
    for (const qg_output &o : outputs) tensors_[(size_t)o.t].live = true;
    /* Operations are in an order in which none precedes what it reads. */
    for (size_t i = operations_.size(); i-- > 0;) {
        operation &o = operations_[i];
        o.live = tensors_[(size_t)o.out].live;
        for (int in : o.in) if (o.live) tensors_[(size_t)in].live = true;
    }
    for (tensor &t : tensors_)
        if (t.live && t.kind != QNNRT_TENSOR_OUTPUT) give(t);
    for (const qg_output &o : outputs) give(tensors_[(size_t)o.t]);      /* in this order */
    for (const operation &o : operations_) {
        std::vector<qnnrt_tensor> in;
        const std::vector<qnnrt_param_desc> ps = describe_params(o.p);
        qnnrt_node_desc node = {};
        qnnrt_error err;
        if (!o.live) continue;
        for (int i : o.in) in.push_back(tensors_[(size_t)i].id);
        node.type = o.type;
        node.inputs = in.data();
        node.input_count = in.size();
        node.outputs = &tensors_[(size_t)o.out].id;
        node.output_count = 1;
        node.params = ps.data();
        node.param_count = ps.size();
        qnn_nodes_ += 1;
        if (ask_) {
            if (qnnrt_builder_supports(builder_, &node, &err) != QNNRT_OK)
                throw refused{ err.text };
            continue;
        }
        qnnrt_builder_node(builder_, &node);
        if (qnnrt_builder_error(builder_)->code != QNNRT_OK)
            throw refused{ qnnrt_builder_error(builder_)->text };
    }
    for (qg_input in : inputs_)
        if (tensors_[(size_t)in.t].live) {
            in.t = tensors_[(size_t)in.t].id;
            inputs.push_back(in);
        }
    for (qg_output &o : outputs) o.t = tensors_[(size_t)o.t].id;
}

bool qg_graph::finish()
{
    if (!why_.empty()) return false;
    try {
        emit();
    } catch (const refused &r) {
        why_ = r.why.empty() ? "refused" : r.why;
    }
    return why_.empty();
}

/* =====================================================================================
   OPERATORS                                                                  >>operators
   One function per kind. `type` is the word of the table.
   Needs: >>graph
   ===================================================================================== */

using node = const ggml_tensor *;
static const char mul_type[] = "ElementWiseMultiply", sub_type[] = "ElementWiseSubtract",
                  div_type[] = "ElementWiseDivide";

static qg_value op_binary(qg_graph &g, node n, const char *type)
{
    const dims d = dims_of(n);
    qg_value a = g.real(n, 0), b = g.real(n, 1);
    bool broadcast = true;
    for (size_t i = 0; i < 4; ++i) broadcast = broadcast && (b.dims[i] == 1 || b.dims[i] == d[i]);
    return g.binary(type, a, broadcast ? b : g.repeat(b, d));
}

static qg_value op_same(qg_graph &g, node n, const char *type)
{
    return g.unary(type, g.real(n, 0));
}

static qg_value op_square(qg_graph &g, node n, const char *type)
{
    qg_value a = g.real(n, 0);
    return g.binary(type, a, a);
}

static qg_value op_scale(qg_graph &g, node n, const char *)
{
    const float by = param_f32(n, 0), plus = param_f32(n, 1);
    qg_value a = g.scaled(g.real(n, 0), by);
    return plus < 0 || plus > 0 ? g.add(a, g.scalar(plus)) : a;
}

static qg_value clamped(qg_graph &g, const qg_value &a, double least, double most)
{
    const double limit = a.dtype == QNNRT_DTYPE_F16 ? 65504.0 : std::numeric_limits<float>::max();
    return g.unary("ReluMinMax", a, { real_number("min_value", std::max(least, -limit)),
                                      real_number("max_value", std::min(most, limit)) });
}

static qg_value op_clamp(qg_graph &g, node n, const char *)
{
    return clamped(g, g.real(n, 0), param_f32(n, 0), param_f32(n, 1));
}

static qg_value reduced(qg_graph &g, const char *type, const qg_value &a)
{
    const uint32_t last = (uint32_t)a.dims.size() - 1;
    dims d = a.dims;
    d[last] = 1;
    return g.op(type, { a }, d, { list("axes", { last }), flag("keep_dims") });
}

static qg_value op_reduce(qg_graph &g, node n, const char *type)
{
    return reduced(g, type, g.real(n, 0));
}

static qg_value op_sum(qg_graph &g, node n, const char *type)
{
    if (n->src[0]->nb[0] != ggml_type_size(n->src[0]->type))
        throw refused{ "rows with gaps, which ggml does not define" };
    qg_value a = g.real(n, 0);
    a = reduced(g, type, a);                     /* rows first: smaller errors */
    return reduced(g, type, g.reshape(a, { 1, 1, 1, (uint32_t)count_of(a.dims) }));
}

static qg_value op_argmax(qg_graph &g, node n, const char *type)
{
    qg_value a = g.get(n, 0);                    /* as it is: float16 has more equal values */
    if (g.on("Htp") && a.dims[3] > 2048)         /* measured: wrong for 5438 */
        throw refused{ "Argmax of more than 2048 columns is wrong on HTP" };
    /* Without keep_dims, libQnnCpu.so (2.47) reads memory that it never wrote. */
    return g.op(type, { a }, { a.dims[0], a.dims[1], a.dims[2] },
                { whole_number("axis", 3), number("keep_dims", QNNRT_DTYPE_BOOL8, 0) },
                QNNRT_DTYPE_I32);
}

/* 1 / sqrt(mean(x * x) + epsilon) */
static qg_value root_of_squares(qg_graph &g, const qg_value &x, double epsilon)
{
    qg_value mean = reduced(g, "ReduceMean", g.mul(x, x));
    return g.unary("ElementWiseRsqrt", g.add(mean, g.scalar(epsilon)));
}

static qg_value op_rms_norm(qg_graph &g, node n, const char *type)
{
    qg_value x = g.real(n, 0);
    const uint32_t columns = x.dims[3], count = (uint32_t)(count_of(x.dims) / columns);
    qg_value flat = g.reshape(x, { 1, count, columns });
    const std::vector<qg_value> in = { flat, g.constant({ columns },
                                                        std::vector<float>(columns, 1.0f)),
                                       g.constant({ columns }, std::vector<float>(columns, 0.0f)) };
    const qg_graph::params p = { list("axes", { 2 }), real_number("epsilon", param_f32(n, 0)) };
    /* In float32 HTP has no RmsNorm, and in float16 squares over 65504 overflow outside of it. */
    if ((g.on("Htp") && x.dtype == QNNRT_DTYPE_F32) ||
        g.known_wrong(type, in, x.dtype, flat.dims, p, nullptr))
        return g.mul(x, root_of_squares(g, x, param_f32(n, 0)));
    return g.reshape(g.op(type, in, flat.dims, p), x.dims);
}

static qg_value normal(qg_graph &g, const qg_value &x, double epsilon)
{
    qg_value d = g.binary(sub_type, x, reduced(g, "ReduceMean", x));
    return g.mul(d, root_of_squares(g, d, epsilon));
}

static qg_value op_norm(qg_graph &g, node n, const char *)
{
    return normal(g, g.real(n, 0), param_f32(n, 0));
}

static qg_value op_group_norm(qg_graph &g, node n, const char *)
{
    qg_value x = g.real(n, 0);
    const uint32_t groups = (uint32_t)param_i32(n, 0), channels = x.dims[1];
    if (groups == 0 || channels % groups != 0) throw refused{ "groups that differ in size" };
    qg_value flat = g.reshape(x, { 1, x.dims[0], groups,
                                   channels / groups * x.dims[2] * x.dims[3] });
    return g.reshape(normal(g, flat, param_f32(n, 1)), x.dims);
}

static qg_value op_l2_norm(qg_graph &g, node n, const char *)
{
    qg_value x = g.real(n, 0);
    qg_value length = g.unary("ElementWiseSquareRoot", reduced(g, "ReduceSum", g.mul(x, x)));
    return g.binary(div_type, x, g.binary("ElementWiseMaximum", length, g.scalar(param_f32(n, 0))));
}

/* ---- activations ---- */

static qg_value sigmoid(qg_graph &g, const qg_value &x) { return g.unary("Sigmoid", x); }

static qg_value silu(qg_graph &g, const qg_value &x) { return g.mul(x, sigmoid(g, x)); }

/* 0.5 x (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x x))) */
static qg_value gelu(qg_graph &g, const qg_value &x)
{
    qg_value cube = g.add(g.scaled(g.mul(x, x), 0.044715), g.scalar(1));
    qg_value t = g.unary("Tanh", g.mul(g.scaled(x, 0.79788456080286535588), cube));
    return g.mul(g.scaled(x, 0.5), g.add(t, g.scalar(1)));
}

static qg_value gelu_erf(qg_graph &g, const qg_value &x) { return g.unary("Gelu", x); }

static qg_value gelu_quick(qg_graph &g, const qg_value &x)
{
    return g.mul(x, sigmoid(g, g.scaled(x, 1.702)));
}

static qg_value relu(qg_graph &g, const qg_value &x) { return g.unary("Relu", x); }

static qg_value elu(qg_graph &g, const qg_value &x)
{
    return g.unary("Elu", x, { real_number("alpha", 1) });
}

static qg_value hard_sigmoid(qg_graph &g, const qg_value &x)
{
    return clamped(g, g.add(g.scaled(x, 1.0 / 6), g.scalar(0.5)), 0, 1);
}

static qg_value hard_swish(qg_graph &g, const qg_value &x) { return g.mul(x, hard_sigmoid(g, x)); }

static qg_value step(qg_graph &g, const qg_value &x)
{
    return g.unary("ElementWiseSign", relu(g, x));
}

/* In FLOAT_16 HTP has -inf for exp(-90), and -0 for exp(90). What is rounded to 0 and to infinity
   begins at -18 and 12. */
static qg_value exponential(qg_graph &g, const qg_value &x)
{
    return g.unary("ElementWiseExp", g.options().half ? clamped(g, x, -18, 12) : x);
}

static qg_value exp_minus_1(qg_graph &g, const qg_value &x)
{
    return g.binary(sub_type, exponential(g, x), g.scalar(1));
}

/* max(x, 0) + log(1 + exp(-|x|)) */
static qg_value softplus(qg_graph &g, const qg_value &x)
{
    qg_value less = exponential(g, g.scaled(g.unary("ElementWiseAbs", x), -1));
    return g.add(relu(g, x), g.unary("ElementWiseLog", g.add(less, g.scalar(1))));
}

/* Half away from zero. */
static qg_value rounded(qg_graph &g, const qg_value &x)
{
    qg_value size = g.add(g.unary("ElementWiseAbs", x), g.scalar(0.5));
    return g.mul(g.unary("ElementWiseSign", x), g.unary("ElementWiseFloor", size));
}

static qg_value truncated(qg_graph &g, const qg_value &x)
{
    return g.mul(g.unary("ElementWiseSign", x),
                 g.unary("ElementWiseFloor", g.unary("ElementWiseAbs", x)));
}

struct activation {
    const char *name;
    qg_value  (*make)(qg_graph &g, const qg_value &x);
};
static const activation activations[] = {
    { "silu", silu }, { "gelu", gelu }, { "gelu_erf", gelu_erf }, { "gelu_quick", gelu_quick },
    { "relu", relu }, { "elu", elu }, { "hardsigmoid", hard_sigmoid }, { "hardswish", hard_swish },
    { "step", step }, { "exp", exponential }, { "expm1", exp_minus_1 }, { "softplus", softplus },
    { "round", rounded }, { "trunc", truncated }
};

static qg_value activate(qg_graph &g, const char *name, const qg_value &x)
{
    for (const activation &a : activations) if (strcmp(a.name, name) == 0) return a.make(g, x);
    throw refused{ "an activation that is not in the table" };
}

static qg_value op_activation(qg_graph &g, node n, const char *type)
{
    return activate(g, type, g.real(n, 0));
}

/* x > 0: a x x + b x, else: c (exp(min(x, e)) - 1 - x) + b x */
static qg_value op_xielu(qg_graph &g, node n, const char *)
{
    const float c = param_f32(n, 1), a = param_f32(n, 2), b = param_f32(n, 3), e = param_f32(n, 4);
    qg_value x = g.real(n, 0), up = relu(g, x);
    qg_value low = g.binary("ElementWiseMinimum", x, g.scalar(0));
    /* Above 0 its term is that of 0, minus itself. */
    qg_value zero = g.scalar(expm1f(std::min(0.0f, e)));
    qg_value less = exp_minus_1(g, g.binary("ElementWiseMinimum", low, g.scalar(e)));
    less = g.binary(sub_type, less, g.mul(zero, step(g, x)));
    less = g.scaled(g.binary(sub_type, less, low), c);
    return g.add(g.add(g.scaled(g.mul(up, up), a), less), g.scaled(x, b));
}

static qg_value op_leaky_relu(qg_graph &g, node n, const char *)
{
    qg_value x = g.real(n, 0);
    return g.binary(sub_type, relu(g, x), g.scaled(relu(g, g.scaled(x, -1)), param_f32(n, 0)));
}

/* act(a) * b, where both may be halves of one row. */
static qg_value op_glu(qg_graph &g, node n, const char *type)
{
    const bool swapped = param_i32(n, 1) != 0;
    const dims d = dims_of(n);
    qg_value a = g.real(n, 0), b;
    if (n->src[1] != nullptr) b = g.real(n, 1);
    else {
        const qg_value first = g.slice(a, { 0, 0, 0, 0 }, d), second = g.slice(a, { 0, 0, 0, d[3] },
                                                                              d);
        a = swapped ? second : first;
        b = swapped ? first : second;
    }
    if (strncmp(type, "swiglu_", 7) == 0) {
        const float alpha = param_f32(n, 2), limit = param_f32(n, 3);
        const bool oai = strcmp(type, "swiglu_oai") == 0;
        a = g.binary("ElementWiseMinimum", a, g.scalar(limit));
        b = clamped(g, b, -limit, limit);
        if (oai) b = g.add(b, g.scalar(1));
        return g.mul(g.mul(a, sigmoid(g, oai ? g.scaled(a, alpha) : a)), b);
    }
    return g.mul(activate(g, type, a), b);
}

/* ---- attention ---- */

/* Factors of ALiBi's bias, one per head. */
static qg_value slopes(qg_graph &g, uint32_t heads, float most)
{
    const uint32_t low = 1u << (uint32_t)floor(log2((double)heads));
    const float even = powf(2.0f, -most / (float)low), odd = powf(2.0f, -most / 2 / (float)low);
    std::vector<float> values;
    for (uint32_t h = 0; h < heads; ++h)
        values.push_back(h < low ? powf(even, (float)(h + 1))
                                 : powf(odd, (float)(2 * (h - low) + 1)));
    return g.constant({ 1, heads, 1, 1 }, values);
}

/* Add the mask of source `src` to scores [batch, heads, rows, columns], and take the softmax, with
   one more score per head if there are sinks. */
static qg_value softmax(qg_graph &g, node n, qg_value s, int mask, int sinks, float alibi)
{
    const dims d = s.dims;
    if (n->src[mask] != nullptr) {
        qg_value m = g.real(n, mask);
        if (m.dims[2] > d[2])                    /* rows that pad it */
            m = g.slice(m, { 0, 0, 0, 0 }, { m.dims[0], m.dims[1], d[2], m.dims[3] });
        /* HTP makes NaN of infinite scores. */
        if (!g.on("Ref")) m = clamped(g, m, -60000, 60000);
        dims full = m.dims;
        for (size_t i = 0; i < 4; ++i) if (full[i] != 1) full[i] = d[i];
        m = g.repeat(m, full);
        if (alibi > 0) m = g.mul(m, slopes(g, d[1], alibi));
        s = g.add(s, m);
    }
    if (n->src[sinks] == nullptr)
        return g.op("Softmax", { s }, d, { whole_number("axis", 3) });
    qg_value k = g.repeat(g.reshape(g.real(n, sinks), { 1, d[1], 1, 1 }), { d[0], d[1], d[2], 1 });
    s = g.concat({ s, k }, 3);
    return g.slice(g.op("Softmax", { s }, s.dims, { whole_number("axis", 3) }), { 0, 0, 0, 0 }, d);
}

static qg_value op_soft_max(qg_graph &g, node n, const char *)
{
    const float scale = param_f32(n, 0);
    qg_value s = g.real(n, 0);
    if (scale < 1 || scale > 1) s = g.scaled(s, scale);
    return softmax(g, n, s, 1, 2, param_f32(n, 1));
}

/* Multiply x [x0, x1, rows, sum] with w [w0, w1, columns, sum], whose batches divide those of x:
   [x0, x1, rows, columns]. The rows of batches that share a matrix are put together. */
static qg_value matmul(qg_graph &g, const qg_value &x, const qg_value &w, bool transposed)
{
    const dims &a = x.dims, &b = w.dims;
    const uint32_t columns = b[transposed ? 2 : 3], sum = a[3];
    const uint32_t r0 = a[0] / b[0], r1 = a[1] / b[1];
    const qg_graph::params p = transposed ? qg_graph::params{ flag("transpose_in1") }
                                          : qg_graph::params{};
    if (b[0] == 1 && b[1] == 1) {
        qg_value all = g.reshape(x, { 1, 1, a[0] * a[1] * a[2], sum });
        qg_value y = g.op("MatMul", { all, w }, { 1, 1, all.dims[2], columns }, p);
        return g.reshape(y, { a[0], a[1], a[2], columns });
    }
    qg_value v = x;
    /* [b0, r0, b1, rest]: batches that share a matrix go beside each other. */
    if (r0 > 1 && b[1] > 1)
        v = g.transpose(g.reshape(v, { b[0], r0, b[1], r1 * a[2] * sum }), { 0, 2, 1, 3 });
    v = g.reshape(v, { b[0], b[1], r0 * r1 * a[2], sum });
    v = g.op("MatMul", { v, w }, { b[0], b[1], v.dims[2], columns }, p);
    if (r0 > 1 && b[1] > 1)
        v = g.transpose(g.reshape(v, { b[0], b[1], r0, r1 * a[2] * columns }), { 0, 2, 1, 3 });
    return g.reshape(v, { a[0], a[1], a[2], columns });
}

static qg_value op_mul_mat(qg_graph &g, node n, const char *)
{
    const ggml_tensor *w = n->src[0];
    qg_value x = g.real(n, 1);
    if (g.options().blocks && g.options().half && w->type == GGML_TYPE_Q4_0 && g.is_static(w) &&
        w->ne[2] == 1 && w->ne[3] == 1 && ggml_is_contiguous(w)) {
        qg_value y = g.reshape(x, { (uint32_t)ggml_nrows(n), x.dims[3] });
        y = g.op("FullyConnected", { y, g.blocks(n, 0) }, { y.dims[0], (uint32_t)w->ne[1] });
        return g.reshape(y, dims_of(n));
    }
    return matmul(g, x, g.real(n, 0), true);
}

/* out[i, j] = sum over k of a[i, k] b[j, k], with sources [k, i] and [k, j] in QNN's order */
static qg_value op_out_prod(qg_graph &g, node n, const char *)
{
    qg_value b = g.transpose(g.real(n, 1), { 0, 1, 3, 2 });
    return matmul(g, b, g.real(n, 0), false);
}

static qg_value op_flash_attn(qg_graph &g, node n, const char *)
{
    const float cap = param_f32(n, 2);
    qg_value q = g.real(n, 0), k = g.real(n, 1), v = g.real(n, 2);
    /* The scale first: products of half precision stay small. */
    qg_value s = matmul(g, g.scaled(q, param_f32(n, 0) / (cap > 0 ? cap : 1)), k, true);
    if (cap > 0) s = g.scaled(g.unary("Tanh", s), cap);
    s = matmul(g, softmax(g, n, s, 3, 4, param_f32(n, 1)), v, false);
    return g.transpose(s, { 0, 2, 1, 3 });
}

/* ---- positions ---- */

enum { interleaved_mrope = 40 };                 /* GGML_ROPE_TYPE_IMROPE of newer versions */

static qg_value op_rope(qg_graph &g, node n, const char *)
{
    const int turned = param_i32(n, 1), mode = param_i32(n, 2), offset = param_i32(n, 15);
    const bool vision = mode == GGML_ROPE_TYPE_VISION, pairs = mode == GGML_ROPE_TYPE_NORMAL;
    const uint32_t width = (uint32_t)(vision ? 2 * turned : turned), half = width / 2;
    const dims d = dims_of(n);
    if (!pairs && !vision && mode != GGML_ROPE_TYPE_NEOX && mode != GGML_ROPE_TYPE_MROPE &&
        mode != interleaved_mrope) throw refused{ "this mode of ROPE" };
    if (turned < 2 || turned % 2 != 0 || offset < 0 || (uint32_t)offset + width > d[3] ||
        (n->src[2] != nullptr && n->src[2]->type != GGML_TYPE_F32) ||
        n->src[1]->type != GGML_TYPE_I32) throw refused{ "these parameters of ROPE" };
    for (int i = 11; i < 15; ++i)                /* sections of M-RoPE */
        if (param_i32(n, i) < 0 || param_i32(n, i) > 1 << 24) throw refused{ "sections of ROPE" };
    const uint32_t first = (uint32_t)offset, end = first + width;
    const qg_value x = g.real(n, 0), c = g.angles(n, false), s = g.angles(n, true);
    const dims size = { d[0], d[1], d[2], half };
    qg_value a, b;
    if (pairs) {
        a = g.slice(x, { 0, 0, 0, first }, size, { 1, 1, 1, 2 });
        b = g.slice(x, { 0, 0, 0, first + 1 }, size, { 1, 1, 1, 2 });
    } else {
        a = g.slice(x, { 0, 0, 0, first }, size);
        b = g.slice(x, { 0, 0, 0, first + half }, size);
    }
    qg_value left = g.binary(sub_type, g.mul(a, c), g.mul(b, s));
    qg_value right = g.add(g.mul(a, s), g.mul(b, c));
    if (pairs) {                                 /* one after the other */
        const dims alone = { d[0], d[1], d[2] * half, 1 };
        left = g.concat({ g.reshape(left, alone), g.reshape(right, alone) }, 3);
        left = g.reshape(left, { d[0], d[1], d[2], width });
    }
    std::vector<qg_value> parts;
    if (first > 0) parts.push_back(g.slice(x, { 0, 0, 0, 0 }, { d[0], d[1], d[2], first }));
    parts.push_back(left);
    if (!pairs) parts.push_back(right);
    if (end < d[3]) parts.push_back(g.slice(x, { 0, 0, 0, end }, { d[0], d[1], d[2], d[3] - end }));
    return g.concat(parts, 3);
}

/* ---- moving ---- */

static qg_value op_copy(qg_graph &g, node n, const char *)
{
    return g.reshape(g.get(n, 0), dims_of(n));
}

static qg_value op_repeat(qg_graph &g, node n, const char *)
{
    return g.repeat(g.get(n, 0), dims_of(n));
}

static qg_value op_concat(qg_graph &g, node n, const char *)
{
    qg_value a = g.get(n, 0), b = g.get(n, 1);
    if (a.dtype != b.dtype) {                    /* f16 of ggml that is computed in float32 */
        a = g.cast(a, g.compute());
        b = g.cast(b, g.compute());
    }
    return g.concat({ a, b }, 3 - (uint32_t)param_i32(n, 0));
}

static qg_value gathered(qg_graph &g, const qg_value &table, const qg_value &index)
{
    dims d = { index.dims[0] };
    d.insert(d.end(), table.dims.begin() + 1, table.dims.end());
    return g.op("Gather", { table, index }, d, { number("axis", QNNRT_DTYPE_I32, 0) });
}

/* Rows of several tables become rows of one: the first row of each is added to its indices. */
static qg_value op_get_rows(qg_graph &g, node n, const char *)
{
    qg_value table = g.get(n, 0), index = g.get(n, 1);
    const dims &t = table.dims;
    const uint32_t tables = t[0] * t[1], count = (uint32_t)n->ne[1];
    if (index.dtype != QNNRT_DTYPE_I32) throw refused{ "indices that are not i32" };
    index = g.reshape(index, { tables, count });
    if (tables > 1) {
        std::vector<int32_t> first;
        for (uint32_t i = 0; i < tables; ++i) first.push_back((int32_t)(i * t[2]));
        index = g.add(index, g.integers({ tables, 1 }, first));
    }
    index = g.reshape(index, { tables * count });
    return gathered(g, g.reshape(table, { tables * t[2], t[3] }), index);
}

/* ---- pictures ---- */

static qg_param windows(const char *name, uint32_t a, uint32_t b) { return list(name, { a, b }); }

static qg_param pads(uint32_t top, uint32_t bottom, uint32_t left, uint32_t right)
{
    return { "pad_amount", QNNRT_DTYPE_U32, 0, { top, bottom, left, right }, { 2, 2 } };
}

static qg_value op_pool_2d(qg_graph &g, node n, const char *)
{
    const bool most = param_i32(n, 0) == GGML_OP_POOL_MAX;
    const uint32_t kw = (uint32_t)param_i32(n, 1), kh = (uint32_t)param_i32(n, 2);
    const uint32_t sw = (uint32_t)param_i32(n, 3), sh = (uint32_t)param_i32(n, 4);
    const uint32_t pw = (uint32_t)param_i32(n, 5), ph = (uint32_t)param_i32(n, 6);
    const dims d = dims_of(n);
    qg_value x = g.transpose(g.real(n, 0), { 0, 2, 3, 1 });
    /* Pads at the end only as far as windows reach. */
    const uint32_t bottom = (d[2] - 1) * sh + kh, right = (d[3] - 1) * sw + kw;
    qg_graph::params p = { windows("filter_size", kh, kw), windows("stride", sh, sw),
                           pads(ph, bottom > ph + x.dims[1] ? bottom - ph - x.dims[1] : 0, pw,
                                right > pw + x.dims[2] ? right - pw - x.dims[2] : 0) };
    if (!most) p.push_back(flag("count_pad_for_edges"));
    /* Averages are wrong where windows lie in pads alone, and some nodes end the process. */
    if (g.on("Htp") && (pw > 0 || ph > 0 || bottom > x.dims[1] || right > x.dims[2]))
        throw refused{ "pads of POOL_2D are wrong on HTP, or end the process" };
    x = g.op(most ? "PoolMax2d" : "PoolAvg2d", { x }, { d[0], d[2], d[3], d[1] }, p);
    return g.transpose(x, { 0, 3, 1, 2 });
}

static qg_value op_conv_2d(qg_graph &g, node n, const char *)
{
    const uint32_t sw = (uint32_t)param_i32(n, 0), sh = (uint32_t)param_i32(n, 1);
    const uint32_t pw = (uint32_t)param_i32(n, 2), ph = (uint32_t)param_i32(n, 3);
    const uint32_t dw = (uint32_t)param_i32(n, 4), dh = (uint32_t)param_i32(n, 5);
    const dims d = dims_of(n);
    qg_value w = g.transpose(g.real(n, 0), { 2, 3, 1, 0 });
    qg_value x = g.transpose(g.real(n, 1), { 0, 2, 3, 1 });
    x = g.op("Conv2d", { x, w }, { d[0], d[2], d[3], d[1] },
             { windows("stride", sh, sw), pads(ph, ph, pw, pw), windows("dilation", dh, dw) });
    return g.transpose(x, { 0, 3, 1, 2 });
}

/* Each place of the kernel cuts its pixels out of the padded picture; the cuts are put together and
   turned: [pictures, pixels, channels * places]. */
static qg_value op_im2col(qg_graph &g, node n, const char *)
{
    const ggml_tensor *kernel = n->src[0];
    const bool flat = param_i32(n, 6) == 0;      /* no rows: [width, channels, pictures] */
    const uint32_t sw = (uint32_t)param_i32(n, 0), sh = flat ? 1 : (uint32_t)param_i32(n, 1);
    const uint32_t pw = (uint32_t)param_i32(n, 2), ph = (uint32_t)param_i32(n, 3);
    const uint32_t dw = (uint32_t)param_i32(n, 4), dh = flat ? 1 : (uint32_t)param_i32(n, 5);
    const uint32_t kw = (uint32_t)kernel->ne[0], kh = flat ? 1 : (uint32_t)kernel->ne[1];
    const uint32_t ow = (uint32_t)n->ne[1], oh = flat ? 1 : (uint32_t)n->ne[2];
    qg_value x = g.real(n, 1);
    if (flat) x = g.reshape(x, { x.dims[1], x.dims[2], 1, x.dims[3] });
    if (kw > 64 || kh > 64 || kw * kh > 64) throw refused{ "a kernel of more than 64 places" };
    if (pw > 0 || ph > 0)
        x = g.op("Pad", { x }, { x.dims[0], x.dims[1], x.dims[2] + 2 * ph, x.dims[3] + 2 * pw },
                 { { "pad_amount", QNNRT_DTYPE_U32, 0, { 0, 0, 0, 0, ph, ph, pw, pw }, { 4, 2 } },
                   whole_number("scheme", 0) });
    const uint32_t planes = x.dims[0] * x.dims[1];
    std::vector<qg_value> cuts;
    for (uint32_t y = 0; y < kh; ++y)
        for (uint32_t k = 0; k < kw; ++k) {
            qg_value v = g.slice(x, { 0, 0, y * dh, k * dw }, { x.dims[0], x.dims[1], oh, ow },
                                 { 1, 1, sh, sw });
            cuts.push_back(g.reshape(v, { planes, 1, oh * ow }));
        }
    qg_value all = g.reshape(g.concat(cuts, 1), { x.dims[0], x.dims[1] * kh * kw, oh * ow });
    return g.transpose(all, { 0, 2, 1 });
}

/* ---- the table ---- */

enum { REAL = 1, INTEGER = 2, ANY = 3 };         /* types of the result */

/* A row for each name that ggml_op_desc() returns: names of UNARY and GLU operators are theirs.
   By name, so that versions of ggml that lack some of them compile. */
struct qg_row {
    const char *name;
    int         types;
    qg_value  (*make)(qg_graph &g, node n, const char *type);
    const char *type;                            /* QNN's, or a name of >>activations */
};

static const qg_row rows[] = {
    { "ADD",            REAL, op_binary, "ElementWiseAdd" },
    { "ADD1",           REAL, op_binary, "ElementWiseAdd" },
    { "SUB",            REAL, op_binary, sub_type },
    { "MUL",            REAL, op_binary, mul_type },
    { "DIV",            REAL, op_binary, div_type },
    { "SCALE",          REAL, op_scale, "" },
    { "SQR",            REAL, op_square, mul_type },
    { "SQRT",           REAL, op_same, "ElementWiseSquareRoot" },
    { "LOG",            REAL, op_same, "ElementWiseLog" },
    { "SIN",            REAL, op_same, "ElementWiseSin" },
    { "COS",            REAL, op_same, "ElementWiseCos" },
    { "CLAMP",          REAL, op_clamp, "" },
    { "LEAKY_RELU",     REAL, op_leaky_relu, "" },
    { "RMS_NORM",       REAL, op_rms_norm, "RmsNorm" },
    { "NORM",           REAL, op_norm, "" },
    { "GROUP_NORM",     REAL, op_group_norm, "" },
    { "L2_NORM",        REAL, op_l2_norm, "" },
    { "SUM",            REAL, op_sum, "ReduceSum" },
    { "SUM_ROWS",       REAL, op_reduce, "ReduceSum" },
    { "MEAN",           REAL, op_reduce, "ReduceMean" },
    { "ARGMAX",         INTEGER, op_argmax, "Argmax" },
    { "SOFT_MAX",       REAL, op_soft_max, "" },
    { "MUL_MAT",        REAL, op_mul_mat, "" },
    { "OUT_PROD",       REAL, op_out_prod, "" },
    { "FLASH_ATTN_EXT", REAL, op_flash_attn, "" },
    { "ROPE",           REAL, op_rope, "" },
    { "ROPE_BACK",      REAL, op_rope, "" },
    { "CONT",           ANY,  op_copy, "" },
    { "DUP",            ANY,  op_copy, "" },
    { "CPY",            ANY,  op_copy, "" },
    { "REPEAT",         ANY,  op_repeat, "" },
    { "CONCAT",         ANY,  op_concat, "" },
    { "GET_ROWS",       ANY,  op_get_rows, "" },
    { "POOL_2D",        REAL, op_pool_2d, "" },
    { "CONV_2D",        REAL, op_conv_2d, "" },
    { "IM2COL",         REAL, op_im2col, "" },

    { "ABS",            REAL, op_same, "ElementWiseAbs" },
    { "SGN",            REAL, op_same, "ElementWiseSign" },
    { "NEG",            REAL, op_same, "ElementWiseNeg" },
    { "EXP",            REAL, op_activation, "exp" },
    { "FLOOR",          REAL, op_same, "ElementWiseFloor" },
    { "CEIL",           REAL, op_same, "ElementWiseCeil" },
    { "TANH",           REAL, op_same, "Tanh" },
    { "SIGMOID",        REAL, op_same, "Sigmoid" },
    { "RELU",           REAL, op_activation, "relu" },
    { "ELU",            REAL, op_activation, "elu" },
    { "SILU",           REAL, op_activation, "silu" },
    { "GELU",           REAL, op_activation, "gelu" },
    { "GELU_ERF",       REAL, op_activation, "gelu_erf" },
    { "GELU_QUICK",     REAL, op_activation, "gelu_quick" },
    { "HARDSWISH",      REAL, op_activation, "hardswish" },
    { "HARDSIGMOID",    REAL, op_activation, "hardsigmoid" },
    { "STEP",           REAL, op_activation, "step" },
    { "EXPM1",          REAL, op_activation, "expm1" },
    { "SOFTPLUS",       REAL, op_activation, "softplus" },
    { "ROUND",          REAL, op_activation, "round" },
    { "TRUNC",          REAL, op_activation, "trunc" },
    { "XIELU",          REAL, op_xielu, "" },

    { "REGLU",          REAL, op_glu, "relu" },
    { "GEGLU",          REAL, op_glu, "gelu" },
    { "GEGLU_ERF",      REAL, op_glu, "gelu_erf" },
    { "GEGLU_QUICK",    REAL, op_glu, "gelu_quick" },
    { "SWIGLU",         REAL, op_glu, "silu" },
    { "SWIGLU_OAI",     REAL, op_glu, "swiglu_oai" },
    { "SWIGLU_CLAMP",   REAL, op_glu, "swiglu_clamp" }
};

static const qg_row *find_row(node n)
{
    const char *name = ggml_op_desc(n);
    for (const qg_row &row : rows) if (strcmp(row.name, name) == 0) return &row;
    return nullptr;
}

bool qg_graph::node(const ggml_tensor *n, int index, bool leaves)
{
    const qg_row *row = find_row(n);
    const bool converts = n->type == GGML_TYPE_BF16;         /* QNN has no such type */
    const qnnrt_dtype want = converts ? QNNRT_DTYPE_F32 : dtype_of(n->type);
    if (!why_.empty()) return false;
    index_ = index;
    try {
        if (row == nullptr) throw refused{ "this operator is not in the table" };
        if (want == QNNRT_DTYPE_UNDEFINED ||
            (row->types & (want == QNNRT_DTYPE_I32 ? INTEGER : REAL)) == 0)
            throw refused{ std::string("a result of type ") + ggml_type_name(n->type) };
        if (!fits(n) || !ggml_is_contiguous(n))
            throw refused{ "a result that is not contiguous, or has 2^31 elements or more" };
        qg_value v = row->make(*this, n, row->type);
        if (is_real(v.dtype) != is_real(want)) v = cast(v, want);
        values_[n] = v;
        if (n->view_src != nullptr) values_[n->view_src] = v;     /* computed in place */
        if (leaves) leaving_.push_back({ index, v, want, converts ? QG_TO_F32 : QG_DIRECT });
    } catch (const refused &r) {
        why_ = r.why.empty() ? "refused" : r.why;
    }
    return why_.empty();
}

/* =====================================================================================
   HOST                                                                            >>host
   What moves data only, in types that QNN does not have, or into a part of a tensor.
   Needs: >>tensors
   ===================================================================================== */

static bool is_copy(node n)
{
    return n->op == GGML_OP_CPY || n->op == GGML_OP_DUP || n->op == GGML_OP_CONT;
}

bool qg_on_host(const ggml_tensor *n)
{
    const bool in_graph = dtype_of(n->type) != QNNRT_DTYPE_UNDEFINED && ggml_is_contiguous(n) &&
                          !writes_part(n);
    if (n->op == GGML_OP_SET_ROWS) return true;
    if (is_copy(n) || n->op == GGML_OP_GET_ROWS || n->op == GGML_OP_CONCAT ||
        n->op == GGML_OP_REPEAT)
        return !in_graph || dtype_of(n->src[0]->type) == QNNRT_DTYPE_UNDEFINED;
    return false;
}

static bool same_or_floats(ggml_type from, ggml_type to)
{
    return from == to || (has_floats(from) && takes_floats(to));
}

static bool rows_have_no_gaps(node t) { return t->nb[0] == ggml_type_size(t->type); }

static const char *host_refuses(node n, const qg_options &options)
{
    const ggml_tensor *a = n->src[0];
    if (!same_or_floats(a->type, n->type)) return "these types cannot be converted";
    /* Values of 8 bits lie often in the middle between two codes. */
    if (a->type == GGML_TYPE_BF16 && ggml_is_quantized(n->type))
        return "ggml's backends round codes of bf16 in different ways";
    if (is_copy(n)) return NULL;
    if (n->op == GGML_OP_SET_ROWS) {
        if (!options.set_rows) return "SET_ROWS is switched off (GGML_QNNRT_SET_ROWS=0)";
        if (n->src[1]->type != GGML_TYPE_I64 && n->src[1]->type != GGML_TYPE_I32)
            return "SET_ROWS takes indices of i32 or i64";
        return rows_have_no_gaps(n) && rows_have_no_gaps(a) ? NULL : "rows have gaps";
    }
    if (n->op == GGML_OP_GET_ROWS)
        return n->src[1]->type != GGML_TYPE_I32 ? "GET_ROWS takes indices of i32" :
               rows_have_no_gaps(n) && rows_have_no_gaps(a) ? NULL : "rows have gaps";
    if (a->type != n->type) return "a result of another type";
    if (n->op == GGML_OP_CONCAT && n->src[1]->type != n->type) return "sources of two types";
    return NULL;
}

/* Convert a row of `count` elements without gaps. */
static void convert_row(ggml_type from_type, const char *from, ggml_type to_type, char *to,
                        int64_t count, std::vector<float> &floats)
{
    if (from_type == to_type) {
        memcpy(to, from, ggml_row_size(to_type, count));
        return;
    }
    const float *f = (const float *)from;
    if (from_type != GGML_TYPE_F32) {
        floats.resize((size_t)count);
        float *into = to_type == GGML_TYPE_F32 ? (float *)to : floats.data();
        ggml_get_type_traits(from_type)->to_float(from, into, count);
        f = into;
    }
    if (to_type != GGML_TYPE_F32) ggml_get_type_traits(to_type)->from_float_ref(f, to, count);
    else if (f != (float *)to) memcpy(to, f, (size_t)count * 4);
}

static int64_t index_at(node ix, int64_t i0, int64_t i1, int64_t i2)
{
    const char *p = (const char *)ix->data + (size_t)i0 * ix->nb[0] + (size_t)i1 * ix->nb[1] +
                    (size_t)i2 * ix->nb[2];
    if (ix->type == GGML_TYPE_I64) return *(const int64_t *)p;
    return *(const int32_t *)p;
}

/* Rows that come from other rows, or go there, by index. */
static bool host_rows(node n, std::string *why)
{
    const ggml_tensor *a = n->src[0], *ix = n->src[1], *rows_of = n->op == GGML_OP_SET_ROWS ? a : n;
    const ggml_tensor *by_index = n->op == GGML_OP_SET_ROWS ? n : a;
    std::vector<float> floats;
    for (int64_t i3 = 0; i3 < rows_of->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < rows_of->ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < rows_of->ne[1]; ++i1) {
                const int64_t row = index_at(ix, i1, i2 % ix->ne[1], i3 % ix->ne[2]);
                if (row < 0 || row >= by_index->ne[1]) {
                    *why = "index " + std::to_string(row) + ", expected one of " +
                           std::to_string(by_index->ne[1]) + " rows";
                    return false;
                }
                const char *plain = row_of(rows_of, i1, i2, i3);
                const char *indexed = row_of(by_index, row, i2, i3);
                if (n->op == GGML_OP_SET_ROWS)
                    convert_row(a->type, plain, n->type, (char *)indexed, a->ne[0], floats);
                else convert_row(a->type, indexed, n->type, (char *)plain, n->ne[0], floats);
            }
    return true;
}

/* Write elements without gaps into a tensor, in its order. */
static void scatter_same(const char *from, node n)
{
    const size_t unit = ggml_type_size(n->type);
    const size_t units = (size_t)(n->ne[0] / ggml_blck_size(n->type));
    each_row(n, [&](const char *row, int64_t number) {
        const char *at = from + (size_t)number * units * unit;
        char *to = (char *)row;
        if (n->nb[0] == unit) memcpy(to, at, units * unit);
        else for (size_t i = 0; i < units; ++i) memcpy(to + i * n->nb[0], at + i * unit, unit);
    });
}

static void host_copy(node n)
{
    const ggml_tensor *a = n->src[0];
    const size_t row = ggml_row_size(n->type, n->ne[0]);
    std::vector<char> same;
    if (a->type == n->type) {
        if (ggml_is_contiguous(n) && n->data != a->data) {
            gather_same(a, n->data);
            return;
        }
        same.resize(ggml_row_size(a->type, a->ne[0]) * (size_t)ggml_nrows(a));
        gather_same(a, same.data());
    } else {
        std::vector<float> floats((size_t)ggml_nelements(a)), none;
        gather_floats(a, floats.data());
        same.resize(row * (size_t)ggml_nrows(n));
        for (int64_t i = 0; i < ggml_nrows(n); ++i)
            convert_row(GGML_TYPE_F32, (const char *)(floats.data() + i * n->ne[0]), n->type,
                        same.data() + (size_t)i * row, n->ne[0], none);
    }
    scatter_same(same.data(), n);
}

/* Copy blocks or elements of a source to a place in the result, or to several. */
static void host_place(node n, node a, const int64_t at[4])
{
    const size_t unit = ggml_type_size(n->type);
    const int64_t block = ggml_blck_size(n->type), units = a->ne[0] / block;
    for (int64_t i3 = 0; i3 < a->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < a->ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < a->ne[1]; ++i1) {
                const char *from = row_of(a, i1, i2, i3);
                char *to = (char *)row_of(n, at[1] + i1, at[2] + i2, at[3] + i3) +
                           (size_t)(at[0] / block) * n->nb[0];
                for (int64_t i = 0; i < units; ++i)
                    memcpy(to + (size_t)i * n->nb[0], from + (size_t)i * a->nb[0], unit);
            }
}

static void host_places(node n)
{
    const ggml_tensor *a = n->src[0];
    int64_t at[4] = { 0, 0, 0, 0 };
    if (n->op == GGML_OP_CONCAT) {
        host_place(n, a, at);
        at[param_i32(n, 0)] = a->ne[param_i32(n, 0)];
        host_place(n, n->src[1], at);
        return;
    }
    for (at[3] = 0; at[3] < n->ne[3]; at[3] += a->ne[3])
        for (at[2] = 0; at[2] < n->ne[2]; at[2] += a->ne[2])
            for (at[1] = 0; at[1] < n->ne[1]; at[1] += a->ne[1])
                for (at[0] = 0; at[0] < n->ne[0]; at[0] += a->ne[0]) host_place(n, a, at);
}

bool qg_host(const ggml_tensor *n, std::string *why)
{
    if (n->op == GGML_OP_SET_ROWS || n->op == GGML_OP_GET_ROWS) return host_rows(n, why);
    if (is_copy(n)) host_copy(n);
    else host_places(n);
    return true;
}

/* ---- angles ---- */

/* The position's angle for pair i, before scaling: sections of the pairs have positions of their
   own in M-RoPE. */
struct sections {
    int  size[4], all;
    bool apart, interleaved;
};

static int section_of(const sections &s, int pair)
{
    const int at = pair % s.all;
    if (s.interleaved) {
        for (int k = 0; k < 3; ++k) if (at % 3 == k && at < 3 * s.size[k]) return k;
        return 3;
    }
    return at < s.size[0] ? 0 : at < s.size[0] + s.size[1] ? 1 :
           at < s.size[0] + s.size[1] + s.size[2] ? 2 : 3;
}

static bool begins_section(const sections &s, int pair, int of)
{
    int at = 0;
    for (int k = 0; k < of; ++k) at += s.size[k];
    return pair % s.all == at;
}

static void fill_angles(node n, bool sine, float *to)
{
    const int turned = param_i32(n, 1), mode = param_i32(n, 2), context = param_i32(n, 4);
    const float base = param_f32(n, 5), scale = param_f32(n, 6), extend = param_f32(n, 7);
    const float attention = param_f32(n, 8), sign = n->op == GGML_OP_ROPE_BACK ? -1.0f : 1.0f;
    const float ratio = powf(base, -2.0f / (float)turned);
    const bool several = (mode & GGML_ROPE_TYPE_MROPE) != 0, vision = mode == GGML_ROPE_TYPE_VISION;
    const int pairs = vision ? turned : turned / 2;
    const int64_t positions = n->ne[2];
    const size_t step = n->src[1]->nb[0];
    sections s = { { param_i32(n, 11), param_i32(n, 12), param_i32(n, 13), param_i32(n, 14) }, 0,
                   vision, mode == interleaved_mrope };
    float ends[2];
    for (int k = 0; k < 4; ++k) s.all += s.size[k];
    if (s.all < 1) s.all = 1;
    ggml_rope_yarn_corr_dims(turned, context, base, param_f32(n, 9), param_f32(n, 10), ends);
    const float size = extend < 0 || extend > 0 ? attention * (1.0f + 0.1f * logf(1.0f / scale))
                                                : attention;
    for (int64_t t = 0; t < positions; ++t) {
        float theta[4];
        for (int k = 0; k < (several ? 4 : 1); ++k) {
            int32_t at;
            memcpy(&at, (const char *)n->src[1]->data + (size_t)(k * positions + t) * step, 4);
            theta[k] = (float)at;
        }
        const float first[4] = { theta[0], several ? theta[1] : 0, several ? theta[2] : 0,
                                 several ? theta[3] : 0 };
        for (int i = 0; i < pairs; ++i) {
            int of = 0;
            float factor = 1;
            for (int k = 0; several && s.apart && k < 4; ++k)
                if (begins_section(s, i, k)) {
                    theta[k] = first[k];
                    break;
                }
            if (several) of = section_of(s, i);
            if (n->src[2] != nullptr)
                memcpy(&factor, (const char *)n->src[2]->data + (size_t)i * n->src[2]->nb[0], 4);
            const float plain = theta[of] / factor;
            float angle = scale * plain;
            /* Between scaled and plain, by the number of the pair. */
            if (extend < 0 || extend > 0) {
                const float y = ((float)i - ends[0]) / std::max(0.001f, ends[1] - ends[0]);
                const float mix = (1 - std::min(1.0f, std::max(0.0f, y))) * extend;
                angle = angle * (1 - mix) + plain * mix;
            }
            to[t * pairs + i] = sine ? sign * sinf(angle) * size : cosf(angle) * size;
            for (int k = 0; k < (several ? 4 : 1); ++k) theta[k] *= ratio;
        }
    }
}

void qg_fill(const qg_input &input, const ggml_tensor *n, void *to)
{
    const ggml_tensor *t = n->src[input.src];
    switch (input.how) {
    case QG_DIRECT: break;
    case QG_COPY: gather_same(t, to); break;
    case QG_TO_F32: gather_floats(t, (float *)to); break;
    case QG_ROPE_COS: fill_angles(n, false, (float *)to); break;
    case QG_ROPE_SIN: fill_angles(n, true, (float *)to); break;
    }
}

void qg_drain(const qg_output &output, const ggml_tensor *n, const void *from)
{
    if (output.how == QG_DIRECT) memcpy(n->data, from, output.bytes);
    else ggml_get_type_traits(n->type)->from_float_ref((const float *)from, n->data,
                                                       ggml_nelements(n));
}

/* =====================================================================================
   QUESTIONS                                                                  >>questions
   Asks about one node, and names what the answers depend on.
   Needs: >>graph >>host
   ===================================================================================== */

bool qg_supports(const ggml_tensor *n, const qg_options &options, qnnrt_backend *backend,
                 std::string *why)
{
    qnnrt_builder *builder = nullptr;
    qnnrt_graph_desc graph = {};
    qnnrt_error err;
    if (qg_on_host(n)) {
        const char *reason = host_refuses(n, options);
        if (reason != NULL) *why = reason;
        return reason == NULL;
    }
    if (writes_part(n)) {
        *why = "the result is a part of another tensor";
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
    const bool yes = g.node(n, 0, true) && g.finish();
    *why = g.why();
    return yes;
}

#define NAME(op) { GGML_OP_##op, #op }
const qg_op_name qg_op_names[] = {
    NAME(NONE), NAME(DUP), NAME(ADD), NAME(ADD1), NAME(SUB), NAME(MUL), NAME(DIV), NAME(SQR),
    NAME(SQRT), NAME(LOG), NAME(SIN), NAME(COS), NAME(SUM), NAME(SUM_ROWS), NAME(MEAN),
    NAME(ARGMAX), NAME(REPEAT), NAME(CONCAT), NAME(NORM), NAME(RMS_NORM), NAME(GROUP_NORM),
    NAME(L2_NORM), NAME(MUL_MAT), NAME(OUT_PROD), NAME(SCALE), NAME(CPY), NAME(CONT),
    NAME(RESHAPE), NAME(VIEW), NAME(PERMUTE), NAME(TRANSPOSE), NAME(GET_ROWS), NAME(SET_ROWS),
    NAME(SOFT_MAX), NAME(ROPE), NAME(ROPE_BACK), NAME(CLAMP), NAME(CONV_2D), NAME(POOL_2D),
    NAME(LEAKY_RELU), NAME(FLASH_ATTN_EXT), NAME(UNARY), NAME(GLU), NAME(IM2COL)
};
const size_t qg_op_name_count = sizeof(qg_op_names) / sizeof(qg_op_names[0]);
