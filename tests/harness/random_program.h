/* random_program.h - random graphs as JSON: they permute, reshape, join, cut, reduce and compute

   write_program(p, seed) writes one of float32 with inputs v0 and v1 and up to 3 outputs to p->text. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 40, MOST_COUNT = 600 };

typedef struct value { char name[16]; uint32_t rank; int64_t dims[8]; } value;

typedef struct program {
    char   text[60000];
    size_t used;
    value  values[MOST_VALUES];
    size_t count;
    uint32_t seed;
} program;

static uint32_t draw(program *p, uint32_t most)
{
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 8) % most;
}

static int64_t count_of(const value *v)
{
    int64_t count = 1;
    uint32_t i;
    for (i = 0; i < v->rank; ++i) count *= v->dims[i];
    return count;
}

static void put(program *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    p->used += (size_t)vsnprintf(p->text + p->used, sizeof(p->text) - p->used, format, list);
    va_end(list);
    if (p->used + 1 >= sizeof(p->text)) abort();
}

static void put_dims(program *p, const int64_t *dims, uint32_t rank)
{
    uint32_t i;
    put(p, "[");
    for (i = 0; i < rank; ++i) put(p, "%s%ld", i > 0 ? "," : "", (long)dims[i]);
    put(p, "]");
}

static void put_value(program *p, const value *v)
{
    put(p, "{\"name\":\"%s\",\"dtype\":\"float32\",\"shape\":", v->name);
    put_dims(p, v->dims, v->rank);
    put(p, "}");
}

/* Write a node; its output is the newest value, whose dims are set. attrs: JSON without braces. */
static void put_node(program *p, const char *op, const value *const *in, size_t count, const char *attrs)
{
    value *out = &p->values[p->count];
    size_t i;
    snprintf(out->name, sizeof out->name, "v%lu", (unsigned long)p->count);
    put(p, "%s{\"name\":\"%s\",\"op_type\":\"aten.%s\",\"inputs\":[", p->count > 2 ? ",\n" : "\n", out->name, op);
    for (i = 0; i < count; ++i) {
        if (i > 0) put(p, ",");
        put_value(p, in[i]);
    }
    put(p, "],\"outputs\":[");
    put_value(p, out);
    put(p, "],\"attrs\":{%s}}", attrs);
    p->count += 1;
}

/* Split a count into random dims. */
static void factor(program *p, int64_t count, value *out)
{
    const uint32_t most = 1 + draw(p, 5);
    out->rank = 0;
    while (out->rank < most) {
        int64_t part = 1;
        int64_t k;
        for (k = 2; k <= 8; ++k)
            if (count % k == 0 && draw(p, 3) == 0) part = k;
        out->dims[out->rank++] = part;
        count /= part;
    }
    out->dims[out->rank++] = count;
}

/* Add one random node. */
static void step(program *p)
{
    static const char *const unary[] = { "relu.default", "neg.default", "sigmoid.default", "silu.default", "tanh.default" };
    value *out = &p->values[p->count];
    const value *x = &p->values[draw(p, (uint32_t)p->count)], *in[3], *y;
    char attrs[200];
    uint32_t i, k, axis;
    in[0] = x;
    *out = *x;
    attrs[0] = '\0';
    axis = x->rank > 0 ? draw(p, x->rank) : 0;
    switch (draw(p, 14)) {
    case 0: {                                                   /* permute */
        uint32_t order[8];
        size_t used = 0;
        for (i = 0; i < x->rank; ++i) order[i] = i;
        for (i = 0; i + 1 < x->rank; ++i) {
            const uint32_t other = i + draw(p, x->rank - i), was = order[i];
            order[i] = order[other];
            order[other] = was;
        }
        used += (size_t)snprintf(attrs, sizeof attrs, "\"dims\":[");
        for (i = 0; i < x->rank; ++i) {
            out->dims[i] = x->dims[order[i]];
            used += (size_t)snprintf(attrs + used, sizeof attrs - used, "%s%u", i > 0 ? "," : "", (unsigned)order[i]);
        }
        snprintf(attrs + used, sizeof attrs - used, "]");
        put_node(p, "permute.default", in, 1, attrs);
        return;
    }
    case 1: case 2: {                                           /* reshape */
        size_t used = 0;
        factor(p, count_of(x), out);
        used += (size_t)snprintf(attrs, sizeof attrs, "\"shape\":[");
        for (i = 0; i < out->rank; ++i)
            used += (size_t)snprintf(attrs + used, sizeof attrs - used, "%s%ld", i > 0 ? "," : "", (long)out->dims[i]);
        snprintf(attrs + used, sizeof attrs - used, "]");
        put_node(p, "reshape.default", in, 1, attrs);
        return;
    }
    case 3:
        put_node(p, unary[draw(p, 5)], in, 1, "");
        return;
    case 4: case 5:                                             /* add of two of the same dims, or of dims of 1 */
        y = &p->values[draw(p, (uint32_t)p->count)];
        for (i = 0; i < p->count; ++i) {
            const value *other = &p->values[(i + draw(p, 7)) % p->count];
            uint32_t same = 0;
            if (other->rank > x->rank) continue;
            for (k = 0; k < other->rank; ++k)
                same += other->dims[k] == x->dims[k + x->rank - other->rank] || other->dims[k] == 1;
            if (same == other->rank) y = other;
        }
        k = 0;
        for (i = 0; i < y->rank && y->rank <= x->rank; ++i)
            k += y->dims[i] == x->dims[i + x->rank - y->rank] || y->dims[i] == 1;
        if (y->rank > x->rank || k != y->rank) y = x;
        in[0] = x;
        in[1] = y;
        if (draw(p, 2)) { in[0] = y; in[1] = x; }
        put_node(p, draw(p, 2) ? "add.Tensor" : "mul.Tensor", in, 2, "");
        return;
    case 6:                                                     /* mean */
        if (x->rank == 0) return;
        if (draw(p, 2)) {
            out->dims[axis] = 1;
            snprintf(attrs, sizeof attrs, "\"dim\":[%u],\"keepdim\":true", (unsigned)axis);
        } else {
            for (i = axis; i + 1 < x->rank; ++i) out->dims[i] = x->dims[i + 1];
            out->rank -= 1;
            snprintf(attrs, sizeof attrs, "\"dim\":[%d]", (int)axis - (int)x->rank);
        }
        put_node(p, "mean.dim", in, 1, attrs);
        return;
    case 7:
        if (x->rank == 0) return;
        snprintf(attrs, sizeof attrs, "\"dim\":%u", (unsigned)axis);
        put_node(p, "softmax.int", in, 1, attrs);
        return;
    case 8: {                                                   /* slice */
        int64_t start, end, by;
        if (x->rank == 0) return;
        start = draw(p, (uint32_t)x->dims[axis]);
        end = start + 1 + draw(p, (uint32_t)(x->dims[axis] - start));
        by = 1 + draw(p, 2);
        out->dims[axis] = (end - start + by - 1) / by;
        snprintf(attrs, sizeof attrs, "\"dim\":%u,\"start\":%ld,\"end\":%ld,\"step\":%ld", (unsigned)axis, (long)start,
                 (long)end, (long)by);
        put_node(p, "slice.Tensor", in, 1, attrs);
        return;
    }
    case 9:                                                     /* join with itself */
        if (x->rank == 0 || count_of(x) > MOST_COUNT / 2) return;
        out->dims[axis] *= 2;
        in[1] = x;
        snprintf(attrs, sizeof attrs, "\"dim\":%u,\"_tensor_list_sizes\":[2]", (unsigned)axis);
        put_node(p, "cat.default", in, 2, attrs);
        return;
    case 10:                                                    /* select */
        if (x->rank == 0) return;
        snprintf(attrs, sizeof attrs, "\"dim\":%u,\"index\":%ld", (unsigned)axis, -(long)1 - (long)draw(p, (uint32_t)x->dims[axis]));
        for (i = axis; i + 1 < x->rank; ++i) out->dims[i] = x->dims[i + 1];
        out->rank -= 1;
        put_node(p, "select.int", in, 1, attrs);
        return;
    case 11:                                                    /* unsqueeze */
        if (x->rank >= 6) return;
        axis = draw(p, x->rank + 1);
        for (i = x->rank; i > axis; --i) out->dims[i] = x->dims[i - 1];
        out->dims[axis] = 1;
        out->rank += 1;
        snprintf(attrs, sizeof attrs, "\"dim\":%u", (unsigned)axis);
        put_node(p, "unsqueeze.default", in, 1, attrs);
        return;
    case 12: {                                                  /* expand */
        size_t used = 0;
        const int64_t times = 2 + draw(p, 2);
        int more = 0;
        if (count_of(x) * times > MOST_COUNT) return;
        used += (size_t)snprintf(attrs, sizeof attrs, "\"size\":[");
        for (i = 0; i < x->rank; ++i) {
            if (x->dims[i] == 1 && !more) { out->dims[i] = times; more = 1; }
            used += (size_t)snprintf(attrs + used, sizeof attrs - used, "%s%ld", i > 0 ? "," : "", (long)out->dims[i]);
        }
        snprintf(attrs + used, sizeof attrs - used, "]");
        put_node(p, "expand.default", in, 1, attrs);
        return;
    }
    default:                                                    /* x times its own transpose */
        if (x->rank < 2 || x->rank > 5 || count_of(x) / x->dims[x->rank - 1] * x->dims[x->rank - 2] > MOST_COUNT) return;
        in[0] = x;
        out->dims[x->rank - 1] = x->dims[x->rank - 2];
        out->dims[x->rank - 2] = x->dims[x->rank - 1];
        snprintf(attrs, sizeof attrs, "\"dim0\":-1,\"dim1\":-2");
        put_node(p, "transpose.int", in, 1, attrs);
        if (p->count == MOST_VALUES) return;
        in[1] = &p->values[p->count - 1];
        out = &p->values[p->count];
        *out = *x;
        out->dims[x->rank - 1] = x->dims[x->rank - 2];
        put_node(p, "matmul.default", in, 2, "");
        return;
    }
}

/* Write a program: inputs v0 and v1; every value that nothing reads, and the last ones, are outputs. */
static void write_program(program *p, uint32_t seed)
{
    size_t i, tries = 0, begin, outputs = 0;
    char *nodes;
    memset(p, 0, sizeof(*p));
    p->seed = seed;
    for (i = 0; i < 2; ++i) {
        value *v = &p->values[i];
        snprintf(v->name, sizeof v->name, "v%lu", (unsigned long)i);
        do factor(p, (int64_t[]){ 24, 36, 60, 48, 64, 7, 1 }[draw(p, 7)], v); while (v->rank > 5);
        p->count += 1;
    }
    while (p->count < 3 + seed % 12 && p->count + 2 < MOST_VALUES && tries++ < 100) step(p);
    nodes = (char *)malloc(p->used + 1);
    if (nodes == NULL) abort();
    memcpy(nodes, p->text, p->used + 1);
    begin = p->used;
    p->used = 0;
    put(p, "{\"graph_inputs\":[");
    for (i = 0; i < 2; ++i) { if (i > 0) put(p, ","); put_value(p, &p->values[i]); }
    put(p, "],\"graph_outputs\":[");
    for (i = p->count; i-- > 2 && outputs < 3;) {
        if (outputs++ > 0) put(p, ",");
        put_value(p, &p->values[i]);
    }
    put(p, "],\"weights\":[],\"nodes\":[%.*s]}", (int)begin, nodes);
    free(nodes);
}

#endif
