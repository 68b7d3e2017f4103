/* onnx_file.c - .onnx files become graphs in ATen operators

   ROOM     >>onnx_file */
#include "run/compile/aten.h"
#include "run/io/io.h"

#include <math.h>
#include <strings.h>

#include "cli/stages.h"

/* =====================================================================================
   ONNX FILE                                                                   >>onnx_file
   Reads a model of ONNX with the sizes, shapes and values that --dim, --shape and --bind give.
   ===================================================================================== */

int onnx_is(const char *path)
{
    const size_t length = strlen(path);
    return length >= 5 && strcasecmp(path + length - 5, ".onnx") == 0;
}

/* What the options say about one model. */
typedef struct onnx_choice {
    aten                  *a;
    aten_graph            *g;
    qnnrt_onnx_graph_desc  desc;
    qnnrt_onnx_dim_is     *dims;       /* [desc.dim_count]                                */
    qnnrt_onnx_shape_is   *shapes;     /* [desc.shape_count]                              */
    qnnrt_onnx_bind       *binds;      /* [desc.bind_count]                               */
    char                 **words;      /* [word_count] names                              */
    size_t                 word_count;
    int64_t              (*sizes)[QNNRT_IR_RANK];          /* [desc.shape_count]          */
    void                 **data;       /* [desc.bind_count]                               */
} onnx_choice;

static void onnx_choice_free(onnx_choice *c)
{
    for (size_t i = 0; i < c->word_count; ++i) free(c->words[i]);
    for (size_t i = 0; i < c->desc.bind_count; ++i) free(c->data[i]);
    free(c->words);
    free(c->dims);
    free(c->shapes);
    free(c->binds);
    free(c->sizes);
    free(c->data);
}

/* Keep a copy of a name. */
static const char *onnx_word(onnx_choice *c, const char *text, size_t bytes)
{
    return c->words[c->word_count++] = cli_text("%.*s", (int)bytes, text);
}

/* Return what follows "NAME=" in a text, or NULL if it begins in another way. */
static const char *onnx_value_of(const char *text, const char *name)
{
    const size_t bytes = strlen(name);
    return strncmp(text, name, bytes) == 0 && text[bytes] == '=' ? text + bytes + 1 : NULL;
}

/* Find the input that an option names. *value receives what follows "INPUT=". */
static const qnnrt_onnx_value *onnx_input(const onnx_choice *c, const char *text,
                                          const char **value)
{
    const qnnrt_onnx_graph *graph = c->g->onnx->graph;
    for (size_t i = 0; i < graph->input_count; ++i) {
        *value = onnx_value_of(text, graph->inputs[i].name);
        if (*value != NULL) return &graph->inputs[i];
    }
    return NULL;
}

/* Return 1 if an input has a dimension of this name. */
static int onnx_has_dim(const qnnrt_onnx_graph *graph, const char *name, cli_near *near)
{
    int has = 0;
    for (size_t i = 0; i < graph->input_count; ++i)
        for (uint32_t k = 0; k < graph->inputs[i].rank; ++k) {
            const char *param = graph->inputs[i].dims[k].param;
            if (param[0] == '\0') continue;
            has |= strcmp(param, name) == 0;
            cli_near_try(near, param);
        }
    return has;
}

/* Report an option that is wrong. Return 0. */
static int onnx_wrong(const onnx_choice *c, const char *option, const char *text, const char *why,
                      const char *hint)
{
    fail(c->a->t, NULL, hint, "%s: %s %s: %s", c->g->file, option, text, why);
    return 0;
}

/* Report an option whose name the model does not have. Return 0; 1 if there are other models, which
   onnx_all() looks at. */
static int onnx_unknown(const onnx_choice *c, const char *option, const char *text,
                        const char *what, const cli_near *near)
{
    if (c->a->graph_count > 1) return 1;
    OWNED char *hint = cli_near_hint(near);
    OWNED char *why = cli_text("the model has no %s of this name", what);
    return onnx_wrong(c, option, text, why, hint);
}

/* Take --dim. */
static int onnx_dims(onnx_choice *c, const cli_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        const char *text = list->items[i], *equals = strrchr(text, '=');
        uint64_t size;
        if (equals == NULL || equals == text || !cli_number(equals + 1, INT32_MAX, &size))
            return onnx_wrong(c, "--dim", text, "expected NAME=N", NULL);
        const char *name = onnx_word(c, text, (size_t)(equals - text));
        cli_near near = {name, strlen(name), NULL, 0};
        if (!onnx_has_dim(c->g->onnx->graph, name, &near)) {
            if (onnx_unknown(c, "--dim", text, "dimension", &near)) continue;
            return 0;
        }
        c->a->onnx_seen[i] = 1;
        c->dims[c->desc.dim_count].name = name;
        c->dims[c->desc.dim_count++].value = (int64_t)size;
    }
    return 1;
}

/* Find the input of an option, number `seen`. Return 1 if *input is to be used or NULL, 0 after
   reporting that there is none. */
static int onnx_option(const onnx_choice *c, const char *option, const char *text, size_t seen,
                       const qnnrt_onnx_value **input, const char **value)
{
    cli_near near = {text, strcspn(text, "="), NULL, 0};
    *input = onnx_input(c, text, value);
    if (*input != NULL) return c->a->onnx_seen[seen] = 1;
    for (size_t i = 0; i < c->g->onnx->graph->input_count; ++i)
        cli_near_try(&near, c->g->onnx->graph->inputs[i].name);
    return onnx_unknown(c, option, text, "input", &near);
}

/* Take --shape. */
static int onnx_shapes(onnx_choice *c, const cli_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        const char *text = list->items[i], *at = NULL;
        const qnnrt_onnx_value *input;
        if (!onnx_option(c, "--shape", text, c->a->t->set.compile->onnx_dims.count + i, &input,
                         &at)) return 0;
        if (input == NULL) continue;
        qnnrt_onnx_shape_is *shape = &c->shapes[c->desc.shape_count];
        int64_t *dims = c->sizes[c->desc.shape_count++];
        int good = 1;
        shape->input = input->name;
        shape->dims = dims;
        while (*at != '\0' && good) {
            OWNED char *part = cli_text("%.*s", (int)strcspn(at, "x"), at);
            uint64_t size;
            good = shape->rank < QNNRT_IR_RANK && cli_number(part, INT32_MAX, &size) &&
                   !(at[strlen(part)] == 'x' && at[strlen(part) + 1] == '\0');
            if (good) dims[shape->rank++] = (int64_t)size;
            at += strlen(part) + (at[strlen(part)] == 'x');
        }
        if (!good)
            return onnx_wrong(c, "--shape", text, "expected sizes with x between them",
                              "Write it as INPUT=1x3x224x224.");
    }
    return 1;
}

/* Return the dtype of a type of ONNX that can be bound, or UNDEFINED. */
static qnnrt_dtype onnx_dtype(qnnrt_onnx_type type)
{
    return qnnrt_ir_dtype_from(qnnrt_onnx_type_name((int)type));
}

/* Describe an input as a value of a graph. Return 0 if its shape is not known. */
static int onnx_describe(const onnx_choice *c, const qnnrt_onnx_value *input, qnnrt_ir_value *out)
{
    out->name = input->name;
    out->dtype = onnx_dtype(input->type);
    out->count = 1;
    for (size_t i = 0; i < c->desc.shape_count; ++i) {
        if (strcmp(c->shapes[i].input, input->name) != 0) continue;
        out->rank = c->shapes[i].rank;
        for (uint32_t k = 0; k < out->rank; ++k) {
            out->dims[k] = c->shapes[i].dims[k];
            out->count *= (uint64_t)out->dims[k];
        }
        return 1;
    }
    if (!input->ranked || input->rank > QNNRT_IR_RANK) return 0;
    out->rank = input->rank;
    for (uint32_t k = 0; k < input->rank; ++k) {
        out->dims[k] = input->dims[k].value;
        for (size_t i = 0; i < c->desc.dim_count && out->dims[k] < 0; ++i)
            if (strcmp(c->dims[i].name, input->dims[k].param) == 0)
                out->dims[k] = c->dims[i].value;
        if (out->dims[k] < 0 || out->dims[k] > INT32_MAX) return 0;
        out->count *= (uint64_t)out->dims[k];
        if (out->count > 1 << 24) return 0;
    }
    return 1;
}

/* Read the elements of --bind: numbers, joined by commas, and true and false. Return how many there
   are, 0: the text is something else, or has more than `room`. */
static size_t onnx_numbers(const char *text, double *out, int64_t *whole, size_t room)
{
    for (size_t count = 0; count < room; ++text) {
        const size_t bytes = strcspn(text, ",");
        OWNED char *part = cli_text("%.*s", (int)bytes, text);
        const int flag = strcmp(part, "true") == 0 || strcmp(part, "false") == 0;
        char *end = part;
        out[count] = flag ? part[0] == 't' : strtod(part, &end);
        whole[count] = flag ? part[0] == 't' : strtoll(part, NULL, 10);
        if (!flag && strpbrk(part, ".eEnN") != NULL)
            whole[count] = fabs(out[count]) < 9e15 ? (int64_t)out[count] : 0;
        if (!flag && (end == part || *end != '\0')) return 0;
        ++count;
        text += bytes;
        if (*text == '\0') return count;
    }
    return 0;
}

/* Read the elements of an input: from a file, or numbers, of which one stands for all. */
static int onnx_elements(const onnx_choice *c, const char *text, const char *at,
                         const qnnrt_ir_value *value, void *out)
{
    const size_t count = (size_t)value->count, bytes = qnnrt_ir_dtype_bytes(value->dtype);
    OWNED double *numbers = cli_alloc(count + 1, sizeof(*numbers));
    OWNED int64_t *whole = cli_alloc(count + 1, sizeof(*whole));
    size_t found = count;
    if (*at == '@') {
        if (!sample_read(c->a->t, at + 1, value, numbers)) return 0;
        for (size_t i = 0; i < count; ++i)
            whole[i] = fabs(numbers[i]) < 9e15 ? (int64_t)numbers[i] : 0;
    } else {
        found = onnx_numbers(at, numbers, whole, count + 1);
    }
    if (found != count && found != 1) {
        OWNED char *why = cli_text("expected %lu number%s, joined by commas, or @FILE",
                                   (unsigned long)count, cli_plural(count));
        return onnx_wrong(c, "--bind", text, why, NULL);
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t from = found == count ? i : 0;
        qnnrt_ir_element_put((char *)out + i * bytes, value->dtype, whole[from], numbers[from]);
    }
    return 1;
}

/* Take --bind. */
static int onnx_binds(onnx_choice *c, const cli_list *list)
{
    const compile_settings *set = c->a->t->set.compile;
    const size_t before = set->onnx_dims.count + set->onnx_shapes.count;
    for (size_t i = 0; i < list->count; ++i) {
        const char *text = list->items[i], *at = NULL;
        const qnnrt_onnx_value *input;
        qnnrt_ir_value value = {0};
        if (!onnx_option(c, "--bind", text, before + i, &input, &at)) return 0;
        if (input == NULL) continue;
        if (input->kind != QNNRT_ONNX_TENSOR || onnx_dtype(input->type) == QNNRT_DTYPE_UNDEFINED)
            return onnx_wrong(c, "--bind", text, "the input has no numbers", NULL);
        if (!onnx_describe(c, input, &value))
            return onnx_wrong(c, "--bind", text, "the shape of the input is not known, or too"
                              " large", "Give it with --shape INPUT=2x3; --shape INPUT= is a"
                                        " scalar.");
        const uint64_t bytes = value.count * qnnrt_ir_dtype_bytes(value.dtype);
        qnnrt_onnx_bind *bind = &c->binds[c->desc.bind_count];
        void *data = c->data[c->desc.bind_count++] = cli_alloc((size_t)bytes + 1, 1);
        bind->input = input->name;
        bind->data = data;
        bind->bytes = bytes;
        if (!onnx_elements(c, text, at, &value, data)) return 0;
    }
    return 1;
}

/* Take the options. Return 0 after printing an error. */
static int onnx_options(onnx_choice *c)
{
    const compile_settings *set = c->a->t->set.compile;
    if (c->a->onnx_seen == NULL)
        c->a->onnx_seen = cli_alloc(set->onnx_dims.count + set->onnx_shapes.count +
                                    set->onnx_binds.count, 1);
    c->words = cli_alloc(set->onnx_dims.count, sizeof(*c->words));
    c->desc.dims = c->dims = cli_alloc(set->onnx_dims.count, sizeof(*c->dims));
    c->desc.shapes = c->shapes = cli_alloc(set->onnx_shapes.count, sizeof(*c->shapes));
    c->sizes = cli_alloc(set->onnx_shapes.count, sizeof(*c->sizes));
    c->desc.binds = c->binds = cli_alloc(set->onnx_binds.count, sizeof(*c->binds));
    c->data = cli_alloc(set->onnx_binds.count, sizeof(*c->data));
    return onnx_dims(c, &set->onnx_dims) && onnx_shapes(c, &set->onnx_shapes) &&
           onnx_binds(c, &set->onnx_binds);
}

/* Print what keeps a model from becoming a graph: a finding a line. */
static void onnx_findings(const onnx_choice *c, const qnnrt_error *err)
{
    OWNED page p = {NULL, 0, 0};
    for (const char *at = err->text; *at != '\0';) {
        const size_t bytes = strcspn(at, "\n");
        page_add(&p, "\n  %.*s", (int)bytes, at);
        at += bytes + (at[bytes] == '\n');
    }
    fail(c->a->t, NULL, cli_hint(err), "%s cannot be compiled:%s", c->g->file, p.data);
}

int onnx_load(aten *a, aten_graph *g)
{
    onnx_choice c = {.a = a, .g = g};
    qnnrt_error err;
    int good = 0;
    if (qnnrt_onnx_open(g->file, NULL, &g->onnx, &err) != QNNRT_OK) {
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    } else if (onnx_options(&c)) {
        good = qnnrt_onnx_to_ir(g->onnx, &c.desc, &g->read, &err) == QNNRT_OK;
        if (!good) onnx_findings(&c, &err);
    }
    onnx_choice_free(&c);
    return good;
}

int onnx_all(const aten *a)
{
    const compile_settings *set = a->t->set.compile;
    const cli_list *lists[] = {&set->onnx_dims, &set->onnx_shapes, &set->onnx_binds};
    static const char *const options[] = {"--dim", "--shape", "--bind"};
    const char *seen = a->onnx_seen;
    for (size_t k = 0; k < 3; ++k)
        for (size_t i = 0; i < lists[k]->count; ++i) {
            if (*seen++) continue;
            fail(a->t, NULL, NULL, "%s %s: no model has this name", options[k],
                 lists[k]->items[i]);
            return 0;
        }
    return 1;
}
