/* shape.c - dims of one execute of a graph with dynamic dimensions or optional tensors

   Operators have no function that computes the dims of their outputs, only one that checks them.
   So the dims of a dynamic output are found by trying: first those that dynamic dims of the inputs
   have now, then every number up to the bound. What the operator accepts is it; that a smaller
   number would be refused was checked when the node was added.
   Locks  the caller holds that of the graph
   Knows nothing of: handles, vendor structs, memory of callers */
#include "ref.h"

#include <string.h>

enum { OPEN_MOST = 8, TRIES_MOST = 4096, SCAN_MOST = 65536 };

/* A dimension of an output that is not known yet. */
typedef struct open_dim {
    ref_value *value;
    uint32_t   axis, at;
    uint32_t   tries[OPEN_MOST + 1], count;
} open_dim;

static void count_elements(ref_tensor *view)
{
    view->count = 1;
    for (uint32_t i = 0; i < view->rank; ++i)
        view->count *= view->dims[i];
}

static void dim_set(open_dim *dim, uint32_t size)
{
    dim->value->view.dims[dim->axis] = size;
    count_elements(&dim->value->view);
}

static void add_try(open_dim *dim, uint32_t size)
{
    if (dim->count > OPEN_MOST || size > dim->value->most[dim->axis])
        return;
    for (uint32_t i = 0; i < dim->count; ++i)
        if (dim->tries[i] == size)
            return;
    dim->tries[dim->count++] = size;
}

/* List what a dimension may be: the sizes of dynamic dims of the inputs, those with the same bound
   first, then its bound. */
static void tries_fill(const ref_body *body, const ref_step *step, open_dim *dim)
{
    const uint32_t bound = dim->value->most[dim->axis];
    for (int equal = 1; equal >= 0; --equal) {
        for (uint32_t k = 0; k < step->view.in_count; ++k) {
            const ref_value *in = step->view.in[k] != NULL ? body->values[step->in[k]] : NULL;
            for (uint32_t i = 0; in != NULL && i < in->view.rank; ++i)
                if ((in->dynamic >> i & 1) != 0 && (in->most[i] == bound) == equal)
                    add_try(dim, in->view.dims[i]);
        }
    }
    if (dim->count > OPEN_MOST)
        dim->count = OPEN_MOST;
    add_try(dim, bound);
}

/* Collect the dynamic dims of a step's outputs. Return 0 when there are too many. */
static int open_dims(const ref_body *body, const ref_step *step, open_dim dims[OPEN_MOST],
                     uint32_t *count)
{
    *count = 0;
    for (uint32_t o = 0; o < step->view.out_count; ++o) {
        ref_value *value = body->values[step->out[o]];
        for (uint32_t i = 0; i < value->view.rank; ++i) {
            open_dim *dim = &dims[*count];
            if ((value->dynamic >> i & 1) == 0)
                continue;
            if (*count == OPEN_MOST)
                return 0;
            memset(dim, 0, sizeof(*dim));
            dim->value = value;
            dim->axis = i;
            tries_fill(body, step, dim);
            *count += 1;
        }
    }
    return 1;
}

/* Try all combinations of the listed sizes. The reason is that of the first one. */
static int try_listed(const ref_step *step, open_dim *dims, uint32_t count, ref_why *why)
{
    ref_why other;
    uint32_t tries = 0, i;
    do {
        for (i = 0; i < count; ++i)
            dim_set(&dims[i], dims[i].tries[dims[i].at]);
        if (ref_op_check(&step->view, tries == 0 ? why : &other))
            return 1;
        for (i = 0; i < count && ++dims[i].at == dims[i].count; ++i)
            dims[i].at = 0;
    } while (i < count && ++tries < TRIES_MOST);
    return 0;
}

/* Try every size of the only dimension that is not known. */
static int try_all(const ref_step *step, open_dim *dim)
{
    const uint32_t bound = dim->value->most[dim->axis];
    ref_why ignored;
    for (uint32_t size = 1; size <= bound && size <= SCAN_MOST; ++size) {
        dim_set(dim, size);
        if (ref_op_check(&step->view, &ignored))
            return 1;
    }
    return 0;
}

static int step_settle(const ref_body *body, const ref_step *step, ref_why *why)
{
    open_dim dims[OPEN_MOST];
    uint32_t count;
    if (!open_dims(body, step, dims, &count))
        return ref_refuse(why, "its outputs have more than %d dynamic dimensions", (int)OPEN_MOST);
    if (count == 0)
        return ref_op_check(&step->view, why);
    if (!try_listed(step, dims, count, why) && !(count == 1 && try_all(step, &dims[0])))
        return 0;
    if (step->view.op->scratch != NULL
        && step->view.op->scratch(&step->view) > body->scratch_bytes)
        return ref_refuse(why, "it needs more scratch memory than with its most elements");
    return 1;
}

/* Let a step read its optional inputs, or (with absent) only those that this execute was given. */
static void step_inputs(const ref_body *body, ref_step *step, int absent)
{
    for (uint32_t i = 0; i < step->view.in_count; ++i) {
        const ref_value *value = step->in[i] != REF_NONE ? body->values[step->in[i]] : NULL;
        if (value != NULL && value->type == Q_OPTIONAL_APP_WRITE)
            step->view.in[i] = absent && value->caller == NULL ? NULL : &value->view;
    }
}

void ref_shape_reset(ref_body *body)
{
    for (int i = 0; i < body->value_count; ++i) {
        ref_value *value = body->values[i];
        memcpy(value->view.dims, value->most, sizeof(value->most));
        count_elements(&value->view);
    }
    for (int s = 0; s < body->step_count; ++s)
        step_inputs(body, body->steps[s], 0);
}

q_code ref_shape_settle(ref_body *body, ref_why *why)
{
    for (int s = 0; s < body->step_count; ++s) {
        ref_step *step = body->steps[body->order[s]];
        ref_why own;
        step_inputs(body, step, 1);
        if (!step_settle(body, step, &own))
            return ref_refused(why, Q_GRAPH_SHAPE, "node \"%.120s\": %.380s", step->view.name,
                               own.text);
    }
    return Q_OK;
}

/* Check that the operator refuses each dynamic dimension of its outputs at one less: then its
   inputs decide it. */
static int outputs_decided(const ref_body *body, const ref_step *step, ref_why *why)
{
    open_dim dims[OPEN_MOST];
    ref_why ignored;
    uint32_t count;
    if (!open_dims(body, step, dims, &count))
        return ref_refuse(why, "its outputs have more than %d dynamic dimensions", (int)OPEN_MOST);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t bound = dims[i].value->most[dims[i].axis];
        int free = 0;
        if (bound > 1) {
            dim_set(&dims[i], bound - 1);
            free = ref_op_check(&step->view, &ignored);
            dim_set(&dims[i], bound);
        }
        if (free)
            return ref_refuse(why, "output \"%.200s\": dimension %u is dynamic, but the inputs of"
                              " %s do not decide it", dims[i].value->view.name,
                              (unsigned)dims[i].axis, step->view.op->type);
    }
    return 1;
}

int ref_shape_check(const ref_body *body, ref_step *step, ref_why *why)
{
    ref_why own;
    if (!body->flexible)
        return 1;
    for (uint32_t i = 0; i < step->view.in_count; ++i) {
        const ref_tensor *given = step->view.in[i];
        int possible;
        if (given == NULL || body->values[step->in[i]]->type != Q_OPTIONAL_APP_WRITE)
            continue;
        step->view.in[i] = NULL;
        possible = ref_op_check(&step->view, &own);
        step->view.in[i] = given;
        if (!possible)
            return ref_refuse(why, "input %u \"%.120s\" is an optional tensor, and without it: "
                              "%.300s", (unsigned)i, given->name, own.text);
    }
    return outputs_decided(body, step, why);
}
