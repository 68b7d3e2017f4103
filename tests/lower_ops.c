/* lower_ops.c - the operators of the compiler on a backend: a table of what is right

       lower_ops BACKEND.so [--all] [OPERATOR]

   For each recorded case (tests/data/ir/ops.json) a graph with one node is built and run. Prints a
   line per operator: cases, QNN operators, largest error relative to the largest value. */
#include "lower_case.h"

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

int main(int argc, char **argv)
{
    const char *only = NULL;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    qnnrt_ir *ir;
    size_t bytes, i, k, good = 0, refused = 0, bad = 0;
    int all = 0, whole;
    char *text = read_file("tests/data/ir/ops.json", &bytes);
    if (argc < 2) return 2;
    for (i = 2; i < (size_t)argc; ++i)
        if (strcmp(argv[i], "--all") == 0) all = 1;
        else only = argv[i];
    memset(&desc, 0, sizeof(desc));
    desc.path = argv[1];
    if (qnnrt_ir_read(text, bytes, NULL, &ir, &err) != QNNRT_OK ||
        qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (i = 0; i < ir->node_count; ++i) {
        const char *op = ir->nodes[i]->op;
        for (k = 0; k < i && strcmp(ir->nodes[k]->op, op) != 0; ++k) {}
        k = k < i || strstr(op, "_.") != NULL ? 0 : i;   /* the IR's pass takes in-place ones away */
        if (k < i || (only != NULL && strcmp(op, only) != 0)) continue;      /* done already */
        for (whole = 0; whole < 2; ++whole) {
            size_t cases = 0, right = 0, ops = 0;
            double worst = 0;
            char why[600];
            why[0] = '\0';
            for (k = i; k < ir->node_count; ++k) {
                lower_case result;
                if (strcmp(ir->nodes[k]->op, op) != 0) continue;
                lower_run_case(backend, ir, k, whole, &result);
                ++cases;
                if (result.ops > ops) ops = result.ops;
                if (result.outcome == LOWER_GOOD) {
                    ++right;
                    if (result.error > worst) worst = result.error;
                    if (all || result.error > 1e-2)
                        printf("    %s %s: %.2e\n", op, ir->nodes[k]->name, result.error);
                } else {
                    if (all) printf("    %s %s: %s\n", op, ir->nodes[k]->name, result.why);
                    if (why[0] == '\0') memcpy(why, result.why, sizeof(why));
                    if (result.outcome == LOWER_FAILED) ++bad;
                }
                fflush(stdout);
            }
            good += right;
            refused += cases - right;
            printf("%-36s %s %2lu of %2lu  %2lu ops  %.1e  %.200s\n", op, whole ? "inputs " : "weights",
                   (unsigned long)right, (unsigned long)cases, (unsigned long)ops, worst, why);
        }
    }
    printf("%lu right, %lu refused or failed, %lu of them failed\n", (unsigned long)good, (unsigned long)refused, (unsigned long)bad);
    qnnrt_ir_free(ir);
    qnnrt_backend_close(backend);
    free(text);
    return 0;
}
