/* model.c - graphs, tensors, nodes and weights of one context, without handles

   Calls and files build a graph with the same functions, so a file cannot contain anything that
   calls could not make. Finalizing orders the nodes (each after the writers of its inputs), and
   places the intermediate tensors in one arena by first fit over their lifetimes; the scratch
   memory of the nodes follows them. Casts of float16 weights are left to the products.
   Knows nothing of: handles, vendor structs, bytes of a file */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t ARENA_MOST = (uint64_t)1 << 36;

/* ---- names that must be unique -------------------------------------------------------------- */

static size_t name_slot(const ref_names *names, const char *name)
{
    size_t at = (size_t)ref_hash(name, strlen(name)) & (names->room - 1);
    while (names->table[at] != NULL && strcmp(names->table[at], name) != 0)
        at = (at + 1) & (names->room - 1);
    return at;
}

static int name_known(const ref_names *names, const char *name)
{
    return names->room > 0 && names->table[name_slot(names, name)] != NULL;
}

/* Add a name, which must be new and live as long as the set. Return 0 when there is no memory. */
static int name_add(ref_names *names, const char *name)
{
    if (names->used * 2 >= names->room) {
        ref_names more;
        more.room = names->room > 0 ? names->room * 2 : 64;
        more.used = names->used;
        more.table = ref_alloc(more.room * sizeof(*more.table));
        if (more.table == NULL)
            return 0;
        for (size_t i = 0; i < names->room; ++i)
            if (names->table[i] != NULL)
                more.table[name_slot(&more, names->table[i])] = names->table[i];
        ref_free(names->table);
        *names = more;
    }
    names->table[name_slot(names, name)] = name;
    ++names->used;
    return 1;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Make room for one more element; lists grow at powers of two. Return NULL when there is no
   memory. */
static void *list_room(void *list, int count, size_t element)
{
    const size_t n = (size_t)count;
    if (n > 0 && (n & (n - 1)) != 0)
        return list;
    return ref_grow(list, n * element, (n > 0 ? n * 2 : 1) * element);
}

/* ---- a model -------------------------------------------------------------------------------- */

uint64_t ref_hash(const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = 0x9E3779B97F4A7C15u ^ bytes;
    while (bytes > 0) {
        uint64_t word = 0;
        const size_t take = bytes < 8 ? (size_t)bytes : 8;
        memcpy(&word, at, take);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        at += take;
        bytes -= take;
    }
    return h;
}

ref_model *ref_model_new(void)
{
    ref_model *model = ref_alloc(sizeof(*model));
    if (model != NULL)
        model->next_id = 1;
    return model;
}

static void body_free(ref_body *body)
{
    for (int i = 0; i < body->value_count; ++i)
        free(body->values[i]->staging);
    ref_free(body->values);
    ref_free(body->steps);
    ref_free(body->value_names.table);
    ref_free(body->step_names.table);
    ref_free(body->order);
    ref_free(body->bound);
    free(body->arena);
    pthread_mutex_destroy(&body->lock);
}

void ref_model_free(ref_model *model)
{
    if (model == NULL)
        return;
    for (int i = 0; i < model->body_count; ++i)
        body_free(model->bodies[i]);
    ref_free(model->bodies);
    ref_free(model->body_names.table);
    ref_free(model->data);
    ref_arena_free(&model->arena);
    ref_free(model);
}

ref_body *ref_model_find(const ref_model *model, const char *name)
{
    for (int i = 0; i < model->body_count; ++i)
        if (strcmp(model->bodies[i]->name, name) == 0)
            return model->bodies[i];
    return NULL;
}

ref_body *ref_model_graph(ref_model *model, const char *name, ref_why *why, q_code *code)
{
    ref_body *body, **list;
    *code = Q_GRAPH_NAME;
    if (name == NULL || name[0] == '\0' || strlen(name) > REF_NAME_MOST) {
        ref_refuse(why, "a graph needs a name of at most %d bytes", (int)REF_NAME_MOST);
        return NULL;
    }
    if (name_known(&model->body_names, name)) {
        ref_refuse(why, "graph \"%s\" already exists in this context", name);
        return NULL;
    }
    *code = Q_MEMORY;
    ref_refuse(why, "no memory for a graph");
    list = list_room(model->bodies, model->body_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    model->bodies = list;
    body = ref_arena_alloc(&model->arena, sizeof(*body));
    if (body == NULL || (body->name = ref_arena_text(&model->arena, name)) == NULL
        || !name_add(&model->body_names, body->name))
        return NULL;
    if (pthread_mutex_init(&body->lock, NULL) != 0)
        return NULL;
    body->model = model;
    body->priority = Q_PRIORITY_NORMAL;
    model->bodies[model->body_count++] = body;
    *code = Q_OK;
    return body;
}

int ref_model_datum(ref_model *model, const void *data, uint64_t bytes, uint64_t hash, int borrow)
{
    ref_datum *list, *datum;
    unsigned char *copy = NULL;
    if (!borrow) {
        copy = ref_arena_alloc(&model->arena, (size_t)bytes + REF_ALIGN - 1);
        if (copy == NULL)
            return REF_NONE;
        copy += (REF_ALIGN - (uintptr_t)copy % REF_ALIGN) % REF_ALIGN;
        memcpy(copy, data, (size_t)bytes);
    }
    list = list_room(model->data, model->data_count, sizeof(*list));
    if (list == NULL)
        return REF_NONE;
    model->data = list;
    datum = &model->data[model->data_count];
    datum->bytes = bytes;
    datum->data = copy != NULL ? copy : data;
    datum->hash = hash;
    datum->nibbles_are_right = 0;
    return model->data_count++;
}

/* ---- tensors -------------------------------------------------------------------------------- */

int ref_body_index(const ref_body *body, uint32_t id)
{
    int low = 0, high = body->value_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (body->values[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < body->value_count && body->values[low]->id == id ? low : REF_NONE;
}

ref_value *ref_body_value(const ref_body *body, uint32_t id)
{
    const int index = ref_body_index(body, id);
    return index != REF_NONE ? body->values[index] : NULL;
}

/* Find equal data in the model. Data is compared as stored, with narrow bits extended. */
static int datum_find(const ref_model *model, const ref_value *value, const void *stored,
                      uint64_t hash)
{
    for (int i = 0; i < model->data_count; ++i)
        if (model->data[i].hash == hash && model->data[i].bytes == value->bytes
            && (model->data[i].data == stored
                || memcmp(model->data[i].data, stored, (size_t)value->bytes) == 0))
            return i;
    return REF_NONE;
}

/* Check data of a file before a tensor reads it; quantized values of 4 bits only once, however
   many tensors share them. */
static q_code stored_data(ref_datum *datum, const ref_value *value, ref_why *why)
{
    q_code code = Q_OK;
    if (datum->bytes != value->bytes)
        return ref_refused(why, Q_CONTEXT_FROM_BINARY,
                           "tensor \"%s\" has %llu bytes, its data %llu", value->view.name,
                           (unsigned long long)value->bytes, (unsigned long long)datum->bytes);
    if (!datum->nibbles_are_right && ref_value_has_nibbles(value)) {
        code = ref_value_check_nibbles(value, datum->data, why);
        datum->nibbles_are_right = code == Q_OK;
    }
    return code;
}

/* Store static data once per model. Data that stays where it is, is found by its address: to hash
   it would read all of it. */
static q_code static_data(ref_model *model, ref_value *value, const ref_made *made)
{
    const int narrow = ref_value_narrow(value);
    const int stays = made->stays && !narrow
        && (uintptr_t)made->data % ref_type_bytes(value->view.dtype) == 0;
    void *extended = narrow ? malloc((size_t)value->bytes) : NULL;
    const void *stored = narrow ? extended : made->data;
    const uint64_t address = (uintptr_t)made->data;
    uint64_t hash;
    if (stored == NULL)
        return Q_MEMORY;
    if (narrow)
        ref_value_extend(value, made->data, extended);
    hash = stays ? ref_hash(&address, sizeof(address)) : ref_hash(stored, value->bytes);
    value->datum = datum_find(model, value, stored, hash);
    if (value->datum == REF_NONE)
        value->datum = ref_model_datum(model, stored, value->bytes, hash, stays);
    free(extended);
    return value->datum != REF_NONE ? Q_OK : Q_MEMORY;
}

q_code ref_body_tensor(ref_body *body, const ref_made *made, ref_value **out, ref_why *why)
{
    ref_model *model = body->model;
    ref_value *value, **list;
    q_code code;
    ref_refuse(why, "no memory for a tensor");
    if (made->name != NULL && name_known(&body->value_names, made->name))
        return ref_refused(why, Q_TENSOR_EXISTS, "tensor \"%s\" already exists in graph \"%s\"",
                           made->name, body->name);
    list = list_room(body->values, body->value_count, sizeof(*list));
    value = ref_arena_alloc(&model->arena, sizeof(*value));
    if (list != NULL)
        body->values = list;
    if (list == NULL || value == NULL)
        return Q_MEMORY;
    code = ref_value_fill(made, &model->arena, value, why);
    value->datum = made->datum;
    if (code == Q_OK && made->data != NULL)
        code = ref_value_check_nibbles(value, made->data, why);
    if (code == Q_OK && made->data != NULL)
        code = static_data(model, value, made);
    if (code == Q_OK && made->data == NULL && value->datum != REF_NONE)
        code = stored_data(&model->data[value->datum], value, why);
    if (code == Q_OK && !name_add(&body->value_names, value->view.name))
        code = Q_MEMORY;
    if (code != Q_OK)
        return code;
    if (value->datum != REF_NONE)
        memcpy(&value->view.data, &model->data[value->datum].data, sizeof(void *));
    body->input_count += ref_type_is_input(value->type);
    body->output_count += ref_type_is_output(value->type);
    body->flexible |= value->dynamic != 0 || ref_type_is_optional(value->type);
    value->id = model->next_id++;
    body->values[body->value_count++] = value;
    *out = value;
    return Q_OK;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

int ref_scalar(uint32_t dtype, uint64_t bits, double *value)
{
    union { uint64_t u64; int64_t i64; float f32; double f64; uint32_t u32; int32_t i32;
            uint16_t u16; int16_t i16; uint8_t u8; int8_t i8; } u;
    u.u64 = bits;
    switch (dtype) {
    case REF_F32: *value = (double)u.f32; return 1;
    case Q_F64:   *value = u.f64; return 1;
    case REF_U64: *value = (double)u.u64; return 1;
    case REF_I64: *value = (double)u.i64; return 1;
    case REF_U32: *value = u.u32; return 1;
    case REF_I32: *value = u.i32; return 1;
    case REF_U16: *value = u.u16; return 1;
    case REF_I16: *value = u.i16; return 1;
    case REF_U8:  *value = u.u8; return 1;
    case REF_I8:  *value = u.i8; return 1;
    case REF_BOOL: *value = u.u8 != 0; return 1;
    default: return 0;
    }
}

static const char *role_of(uint32_t type)
{
    return ref_type_is_input(type) ? "an input of the graph" : "static";
}

enum { ARGUMENTS_MOST = 64, WRITER_NOW = REF_NONE - 1 };
typedef char writer_now_is_no_step[WRITER_NOW < 0 ? 1 : -1];

/* Check that each output has one writer and may be written. Outputs that passed are marked
   meanwhile, because a file may have very many. */
static q_code ends_check(const ref_body *body, const ref_plan_step *step, ref_why *why)
{
    q_code code = Q_GRAPH_TENSOR;
    uint32_t marked = 0;
    for (; marked < step->out_count; ++marked) {
        const int index = step->out[marked];
        ref_value *value = index >= 0 ? body->values[index] : NULL;
        if (value == NULL)
            ref_refuse(why, "node \"%s\": output %u is absent", step->name, (unsigned)marked);
        else if (ref_type_is_input(value->type) || ref_type_is_static(value->type))
            ref_refuse(why, "node \"%s\": output \"%s\" is %s and cannot be written", step->name,
                       value->view.name, role_of(value->type));
        else if (value->writer == WRITER_NOW)
            ref_refuse(why, "node \"%s\" lists output \"%s\" twice", step->name,
                       value->view.name);
        else if (value->writer != REF_NONE)
            ref_refuse(why, "node \"%s\": output \"%s\" is already written by node \"%s\"",
                       step->name, value->view.name, body->steps[value->writer]->view.name);
        else {
            value->writer = WRITER_NOW;
            continue;
        }
        break;
    }
    if (marked == step->out_count)
        code = Q_OK;
    for (uint32_t i = 0; i < step->in_count && code == Q_OK; ++i) {
        const ref_value *value = step->in[i] >= 0 ? body->values[step->in[i]] : NULL;
        if (value != NULL && value->writer == WRITER_NOW)
            code = ref_refused(why, Q_GRAPH_TENSOR, "node \"%s\": \"%s\" is input and output",
                               step->name, value->view.name);
    }
    while (marked-- > 0)
        body->values[step->out[marked]]->writer = REF_NONE;
    return code;
}

/* Check the rules that hold for every operator. */
static q_code step_check(const ref_body *body, const ref_plan_step *step, ref_why *why)
{
    q_code code;
    if (step->name == NULL || step->name[0] == '\0' || strlen(step->name) > REF_NAME_MOST)
        return ref_refused(why, Q_GRAPH_OP, "a node needs a name of at most %d bytes",
                           (int)REF_NAME_MOST);
    if (name_known(&body->step_names, step->name))
        return ref_refused(why, Q_GRAPH_OP, "node \"%s\" already exists in graph \"%s\"",
                           step->name, body->name);
    code = ends_check(body, step, why);
    if (code != Q_OK)
        return code;
    if (step->argument_count > ARGUMENTS_MOST)
        return ref_refused(why, Q_GRAPH_OP,
                           "node \"%s\" has %u parameters; operators have at most %d", step->name,
                           (unsigned)step->argument_count, (int)ARGUMENTS_MOST);
    for (uint32_t i = 0; i < step->argument_count; ++i) {
        const ref_argument *argument = &step->arguments[i];
        double ignored;
        for (uint32_t k = 0; k < i; ++k) {
            if (strcmp(step->arguments[k].name, argument->name) == 0)
                return ref_refused(why, Q_GRAPH_OP, "node \"%s\": parameter \"%s\" is given twice",
                                   step->name, argument->name);
        }
        if (argument->value != REF_NONE && body->values[argument->value]->type != Q_STATIC)
            return ref_refused(why, Q_GRAPH_OP, "node \"%s\": parameter \"%s\" is tensor \"%s\","
                               " which is not STATIC", step->name, argument->name,
                               body->values[argument->value]->view.name);
        if (argument->value == REF_NONE && !ref_scalar(argument->dtype, argument->bits, &ignored))
            return ref_refused(why, Q_GRAPH_OP, "node \"%s\": parameter \"%s\" has type 0x%04x,"
                               " which a scalar cannot have", step->name, argument->name,
                               (unsigned)argument->dtype);
    }
    return Q_OK;
}

/* Make the step with everything that points into the model, so that a refused step leaves nothing
   in it. */
static ref_step *step_make(ref_body *body, const ref_plan_step *from)
{
    ref_arena *arena = &body->model->arena;
    ref_step *step = ref_arena_alloc(arena, sizeof(*step));
    const ref_tensor **in = ref_arena_alloc(arena, from->in_count * sizeof(*in));
    const ref_tensor **out = ref_arena_alloc(arena, from->out_count * sizeof(*out));
    ref_param *params = ref_arena_alloc(arena, from->argument_count * sizeof(*params));
    if (step == NULL || in == NULL || out == NULL || params == NULL)
        return NULL;
    step->in = ref_arena_alloc(arena, from->in_count * sizeof(int));
    step->out = ref_arena_alloc(arena, from->out_count * sizeof(int));
    step->arguments = ref_arena_alloc(arena, from->argument_count * sizeof(ref_argument));
    step->view.name = ref_arena_text(arena, from->name);
    step->package = ref_arena_text(arena, from->package);
    if (step->in == NULL || step->out == NULL || step->arguments == NULL || step->view.name == NULL
        || step->package == NULL)
        return NULL;
    for (uint32_t i = 0; i < from->in_count; ++i) {
        step->in[i] = from->in[i];
        in[i] = from->in[i] != REF_NONE ? &body->values[from->in[i]]->view : NULL;
    }
    for (uint32_t i = 0; i < from->out_count; ++i) {
        step->out[i] = from->out[i];
        out[i] = &body->values[from->out[i]]->view;
    }
    for (uint32_t i = 0; i < from->argument_count; ++i) {
        step->arguments[i] = from->arguments[i];
        step->arguments[i].name = params[i].name = ref_arena_text(arena, from->arguments[i].name);
        if (params[i].name == NULL)
            return NULL;
        params[i].dtype = from->arguments[i].dtype;
        if (from->arguments[i].value != REF_NONE)
            params[i].tensor = &body->values[from->arguments[i].value]->view;
        else
            ref_scalar(params[i].dtype, from->arguments[i].bits, &params[i].value);
    }
    step->view.in = in;
    step->view.out = out;
    step->view.params = params;
    step->view.in_count = from->in_count;
    step->view.out_count = from->out_count;
    step->view.param_count = from->argument_count;
    return step;
}

q_code ref_body_node(ref_body *body, const ref_plan_step *from, ref_why *why)
{
    ref_step *step, **list;
    q_code code = step_check(body, from, why);
    const ref_op *op = ref_op_find(from->type);
    if (code != Q_OK)
        return code;
    if (op == NULL || strcmp(from->package, REF_PACKAGE) != 0)
        return ref_refused(why, Q_BACKEND_NO_PACKAGE,
                           "node \"%s\": there is no operator \"%s\" in package \"%s\"", from->name,
                           from->type, from->package);
    step = step_make(body, from);
    list = list_room(body->steps, body->step_count, sizeof(*list));
    if (list != NULL)
        body->steps = list;
    if (step == NULL || list == NULL)
        return ref_refused(why, Q_MEMORY, "no memory for a node");
    step->view.op = op;
    if (!ref_op_check(&step->view, why) || !ref_shape_check(body, step, why))
        return Q_OP_REFUSED;
    if (!name_add(&body->step_names, step->view.name))
        return ref_refused(why, Q_MEMORY, "no memory for a node");
    for (uint32_t i = 0; i < from->out_count; ++i)
        body->values[from->out[i]]->writer = body->step_count;
    body->steps[body->step_count++] = step;
    return Q_OK;
}

/* ---- updates -------------------------------------------------------------------------------- */

q_code ref_body_update(ref_body *body, ref_value *value, const void *data, ref_why *why)
{
    void *fresh = NULL, *before = value->view.data;
    ref_why reason;
    if (ref_value_check_nibbles(value, data, why) != Q_OK)
        return Q_TENSOR_UPDATE;
    if (posix_memalign(&fresh, REF_ALIGN, (size_t)value->bytes) != 0)
        return ref_refused(why, Q_MEMORY, "no memory for the data of tensor \"%s\"",
                           value->view.name);
    ref_value_extend(value, data, fresh);
    value->view.data = fresh;
    ref_shape_reset(body);
    /* Checks of static data, such as that indices are in range, hold for the new data too. */
    for (int s = 0; s < body->step_count; ++s) {
        ref_step *step = body->steps[s];
        for (uint32_t i = 0; i < step->view.in_count; ++i) {
            if (step->in[i] == REF_NONE || body->values[step->in[i]] != value
                || ref_op_check(&step->view, &reason))
                continue;
            value->view.data = before;
            free(fresh);
            return ref_refused(why, Q_TENSOR_UPDATE,
                               "new data of tensor \"%.100s\": node \"%.100s\": %.280s",
                               value->view.name, step->view.name, reason.text);
        }
    }
    free(value->staging);
    value->staging = fresh;
    return Q_OK;
}

/* ---- finalize ------------------------------------------------------------------------------- */

/* Order the steps: each after the writers of its inputs, otherwise as they were added. The walk is
   depth first, with its own stack. */
static q_code order_steps(ref_body *body, ref_why *why)
{
    const size_t n = (size_t)body->step_count;
    int *stack = ref_alloc(n * sizeof(int)), placed = 0;
    uint32_t *next = ref_alloc(n * sizeof(uint32_t));        /* next input to visit */
    unsigned char *state = ref_alloc(n);                     /* 1: on the stack, 2: ordered */
    q_code code = stack != NULL && next != NULL && state != NULL ? Q_OK : Q_MEMORY;
    if (code != Q_OK)
        ref_refuse(why, "no memory to order the nodes");
    for (int root = 0; root < body->step_count && code == Q_OK; ++root) {
        int depth = 0;
        if (state[root] != 0)
            continue;
        stack[depth++] = root;
        state[root] = 1;
        while (depth > 0 && code == Q_OK) {
            const int at = stack[depth - 1];
            const ref_step *step = body->steps[at];
            const ref_value *value = NULL;
            if (next[at] == step->view.in_count) {
                state[at] = 2;
                body->order[placed++] = at;
                --depth;
                continue;
            }
            if (step->in[next[at]] != REF_NONE)
                value = body->values[step->in[next[at]]];
            ++next[at];
            if (value == NULL || ref_type_is_input(value->type) || ref_type_is_static(value->type))
                continue;
            if (value->writer == REF_NONE) {
                code = ref_refused(why, Q_GRAPH_FINALIZE,
                                   "node \"%s\" reads tensor \"%s\", which no node writes",
                                   step->view.name, value->view.name);
            } else if (state[value->writer] == 1) {
                code = ref_refused(why, Q_GRAPH_FINALIZE,
                                   "the nodes form a cycle: \"%s\" reads \"%s\", which follows from"
                                   " its own output", step->view.name, value->view.name);
            } else if (state[value->writer] == 0) {
                state[value->writer] = 1;
                stack[depth++] = value->writer;
            }
        }
    }
    ref_free(stack);
    ref_free(next);
    ref_free(state);
    return code;
}

static int reads_weight(const ref_step *step, uint32_t i)
{
    return i == 1 && (strcmp(step->view.op->type, "MatMul") == 0
                      || strcmp(step->view.op->type, "FullyConnected") == 0);
}

/* Casts of FLOAT_16 weights to FLOAT_32. */
static int may_fold(const ref_body *body, const ref_step *step)
{
    const ref_value *in, *out;
    if (body->flexible || strcmp(step->view.op->type, "Cast") != 0)
        return 0;
    in = body->values[step->in[0]];
    out = body->values[step->out[0]];
    return in->view.dtype == REF_F16 && out->view.dtype == REF_F32 && out->type == Q_NATIVE
        && (ref_type_is_input(in->type) || ref_type_is_static(in->type));
}

/* Let products read the halves of an input or of static data themselves, where a Cast makes floats
   of them for products alone: they convert halves in registers. */
static q_code fold_casts(ref_body *body, ref_why *why)
{
    enum { WEIGHT = 1, OTHER = 2 };
    unsigned char *read = ref_alloc((size_t)body->value_count);
    q_code code = Q_OK;
    if (read == NULL)
        code = Q_MEMORY;
    for (int s = 0; code == Q_OK && s < body->step_count; ++s) {
        const ref_step *step = body->steps[s];
        for (uint32_t i = 0; i < step->view.in_count; ++i)
            if (step->in[i] != REF_NONE)
                read[step->in[i]] |= reads_weight(step, i) ? WEIGHT : OTHER;
    }
    for (int s = 0; code == Q_OK && s < body->step_count; ++s) {
        ref_step *step = body->steps[s];
        step->run = step->view;
        step->folded = may_fold(body, step) && read[step->out[0]] == WEIGHT;
    }
    for (int s = 0; code == Q_OK && s < body->step_count; ++s) {
        ref_step *step = body->steps[s];
        const size_t bytes = step->view.in_count * sizeof(*step->run.in);
        const int writer = step->view.in_count > 1 && step->in[1] != REF_NONE
                               ? body->values[step->in[1]]->writer : REF_NONE;
        if (writer == REF_NONE || !body->steps[writer]->folded)
            continue;
        step->run.in = ref_arena_alloc(&body->model->arena, bytes);
        if (step->run.in == NULL) {
            code = Q_MEMORY;
            break;
        }
        memcpy(step->run.in, step->view.in, bytes);
        step->run.in[1] = body->steps[writer]->view.in[0];
    }
    if (code != Q_OK)
        ref_refuse(why, "no memory to plan the graph");
    ref_free(read);
    return code;
}

/* A living value of a plan. Spots form a treap by offset, in which each knows the widest gap of its
   subtree, so that first fit finds its place without a walk over all of them. What balances the
   treap depends on an address: a file cannot be made to unbalance it. Spot 0 stands for none. */
typedef struct ref_spot {
    uint64_t at, bytes, gap, widest;     /* gap: free bytes before it */
    uint64_t chance;
    uint32_t left, right;
    uint32_t next;                       /* of those that die after the same step */
} ref_spot;

static uint64_t steps;                   /* of searches in a treap, under the lock */

uint64_t ref_plan_steps(void) { return steps; }

static void spot_refresh(ref_spot *spots, uint32_t spot)
{
    const uint64_t left = spots[spots[spot].left].widest, right = spots[spots[spot].right].widest;
    ++steps;
    spots[spot].widest = spots[spot].gap > left ? spots[spot].gap : left;
    if (right > spots[spot].widest)
        spots[spot].widest = right;
}

/* Join two treaps; every spot of `low` lies before those of `high`. */
static uint32_t spot_join(ref_spot *spots, uint32_t low, uint32_t high)
{
    if (low == 0 || high == 0)
        return low + high;
    if (spots[low].chance > spots[high].chance) {
        spots[low].right = spot_join(spots, spots[low].right, high);
        spot_refresh(spots, low);
        return low;
    }
    spots[high].left = spot_join(spots, low, spots[high].left);
    spot_refresh(spots, high);
    return high;
}

/* Divide a treap into the spots before an offset and the others. */
static void spot_divide(ref_spot *spots, uint32_t root, uint64_t at, uint32_t *low, uint32_t *high)
{
    if (root == 0) {
        *low = *high = 0;
        return;
    }
    if (spots[root].at < at) {
        spot_divide(spots, spots[root].right, at, &spots[root].right, high);
        *low = root;
    } else {
        spot_divide(spots, spots[root].left, at, low, &spots[root].left);
        *high = root;
    }
    spot_refresh(spots, root);
}

/* Change the gap before the first spot of a treap. */
static void spot_widen(ref_spot *spots, uint32_t root, uint64_t more)
{
    if (root == 0)
        return;
    if (spots[root].left != 0)
        spot_widen(spots, spots[root].left, more);
    else
        spots[root].gap += more;
    spot_refresh(spots, root);
}

/* Return the lowest offset at which `bytes` are free. */
static uint64_t spot_find(const ref_spot *spots, uint32_t root, uint64_t bytes)
{
    const int inside = spots[root].widest >= bytes;
    uint64_t end = 0;
    while (root != 0) {
        const ref_spot *spot = &spots[root];
        ++steps;
        if (inside && spots[spot->left].widest >= bytes) {
            root = spot->left;
        } else if (inside && spot->gap >= bytes) {
            return spot->at - spot->gap;
        } else {
            end = spot->at + spot->bytes;
            root = spot->right;
        }
    }
    return end;
}

/* Place a spot by first fit. */
static void spot_add(ref_spot *spots, uint32_t *root, uint32_t spot)
{
    uint32_t low, high;
    spots[spot].at = spot_find(spots, *root, spots[spot].bytes);
    spots[spot].gap = spots[spot].widest = 0;
    spots[spot].left = spots[spot].right = 0;
    spot_divide(spots, *root, spots[spot].at, &low, &high);
    spot_widen(spots, high, 0 - spots[spot].bytes);
    *root = spot_join(spots, spot_join(spots, low, spot), high);
}

static void spot_remove(ref_spot *spots, uint32_t *root, uint32_t spot)
{
    uint32_t low, high, own;
    spot_divide(spots, *root, spots[spot].at, &low, &high);
    spot_divide(spots, high, spots[spot].at + 1, &own, &high);
    spot_widen(spots, high, spots[spot].gap + spots[spot].bytes);
    *root = spot_join(spots, low, high);
}

/* Place the values of one step, then free those that no later step reads. */
static void plan_step(ref_body *body, int pos, ref_spot *spots, uint32_t *dying, uint32_t *root)
{
    const ref_step *step = body->steps[body->order[pos]];
    for (uint32_t i = 0; i < step->view.out_count && !step->folded; ++i) {
        ref_value *value = body->values[step->out[i]];
        const uint32_t spot = (uint32_t)step->out[i] + 1;
        if (value->type != Q_NATIVE)
            continue;
        if (value->bytes > ARENA_MOST)
            body->arena_bytes = ARENA_MOST + 1;
        spots[spot].bytes = ref_rounded(value->bytes);
        spot_add(spots, root, spot);
        value->offset = spots[spot].at;
        if (value->offset + spots[spot].bytes > body->arena_bytes)
            body->arena_bytes = value->offset + spots[spot].bytes;
        spots[spot].next = dying[value->last];
        dying[value->last] = spot;
    }
    for (uint32_t spot = dying[pos]; spot != 0; spot = spots[spot].next)
        spot_remove(spots, root, spot);
    if (step->run.op->scratch != NULL && !step->folded) {
        const uint64_t scratch = step->run.op->scratch(&step->run);
        if (scratch > body->scratch_bytes)
            body->scratch_bytes = scratch;
    }
}

static q_code plan_arena(ref_body *body, ref_why *why)
{
    ref_spot *spots = ref_alloc((size_t)(body->value_count + 1) * sizeof(*spots));
    uint32_t *dying = ref_alloc((size_t)body->step_count * sizeof(*dying)), root = 0;
    const uint64_t seed = (uint64_t)(uintptr_t)spots;
    q_code code = Q_OK;
    if (spots == NULL || dying == NULL)
        code = ref_refused(why, Q_MEMORY, "no memory to plan the graph");
    for (int i = 0; code == Q_OK && i < body->value_count; ++i)
        spots[i + 1].chance = ref_hash(&i, sizeof(i)) * (seed | 1) >> 16;
    for (int pos = 0; code == Q_OK && pos < body->step_count; ++pos) {
        const ref_step *step = body->steps[body->order[pos]];
        for (uint32_t i = 0; i < step->view.in_count; ++i)
            if (step->in[i] != REF_NONE)
                body->values[step->in[i]]->last = pos;
        for (uint32_t i = 0; i < step->view.out_count; ++i)
            body->values[step->out[i]]->last = pos;
    }
    for (int pos = 0; code == Q_OK && pos < body->step_count; ++pos) {
        plan_step(body, pos, spots, dying, &root);
        if (body->arena_bytes > ARENA_MOST || body->scratch_bytes > ARENA_MOST)
            code = ref_refused(why, Q_GRAPH_FINALIZE,
                               "graph \"%s\" needs more than 64 GiB for intermediate tensors",
                               body->name);
    }
    ref_free(dying);
    ref_free(spots);
    return code;
}

q_code ref_body_finalize(ref_body *body, ref_why *why)
{
    void *arena = NULL;
    q_code code;
    if (body->step_count == 0)
        return ref_refused(why, Q_GRAPH_FINALIZE, "graph \"%s\" has no nodes", body->name);
    for (int i = 0; i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        if (ref_type_is_output(value->type) && value->writer == REF_NONE)
            return ref_refused(why, Q_GRAPH_FINALIZE,
                               "output \"%s\" of graph \"%s\" is written by no node",
                               value->view.name, body->name);
    }
    body->arena_bytes = body->scratch_bytes = 0;
    ref_free(body->order);
    ref_free(body->bound);
    body->order = ref_alloc((size_t)body->step_count * sizeof(int));
    body->bound = ref_alloc((size_t)(body->input_count + body->output_count)
                            * sizeof(*body->bound));
    if (body->order == NULL || body->bound == NULL)
        return ref_refused(why, Q_MEMORY, "no memory to order the nodes");
    code = order_steps(body, why);
    if (code == Q_OK)
        code = fold_casts(body, why);
    if (code == Q_OK)
        code = plan_arena(body, why);
    if (code != Q_OK)
        return code;
    if (body->arena_bytes + body->scratch_bytes > 0
        && posix_memalign(&arena, REF_ALIGN,
                          (size_t)(body->arena_bytes + body->scratch_bytes)) != 0)
        return ref_refused(why, Q_MEMORY,
                           "no memory: graph \"%s\" needs %llu bytes for intermediate tensors",
                           body->name,
                           (unsigned long long)(body->arena_bytes + body->scratch_bytes));
    free(body->arena);
    body->arena = arena;
    for (int i = 0; i < body->value_count; ++i)
        if (body->values[i]->type == Q_NATIVE && body->values[i]->writer != REF_NONE
            && !body->steps[body->values[i]->writer]->folded)
            body->values[i]->view.data = body->arena + body->values[i]->offset;
    body->finalized = 1;
    return Q_OK;
}
