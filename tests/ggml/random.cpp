// Random small graphs on QNNRT0 and on ggml's CPU backend: views, broadcasts, nodes in place, copies into caches.
//
//   random BACKEND_FOLDER FIRST COUNT [NMSE]
//
// Each seed is one graph. Sources are permuted, transposed, cut, strided and reshaped tensors of four dimensions, some
// computed, some from outside, of f32, f16, bf16 and quantized types. One half of the graphs has memory of its own for
// each tensor, the other half that of ggml's allocator, which uses memory again. Both backends compute in the same
// memory, one after the other, from the same bytes. A seed fails when the NMSE of an output, or of a cache that the
// graph writes, is more than NMSE (default 1e-6; 1000 times that where values are rounded, so that small
// differences grow). The last line counts seeds, nodes, refused nodes and failures.
#include "compare.h"

#include <cstdlib>
#include <utility>

#include "ggml-alloc.h"

namespace {

struct graph {
    numbers random;
    ggml_context *context;
    ggml_cgraph *nodes;
    ggml_backend_t device;
    std::vector<ggml_tensor *> leaves, values, caches, outputs;
    size_t refused = 0;
    bool rounds = false;                         // operands or caches, to f16, bf16 or 8 bits
};

struct shape { int64_t n[4]; };

shape some_shape(graph &g)
{
    static const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 8};
    static const int64_t rows[] = {1, 4, 7, 16, 32, 32, 64};
    return {{rows[g.random.below(7)], sizes[g.random.below(7)], sizes[g.random.below(7)], sizes[g.random.below(4)]}};
}

ggml_tensor *leaf(graph &g, ggml_type type, shape s)
{
    ggml_tensor *t = ggml_new_tensor_4d(g.context, type, s.n[0], s.n[1], s.n[2], s.n[3]);
    ggml_set_input(t);
    g.leaves.push_back(t);
    return t;
}

// A tensor whose elements are those of the shape, seen through a view with gaps or in another order.
ggml_tensor *gaps(graph &g, ggml_type type, shape s)
{
    shape more = s;
    int axis[4] = {0, 1, 2, 3}, at[4];
    ggml_tensor *t;
    switch (g.random.below(ggml_is_quantized(type) ? 2 : 4)) {
    case 0:
        return leaf(g, type, s);
    case 1: {                                    // a part of more rows, matrices and batches
        size_t offset = 0;
        for (int i = 1; i < 4; ++i)
            more.n[i] += g.random.below(3);
        t = leaf(g, type, more);
        for (int i = 1; i < 4; ++i)
            offset += static_cast<size_t>(g.random.below(more.n[i] - s.n[i] + 1)) * t->nb[i];
        return ggml_view_4d(g.context, t, s.n[0], s.n[1], s.n[2], s.n[3], t->nb[1], t->nb[2], t->nb[3], offset);
    }
    case 2:                                      // axes in another order
        for (int i = 3; i > 0; --i)
            std::swap(axis[i], axis[g.random.below(i + 1)]);
        for (int i = 0; i < 4; ++i)
            at[axis[i]] = i;
        for (int i = 0; i < 4; ++i)
            more.n[i] = s.n[at[i]];
        t = leaf(g, type, more);
        return ggml_permute(g.context, t, at[0], at[1], at[2], at[3]);
    default: {                                   // a part of longer rows, from a column on
        more.n[0] += g.random.below(5);
        t = leaf(g, type, more);
        size_t offset = static_cast<size_t>(g.random.below(more.n[0] - s.n[0] + 1)) * t->nb[0];
        return ggml_view_4d(g.context, t, s.n[0], s.n[1], s.n[2], s.n[3], t->nb[1], t->nb[2], t->nb[3], offset);
    }
    }
}

// A value of the shape in f32: a computed one if there is one, else from outside.
ggml_tensor *value(graph &g, shape s)
{
    for (int i = 0; i < 8 && !g.values.empty(); ++i) {
        ggml_tensor *t = g.values[static_cast<size_t>(g.random.below(static_cast<int64_t>(g.values.size())))];
        if (t->type != GGML_TYPE_F32)
            continue;
        if (std::equal(s.n, s.n + 4, t->ne))
            return t;
        if (ggml_is_contiguous(t) && ggml_nelements(t) == s.n[0] * s.n[1] * s.n[2] * s.n[3])
            return ggml_reshape_4d(g.context, t, s.n[0], s.n[1], s.n[2], s.n[3]);
    }
    return gaps(g, GGML_TYPE_F32, s);
}

shape shape_of(const ggml_tensor *t) { return {{t->ne[0], t->ne[1], t->ne[2], t->ne[3]}}; }

// A computed value, or a view of one, or a new tensor.
ggml_tensor *any(graph &g)
{
    if (g.values.empty() || g.random.one_in(5))
        return gaps(g, g.random.one_in(4) ? GGML_TYPE_F16 : GGML_TYPE_F32, some_shape(g));
    ggml_tensor *t = g.values[static_cast<size_t>(g.random.below(static_cast<int64_t>(g.values.size())))];
    switch (g.random.below(7)) {
    case 0: return ggml_permute(g.context, t, 0, 2, 1, 3);
    case 1: return ggml_permute(g.context, t, 2, 0, 3, 1);
    case 2: return ggml_transpose(g.context, t);
    case 3: {                                    // some rows
        int64_t rows = 1 + g.random.below(t->ne[1]), first = g.random.below(t->ne[1] - rows + 1);
        return ggml_view_4d(g.context, t, t->ne[0], rows, t->ne[2], t->ne[3], t->nb[1], t->nb[2], t->nb[3],
                            static_cast<size_t>(first) * t->nb[1]);
    }
    case 4: {                                    // some columns of every second matrix
        int64_t columns = 1 + g.random.below(t->ne[0]), first = g.random.below(t->ne[0] - columns + 1);
        return ggml_view_4d(g.context, t, columns, t->ne[1], (t->ne[2] + 1) / 2, t->ne[3], t->nb[1], t->nb[2] * 2,
                            t->nb[3], static_cast<size_t>(first) * t->nb[0]);
    }
    default: return t;
    }
}

// The source with dimensions that the other operand repeats.
shape part_of(graph &g, shape s)
{
    for (int i = 0; i < 4; ++i) {
        if (g.random.one_in(3))
            s.n[i] = 1;
        else if (s.n[i] % 2 == 0 && g.random.one_in(4))
            s.n[i] /= 2;
    }
    return s;
}

ggml_tensor *indices(graph &g, int64_t a, int64_t b, int64_t c, int64_t below, ggml_type type)
{
    ggml_tensor *t = leaf(g, type, {{a, b, c, 1}});
    ggml_format_name(t, "below %d", static_cast<int>(below));
    return t;
}

ggml_tensor *contiguous(graph &g, ggml_tensor *t) { return t->view_src == nullptr ? t : ggml_cont(g.context, t); }

ggml_tensor *rows(graph &g, ggml_tensor *t)
{
    return t->nb[0] == ggml_type_size(t->type) ? t : ggml_cont(g.context, t);
}

ggml_tensor *node(graph &g)
{
    ggml_context *c = g.context;
    ggml_tensor *a = any(g), *b;
    shape s = shape_of(a);
    const int64_t kind = g.random.below(27);
    // What the CPU backend computes in f16, too.
    static const char in_half[] = "0 1 2 8 9 10 11 12 16 18 23 ";
    char word[8];
    std::snprintf(word, sizeof word, "%d ", static_cast<int>(kind));
    const char *found = std::strstr(in_half, word);
    if (a->type != GGML_TYPE_F32 && (found == nullptr || (found != in_half && found[-1] != ' ')))
        a = ggml_cast(c, a, GGML_TYPE_F32);
    // It wants rows without gaps, except where it copies.
    if (kind != 8 && kind != 23 && kind != 25 && kind != 14 && a->nb[0] != ggml_type_size(a->type))
        a = ggml_cont(c, a);
    switch (kind) {
    case 0: return ggml_add(c, a, value(g, part_of(g, s)));
    case 1: return ggml_sub(c, a, value(g, part_of(g, s)));
    case 2: return ggml_mul(c, a, value(g, part_of(g, s)));
    case 3: return ggml_div(c, a, ggml_add(c, ggml_abs(c, leaf(g, GGML_TYPE_F32, part_of(g, s))),
                                          leaf(g, GGML_TYPE_F32, {{1, 1, 1, 1}})));
    case 4: return ggml_scale_bias(c, contiguous(g, a), g.random.real(), g.random.one_in(2) ? 0.0f : g.random.real());
    case 5: return ggml_rms_norm(c, a, 1e-5f);
    case 6: return ggml_norm(c, a, 1e-5f);
    case 7: return ggml_soft_max_ext(c, contiguous(g, a), g.random.one_in(2) ? nullptr :
                                     leaf(g, g.random.one_in(2) ? GGML_TYPE_F32 : GGML_TYPE_F16,
                                          {{s.n[0], s.n[1] + g.random.below(3), 1, 1}}), 0.7f, 0.0f);
    case 8: return ggml_cont(c, a);
    case 9: return ggml_repeat(c, a, leaf(g, GGML_TYPE_F32, {{s.n[0] * (1 + g.random.below(2)), s.n[1], s.n[2] *
                                                            (1 + g.random.below(3)), s.n[3]}}));
    case 10: {
        int axis = static_cast<int>(g.random.below(4));
        shape other = s;
        other.n[axis] = 1 + g.random.below(4);
        return ggml_concat(c, a, rows(g, gaps(g, a->type, other)), axis);
    }
    case 11: return ggml_unary(c, contiguous(g, a), GGML_UNARY_OP_SILU);
    case 12: return ggml_unary(c, contiguous(g, a), GGML_UNARY_OP_TANH);
    case 13: return ggml_sqr(c, ggml_tanh(c, contiguous(g, a)));
    case 14: return ggml_sum_rows(c, ggml_abs(c, ggml_cont(c, a)));      // (differences would vanish in half precision)
    case 15: {                                   // matrices, some shared by several
        static const ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0,
                                          GGML_TYPE_Q4_0};
        ggml_type type = types[g.random.below(s.n[0] % 32 == 0 ? 6 : 4)];
        shape w = {{s.n[0], 1 + g.random.below(9), s.n[2], s.n[3]}};
        for (int i = 2; i < 4; ++i)
            if (g.random.one_in(2))
                w.n[i] = w.n[i] % 2 == 0 && g.random.one_in(2) ? w.n[i] / 2 : 1;
        g.rounds = g.rounds || type != GGML_TYPE_F32;
        b = gaps(g, type, w);
        if (b->nb[0] != ggml_type_size(b->type))
            b = ggml_cont(c, b);
        return ggml_mul_mat(c, b, a->nb[0] != ggml_type_size(a->type) || a->type != GGML_TYPE_F32
                                  ? ggml_cast(c, a, GGML_TYPE_F32) : a);
    }
    case 16: {                                   // rows by index, of several tables
        int64_t rows = 1 + g.random.below(5);
        if (a->nb[0] != ggml_type_size(a->type))
            a = ggml_cont(c, a);
        return ggml_get_rows(c, a, indices(g, rows, s.n[2], s.n[3], s.n[1], GGML_TYPE_I32));
    }
    case 17: {                                   // positions
        if (s.n[0] % 4 != 0 || a->type == GGML_TYPE_BF16)
            return ggml_cont(c, a);
        int mode = g.random.one_in(2) ? GGML_ROPE_TYPE_NEOX : 0;
        if (a->nb[0] != ggml_type_size(a->type))
            a = ggml_cont(c, a);
        return ggml_rope_ext(c, a, indices(g, s.n[2], 1, 1, 50, GGML_TYPE_I32), nullptr,
                             static_cast<int>(g.random.one_in(2) ? s.n[0] : s.n[0] / 2), mode, 64, 10000.0f, 0.8f,
                             g.random.one_in(2) ? 0.0f : 0.5f, 1.0f, 32.0f, 1.0f);
    }
    case 18: {                                   // a gate, in one tensor or two
        a = contiguous(g, a);
        if (s.n[0] % 2 == 0 && g.random.one_in(2))
            return ggml_glu(c, a, GGML_GLU_OP_SWIGLU, g.random.one_in(2));
        b = leaf(g, a->type, s);
        return ggml_geglu_split(c, a, b);
    }
    case 19: return ggml_scale_inplace(c, contiguous(g, ggml_dup(c, a)), 0.5f);
    case 20: {                                   // in place, and the first name is read again
        b = ggml_cont(c, a);
        ggml_tensor *in_place = ggml_add_inplace(c, b, leaf(g, GGML_TYPE_F32, part_of(g, s)));
        ggml_build_forward_expand(g.nodes, in_place);
        return g.random.one_in(2) ? ggml_scale(c, b, 0.5f) : in_place;
    }
    case 21: {                                   // a part of a cache, which is read as a whole
        static const ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0};
        ggml_type type = types[g.random.below(s.n[0] % 32 == 0 ? 4 : 3)];
        ggml_tensor *cache = leaf(g, type, {{s.n[0], s.n[1] * s.n[2] * s.n[3] + g.random.below(4), 1, 1}});
        g.caches.push_back(cache);
        g.rounds = g.rounds || type != GGML_TYPE_F32;
        ggml_set_output(cache);                  // (its memory is not used again)
        const int64_t lines = s.n[1] * s.n[2] * s.n[3], first = g.random.below(cache->ne[1] - lines + 1);
        b = ggml_view_2d(c, cache, s.n[0], lines, cache->nb[1], static_cast<size_t>(first) * cache->nb[1]);
        ggml_build_forward_expand(g.nodes, ggml_cpy(c, a, b));
        return type == GGML_TYPE_F32 ? ggml_scale(c, cache, 0.5f) : ggml_cast(c, cache, GGML_TYPE_F32);
    }
    case 22: {                                   // rows of a cache by index
        static const ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0};
        ggml_type type = types[g.random.below(s.n[0] % 32 == 0 ? 4 : 3)];
        ggml_tensor *cache = leaf(g, type, {{s.n[0], s.n[1] + 3, s.n[2], s.n[3]}});
        g.caches.push_back(cache);
        g.rounds = g.rounds || type != GGML_TYPE_F32;
        ggml_set_output(cache);                  // (its memory is not used again)
        if (a->nb[0] != 4 || a->type != GGML_TYPE_F32)
            a = ggml_cast(c, a, GGML_TYPE_F32);
        ggml_tensor *at = indices(g, s.n[1], 1, 1, -cache->ne[1], g.random.one_in(2) ? GGML_TYPE_I64 : GGML_TYPE_I32);
        b = ggml_set_rows(c, cache, a, at);
        ggml_build_forward_expand(g.nodes, b);
        return g.random.one_in(2) ? ggml_cast(c, b, GGML_TYPE_F32) : ggml_cast(c, cache, GGML_TYPE_F32);
    }
    case 23: return ggml_cast(c, a, g.random.one_in(2) ? GGML_TYPE_F16 : GGML_TYPE_F32);
    case 24: {                                   // attention
        int64_t heads = 1 + g.random.below(2), keys = 4 + g.random.below(12);
        shape q = {{32, 1 + g.random.below(5), heads * (1 + g.random.below(2)), 1}};
        ggml_type type = g.random.one_in(2) ? GGML_TYPE_F16 : GGML_TYPE_Q8_0;
        g.rounds = true;
        ggml_tensor *k = gaps(g, type, {{32, keys, heads, 1}}), *v = gaps(g, type, {{32, keys, heads, 1}});
        if (k->nb[0] != ggml_type_size(type))
            k = ggml_cont(c, k);
        if (v->nb[0] != ggml_type_size(type))
            v = ggml_cont(c, v);
        return ggml_flash_attn_ext(c, contiguous(g, value(g, q)), k, v,
                                   g.random.one_in(2) ? nullptr : leaf(g, GGML_TYPE_F16, {{keys, q.n[1], 1, 1}}), 0.2f,
                                   0.0f, g.random.one_in(3) ? 5.0f : 0.0f);
    }
    case 25: return ggml_clamp(c, contiguous(g, ggml_dup(c, a)), -0.5f, 0.5f);
    default: return ggml_mean(c, ggml_abs(c, ggml_cont(c, a)));
    }
}

bool compute(graph &g, uint64_t seed, ggml_backend_t backend, std::vector<std::vector<float>> &out)
{
    numbers random = {seed * 1000003};
    for (ggml_tensor *t : g.leaves)
        if (t->buffer != nullptr)
            fill(random, t);
    if (ggml_backend_graph_compute(backend, g.nodes) != GGML_STATUS_SUCCESS)
        return false;
    for (ggml_tensor *t : g.outputs)
        out.push_back(floats(t));
    for (ggml_tensor *t : g.caches)
        if (t->buffer != nullptr)
            out.push_back(floats(t));
    return true;
}

// Let a node be, with all that it needs, if the device computes each new one of them.
bool is_supported(graph &g, const ggml_tensor *first_new)
{
    bool is_new = false;
    for (ggml_tensor *t = ggml_get_first_tensor(g.context); t != nullptr; t = ggml_get_next_tensor(g.context, t)) {
        is_new = is_new || t == first_new || first_new == nullptr;
        if (is_new && t->op != GGML_OP_NONE && !ggml_backend_supports_op(g.device, t)) {
            if (std::getenv("RANDOM_VERBOSE"))
                std::printf("  refused: %s\n", ggml_op_desc(t));
            return false;
        }
    }
    return true;
}

bool run(uint64_t seed, ggml_backend_t device, ggml_backend_t cpu, double most, size_t counts[2])
{
    ggml_init_params params = {4096 * ggml_tensor_overhead() + ggml_graph_overhead_custom(4096, false), nullptr, true};
    graph g = {{seed}, ggml_init(params), nullptr, device, {}, {}, {}, {}};
    bool good = true;
    g.nodes = ggml_new_graph_custom(g.context, 4096, false);
    const int64_t wanted = 1 + g.random.below(12);
    for (int64_t i = 0; i < wanted && good; ++i) {
        ggml_tensor *before = nullptr;
        for (ggml_tensor *t = ggml_get_first_tensor(g.context); t != nullptr; t = ggml_get_next_tensor(g.context, t))
            before = t;
        ggml_tensor *t = node(g);
        if (!is_supported(g, before)) {          // (parts of it may be in the graph already)
            g.refused += 1;
            break;
        }
        ggml_build_forward_expand(g.nodes, t);
        g.values.push_back(t);
        if (g.random.one_in(3) || i + 1 == wanted) {
            ggml_set_output(t);
            g.outputs.push_back(t);
        }
    }
    counts[0] += static_cast<size_t>(ggml_graph_n_nodes(g.nodes));
    counts[1] += g.refused;
    if (g.outputs.empty() || g.refused > 0) {
        ggml_free(g.context);
        return true;
    }
    ggml_backend_buffer_type_t memory = ggml_backend_get_default_buffer_type(device);
    ggml_backend_buffer_t buffer = nullptr;
    ggml_gallocr_t allocator = nullptr;
    if (seed % 2 == 0)
        buffer = ggml_backend_alloc_ctx_tensors(g.context, device);
    else
        good = ggml_gallocr_alloc_graph(allocator = ggml_gallocr_new(memory), g.nodes);
    std::vector<std::vector<float>> got, expected;
    if (!good || !compute(g, seed, cpu, expected) || !compute(g, seed, device, got)) {
        std::printf("seed %llu: not computed\n", static_cast<unsigned long long>(seed));
        good = false;
    }
    for (size_t i = 0; good && i < got.size(); ++i) {
        const double error = nmse(got[i], expected[i]);
        if (error <= (g.rounds ? most * 1000 : most))      // (false for NaN)
            continue;
        std::printf("seed %llu: %s %zu of %zu: NMSE %.3g\n", static_cast<unsigned long long>(seed),
                    i < g.outputs.size() ? "output" : "cache", i, got.size(), error);
        for (size_t k = 0; k < got[i].size() && std::getenv("RANDOM_VERBOSE"); ++k)
            std::printf("  %zu: %g, expected %g\n", k, static_cast<double>(got[i][k]),
                        static_cast<double>(expected[i][k]));
        good = false;
    }
    if (!good || std::getenv("RANDOM_VERBOSE"))
        for (int i = 0; i < ggml_graph_n_nodes(g.nodes); ++i) {
            const ggml_tensor *n = ggml_graph_node(g.nodes, i);
            std::printf("  %d %s %s [%d %d %d %d]%s <-", i, ggml_op_desc(n), ggml_type_name(n->type),
                        static_cast<int>(n->ne[0]), static_cast<int>(n->ne[1]), static_cast<int>(n->ne[2]),
                        static_cast<int>(n->ne[3]), (n->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 ? " out" : "");
            for (int s = 0; s < GGML_MAX_SRC; ++s) {
                if (n->src[s] == nullptr)
                    continue;
                int from = -1;
                for (int k = 0; k < i; ++k)
                    if (ggml_graph_node(g.nodes, k) == n->src[s])
                        from = k;
                std::printf(" %d:%s%s", from, ggml_type_name(n->src[s]->type),
                            ggml_is_contiguous(n->src[s]) ? "" : " gaps");
            }
            std::printf("\n");
        }
    ggml_backend_buffer_free(buffer);
    ggml_gallocr_free(allocator);
    ggml_free(g.context);
    return good;
}

}  // namespace

int main(int count, char **words)
{
    if (count < 4) {
        std::fprintf(stderr, "usage: random BACKEND_FOLDER FIRST COUNT [NMSE]\n");
        return 2;
    }
    const uint64_t first = std::strtoull(words[2], nullptr, 10), seeds = std::strtoull(words[3], nullptr, 10);
    const double most = count > 4 ? std::atof(words[4]) : 1e-6;
    ggml_backend_t device, cpu;
    if (!open_both(words[1], &device, &cpu))
        return 1;
    size_t failures = 0, counts[2] = {0, 0};
    for (uint64_t seed = first; seed < first + seeds; ++seed)
        failures += !run(seed, device, cpu, most, counts);
    std::printf("seeds %llu nodes %zu refused %zu failures %zu\n", static_cast<unsigned long long>(seeds), counts[0],
                counts[1], failures);
    ggml_backend_free(device);
    ggml_backend_free(cpu);
    return failures > 0;
}
