/* guess.c - random inputs that a graph can take

   ROOM     >>guess */
#include "run/compile/aten.h"
#include "run/io/io.h"

/* =====================================================================================
   GUESS                                                                          >>guess
   Random inputs that a graph can take.
   ===================================================================================== */

/* Return true if a name contains a word. */
static int guess_named(const qnnrt_ir_value *value, const char *word)
{
    return strstr(value->name, word) != NULL;
}

/* Return how many rows a value may choose from as an index, in its readers and in those of its
   views; `rows` if there is no such reader. */
static int64_t guess_rows(const qnnrt_ir *ir, const qnnrt_ir_value *value, int64_t rows, int depth)
{
    static const char *const views[] = {
        "view", "reshape", "unsqueeze", "squeeze", "expand", "clone", "alias",
        "slice", "to", "_to_copy", "contiguous", "flatten", "select", "detach", NULL
    };
    for (size_t i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        const size_t bytes = strcspn(node->op, ".");
        size_t at = 0;
        while (at < node->input_count && node->inputs[at] != value) ++at;
        if (at == node->input_count) continue;
        int64_t limit = INT64_MAX;
        const int64_t dim = qnnrt_ir_int(node, "dim", 0);
        const qnnrt_ir_value *table = node->inputs[0];
        if (strncmp(node->op, "embedding", 9) == 0 && at == 1) {
            limit = table->dims[0];
        } else if (strncmp(node->op, "index", 5) == 0 && at > 0 && table != NULL) {
            /* index_select, index_copy: one axis; index, index_put: any, the smallest is safe */
            for (uint32_t k = 0; k < table->rank; ++k)
                if ((node->op[5] != '_' || strncmp(node->op, "index_put", 9) == 0 ||
                     (dim < 0 ? dim + (int64_t)table->rank : dim) == (int64_t)k) &&
                    table->dims[k] < limit && table->dims[k] > 1)
                    limit = table->dims[k];
        } else if (strncmp(node->op, "gather", 6) == 0 && at == 1 && table->rank > 0) {
            limit = table->dims[dim < 0 ? dim + (int64_t)table->rank : dim];
        } else if (depth > 0 && at == 0) {
            OWNED char *word = cli_text("%.*s", (int)bytes, node->op);
            if (cli_word(word, views) >= 0 && node->output_count > 0)
                limit = guess_rows(ir, node->outputs[0], INT64_MAX, depth - 1);
        }
        if (limit < rows) rows = limit;
    }
    return rows;
}

void guess_input(const qnnrt_ir *ir, const qnnrt_ir_value *value, uint64_t seed, double *out)
{
    const int floats = value_is_float(value->dtype);
    const int64_t last = value->rank > 0 ? value->dims[value->rank - 1] : 1;
    const int64_t rows = floats ? 0 : guess_rows(ir, value, INT64_MAX, 4);
    uint64_t state = seed;
    for (uint64_t i = 0; i < value->count; ++i) {
        const uint64_t r = value_random(&state);
        if (guess_named(value, "mask") || value->dtype == QNNRT_DTYPE_BOOL8) out[i] = !floats;
        else if (floats) out[i] = (double)(r >> 11) / 4503599627370496.0 - 1;
        else if (guess_named(value, "position") || rows == INT64_MAX) {
            out[i] = (double)((int64_t)(i % (uint64_t)last) % rows);
        } else out[i] = (double)(int64_t)(r % (uint64_t)rows);
    }
}
