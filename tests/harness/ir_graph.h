/* ir_graph.h - graphs of qnnrt_ir.h in tests: written with ' instead of " */
#ifndef IR_GRAPH_H
#define IR_GRAPH_H

#include "test.h"
#include "ir_recorded.h"

/* ---- pieces of a graph: GRAPH(...) is closed by the caller with "}", or goes on with ", ..." ---- */

#define V(name, dtype, shape) "{'name': '" name "', 'shape': [" shape "], 'dtype': '" dtype "'}"
#define F(name, shape) V(name, "float32", shape)
#define NODE(name, op, in, out, attrs) \
    "{'name': '" name "', 'op_type': 'aten." op "', 'inputs': [" in "], 'outputs': [" out "], 'attrs': {" attrs "}}"
#define GRAPH(inputs, outputs, weights, nodes) \
    "{'graph_inputs': [" inputs "], 'graph_outputs': [" outputs "], 'weights': [" weights "], 'nodes': [" nodes "]"

/* Return a copy of a text with " instead of '. The caller frees it. */
static inline char *ir_quoted(const char *text)
{
    const size_t bytes = strlen(text);
    char *json = (char *)malloc(bytes + 1);
    size_t i;
    if (json == NULL) abort();
    for (i = 0; i <= bytes; ++i) json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    return json;
}

/* Read a graph that is written with ' instead of ". Return NULL after an error. */
static inline qnnrt_ir *ir_graph_unchecked(const char *text, const qnnrt_ir_desc *desc, qnnrt_error *why)
{
    char *json = ir_quoted(text);
    qnnrt_ir *ir = NULL;
    memset(why, 0xFF, sizeof(*why));
    if (qnnrt_ir_read(json, strlen(json), desc, &ir, why) != QNNRT_OK) ir = NULL;
    free(json);
    return ir;
}

/* The same, and check it. Return NULL after printing an error. */
static inline qnnrt_ir *ir_graph(const char *text, const qnnrt_ir_desc *desc, qnnrt_error *why)
{
    qnnrt_ir *ir = ir_graph_unchecked(text, desc, why);
    if (ir != NULL && qnnrt_ir_check(ir, NULL, NULL, why) != QNNRT_OK) {
        qnnrt_ir_free(ir);
        ir = NULL;
    }
    if (ir == NULL) printf("    %s\n", why->text);
    return ir;
}

#endif
