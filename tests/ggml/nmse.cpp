// Single operators of small shapes on QNNRT0 and on ggml's CPU backend.
//
//   nmse BACKEND_FOLDER [MOST [OPERATOR...]]
//
// Each operator has a few cases: plain, with views, broadcasts, other types. A line per operator says how many cases
// are right, wrong and refused, and the largest NMSE of those that were computed. A case is right when its NMSE is at
// most MOST (default 1e-5). The status is 1 when a case is wrong.
#include "compare.h"

#include <cstdlib>

namespace {

using shape = std::vector<int64_t>;
using context = ggml_context *;

ggml_tensor *in(context c, const shape &s, ggml_type type = GGML_TYPE_F32, const char *name = "")
{
    ggml_tensor *t = ggml_new_tensor(c, type, static_cast<int>(s.size()), s.data());
    ggml_set_name(t, name);
    return t;
}

ggml_tensor *below(context c, const shape &s, int most, ggml_type type = GGML_TYPE_I32)
{
    char name[32];
    std::snprintf(name, sizeof name, "below %d", most);
    return in(c, s, type, name);
}

// A plain tensor, one whose axes are turned, a part of longer rows, a column, one in f16.
ggml_tensor *form(context c, int i)
{
    ggml_tensor *t;
    switch (i) {
    case 0: return in(c, {64, 5, 3, 2});
    case 1: return ggml_permute(c, in(c, {64, 3, 5, 2}), 0, 2, 1, 3);
    case 2:
        t = in(c, {40, 6, 3});
        return ggml_view_3d(c, t, 32, 4, 3, t->nb[1], t->nb[2], 2 * t->nb[1]);
    case 3: return in(c, {1, 1, 24, 7});
    default: return in(c, {96, 4, 1, 2}, GGML_TYPE_F16);
    }
}

ggml_tensor *plain(context c, int i) { return i < 3 ? form(c, i == 1 ? 4 : i == 2 ? 3 : 0) : nullptr; }

using binary = ggml_tensor *(*)(ggml_context *, ggml_tensor *, ggml_tensor *);
using single = ggml_tensor *(*)(ggml_context *, ggml_tensor *);

ggml_tensor *two(context c, int i, binary make)
{
    static const shape other[] = {{64, 5, 3, 2}, {64}, {1, 5, 1, 2}, {32, 5, 3, 1}, {1}};
    if (i < 5)
        return make(c, form(c, 0), in(c, other[i], GGML_TYPE_F32, "positive"));
    return i == 5 ? make(c, form(c, 4), in(c, {96, 4, 1, 2}, GGML_TYPE_F32, "positive"))
         : i == 6 ? make(c, form(c, 2), in(c, {32, 4, 3}, GGML_TYPE_F32, "positive")) : nullptr;
}

ggml_tensor *one(context c, int i, single make)
{
    ggml_tensor *t = plain(c, i);
    return t != nullptr ? make(c, t) : nullptr;
}

ggml_tensor *positive(context c, int i, single make)
{
    return i < 2 ? make(c, in(c, {64, 5, 3}, GGML_TYPE_F32, "positive")) : nullptr;
}

ggml_tensor *gate(context c, int i, ggml_glu_op op)
{
    ggml_tensor *a = in(c, {64, 5, 2});
    return i < 2 ? ggml_glu(c, a, op, i == 1) : i == 2 ? ggml_glu_split(c, a, in(c, {64, 5, 2}), op) : nullptr;
}

ggml_tensor *mul_mat(context c, int i)
{
    static const ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};
    static const struct { shape w, x; } shapes[] = {{{64, 48}, {64, 1}}, {{64, 48}, {64, 7, 3, 2}}, {{64, 9, 2, 1}, {64, 5, 6, 1}},
                                                   {{64, 9, 2, 2}, {64, 5, 4, 6}}, {{64, 9, 1, 2}, {64, 5, 4, 6}}};
    if (i < 5)
        return ggml_mul_mat(c, in(c, shapes[i].w), in(c, shapes[i].x));
    if (i < 8)
        return ggml_mul_mat(c, in(c, {64, 48}, types[i - 5]), in(c, {64, 7}));
    return i == 8 ? ggml_mul_mat(c, ggml_permute(c, in(c, {64, 3, 9}), 0, 2, 1, 3), in(c, {64, 5, 6})) : nullptr;
}

ggml_tensor *soft_max(context c, int i)
{
    ggml_tensor *x = in(c, {48, 6, 4, 2});
    if (i < 2)
        return ggml_soft_max_ext(c, x, in(c, {48, 8}, i == 0 ? GGML_TYPE_F32 : GGML_TYPE_F16), 0.5f, 0.0f);
    if (i == 2)
        return ggml_soft_max_ext(c, x, in(c, {48, 6}), 0.5f, 8.0f);
    if (i == 3)
        return ggml_soft_max(c, x);
    if (i > 4)
        return nullptr;
    x = ggml_soft_max_ext(c, x, in(c, {48, 6}), 1.0f, 0.0f);
    ggml_soft_max_add_sinks(x, in(c, {4}));
    return x;
}

ggml_tensor *rope(context c, int i)
{
    static const int modes[] = {0, GGML_ROPE_TYPE_NEOX, 0, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE};
    int parts[4] = {8, 12, 12, 0};
    ggml_tensor *x = in(c, {64, 4, 6, 1});
    if (i < 4)
        return ggml_rope_ext(c, x, below(c, {6}, 50), i == 3 ? in(c, {32}, GGML_TYPE_F32, "positive") : nullptr,
                             i < 2 ? 64 : 48, modes[i], 128, 10000.0f, 0.7f, i == 2 ? 1.0f : 0.0f, 1.0f, 32.0f, 1.0f);
    return i == 4 ? ggml_rope_multi(c, x, below(c, {24}, 50), nullptr, 64, parts, modes[4], 128, 10000.0f, 1.0f, 0.0f,
                                    1.0f, 32.0f, 1.0f) : nullptr;
}

ggml_tensor *get_rows(context c, int i)
{
    if (i == 0)
        return ggml_get_rows(c, in(c, {64, 20}), below(c, {7}, 20));
    if (i == 1)
        return ggml_get_rows(c, in(c, {64, 5, 3, 2}), below(c, {4, 3, 2}, 5));
    return i == 2 ? ggml_get_rows(c, in(c, {64, 20}, GGML_TYPE_F16), below(c, {7}, 20)) :
           i == 3 ? ggml_get_rows(c, in(c, {64, 20}, GGML_TYPE_Q8_0), below(c, {7}, 20)) : nullptr;
}

ggml_tensor *attention(context c, int i)
{
    static const ggml_type types[] = {GGML_TYPE_F16, GGML_TYPE_F16, GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_F16};
    if (i > 4)
        return nullptr;
    ggml_tensor *k = in(c, {64, 32, 2}, types[i]), *v = in(c, {64, 32, 2}, types[i]);
    ggml_tensor *mask = i > 0 ? in(c, {32, 6}, GGML_TYPE_F16) : nullptr;
    ggml_tensor *y = ggml_flash_attn_ext(c, in(c, {64, 6, 4}), k, v, mask, 0.125f, i == 2 ? 8.0f : 0.0f,
                                         i == 3 ? 10.0f : 0.0f);
    if (i == 4)
        ggml_flash_attn_ext_add_sinks(y, in(c, {4}));
    return y;
}

ggml_tensor *concat(context c, int i)
{
    static const shape other[] = {{7, 5, 3, 2}, {64, 2, 3, 2}, {64, 5, 1, 2}, {64, 5, 3, 3}};
    return i < 4 ? ggml_concat(c, form(c, 0), in(c, other[i]), i) : nullptr;
}

ggml_tensor *copy(context c, int i) { return i < 5 ? ggml_cont(c, form(c, i)) : nullptr; }

ggml_tensor *cast(context c, int i)
{
    return i < 3 ? ggml_cast(c, form(c, i), GGML_TYPE_F16) : i == 3 ? ggml_cast(c, form(c, 4), GGML_TYPE_F32) : nullptr;
}

ggml_tensor *set_rows(context c, int i)
{
    static const ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0};
    if (i > 4)
        return nullptr;
    ggml_tensor *cache = in(c, {64, 9, 2}, types[i]);
    return ggml_cast(c, ggml_set_rows(c, cache, in(c, {64, 3, 2}), below(c, {3}, -9, GGML_TYPE_I64)), GGML_TYPE_F32);
}

struct row {
    const char *name;
    ggml_tensor *(*make)(context c, int i);      // case i, or NULL after the last one
};

#define TWO(name, call) {name, [](context c, int i) { return two(c, i, call); }}
#define ONE(name, call) {name, [](context c, int i) { return one(c, i, call); }}
#define POSITIVE(name, call) {name, [](context c, int i) { return positive(c, i, call); }}
#define UNARY(op) {#op, [](context c, int i) { ggml_tensor *t = plain(c, i); return t ? ggml_unary(c, t, GGML_UNARY_OP_##op) : t; }}
#define GLU(op) {#op, [](context c, int i) { return gate(c, i, GGML_GLU_OP_##op); }}
#define FORMS(name, count, ...) {name, [](context c, int i) { return i < count ? __VA_ARGS__ : static_cast<ggml_tensor *>(nullptr); }}

const row rows[] = {
    TWO("ADD", ggml_add), TWO("SUB", ggml_sub), TWO("MUL", ggml_mul), TWO("DIV", ggml_div),
    FORMS("SCALE", 2, ggml_scale_bias(c, form(c, 0), 0.3f, i == 0 ? 0.0f : 0.2f)),
    FORMS("CLAMP", 1, ggml_clamp(c, form(c, 0), -0.5f, 0.4f)),
    FORMS("LEAKY_RELU", 1, ggml_leaky_relu(c, form(c, 0), 0.1f, false)),
    ONE("SQR", ggml_sqr), ONE("SIN", ggml_sin), ONE("COS", ggml_cos), POSITIVE("SQRT", ggml_sqrt), POSITIVE("LOG", ggml_log),
    FORMS("SUM", 1, ggml_sum(c, in(c, {64, 5, 3, 2}, GGML_TYPE_F32, "positive"))), FORMS("SUM_ROWS", 2, ggml_sum_rows(c, form(c, i))),
    FORMS("MEAN", 2, ggml_mean(c, form(c, i))), FORMS("ARGMAX", 2, ggml_argmax(c, in(c, {i == 0 ? 30 : 2000, 5}))),
    FORMS("RMS_NORM", 4, ggml_rms_norm(c, i < 3 ? form(c, i) : in(c, {64, 40, 12}), 1e-5f)),
    FORMS("NORM", 3, ggml_norm(c, form(c, i), 1e-5f)), FORMS("L2_NORM", 1, ggml_l2_norm(c, form(c, 0), 1e-5f)),
    FORMS("GROUP_NORM", 1, ggml_group_norm(c, in(c, {8, 6, 4, 2}), 2, 1e-5f)),
    {"SOFT_MAX", soft_max}, {"MUL_MAT", mul_mat}, {"ROPE", rope}, {"GET_ROWS", get_rows}, {"SET_ROWS", set_rows},
    {"FLASH_ATTN_EXT", attention}, {"CONCAT", concat}, {"CONT", copy}, {"CPY", cast},
    FORMS("DUP", 2, ggml_dup(c, form(c, i))),
    FORMS("REPEAT", 1, ggml_repeat(c, in(c, {32, 5, 1, 2}), in(c, {64, 5, 3, 2}))),
    FORMS("OUT_PROD", 2, ggml_out_prod(c, in(c, {24, 9, 2}), in(c, {16, 9, i == 0 ? 2 : 6}))),
    FORMS("POOL_2D", 2, ggml_pool_2d(c, in(c, {9, 8, 3, 2}), i == 0 ? GGML_OP_POOL_MAX : GGML_OP_POOL_AVG, 3, 2, 2, 2, 0, 0)),
    FORMS("CONV_2D", 2, ggml_conv_2d_direct(c, in(c, {3, 3, 4, 5}), in(c, {9, 8, 4, 2}), 1 + i, 1, 1, 1, 1, 1)),
    FORMS("IM2COL", 2, ggml_im2col(c, in(c, {3, i == 0 ? 2 : 4, 4, 5}), in(c, {9, i == 0 ? 8 : 4, i == 0 ? 4 : 2, 1}), 2, 1,
                                   1, i == 0, 1, 2, i == 0, GGML_TYPE_F32)),
    UNARY(ABS), UNARY(SGN), UNARY(NEG), UNARY(STEP), UNARY(TANH), UNARY(ELU), UNARY(RELU), UNARY(SIGMOID), UNARY(GELU),
    UNARY(GELU_QUICK), UNARY(GELU_ERF), UNARY(SILU), UNARY(HARDSWISH), UNARY(HARDSIGMOID), UNARY(EXP), UNARY(EXPM1),
    UNARY(SOFTPLUS), UNARY(FLOOR), UNARY(CEIL), UNARY(ROUND), UNARY(TRUNC),
    GLU(REGLU), GLU(GEGLU), GLU(SWIGLU), GLU(GEGLU_ERF), GLU(GEGLU_QUICK),
    FORMS("SWIGLU_OAI", 1, ggml_swiglu_oai(c, in(c, {64, 5}), in(c, {64, 5}), 1.7f, 0.7f)),
};

enum verdict { right, wrong, refused };

verdict compare(const row &r, int i, ggml_backend_t device, ggml_backend_t cpu, double most, double *error)
{
    ggml_init_params params = {64 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true};
    ggml_context *c = ggml_init(params);
    ggml_cgraph *g = ggml_new_graph(c);
    ggml_tensor *y = r.make(c, i);
    std::vector<float> values[2];
    bool takes = true, computed = true;
    for (ggml_tensor *t = ggml_get_first_tensor(c); t != nullptr; t = ggml_get_next_tensor(c, t))
        takes = takes && (t->op == GGML_OP_NONE || ggml_backend_supports_op(device, t));
    if (!takes) {
        ggml_free(c);
        return refused;
    }
    ggml_set_output(y);
    ggml_build_forward_expand(g, y);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, device);
    for (int turn = 0; turn < 2 && computed; ++turn) {
        numbers random = {static_cast<uint64_t>(i) + 77};
        for (ggml_tensor *t = ggml_get_first_tensor(c); t != nullptr; t = ggml_get_next_tensor(c, t))
            if (t->op == GGML_OP_NONE)
                fill(random, t);
        computed = ggml_backend_graph_compute(turn == 0 ? cpu : device, g) == GGML_STATUS_SUCCESS;
        if (y->type == GGML_TYPE_I32) {
            std::vector<int32_t> whole(static_cast<size_t>(ggml_nelements(y)));
            ggml_backend_tensor_get(y, whole.data(), 0, ggml_nbytes(y));
            values[turn].assign(whole.begin(), whole.end());
        } else
            values[turn] = floats(y);
    }
    *error = computed ? nmse(values[1], values[0]) : NAN;
    ggml_backend_buffer_free(buffer);
    ggml_free(c);
    return *error <= most ? right : wrong;       // (false for NaN)
}

}  // namespace

int main(int count, char **words)
{
    if (count < 2) {
        std::fprintf(stderr, "usage: nmse BACKEND_FOLDER [MOST [OPERATOR...]]\n");
        return 2;
    }
    const double most = count > 2 ? std::atof(words[2]) : 1e-5;
    ggml_backend_t device, cpu;
    int total[3] = {0, 0, 0};
    if (!open_both(words[1], &device, &cpu))
        return 1;
    for (const row &r : rows) {
        int found[3] = {0, 0, 0};
        double largest = 0;
        bool asked = count <= 3;
        for (int i = 3; i < count; ++i)
            asked = asked || std::strcmp(words[i], r.name) == 0;
        for (int i = 0; asked; ++i) {
            ggml_init_params params = {64 * ggml_tensor_overhead(), nullptr, true};
            ggml_context *c = ggml_init(params);
            const bool is_one = r.make(c, i) != nullptr;
            ggml_free(c);
            if (!is_one)
                break;
            double error = 0;
            const verdict v = compare(r, i, device, cpu, most, &error);
            if (v == wrong)
                std::printf("%s case %d: NMSE %.3g\n", r.name, i, error);
            found[v] += 1;
            total[v] += 1;
            largest = std::max(largest, error);
        }
        if (asked)
            std::printf("%s right %d wrong %d refused %d nmse %.2g\n", r.name, found[right], found[wrong], found[refused], largest);
        std::fflush(stdout);
    }
    std::printf("all right %d wrong %d refused %d\n", total[right], total[wrong], total[refused]);
    ggml_backend_free(device);
    ggml_backend_free(cpu);
    return total[wrong] > 0;
}
