/* suite_run.c - the conformance suite of the package onnx, on one backend: a line for each case

       suite_run [--frozen] [--case TEXT] [--all] [--table FILE] DIR host|BACKEND.so

   DIR is what suite.py wrote. host: qnnrt_ir_run() computes; else the graph is lowered, wholly, to the library.
   --frozen binds the inputs that say how to compute; --case: only cases with TEXT in their name; --all: also cases
   out of scope. --table: "NAME VERDICT reason" of each case, sorted as in cases.txt.
   right: dtype and shape are equal and values are within rtol 1e-3 (float16: 2e-3, two units in its
   last place), atol 1e-5; on HTP within 2e-2 of the largest value.
   beyond: HTP computes in float16, gives another result, and the case has values that are infinite, NaN or over 65504
   on the way, which the ranges of a calibration show.
   Cases run in a process of its own, which begins again behind one that crashes. The exit status is 1 if a case is
   wrong or crashes. */
#include "qnnrt_onnx_graph.h"
#include "qnnrt_lower.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASES = 4096, TENSORS = 32, SECONDS = 120 };

typedef struct tensor {
    uint32_t    type, rank;
    int64_t     dims[16];
    uint64_t    bytes;
    const char *data;
} tensor;

typedef struct suite_case { char name[160], scope[32], frozen[64]; } suite_case;

typedef enum outcome { RIGHT, WRONG, REFUSED, CRASH, BEYOND } outcome;
static const char *const verdicts[] = { "right", "wrong", "refused", "crash", "beyond" };

/* What the child leaves for the parent. */
typedef struct shared {
    size_t at;
    struct { int verdict; char why[600]; } cases[CASES];
} shared;

static suite_case cases[CASES];
static size_t case_count;
static shared *results;
static const char *dir;
static qnnrt_backend *backend;
static int frozen;
static char why[600];

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *data;
    long size;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        fprintf(stderr, "suite_run: cannot read %s\n", path);
        exit(2);
    }
    rewind(file);
    data = (char *)malloc((size_t)size + 1);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) exit(2);
    data[size] = '\0';
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

static int read_tensors(const char *at, tensor *list, uint32_t *inputs, uint32_t *outputs)
{
    uint32_t i;
    memcpy(inputs, at + 4, 4);
    memcpy(outputs, at + 8, 4);
    at += 12;
    if (*inputs + *outputs > TENSORS) return 0;
    for (i = 0; i < *inputs + *outputs; ++i) {
        tensor *t = &list[i];
        memcpy(&t->type, at, 4);
        memcpy(&t->rank, at + 4, 4);
        memcpy(t->dims, at + 8, t->rank * 8);
        memcpy(&t->bytes, at + 8 + t->rank * 8, 8);
        t->data = at + 16 + t->rank * 8;
        at = t->data + t->bytes;
    }
    return 1;
}

static qnnrt_dtype dtype_of(uint32_t type)
{
    static const qnnrt_dtype types[] = {
        QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_F32, QNNRT_DTYPE_U8, QNNRT_DTYPE_I8, QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_I16, QNNRT_DTYPE_I32,
        QNNRT_DTYPE_I64, QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_BOOL8, QNNRT_DTYPE_F16, QNNRT_DTYPE_F64, QNNRT_DTYPE_UNDEFINED,
        QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_UNDEFINED, QNNRT_DTYPE_BF16,
    };
    return type < sizeof(types) / sizeof(types[0]) ? types[type] : QNNRT_DTYPE_UNDEFINED;
}

static double element(qnnrt_dtype dtype, const char *data, uint64_t i)
{
    const char *at = data + i * qnnrt_ir_dtype_bytes(dtype);
    return qnnrt_ir_dtype_kind(dtype) == 2 ? qnnrt_ir_element_float(at, dtype) : (double)qnnrt_ir_element_int(at, dtype);
}

/* Compare an output with what the suite expects; `stored`: the type of data. */
static int same(const tensor *expected, const qnnrt_ir_value *value, qnnrt_dtype stored, const char *data, int coarse)
{
    const qnnrt_dtype dtype = dtype_of(expected->type);
    double largest = 0;
    uint64_t i;
    uint32_t k;
    if (value->dtype != dtype || value->rank != expected->rank) {
        snprintf(why, sizeof why, "output \"%s\" is %s of %u dimensions, expected %s of %u", value->name, qnnrt_ir_dtype_name(value->dtype),
                 (unsigned)value->rank, qnnrt_ir_dtype_name(dtype), (unsigned)expected->rank);
        return 0;
    }
    for (k = 0; k < value->rank; ++k)
        if (value->dims[k] != expected->dims[k]) {
            snprintf(why, sizeof why, "output \"%s\": dimension %u is %lld, expected %lld", value->name, (unsigned)k, (long long)value->dims[k],
                     (long long)expected->dims[k]);
            return 0;
        }
    for (i = 0; i < value->count; ++i) {
        const double a = fabs(element(dtype, expected->data, i));
        if (a > largest && a < HUGE_VAL) largest = a;
    }
    for (i = 0; i < value->count; ++i) {
        const double a = element(dtype, expected->data, i), b = element(stored, data, i);
        double most = coarse ? 2e-2 * largest : 1e-5 + (dtype == QNNRT_DTYPE_F16 ? 2e-3 : dtype == QNNRT_DTYPE_BF16 ? 1.6e-2 : 1e-3) * fabs(a);
        if (qnnrt_ir_dtype_kind(dtype) != 2) most = qnnrt_ir_dtype_bytes(dtype) == 1 && dtype != QNNRT_DTYPE_BOOL8 && coarse ? 1 : 0;
        if (a == b || (a != a && b != b) || fabs(a - b) <= most) continue;
        snprintf(why, sizeof why, "output \"%s\": element %llu of %llu is %.9g, expected %.9g", value->name, (unsigned long long)i,
                 (unsigned long long)value->count, b, a);
        return 0;
    }
    return 1;
}

static int is_frozen(const suite_case *c, uint32_t input)
{
    const char *at = c->frozen;
    while (*at >= '0' && *at <= '9') {
        char *end;
        if (strtoul(at, &end, 10) == input) return 1;
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

/* Find the tensor of an input or output by name. */
static const tensor *find(const qnnrt_onnx_value *list, size_t count, const tensor *tensors, const char *name)
{
    size_t i;
    for (i = 0; i < count; ++i) if (strcmp(list[i].name, name) == 0) return &tensors[i];
    return NULL;
}

/* Note the first value on the way that float16 does not hold. */
static char beyond[300];
static void look(const char *name, qnnrt_dtype dtype, const char *data, uint64_t count)
{
    uint64_t i;
    for (i = 0; i < count && beyond[0] == '\0' && qnnrt_ir_dtype_kind(dtype) == 2; ++i) {
        const double x = element(dtype, data, i);
        if (!(fabs(x) <= 65504)) snprintf(beyond, sizeof beyond, "\"%.200s\" has %g", name, x);
    }
}

static qnnrt_result watch(void *user, const qnnrt_ir_node *node, size_t output, const void *data, qnnrt_error *e)
{
    (void)user;
    (void)e;
    look(node->outputs[output]->name, node->outputs[output]->dtype, (const char *)data, node->outputs[output]->count);
    return QNNRT_OK;
}

static outcome on_host(qnnrt_ir *ir, const qnnrt_onnx *onnx, const tensor *tensors, uint32_t inputs)
{
    const void *in[TENSORS];
    void *out[TENSORS];
    qnnrt_ir_run_desc run_desc;
    qnnrt_error err;
    qnnrt_result result;
    outcome v = RIGHT;
    size_t i;
    memset(&run_desc, 0, sizeof(run_desc));
    run_desc.watch = watch;
    beyond[0] = '\0';
    for (i = 0; i < ir->input_count; ++i)
        in[i] = find(onnx->graph->inputs, onnx->graph->input_count, tensors, ir->inputs[i]->name)->data;
    for (i = 0; i < ir->input_count; ++i) look(ir->inputs[i]->name, ir->inputs[i]->dtype, (const char *)in[i], ir->inputs[i]->count);
    for (i = 0; i < ir->output_count; ++i) out[i] = calloc(ir->outputs[i]->count + 1, qnnrt_ir_dtype_bytes(ir->outputs[i]->dtype));
    result = qnnrt_ir_run(ir, &run_desc, in, out, &err);
    if (result != QNNRT_OK) snprintf(why, sizeof why, "%.590s", err.text);
    for (i = 0; i < ir->output_count && result == QNNRT_OK && v == RIGHT; ++i)
        if (!same(&tensors[inputs + i], ir->outputs[i], ir->outputs[i]->dtype, (const char *)out[i], 0)) v = WRONG;
    for (i = 0; i < ir->output_count; ++i) free(out[i]);
    return result != QNNRT_OK ? REFUSED : v;
}

/* Copy elements of any type to a tensor of any type. */
static void copy(qnnrt_dtype to, char *out, qnnrt_dtype from, const char *in, uint64_t count)
{
    uint64_t i;
    for (i = 0; i < count; ++i) {
        const char *at = in + i * qnnrt_ir_dtype_bytes(from);
        const int real = qnnrt_ir_dtype_kind(from) == 2;
        const double f = real ? qnnrt_ir_element_float(at, from) : (double)qnnrt_ir_element_int(at, from);
        qnnrt_ir_element_put(out + i * qnnrt_ir_dtype_bytes(to), to, real ? (int64_t)f : qnnrt_ir_element_int(at, from), f);
    }
}

/* Compare the outputs that are copies of constants, which no library needs. Return how many others there are. */
static size_t known_outputs(const qnnrt_ir *ir, const tensor *expected, outcome *v)
{
    size_t i, others = 0;
    for (i = 0; i < ir->output_count; ++i) {
        const qnnrt_ir_node *node = qnnrt_ir_producer(ir->outputs[i]);
        const qnnrt_ir_value *from = node != NULL && qnnrt_ir_is(node, "clone.default") ? node->inputs[0] : NULL;
        if (from == NULL || from->data == NULL) ++others;
        else if (!same(&expected[i], ir->outputs[i], from->dtype, (const char *)from->data, 0)) *v = WRONG;
    }
    return others;
}

static outcome on_library(qnnrt_ir *ir, const qnnrt_onnx *onnx, const tensor *tensors, uint32_t inputs)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    outcome v = RIGHT;
    size_t i;
    qnnrt_result result;
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    if (known_outputs(ir, tensors + inputs, &v) == 0 || v != RIGHT) return v;
    memset(&desc, 0, sizeof(desc));
    desc.target = qnnrt_lower_target_of(info);
    desc.build_id = info->build_id;
    result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_passes(lower, ir, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "case", &err);
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, NULL, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
    if (result == QNNRT_OK) {
        result = qnnrt_builder_finish(builder, &model, &err);
        builder = NULL;
    }
    qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &err);
    for (i = 0; i < ir->input_count && result == QNNRT_OK; ++i) {
        const tensor *t = find(onnx->graph->inputs, onnx->graph->input_count, tensors, ir->inputs[i]->name);
        const qnnrt_slot *slot = qnnrt_run_slot(run, ir->inputs[i]->name);
        if (slot != NULL)
            copy(slot->tensor->dtype, (char *)qnnrt_data(run, slot->tensor->name, NULL), ir->inputs[i]->dtype, t->data, slot->tensor->count);
    }
    if (result == QNNRT_OK && (result = qnnrt_exec(run)) != QNNRT_OK) err = *qnnrt_run_error(run);
    for (i = 0; i < ir->output_count && result == QNNRT_OK && v == RIGHT; ++i) {
        const qnnrt_slot *slot = qnnrt_run_slot(run, ir->outputs[i]->name);
        if (slot == NULL) {
            snprintf(why, sizeof why, "output \"%s\" is not there", ir->outputs[i]->name);
            v = WRONG;
        } else if (!same(&tensors[inputs + i], ir->outputs[i], slot->tensor->dtype,
                         (const char *)qnnrt_data(run, slot->tensor->name, NULL), desc.target == QNNRT_LOWER_HTP)) {
            v = WRONG;
        }
    }
    if (result != QNNRT_OK) snprintf(why, sizeof why, "%.590s", err.text);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    return result != QNNRT_OK ? REFUSED : v;
}

/* Compute on the host what HTP gave another result for: is that beyond float16? */
static outcome is_beyond(const qnnrt_onnx *onnx, const qnnrt_onnx_graph_desc *desc, const tensor *tensors, uint32_t inputs)
{
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    char was[600];
    memcpy(was, why, sizeof was);
    if (qnnrt_onnx_to_ir(onnx, desc, &ir, &err) == QNNRT_OK) on_host(ir, onnx, tensors, inputs);
    qnnrt_ir_free(ir);
    memcpy(why, was, sizeof why);
    if (beyond[0] == '\0') return WRONG;
    snprintf(why, sizeof why, "%.280s: %.300s", beyond, was);
    return BEYOND;
}

static outcome run_case(const suite_case *c)
{
    char path[600];
    tensor tensors[TENSORS];
    qnnrt_onnx_bind binds[TENSORS];
    qnnrt_onnx_shape_is shapes[TENSORS];
    qnnrt_onnx_graph_desc desc;
    qnnrt_onnx *onnx = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    uint32_t inputs, outputs, i;
    size_t bytes, bound = 0, shaped = 0;
    char *data;
    outcome v = REFUSED;
    snprintf(path, sizeof path, "%s/%s.data", dir, c->name);
    data = read_file(path, &bytes);
    snprintf(path, sizeof path, "%s/%s.onnx", dir, c->name);
    why[0] = '\0';
    memset(&desc, 0, sizeof(desc));
    if (!read_tensors(data, tensors, &inputs, &outputs)) snprintf(why, sizeof why, "too many tensors");
    else if (qnnrt_onnx_open(path, NULL, &onnx, &err) != QNNRT_OK) snprintf(why, sizeof why, "%.590s", err.text);
    else {
        for (i = 0; i < inputs && i < onnx->graph->input_count; ++i) {
            if (onnx->graph->inputs[i].initial != NULL) continue;
            shapes[shaped].input = onnx->graph->inputs[i].name;
            shapes[shaped].rank = tensors[i].rank;
            shapes[shaped++].dims = tensors[i].dims;
            if (!frozen || !is_frozen(c, i)) continue;
            binds[bound].input = onnx->graph->inputs[i].name;
            binds[bound].data = tensors[i].data;
            binds[bound++].bytes = tensors[i].bytes;
        }
        desc.shapes = shapes;
        desc.shape_count = shaped;
        desc.binds = binds;
        desc.bind_count = bound;
        if (qnnrt_onnx_to_ir(onnx, &desc, &ir, &err) != QNNRT_OK) snprintf(why, sizeof why, "%.590s", err.text);
        else if (ir->output_count != outputs) {
            snprintf(why, sizeof why, "%lu outputs, expected %u", (unsigned long)ir->output_count, (unsigned)outputs);
            v = WRONG;
        } else v = backend == NULL ? on_host(ir, onnx, tensors, inputs) : on_library(ir, onnx, tensors, inputs);
        if (v == WRONG && backend != NULL && qnnrt_lower_target_of(qnnrt_backend_get_info(backend)) == QNNRT_LOWER_HTP)
            v = is_beyond(onnx, &desc, tensors, inputs);
    }
    qnnrt_ir_free(ir);
    qnnrt_onnx_free(onnx);
    free(data);
    return v;
}

/* The child: run cases from results->at on. */
static void child(const char *library)
{
    qnnrt_backend_desc desc;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.path = library;
    if (strstr(library, "Htp") != NULL) desc.soc_model = 57;
    if (strcmp(library, "host") != 0 && qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) {
        fprintf(stderr, "suite_run: %s\n", err.text);
        exit(2);
    }
    for (; results->at < case_count; ++results->at) {
        alarm(SECONDS);
        results->cases[results->at].verdict = (int)run_case(&cases[results->at]);
        memcpy(results->cases[results->at].why, why, sizeof why);
    }
    exit(0);
}

static void read_cases(const char *only, int all)
{
    char path[600], line[400];
    FILE *file;
    snprintf(path, sizeof path, "%s/cases.txt", dir);
    file = fopen(path, "r");
    if (file == NULL) { fprintf(stderr, "suite_run: cannot read %s\n", path); exit(2); }
    while (case_count < CASES && fgets(line, sizeof line, file) != NULL) {
        suite_case *c = &cases[case_count];
        if (sscanf(line, "%159s %31s %63s", c->name, c->scope, c->frozen) != 3) continue;
        if ((!all && strcmp(c->scope, "in") != 0) || (only != NULL && strstr(c->name, only) == NULL)) continue;
        ++case_count;
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    const char *only = NULL, *table = NULL, *library = NULL;
    size_t count[5] = { 0 }, i;
    int all = 0, k;
    FILE *file = NULL;
    for (k = 1; k < argc; ++k) {
        if (strcmp(argv[k], "--frozen") == 0) frozen = 1;
        else if (strcmp(argv[k], "--all") == 0) all = 1;
        else if (strcmp(argv[k], "--case") == 0 && k + 1 < argc) only = argv[++k];
        else if (strcmp(argv[k], "--table") == 0 && k + 1 < argc) table = argv[++k];
        else if (dir == NULL) dir = argv[k];
        else library = argv[k];
    }
    if (library == NULL) { fprintf(stderr, "usage: suite_run [--frozen] [--case TEXT] [--all] [--table FILE] DIR host|BACKEND.so\n"); return 2; }
    read_cases(only, all);
    results = (shared *)mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/zero", O_RDWR), 0);
    if (results == MAP_FAILED) return 2;
    while (results->at < case_count) {
        int status;
        const pid_t pid = fork();
        if (pid == 0) child(library);
        if (pid < 0 || waitpid(pid, &status, 0) != pid) return 2;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 2;
        if (results->at >= case_count) break;
        results->cases[results->at].verdict = CRASH;
        snprintf(results->cases[results->at].why, 600, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        ++results->at;
    }
    if (table != NULL && (file = fopen(table, "w")) == NULL) return 2;
    for (i = 0; i < case_count; ++i) {
        char *p = results->cases[i].why;
        const char *verdict = verdicts[results->cases[i].verdict];
        while ((p = strchr(p, '\n')) != NULL) *p = ' ';
        p = results->cases[i].why;
        ++count[results->cases[i].verdict];
        if (file != NULL) fprintf(file, "%s %s%s%s\n", cases[i].name, verdict, *p != '\0' ? " " : "", p);
        if (results->cases[i].verdict != RIGHT) printf("%-8s %s: %s\n", verdict, cases[i].name, p);
    }
    if (file != NULL) fclose(file);
    printf("%lu cases: %lu right, %lu wrong, %lu refused, %lu crash, %lu beyond float16\n", (unsigned long)case_count,
           (unsigned long)count[RIGHT], (unsigned long)count[WRONG], (unsigned long)count[REFUSED], (unsigned long)count[CRASH],
           (unsigned long)count[BEYOND]);
    return count[WRONG] + count[CRASH] > 0;
}
