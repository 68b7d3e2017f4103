/* op_package.c - an op package for Qualcomm's libQnnCpu.so with one operator: LineOf, y = slope * x + 1

       cc -std=c99 -fPIC -shared -o libOpPackage.so tests/fake/op_package.c

   The genuine CPU library calls the provider, then init and getInfo; it validates with the package,
   calls createOpImpl when a graph is finalized and the implementation's function at each execute.
   The package's layouts are those of interface 1.4.0 on LP64, and of the CPU library's own nodes:
   they are measured, because no C header declares them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t code;
typedef struct { uint32_t major, minor, patch; } version;
typedef struct { version core, backend; } api_version;

typedef struct {                         /* a tensor of a node, when the node is executed */
    uint32_t  format, dtype, rank;
    uint32_t *most_dims, *dims;
    void     *data;
} tensor;

typedef struct {
    uint32_t    type;
    const char *name;
    union { double scalar; const char *text; tensor *tensor; } u;
} param;

typedef struct {
    const char *name, *package, *type;
    uint32_t    param_count;  param  **params;
    uint32_t    input_count;  tensor **inputs;
    uint32_t    output_count; tensor **outputs;
} node;

typedef struct { code (*run)(void *user); void *user; } implementation;

typedef struct {                         /* the operator to validate, passed by value */
    uint32_t    version;
    const char *name, *package, *type;
    uint32_t    param_count;  void *params;
    uint32_t    input_count;  void *inputs;
    uint32_t    output_count; void *outputs;
} op;

typedef struct {
    const char  *name;
    const char **operators;
    const void  *operator_info;
    uint32_t     operator_count;
    const void  *optimizations;
    uint32_t     optimization_count;
    const char  *sdk_build;
    const api_version *sdk_api;
    const void  *package_info;
    const void  *opset;
    size_t       reserved[12];
} info;

typedef struct {
    version interface_version;
    code (*init)(void *infrastructure);
    code (*terminate)(void);
    code (*get_info)(const info **out);
    code (*validate)(op asked);
    code (*create)(void *graph, node *n, implementation **out);
    code (*free)(implementation *i);
    code (*log_init)(void *callback, uint32_t level);
    code (*log_level)(uint32_t level);
    code (*log_end)(void);
} interface;

typedef char interface_is_88_bytes[sizeof(interface) == 88 ? 1 : -1];
typedef char info_is_176_bytes[sizeof(info) == 176 ? 1 : -1];

enum { VALIDATION_FAILURE = 3110, OUT_OF_MEMORY = 1002 };

static code run(void *user)
{
    const node *n = (const node *)user;
    const tensor *x = n->inputs[0];
    double slope = 0;
    size_t count = 1;
    for (uint32_t i = 0; i < n->param_count; ++i)
        if (strcmp(n->params[i]->name, "slope") == 0) slope = n->params[i]->u.scalar;
    for (uint32_t i = 0; i < x->rank; ++i) count *= x->dims[i];
    for (size_t i = 0; i < count; ++i)
        ((float *)n->outputs[0]->data)[i] = (float)(slope * (double)((const float *)x->data)[i] + 1);
    return 0;
}

static code init(void *infrastructure) { (void)infrastructure; return 0; }
static code terminate(void) { return 0; }

static code get_info(const info **out)
{
    static const char *operators[] = { "LineOf" };
    static const api_version api = { { 2, 36, 0 }, { 1, 1, 0 } };
    static info mine;
    mine.name = "qnnrt.test";
    mine.operators = operators;
    mine.operator_count = 1;
    mine.sdk_build = "v2.47.0";
    mine.sdk_api = &api;
    *out = &mine;
    return 0;
}

static code validate(op asked)
{
    return strcmp(asked.type, "LineOf") == 0 && asked.input_count == 1 && asked.param_count == 1 ? 0
                                                                                     : VALIDATION_FAILURE;
}

static code create(void *graph, node *n, implementation **out)
{
    implementation *made = (implementation *)malloc(sizeof(*made));
    (void)graph;
    if (made == NULL) return OUT_OF_MEMORY;
    made->run = run;
    made->user = n;
    *out = made;
    return 0;
}

/* The argument is the library's own copy on its stack: do not free it. */
static code forget(implementation *i) { (void)i; return 0; }

static code log_init(void *callback, uint32_t level) { (void)callback; (void)level; return 0; }
static code log_level(uint32_t level) { (void)level; return 0; }
static code log_end(void) { return 0; }

code LineOfProvider(interface *out);
code LineOfProvider(interface *out)
{
    const interface mine = { { 1, 4, 0 }, init, terminate, get_info, validate, create, forget, log_init, log_level, log_end };
    *out = mine;
    return 0;
}
