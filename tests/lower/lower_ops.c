/* lower_ops.c - the operators of the compiler on several backends: a table of what is right

       lower_ops [--all] [GRAPH.json] BACKEND.so ...

   For each recorded case (default tests/data/ir/ops.json) a graph with one node is built and run, once with the weights
   of layers as constants and once with all tensors as inputs. A row for each operator: for each backend how many
   cases are right, and the largest error in parts of the largest value. --all lists each case that is not.
   The exit status is 1 if a case is wrong by more than 1e-2, which is not the same as refused. */
#include "lower_case.h"

enum { MOST_BACKENDS = 4 };

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) exit(2);
    rewind(file);
    text = (char *)malloc((size_t)size + 1);
    if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size) exit(2);
    fclose(file);
    *bytes = (size_t)size;
    return text;
}

/* Return true for a case that no backend can run: its result is empty, or does not depend on an input. */
static int left_out(const lower_case *result)
{
    return strstr(result->why, "has no graph") != NULL || strstr(result->why, "it has no inputs or no outputs") != NULL;
}

int main(int argc, char **argv)
{
    qnnrt_backend *backends[MOST_BACKENDS];
    qnnrt_error err;
    qnnrt_ir *ir;
    size_t bytes, i, k, b, count = 0, right[MOST_BACKENDS] = {0}, cases[MOST_BACKENDS] = {0}, wrong = 0;
    int all = 0;
    char *text;
    const char *path = "tests/data/ir/ops.json";
    for (i = 1; i < (size_t)argc; ++i) if (strstr(argv[i], ".json") != NULL) path = argv[i];
    text = read_file(path, &bytes);
    if (qnnrt_ir_read(text, bytes, NULL, &ir, &err) != QNNRT_OK) return 2;
    printf("%-36s", "operator");
    for (i = 1; i < (size_t)argc; ++i) {
        qnnrt_backend_desc desc;
        const char *name = strrchr(argv[i], '/');
        if (strcmp(argv[i], "--all") == 0) { all = 1; continue; }
        if (argv[i] == path) continue;
        if (count == MOST_BACKENDS) return 2;
        memset(&desc, 0, sizeof(desc));
        desc.path = argv[i];
        if (qnnrt_backend_open(&desc, &backends[count], &err) != QNNRT_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
        printf("  %-22s", name != NULL ? name + 1 : argv[i]);
        ++count;
    }
    printf("\n");
    for (i = 0; i < ir->node_count; ++i) {
        const char *op = ir->nodes[i]->op;
        for (k = 0; k < i && strcmp(ir->nodes[k]->op, op) != 0; ++k) {}
        if (k < i || strstr(op, "_.") != NULL) continue;     /* done; in-place ones are passes' work */
        printf("%-36s", op);
        for (b = 0; b < count; ++b) {
            size_t good = 0, tried = 0, ops = 0;
            double worst = 0;
            int whole;
            for (k = i; k < ir->node_count; ++k)
                for (whole = 0; whole < 2 && strcmp(ir->nodes[k]->op, op) == 0; ++whole) {
                    lower_case result;
                    lower_run_case(backends[b], ir, k, whole, &result);
                    if (left_out(&result)) continue;
                    ++tried;
                    good += result.outcome == LOWER_GOOD;
                    if (result.ops > ops) ops = result.ops;
                    if (result.outcome == LOWER_GOOD && result.error > worst) worst = result.error;
                    if (result.outcome == LOWER_GOOD && !(result.error <= 1e-2)) ++wrong;
                    if (all && (result.outcome != LOWER_GOOD || !(result.error <= 1e-2)))
                        fprintf(stderr, "%s %s on %lu: error %g %s\n", op, ir->nodes[k]->name, (unsigned long)b, result.error, result.why);
                }
            printf("  %3lu of %3lu %2lu ops %.0e", (unsigned long)good, (unsigned long)tried, (unsigned long)ops, worst);
            right[b] += good;
            cases[b] += tried;
        }
        printf("\n");
        fflush(stdout);
    }
    printf("%-36s", "all");
    for (b = 0; b < count; ++b) {
        printf("  %4lu of %4lu           ", (unsigned long)right[b], (unsigned long)cases[b]);
        qnnrt_backend_close(backends[b]);
    }
    printf("\n%lu wrong without being refused\n", (unsigned long)wrong);
    qnnrt_ir_free(ir);
    free(text);
    return wrong != 0;
}
