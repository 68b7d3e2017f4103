/* ir_lines.h - graphs in ATen operators as lines of text, for tests of qnnrt_ir.h

   "in x 2,3", "weight w 3", "weight w 3 key", "out y", and nodes "y 2,3 = add.Tensor x w {'alpha': 2}" with ' instead
   of "; a value is float32, or "x:int64 2,3". show() writes a graph as "y=add.Tensor(x,w) -> y". */
#include "qnnrt_ir_passes.h"
#include "test.h"

static qnnrt_error err;

static char stated_names[40][100], stated_json[40][400];
static size_t stated_count;

static void add(char *out, const char *text)
{
    strcat(out, text);
}

/* Append the JSON of a value that was stated before. */
static void add_value(char *out, const char *name)
{
    size_t i;
    for (i = 0; i < stated_count; ++i)
        if (strcmp(stated_names[i], name) == 0) { add(out, stated_json[i]); return; }
    printf("    %s is not stated\n", name);
    abort();
}

/* State "name" or "name:dtype" with a shape, "-" for a scalar. */
static char *state(const char *name, const char *shape)
{
    const char *dtype = strchr(name, ':');
    if (stated_count == 40) abort();
    snprintf(stated_names[stated_count], 100, "%.*s", dtype != NULL ? (int)(dtype - name) : 90, name);
    snprintf(stated_json[stated_count], 400, "{\"name\": \"%s\", \"shape\": [%.100s], \"dtype\": \"%.90s\"}",
             stated_names[stated_count], strcmp(shape, "-") == 0 ? "" : shape, dtype != NULL ? dtype + 1 : "float32");
    return stated_names[stated_count++];
}

/* Return the next word of a line, which is cut, or NULL. */
static char *word(char **line)
{
    char *begin = *line + strspn(*line, " ");
    char *end = begin + strcspn(begin, " ");
    if (*begin == '\0') return NULL;
    *line = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return begin;
}

static void add_node(char *out, char *line)
{
    char *names[8], *attrs = strchr(line, '{'), *name, *op;
    char outputs[2000] = "", inputs[4000] = "", text[300], named[40];
    size_t count = 0;
    if (attrs != NULL) attrs[-1] = '\0';
    while ((name = word(&line)) != NULL && strcmp(name, "=") != 0) {
        char *shape = word(&line);
        names[count] = state(name, shape);
        add(outputs, count++ > 0 ? ", " : "");
        add_value(outputs, names[count - 1]);
    }
    op = word(&line);
    while ((name = word(&line)) != NULL) {
        add(inputs, inputs[0] != '\0' ? ", " : "");
        add_value(inputs, name);
    }
    snprintf(named, sizeof named, "check_%lu", (unsigned long)strlen(out));
    snprintf(text, sizeof text, "%s\n{\"name\": \"%s\", \"op_type\": \"%s%s\", \"inputs\": [",
             out[0] != '\0' ? "," : "", count > 0 ? names[0] : named, strcmp(op, "getitem") == 0 ? "" : "aten.",
             strcmp(op, "getitem") == 0 ? "<built-in function getitem>" : op);
    add(out, text);
    add(out, inputs);
    add(out, "], \"outputs\": [");
    add(out, outputs);
    add(out, "], \"attrs\": ");
    for (name = attrs; name != NULL && *name != '\0'; ++name) if (*name == '\'') *name = '"';
    add(out, attrs != NULL ? attrs : "{}");
    add(out, "}");
}

/* Read a graph of lines, which must have no finding. Return NULL after an error. */
static qnnrt_ir *graph_with(const char *lines, const qnnrt_ir_desc *desc)
{
    static char nodes[20000], text[40000];
    char inputs[4000] = "", outputs[4000] = "", weights[4000] = "", keys[2000] = "", line[500];
    qnnrt_ir *ir = NULL;
    nodes[0] = '\0';
    stated_count = 0;
    while (*lines != '\0') {
        char *at = line, *list = inputs, *name, *key;
        const size_t bytes = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)bytes, lines);
        lines += bytes + (lines[bytes] != '\0');
        if (strncmp(line, "in ", 3) != 0 && strncmp(line, "out ", 4) != 0 && strncmp(line, "weight ", 7) != 0) {
            add_node(nodes, at);
            continue;
        }
        if (line[0] == 'o') list = outputs;
        if (line[0] == 'w') list = weights;
        word(&at);
        name = word(&at);
        add(list, list[0] != '\0' ? ", " : "");
        if (list != outputs) name = state(name, word(&at));
        add_value(list, name);
        if (list != weights) continue;
        add(keys, keys[0] != '\0' ? ", \"" : "\"");
        add(keys, name);
        add(keys, "\": \"");
        key = word(&at);
        add(keys, key != NULL ? key : "key_");
        add(keys, key != NULL ? "" : name);
        add(keys, "\"");
    }
    snprintf(text, sizeof text, "{\"graph_inputs\": [%s], \"graph_outputs\": [%s], \"weights\": [%s], "
             "\"weight_name_mapping\": {%s}, \"nodes\": [%s]}", inputs, outputs, weights, keys, nodes);
    TEST_JUNK(err);
    if (qnnrt_ir_read(text, strlen(text), desc, &ir, &err) != QNNRT_OK ||
        qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
        if (err.code != QNNRT_E_MEMORY) printf("    %s\n%s\n", err.text, text);
        qnnrt_ir_free(ir);
        return NULL;
    }
    return ir;
}

static qnnrt_ir *graph(const char *lines)
{
    return graph_with(lines, NULL);
}

/* Write the nodes and outputs of a graph as text. */
static const char *show(const qnnrt_ir *ir)
{
    static char out[4000];
    size_t i, k;
    out[0] = '\0';
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        for (k = 0; k < node->output_count; ++k) {
            add(out, k > 0 ? "," : "");
            add(out, node->outputs[k]->name);
        }
        add(out, "=");
        add(out, node->op);
        for (k = 0; k < node->input_count; ++k) {
            add(out, k > 0 ? "," : "(");
            add(out, node->inputs[k] != NULL ? node->inputs[k]->name : "-");
        }
        add(out, ") ");
    }
    add(out, "->");
    for (i = 0; i < ir->output_count; ++i) {
        add(out, " ");
        add(out, ir->outputs[i]->name);
    }
    return out;
}

/* True if users and producers are as a fresh count says, and the graph has no finding. */
static int sound(qnnrt_ir *ir)
{
    size_t i, k, v;
    if (qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) { printf("    %s\n", err.text); return 0; }
    for (v = 0; v < ir->value_count; ++v) {
        const qnnrt_ir_value *value = ir->values[v];
        uint32_t users = 0, outputs = 0;
        for (i = 0; i < ir->output_count; ++i) outputs += ir->outputs[i] == value;
        for (i = 0; i < ir->node_count; ++i)
            for (k = 0; k < ir->nodes[i]->input_count; ++k) users += ir->nodes[i]->inputs[k] == value;
        if (value->users != users + outputs || value->is_output != outputs) {
            printf("    %s: users %u, %u counted\n", value->name, value->users, users + outputs);
            return 0;
        }
    }
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; k < ir->nodes[i]->output_count; ++k)
            if (ir->nodes[i]->outputs[k]->node != ir->nodes[i] || ir->nodes[i]->outputs[k]->index != k) return 0;
    return 1;
}

static int same(const char *got, const char *expected)
{
    if (strcmp(got, expected) == 0) return 1;
    printf("    got       %s\n    expected  %s\n", got, expected);
    return 0;
}

/* Count the removed nodes of an operator. */
static size_t removed(const qnnrt_ir *ir, const char *op)
{
    size_t i, count = 0;
    for (i = 0; i < ir->removed_count; ++i) count += strcmp(ir->removed[i]->op, op) == 0;
    return count;
}
