/* execute.c - the graph calls of the interface: create, tensors, nodes, finalize, update, execute

   Execute checks what the genuine libraries ignore: sizes, dimensions, types, duplicates, overlaps.
   Inputs and outputs are used in place. Only memory that cannot be used directly (odd addresses, an
   output over an input) gets a copy, which is made once and kept.
   Locks  an execute holds the graph's own lock, and the common one only while it binds
   Knows nothing of: files, how operators compute */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

static uint64_t scalar_bits(const q_scalar *scalar)
{
    uint64_t bits = 0;
    const size_t bytes = scalar->dtype == Q_F64 ? 8 : ref_type_bytes(scalar->dtype);
    memcpy(&bits, &scalar->u, bytes <= 8 ? bytes : 8);
    return bits;
}

/* ---- graphs --------------------------------------------------------------------------------- */

static q_code configs_check(ref_call *call, const q_config **configs, uint32_t *priority)
{
    for (; configs != NULL && *configs != NULL; ++configs) {
        const q_config *config = *configs;
        switch (config->option) {
        case 0:
            ref_log_write(call, Q_LOG_INFO, "%s: a vendor-specific graph option is ignored",
                          call->name);
            break;
        case 3:
            if (!ref_priority_known(config->u.word))
                return ref_fail(call, Q_GRAPH_ARGUMENT, "priority %u is not known",
                                (unsigned)config->u.word);
            *priority = config->u.word;
            break;
        case 4: case 5: case 6: case 7:
            return ref_fail(call, Q_NOT_SUPPORTED, "graph option %u is not supported",
                            (unsigned)config->option);
        default:
            return ref_fail(call, Q_GRAPH_ARGUMENT, "graph option %u is not known",
                            (unsigned)config->option);
        }
    }
    return Q_OK;
}

static q_code graph_handle(ref_call *call, ref_context *context, ref_body *body, q_handle *out)
{
    ref_graph *graph = ref_ledger_make(call, REF_GRAPH, sizeof(*graph), out);
    if (graph == NULL)
        return call->code;
    graph->context = context;
    graph->body = body;
    return Q_OK;
}

static ref_graph *graph_get(ref_call *call, q_handle handle)
{
    return ref_ledger_get(call, REF_GRAPH, handle, Q_GRAPH_HANDLE);
}

q_code ref_graph_create(ref_call *call, q_handle handle, const char *name,
                        const q_config **configs, q_handle *out)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    uint32_t priority = Q_PRIORITY_NORMAL;
    ref_body *body;
    ref_why why;
    q_code code;
    if (context == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_GRAPH_ARGUMENT, "the pointer for the handle is NULL");
    if (context->from_binary)
        return ref_fail(call, Q_GENERAL, "context %u came from a binary and takes no new graph",
                        (unsigned)context->head.number);
    code = configs_check(call, configs, &priority);
    if (code != Q_OK)
        return code;
    body = ref_model_graph(context->model, name, &why, &code);
    if (body == NULL)
        return ref_fail(call, code, "%s", why.text);
    body->priority = priority;
    return graph_handle(call, context, body, out);
}

q_code ref_graph_config(ref_call *call, q_handle handle, const q_config **configs)
{
    ref_graph *graph = graph_get(call, handle);
    if (graph == NULL)
        return call->code;
    for (const q_config **c = configs; graph->body->finalized && c != NULL && *c != NULL; ++c)
        if ((*c)->option == 0)
            return ref_fail(call, Q_GRAPH_FINALIZED,
                            "graph \"%s\" is finalized; only its priority may change",
                            graph->body->name);
    return configs_check(call, configs, &graph->body->priority);
}

q_code ref_graph_retrieve(ref_call *call, q_handle handle, const char *name, q_handle *out)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    ref_body *body;
    if (context == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_GRAPH_ARGUMENT, "the pointer for the handle is NULL");
    body = name != NULL ? ref_model_find(context->model, name) : NULL;
    if (body == NULL)
        return ref_fail(call, Q_GRAPH_NAME, "there is no graph \"%s\" in context %u",
                        name != NULL ? name : "(NULL)", (unsigned)context->head.number);
    /* Return the same handle each time, as the genuine library does. */
    for (size_t i = 0; ; ++i) {
        ref_graph *graph = ref_ledger_at(REF_GRAPH, i);
        if (graph == NULL)
            return graph_handle(call, context, body, out);
        if (graph->body == body && graph->context == context) {
            *out = (q_handle)(uintptr_t)graph->head.handle;
            return Q_OK;
        }
    }
}

/* ---- tensors and nodes ---------------------------------------------------------------------- */

q_code ref_graph_tensor(ref_call *call, q_handle handle, q_tensor *tensor)
{
    ref_graph *graph = graph_get(call, handle);
    ref_arena *arena;
    ref_value *value;
    ref_made made;
    ref_why why;
    q_code code;
    if (graph == NULL)
        return call->code;
    if (tensor == NULL)
        return ref_fail(call, Q_TENSOR_HANDLE, "the tensor is NULL");
    if (graph->body->finalized)
        return ref_fail(call, Q_GRAPH_FINALIZED,
                        "graph \"%s\" is finalized and takes no new tensor", graph->body->name);
    arena = &graph->context->model->arena;
    ref_refuse(&why, "no memory for a tensor");
    code = ref_made_from(tensor, arena, &made, &why);
    if (code == Q_OK)
        code = ref_body_tensor(graph->body, &made, &value, &why);
    if (code != Q_OK)
        return ref_fail(call, code, "%s", why.text);
    tensor->v.id = value->id;
    return Q_OK;
}

/* Check the dims that a caller passes: within the bound where they are dynamic, equal elsewhere. */
static int dims_agree(const q_tensor *given, const ref_value *value, ref_why *why)
{
    char expected[REF_SHAPE_TEXT], found[REF_SHAPE_TEXT];
    ref_tensor bound = value->view, other;
    int fits;
    memset(&other, 0, sizeof(other));
    memcpy(bound.dims, value->most, sizeof(bound.dims));
    other.rank = given->v.rank <= REF_RANK ? given->v.rank : 0;
    memcpy(other.dims, given->v.dims, other.rank * sizeof(uint32_t));
    fits = other.rank == bound.rank;
    for (uint32_t i = 0; fits && i < other.rank; ++i)
        fits = other.dims[i] == bound.dims[i]
            || ((value->dynamic >> i & 1) != 0 && other.dims[i] > 0
                && other.dims[i] < bound.dims[i]);
    if (fits)
        return 1;
    return ref_refuse(why, "tensor \"%s\" is %s%s, not %s", bound.name,
                      value->dynamic != 0 ? "at most " : "", ref_shape_text(&bound, expected),
                      ref_shape_text(&other, found));
}

/* Check that a tensor that a caller passes agrees with the tensor of its id. */
static int facts_agree(const q_tensor *given, const ref_value *value, ref_why *why)
{
    const ref_tensor *view = &value->view;
    if (given->v.name != NULL && strcmp(given->v.name, view->name) != 0)
        return ref_refuse(why, "tensor %u is \"%s\", not \"%.200s\"", (unsigned)value->id,
                          view->name, given->v.name);
    if (given->v.dims == NULL)
        return 1;
    if (given->v.dtype != view->dtype)
        return ref_refuse(why, "tensor \"%s\" is %s, not %s (0x%04x)", view->name,
                          ref_type_name(view->dtype),
                          ref_type_name(given->v.dtype), (unsigned)given->v.dtype);
    if (given->v.type != value->type)
        return ref_refuse(why, "tensor \"%s\" has type %u, not %u", view->name,
                          (unsigned)value->type, (unsigned)given->v.type);
    return dims_agree(given, value, why);
}

static q_code node_tensor(const ref_body *body, const q_op *op, const char *what, uint32_t i,
                          const q_tensor *given, int *out, ref_why *why)
{
    ref_why facts;
    if (given->version != 1 && given->version != 2)
        return ref_refused(why, Q_GRAPH_TENSOR, "node \"%s\": %s %u has struct version %u",
                           op->v1.name, what, (unsigned)i, (unsigned)given->version);
    if (given->v.type == Q_NULL) {
        *out = REF_NONE;
        return Q_OK;
    }
    *out = ref_body_index(body, given->v.id);
    if (*out == REF_NONE)
        return ref_refused(why, Q_GRAPH_TENSOR,
                           "node \"%s\": %s %u \"%.200s\" (id %u) was not created in graph \"%s\"",
                           op->v1.name, what, (unsigned)i,
                           given->v.name != NULL ? given->v.name : "", (unsigned)given->v.id,
                           body->name);
    if (!facts_agree(given, body->values[*out], &facts))
        return ref_refused(why, Q_GRAPH_TENSOR, "node \"%s\": %s %u: %s", op->v1.name, what,
                           (unsigned)i, facts.text);
    return Q_OK;
}

static q_code op_check(const q_op *op, ref_why *why)
{
    if (op->version != 1)
        return ref_refused(why, Q_GRAPH_OP, "an operator of struct version %u, expected 1",
                           (unsigned)op->version);
    if (op->v1.name == NULL || op->v1.type == NULL || op->v1.package == NULL)
        return ref_refused(why, Q_GRAPH_OP, "an operator needs a name, a type and a package");
    if ((op->v1.input_count > 0 && op->v1.inputs == NULL) || (op->v1.output_count > 0
                                                              && op->v1.outputs == NULL)
        || (op->v1.param_count > 0 && op->v1.params == NULL))
        return ref_refused(why, Q_GRAPH_OP, "node \"%s\": elements declared, but the list is NULL",
                           op->v1.name);
    if (op->v1.input_count > 10000 || op->v1.output_count > 10000 || op->v1.param_count > 1000)
        return ref_refused(why, Q_GRAPH_OP,
                           "node \"%s\" has %u inputs, %u outputs and %u parameters; at most 10000,"
                           " 10000 and 1000 are allowed", op->v1.name, (unsigned)op->v1.input_count,
                           (unsigned)op->v1.output_count, (unsigned)op->v1.param_count);
    for (uint32_t i = 0; i < op->v1.param_count; ++i) {
        const q_param *param = &op->v1.params[i];
        if (param->name == NULL || param->kind > Q_PARAM_TENSOR)
            return ref_refused(why, Q_GRAPH_OP, "node \"%s\": parameter %u has %s", op->v1.name,
                               (unsigned)i,
                               param->name == NULL ? "no name"
                                 : "a kind that is neither scalar nor tensor");
    }
    return Q_OK;
}

q_code ref_graph_node(ref_call *call, q_handle handle, const q_op *op)
{
    ref_graph *graph = graph_get(call, handle);
    ref_arena arena = { NULL };
    ref_plan_step step;
    int *in, *out;
    ref_why why;
    q_code code;
    if (graph == NULL)
        return call->code;
    if (graph->body->finalized)
        return ref_fail(call, Q_GRAPH_FINALIZED, "graph \"%s\" is finalized and takes no new node",
                        graph->body->name);
    code = op_check(op, &why);
    if (code != Q_OK)
        return ref_fail(call, code, "%s", why.text);
    memset(&step, 0, sizeof(step));
    step.name = op->v1.name;
    step.package = op->v1.package;
    step.type = op->v1.type;
    step.in_count = op->v1.input_count;
    step.out_count = op->v1.output_count;
    step.argument_count = op->v1.param_count;
    in = ref_arena_alloc(&arena, step.in_count * sizeof(int));
    out = ref_arena_alloc(&arena, step.out_count * sizeof(int));
    step.arguments = ref_arena_alloc(&arena, step.argument_count * sizeof(ref_argument));
    if (in == NULL || out == NULL || step.arguments == NULL) {
        ref_arena_free(&arena);
        return ref_fail(call, Q_MEMORY, "no memory");
    }
    for (uint32_t i = 0; i < step.in_count && code == Q_OK; ++i)
        code = node_tensor(graph->body, op, "input", i, &op->v1.inputs[i], &in[i], &why);
    for (uint32_t i = 0; i < step.out_count && code == Q_OK; ++i)
        code = node_tensor(graph->body, op, "output", i, &op->v1.outputs[i], &out[i], &why);
    for (uint32_t i = 0; i < step.argument_count && code == Q_OK; ++i) {
        const q_param *param = &op->v1.params[i];
        ref_argument *argument = &step.arguments[i];
        argument->name = param->name;
        argument->value = REF_NONE;
        if (param->kind == Q_PARAM_TENSOR) {
            code = node_tensor(graph->body, op, "parameter", i, &param->u.tensor, &argument->value,
                               &why);
        } else {
            argument->dtype = param->u.scalar.dtype;
            argument->bits = scalar_bits(&param->u.scalar);
        }
    }
    step.in = in;
    step.out = out;
    if (code == Q_OK)
        code = ref_body_node(graph->body, &step, &why);
    ref_arena_free(&arena);
    return code == Q_OK ? code : ref_fail(call, code, "%s", why.text);
}

/* Make a tensor for a validation: it belongs to no graph, and its data stays with the caller. A
   STATIC tensor may come without data, as Qualcomm's libraries allow it. */
static const ref_tensor *loose_tensor(const q_tensor *given, ref_arena *arena, ref_why *why,
                                      q_code *code)
{
    ref_value *value = ref_arena_alloc(arena, sizeof(*value));
    q_tensor copy = *given;
    ref_made made;
    if (value == NULL) {
        *code = Q_MEMORY;
        return NULL;
    }
    const int unseen = ref_type_is_static(copy.v.type) && copy.v.u.buffer.data == NULL;
    if (unseen)
        copy.v.type = Q_NATIVE;
    if (copy.v.name == NULL)
        copy.v.name = "(unnamed)";
    *code = ref_made_from(&copy, arena, &made, why);
    if (*code == Q_OK)
        *code = ref_value_fill(&made, arena, value, why);
    if (*code != Q_OK)
        return NULL;
    memcpy(&value->view.data, &made.data, sizeof(made.data));    /* check() only reads it */
    value->view.unseen = unseen;
    value->view.fixed |= unseen;
    return &value->view;
}

q_code ref_backend_validate(ref_call *call, q_handle handle, const q_op *op)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    ref_arena arena = { NULL };
    const ref_tensor **in, **out;
    ref_param *params;
    ref_node node;
    ref_why why;
    q_code code;
    if (backend == NULL)
        return call->code;
    code = op_check(op, &why);
    if (code != Q_OK)
        return ref_fail(call, Q_OP_REFUSED, "%s", why.text);
    memset(&node, 0, sizeof(node));
    node.name = op->v1.name;
    node.op = strcmp(op->v1.package, REF_PACKAGE) == 0 ? ref_op_find(op->v1.type) : NULL;
    if (node.op == NULL)
        return ref_fail(call, Q_BACKEND_NO_PACKAGE,
                        "node \"%s\": there is no operator \"%s\" in package \"%s\"",
                        op->v1.name, op->v1.type, op->v1.package);
    node.in_count = op->v1.input_count;
    node.out_count = op->v1.output_count;
    node.param_count = op->v1.param_count;
    in = ref_arena_alloc(&arena, node.in_count * sizeof(*in));
    out = ref_arena_alloc(&arena, node.out_count * sizeof(*out));
    params = ref_arena_alloc(&arena, node.param_count * sizeof(*params));
    ref_refuse(&why, "no memory");
    if (in == NULL || out == NULL || params == NULL)
        code = Q_MEMORY;
    for (uint32_t i = 0; i < node.in_count && code == Q_OK; ++i)
        if (op->v1.inputs[i].v.type != Q_NULL)
            in[i] = loose_tensor(&op->v1.inputs[i], &arena, &why, &code);
    for (uint32_t i = 0; i < node.out_count && code == Q_OK; ++i)
        out[i] = loose_tensor(&op->v1.outputs[i], &arena, &why, &code);
    for (uint32_t i = 0; i < node.param_count && code == Q_OK; ++i) {
        const q_param *param = &op->v1.params[i];
        params[i].name = param->name;
        if (param->kind == Q_PARAM_TENSOR) {
            params[i].tensor = loose_tensor(&param->u.tensor, &arena, &why, &code);
            if (params[i].tensor != NULL &&
                (!params[i].tensor->fixed || params[i].tensor->unseen)) {
                code = ref_refused(&why, Q_OP_REFUSED,
                                   "node \"%s\": parameter \"%s\" is not a STATIC tensor with data",
                                   op->v1.name, param->name);
            }
        } else {
            params[i].dtype = param->u.scalar.dtype;
            if (!ref_scalar(params[i].dtype, scalar_bits(&param->u.scalar), &params[i].value))
                code = ref_refused(&why, Q_OP_REFUSED,
                                   "node \"%s\": parameter \"%s\" has type 0x%04x, which no scalar "
                                   "has", op->v1.name, param->name, (unsigned)params[i].dtype);
        }
    }
    node.in = in;
    node.out = out;
    node.params = params;
    if (code == Q_OK && !ref_op_check(&node, &why))
        code = Q_OP_REFUSED;
    ref_arena_free(&arena);
    if (code == Q_OK)
        return Q_OK;
    return ref_fail(call, code == Q_MEMORY ? Q_MEMORY : Q_OP_REFUSED, "%s", why.text);
}

/* ---- finalize ------------------------------------------------------------------------------- */

static void warn_of_unused(ref_call *call, const ref_body *body)
{
    unsigned char *used = ref_alloc((size_t)body->value_count);
    for (int s = 0; used != NULL && s < body->step_count; ++s) {
        const ref_step *step = body->steps[s];
        for (uint32_t i = 0; i < step->view.in_count; ++i)
            if (step->in[i] != REF_NONE)
                used[step->in[i]] = 1;
    }
    for (int i = 0; used != NULL && i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        if (!used[i] && value->writer == REF_NONE && !ref_type_is_static(value->type))
            ref_log_write(call, Q_LOG_WARN, "%s: tensor \"%s\" of graph \"%s\" is used by no node",
                          call->name, value->view.name, body->name);
    }
    ref_free(used);
}

q_code ref_graph_finalize(ref_call *call, q_handle handle, q_handle profile_handle, q_handle signal)
{
    ref_graph *graph = graph_get(call, handle);
    const uint64_t began = ref_now_ns();
    ref_profile *profile;
    ref_body *body;
    ref_why why;
    q_code code;
    if (graph == NULL)
        return call->code;
    body = graph->body;
    code = ref_profile_get(call, profile_handle, graph->context->backend, &profile);
    if (code == Q_OK)
        code = ref_signal_none(call, signal);
    if (code != Q_OK)
        return code;
    if (body->finalized)
        return ref_fail(call, Q_NOT_SUPPORTED, "graph \"%s\" is already finalized", body->name);
    warn_of_unused(call, body);
    code = ref_body_finalize(body, &why);
    if (code != Q_OK)
        return ref_fail(call, code, "%s", why.text);
    ref_profile_clear(profile);
    ref_profile_time(profile, 300, began, "QNN (finalize) time");
    return Q_OK;
}

/* ---- updates -------------------------------------------------------------------------------- */

/* Check one tensor of an update, and find what it replaces. */
static q_code update_check(const ref_graph *graph, const q_tensor *given, ref_value **out,
                           ref_why *why)
{
    ref_arena arena = { NULL };
    ref_made made;
    q_code code;
    *out = NULL;
    if (given != NULL && (given->version == 1 || given->version == 2))
        *out = ref_body_value(graph->body, given->v.id);
    if (*out == NULL)
        return ref_refused(why, Q_TENSOR_MISSING, "graph \"%s\" has no tensor with the id %u",
                           graph->body->name, given != NULL ? (unsigned)given->v.id : 0u);
    if ((*out)->type != Q_UPDATEABLE_STATIC)
        return ref_refused(why, Q_TENSOR_UPDATE,
                           "tensor \"%s\" has type %u; only UPDATEABLE_STATIC ones can be updated",
                           (*out)->view.name, (unsigned)(*out)->type);
    if (!facts_agree(given, *out, why))
        return Q_TENSOR_UPDATE;
    code = ref_made_from(given, &arena, &made, why);
    if (code == Q_OK && made.bytes != (*out)->bytes)
        code = ref_refused(why, Q_TENSOR_UPDATE, "tensor \"%s\": %llu bytes given, expected %llu",
                           (*out)->view.name, (unsigned long long)made.bytes,
                           (unsigned long long)(*out)->bytes);
    ref_arena_free(&arena);
    return code;
}

/* All are checked before the first one changes. */
q_code ref_graph_update(ref_call *call, q_handle handle, const q_tensor **tensors, uint64_t count)
{
    ref_graph *graph = graph_get(call, handle);
    ref_value *value;
    ref_body *body;
    ref_why why;
    q_code code = Q_OK;
    if (graph == NULL)
        return call->code;
    body = graph->body;
    if (tensors == NULL || count == 0)
        return ref_fail(call, Q_TENSOR_PARAM, "no tensors to update");
    if (!body->finalized)
        return ref_fail(call, Q_GRAPH_NOT_FINALIZED, "graph \"%s\" is not finalized", body->name);
    ref_refuse(&why, "no memory");
    ++graph->context->executing;
    ref_unlock();
    pthread_mutex_lock(&body->lock);
    ref_lock();
    for (uint64_t i = 0; i < count && code == Q_OK; ++i)
        code = update_check(graph, tensors[i], &value, &why);
    for (uint64_t i = 0; i < count && code == Q_OK; ++i) {
        value = ref_body_value(body, tensors[i]->v.id);
        code = ref_body_update(body, value, tensors[i]->v.u.buffer.data, &why);
    }
    pthread_mutex_unlock(&body->lock);
    --graph->context->executing;
    return code == Q_OK ? code : ref_fail(call, code, "%s", why.text);
}

/* ---- execute -------------------------------------------------------------------------------- */

/* Return the bytes of the dims that a tensor has in this execute. */
static uint64_t bytes_now(const ref_value *value)
{
    return value->dynamic == 0 ? value->bytes
                               : value->view.count * ref_type_bytes(value->view.dtype);
}

/* Take the dims of this execute: those of the call, or the bound. */
static void dims_take(const q_tensor *given, ref_value *value)
{
    ref_tensor *view = &value->view;
    if (value->dynamic == 0)
        return;
    view->count = 1;
    for (uint32_t i = 0; i < view->rank; ++i) {
        view->dims[i] = given->v.dims != NULL ? given->v.dims[i] : value->most[i];
        view->count *= view->dims[i];
    }
}

static void *memory_of(ref_call *call, const ref_graph *graph, const char *what,
                       const q_tensor *given, const ref_value *value)
{
    const char *name = value->view.name;
    char expected[REF_SHAPE_TEXT], found[REF_SHAPE_TEXT];
    ref_tensor other, bound = value->view;
    ref_mem *mem;
    if (given->v.mem_type == Q_MEM_RAW) {
        if (given->v.u.buffer.data == NULL)
            ref_fail(call, Q_GRAPH_TENSOR, "%s \"%s\": its data is NULL", what, name);
        else if (given->v.u.buffer.bytes != bytes_now(value))
            ref_fail(call, Q_GRAPH_TENSOR, "%s \"%s\": %u bytes given, expected %llu",
                     what, name,
                     (unsigned)given->v.u.buffer.bytes, (unsigned long long)bytes_now(value));
        else
            return given->v.u.buffer.data;
        return NULL;
    }
    if (given->v.mem_type != Q_MEM_MEMHANDLE) {
        ref_fail(call, Q_GRAPH_TENSOR,
                 "%s \"%s\": memory type %u, expected 0 (plain memory) or 1 (handles)", what, name,
                 (unsigned)given->v.mem_type);
        return NULL;
    }
    mem = ref_ledger_get(call, REF_MEM, given->v.u.mem, Q_GRAPH_TENSOR);
    if (mem == NULL)
        return NULL;
    if (mem->context != graph->context) {
        ref_fail(call, Q_GRAPH_TENSOR,
                 "%s \"%s\": memory %u was registered with context %u, the graph is in context %u",
                 what, name, (unsigned)mem->head.number, (unsigned)mem->context->head.number,
                 (unsigned)graph->context->head.number);
        return NULL;
    }
    memset(&other, 0, sizeof(other));
    other.rank = mem->rank;
    memcpy(other.dims, mem->dims, sizeof(other.dims));
    memcpy(bound.dims, value->most, sizeof(bound.dims));
    if (mem->dtype != value->view.dtype || !ref_same_shape(&other, &bound)) {
        ref_fail(call, Q_GRAPH_TENSOR,
                 "%s \"%s\": memory %u was registered as %s %s, the tensor is %s %s", what, name,
                 (unsigned)mem->head.number, ref_type_name(mem->dtype),
                 ref_shape_text(&other, found), ref_type_name(value->view.dtype),
                 ref_shape_text(&bound, expected));
        return NULL;
    }
    return mem->data;
}

/* Bind inputs or outputs of one execute: set value->caller to the caller's bytes. */
static q_code bind(ref_call *call, const ref_graph *graph, const q_tensor *tensors, uint32_t count,
                   int outputs)
{
    const ref_body *body = graph->body;
    const char *what = outputs ? "output" : "input";
    const int expected = outputs ? body->output_count : body->input_count;
    ref_why why;
    if (count > 0 && tensors == NULL)
        return ref_fail(call, Q_GRAPH_ARGUMENT, "%u %ss declared, but the list is NULL",
                        (unsigned)count, what);
    for (uint32_t i = 0; i < count; ++i) {
        const q_tensor *given = &tensors[i];
        ref_value *value;
        if (given->version != 1 && given->version != 2)
            return ref_fail(call, Q_GRAPH_TENSOR, "%s %u has struct version %u, expected 1 or 2",
                            what, (unsigned)i, (unsigned)given->version);
        value = ref_body_value(body, given->v.id);
        if (value == NULL || (outputs ? !ref_type_is_output(value->type)
                              : !ref_type_is_input(value->type)))
            return ref_fail(call, Q_GRAPH_TENSOR,
                            "%s %u has id %u, which is not an %s of graph \"%s\"",
                            what, (unsigned)i, (unsigned)given->v.id, what, body->name);
        if (value->seen == body->executes)
            return ref_fail(call, Q_GRAPH_TENSOR, "%s \"%s\" is given twice", what,
                            value->view.name);
        if (!facts_agree(given, value, &why))
            return ref_fail(call, Q_GRAPH_TENSOR, "%s %u: %s", what, (unsigned)i, why.text);
        dims_take(given, value);
        value->caller = memory_of(call, graph, what, given, value);
        if (value->caller == NULL)
            return call->code;
        value->room = bytes_now(value);
        value->seen = body->executes;
    }
    if (count == (uint32_t)expected)
        return Q_OK;
    for (int i = 0; i < body->value_count; ++i) {
        ref_value *value = body->values[i];
        if (!(outputs ? ref_type_is_output(value->type) : ref_type_is_input(value->type))
            || value->seen == body->executes)
            continue;
        value->caller = NULL;
        if (!ref_type_is_optional(value->type))
            return ref_fail(call, Q_GRAPH_TENSOR,
                            "%s \"%s\" of graph \"%s\" is missing: %u of %d given", what,
                            value->view.name, body->name, (unsigned)count, expected);
    }
    return Q_OK;
}

static uint64_t steps;                   /* of sorting, under the lock */

uint64_t ref_place_steps(void) { return steps; }

/* Let list[at] sink below the larger ones of a heap whose root is list[0]. */
static void sink(ref_value **list, int count, int at)
{
    ref_value *value = list[at];
    for (int next; (next = 2 * at + 1) < count; at = next) {
        ++steps;
        if (next + 1 < count && (uintptr_t)list[next + 1]->caller > (uintptr_t)list[next]->caller)
            ++next;
        if ((uintptr_t)list[next]->caller <= (uintptr_t)value->caller)
            break;
        list[at] = list[next];
    }
    list[at] = value;
}

/* Sort by address, in place: an execute allocates nothing. */
static void sort_by_address(ref_value **list, int count)
{
    for (int i = count / 2; i-- > 0; )
        sink(list, count, i);
    for (int i = count; i-- > 1; ) {
        ref_value *largest = list[0];
        list[0] = list[i];
        list[i] = largest;
        sink(list, i, 0);
    }
}

static uintptr_t end_of(const ref_value *value) { return (uintptr_t)value->caller + value->room; }

/* Find the outputs whose memory overlaps that of an input, and set their .shared; outputs must not
   overlap each other. By address, only the output before can reach into the next tensor. */
static q_code overlaps(ref_call *call, ref_body *body)
{
    ref_value *output = NULL;
    uintptr_t inputs_end = 0;
    int count = 0;
    for (int i = 0; i < body->value_count; ++i)
        if (ref_type_is_app(body->values[i]->type) && body->values[i]->caller != NULL)
            body->bound[count++] = body->values[i];
    sort_by_address(body->bound, count);
    for (int i = 0; i < count; ++i) {
        ref_value *value = body->bound[i];
        const uintptr_t start = (uintptr_t)value->caller;
        const int reached = output != NULL && start < end_of(output);
        if (!ref_type_is_output(value->type)) {
            if (reached)
                output->shared = 1;
            if (end_of(value) > inputs_end)
                inputs_end = end_of(value);
            continue;
        }
        if (reached)
            return ref_fail(call, Q_GRAPH_TENSOR, "outputs \"%s\" and \"%s\" overlap in memory",
                            output->view.name, value->view.name);
        value->shared = start < inputs_end;
        output = value;
    }
    return Q_OK;
}

static int staged(ref_value *value)
{
    void *memory = NULL;
    if (value->staging == NULL && posix_memalign(&memory, REF_ALIGN, (size_t)value->bytes) == 0)
        value->staging = memory;
    return value->staging != NULL;
}

static uint64_t copies;                  /* used under the lock */

uint64_t ref_copies(void) { return copies; }

/* Decide where each input is read and each output written. */
static q_code place(ref_call *call, const ref_graph *graph)
{
    ref_body *body = graph->body;
    const q_code code = overlaps(call, body);
    if (code != Q_OK)
        return code;
    for (int i = 0; i < body->value_count; ++i) {
        ref_value *value = body->values[i];
        const int output = ref_type_is_output(value->type);
        int copy;
        if (!ref_type_is_app(value->type) || (!output && value->caller == NULL))
            continue;
        copy = value->caller == NULL || (output && value->shared)
            || (uintptr_t)value->caller % ref_type_bytes(value->view.dtype) != 0;
        if (copy && !staged(value))
            return ref_fail(call, Q_MEMORY, "no memory for a copy of \"%s\"", value->view.name);
        copies += (uint64_t)copy;
        value->view.data = copy ? value->staging : value->caller;
    }
    return Q_OK;
}

static q_code compute(ref_body *body, int timed, ref_why *why)
{
    unsigned char *scratch = body->arena != NULL ? body->arena + body->arena_bytes : NULL;
    for (int i = 0; i < body->value_count; ++i) {
        ref_value *value = body->values[i];
        if (ref_type_is_input(value->type) && value->caller != NULL
            && value->view.data == value->staging)
            memcpy(value->staging, value->caller, (size_t)bytes_now(value));
    }
    for (int i = 0; i < body->step_count; ++i) {
        ref_step *step = body->steps[body->order[i]];
        const uint64_t began = timed ? ref_now_ns() : 0;
        ref_why own;
        if (step->folded)
            continue;
        if (!step->run.op->run(&step->run, scratch, &own))
            return ref_refused(why, Q_GENERAL, "node \"%.120s\": %.380s", step->view.name,
                               own.text);
        if (timed)
            step->ns = ref_now_ns() - began;
    }
    for (int i = 0; i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        if (ref_type_is_output(value->type) && value->caller != NULL
            && value->view.data == value->staging)
            memcpy(value->caller, value->staging, (size_t)bytes_now(value));
    }
    return Q_OK;
}

static void tell(ref_profile *profile, const ref_body *body, uint64_t ns)
{
    int top;
    ref_profile_clear(profile);
    top = ref_profile_add(profile, REF_NONE, 3004, Q_UNIT_MICROSEC, ns / 1000,
                          "Accelerator (execute) time");
    for (int i = 0; profile != NULL && profile->level >= 2 && top != REF_NONE
         && i < body->step_count; ++i) {
        const ref_step *step = body->steps[body->order[i]];
        char name[REF_NAME_MOST + 40];
        snprintf(name, sizeof(name), "%s:OpId_%d (us)", step->view.name, body->order[i]);
        ref_profile_add(profile, top, 404, Q_UNIT_MICROSEC, step->ns / 1000, name);
    }
    ref_profile_add(profile, REF_NONE, 400, Q_UNIT_MICROSEC, ns / 1000, "QNN (execute) time");
}

/* Change the byte after output 0 of the call, as the fault "overwrite" demands. */
static void overwrite(const ref_body *body, const q_tensor *outputs, uint32_t count)
{
    const ref_value *value = count > 0 ? ref_body_value(body, outputs[0].v.id) : NULL;
    if (value != NULL)
        ((unsigned char *)value->caller)[value->room] ^= 0xFF;
}

/* Find the dims of a graph that has dynamic or optional tensors, and check that the caller's memory
   holds the outputs. */
static q_code settle(ref_call *call, ref_body *body)
{
    ref_why why;
    q_code code = body->flexible ? ref_shape_settle(body, &why) : Q_OK;
    if (code != Q_OK)
        return ref_fail(call, code, "graph \"%.100s\": %s", body->name, why.text);
    for (int i = 0; body->flexible && i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        char found[REF_SHAPE_TEXT];
        if (ref_type_is_output(value->type) && value->caller != NULL
            && bytes_now(value) > value->room)
            return ref_fail(call, Q_GRAPH_SHAPE,
                            "output \"%s\" becomes %s, %llu bytes; the call has room for %llu",
                            value->view.name, ref_shape_text(&value->view, found),
                            (unsigned long long)bytes_now(value), (unsigned long long)value->room);
    }
    return Q_OK;
}

/* Tell the caller the dims of the dynamic outputs. */
static void dims_tell(const ref_body *body, q_tensor *outputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        const ref_value *value = ref_body_value(body, outputs[i].v.id);
        if (value->dynamic != 0 && outputs[i].v.dims != NULL)
            memcpy(outputs[i].v.dims, value->view.dims, value->view.rank * sizeof(uint32_t));
    }
}

q_code ref_graph_execute(ref_call *call, q_handle handle, const q_tensor *inputs,
                         uint32_t input_count, q_tensor *outputs, uint32_t output_count,
                         q_handle profile_handle, q_handle signal)
{
    ref_graph *graph = graph_get(call, handle);
    uint64_t began = 0;
    ref_profile *profile = NULL;
    ref_body *body;
    ref_why why;
    q_code code;
    if (graph == NULL)
        return call->code;
    body = graph->body;
    if (call->wish.restart) {
        ref_ledger_restart();
        return ref_fail(call, Q_DEVICE_LOST,
                        "the subsystem restarted while graph \"%s\" was executing", body->name);
    }
    if (!body->finalized)
        return ref_fail(call, Q_GRAPH_NOT_FINALIZED, "graph \"%s\" is not finalized", body->name);
    if (!ref_context_kept(graph->context))
        return ref_fail(call, Q_GRAPH_HANDLE, "the binary of context %u has changed or is gone",
                        (unsigned)graph->context->head.number);
    if (ref_fault.log_thread)
        ref_log_hostile_all();
    code = ref_profile_get(call, profile_handle, graph->context->backend, &profile);
    if (code == Q_OK)
        code = ref_signal_none(call, signal);
    if (code != Q_OK)
        return code;
    ++graph->context->executing;
    /* A thread that holds the graph's lock may wait for the common lock, never the other way
       round. */
    ref_unlock();
    pthread_mutex_lock(&body->lock);
    ref_lock();
    ++body->executes;
    code = bind(call, graph, inputs, input_count, 0);
    if (code == Q_OK)
        code = bind(call, graph, outputs, output_count, 1);
    if (code == Q_OK)
        code = settle(call, body);
    if (code == Q_OK)
        code = place(call, graph);
    ref_unlock();
    if (code == Q_OK) {
        began = ref_now_ns();
        code = compute(body, profile != NULL && profile->level >= 2, &why);
        ref_lock();
        if (code != Q_OK)
            ref_fail(call, code, "%s", why.text);
        else
            tell(profile, body, ref_now_ns() - began);
        if (code == Q_OK)
            dims_tell(body, outputs, output_count);
        if (code == Q_OK && call->wish.overwrite)
            overwrite(body, outputs, output_count);
        ref_unlock();
    }
    pthread_mutex_unlock(&body->lock);
    ref_lock();
    --graph->context->executing;
    return code;
}
