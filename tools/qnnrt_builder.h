/* qnnrt_builder.h - v0.5.0 - build graphs in C, on any backend, and save them

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_BUILDER_IMPLEMENTATION         #include "qnnrt_builder.h"
       #include "qnnrt.h"
       #include "qnnrt_builder.h"
   Both implementations stand in one file, this one last. It needs no other header of tools/.
   Graphs become a model to run, to save as a context binary, or both. This builds y = relu(x);
   all descriptors begin as {0}:
       backend_desc.path = "build/libQnnRef.so";
       if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK ||
           qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) { puts(err.text); return 1; }
       graph.name = "layer";   qnnrt_builder_graph(b, &graph);
       t.dtype = QNNRT_DTYPE_F32; t.rank = 2; t.dims[0] = 1; t.dims[1] = 4;
       t.name = "x"; t.kind = QNNRT_TENSOR_INPUT;    x = qnnrt_builder_tensor(b, &t);
       t.name = "y"; t.kind = QNNRT_TENSOR_OUTPUT;   y = qnnrt_builder_tensor(b, &t);
       node.type = "Relu";
       node.inputs = &x;    node.input_count = 1;
       node.outputs = &y;   node.output_count = 1;
       qnnrt_builder_node(b, &node);
       // x and y are qnnrt_tensor. Finish frees b, and returns the first error of all calls so far:
       if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) { puts(err.text); return 1; }
       qnnrt_save(model, 0, "layer.bin", &err);      // context 0
       qnnrt_prepare(model, "layer", &run, &err);    // like an opened model; qnnrt_close() it
   The whole program is examples/03_compose.c. Qualcomm's operator documentation lists the
   operators, the order of their inputs and their parameters.
   Converters write .dlc containers. qnnrt_builder_dlc() makes graphs from a container; so does
       qnnrt-run compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out
   The vendor's libQnnSystem.so reads containers. libQnnRef.so cannot, so with libQnnRef.so
   give the path of libQnnSystem.so in builder_desc.system_path (--system_so).
   HTP: on x86-64 graphs are compiled for SM8650 (57) unless soc_model of the backend or of the
   builder names a chip, because float graphs need one. FLOAT_16 tensors have more kernels than
   FLOAT_32. With weight_sharing of a context the file is smaller, but x86-64 cannot load it.

   The build options are those of qnnrt.h, such as QNNRT_STATIC.

   ROOMS (search for the tag), below those of qnnrt.h
       >>op_abi >>validate >>container >>save >>build >>tensor >>node >>device >>key >>fill
       >>compose >>builder
*/
#ifndef QNNRT_BUILDER_H
#define QNNRT_BUILDER_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_builder.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What builds graphs:

       create -> [context] -> graph -> tensor, node, ... -> [graph -> ...] -> finish
       (or create -> dlc, ... -> finish)

   Each call records what it adds and checks it against everything before. Only finish and supports
   call the vendor. After the first error later calls do nothing, and finish returns that error with
   the node or tensor it belongs to.
   Descriptors and all that they point to may be freed when a call returns, except for tensors' data
   with .borrow, and what .load_user, .progress_user and .stop point to.
   Threads  one builder by one thread at a time; calls to the vendor: one per backend
   Cost     static data is in memory twice or more until finish returns: ours and the library's;
            with .load of its tensors only the library's, and one tensor of ours */

typedef struct qnnrt_builder qnnrt_builder;

typedef int32_t qnnrt_tensor;                   /* a tensor of the graph being built; negative:
                                                   not made, see qnnrt_builder_error() */
#define QNNRT_NO_TENSOR ((qnnrt_tensor)0)       /* stands for an omitted optional input */

typedef enum qnnrt_priority {
    QNNRT_PRIORITY_DEFAULT = 0, QNNRT_PRIORITY_LOW, QNNRT_PRIORITY_NORMAL,
    QNNRT_PRIORITY_NORMAL_HIGH, QNNRT_PRIORITY_HIGH
} qnnrt_priority;

/* How far qnnrt_builder_finish() is. */
typedef enum qnnrt_build_phase {
    QNNRT_BUILD_FILL = 1,        /* the library got one more node, or tensor with data */
    QNNRT_BUILD_FINALIZE,        /* the library begins to compile a graph, which can take minutes */
    QNNRT_BUILD_FINALIZED
} qnnrt_build_phase;

typedef struct qnnrt_build_progress {
    qnnrt_build_phase phase;
    const char       *graph;
    size_t            nodes, node_count;    /* given to the library, and of all graphs; those of
                                               containers are not counted */
    uint64_t          bytes, byte_count;    /* the same for data of tensors */
} qnnrt_build_progress;

typedef struct qnnrt_builder_desc {
    uint32_t     soc_model;      /* HTP: chip to compile for (default 0: the backend's chip; if the
                                    backend names none, the x86-64 emulator gets 57, SM8650) */
    uint32_t     dsp_arch;       /* HTP: NPU generation, such as 75 (default 0: the chip's) */
    const char  *system_path;    /* libQnnSystem.so for qnnrt_builder_dlc(), and for logs of
                                    profiles of the model's runs (default NULL: beside the backend,
                                    else searched) */
    qnnrt_context_hook *context_hooks;   /* called while graphs are finalized (default NULL) */
    qnnrt_limits limits;
    void       (*progress)(void *user, const qnnrt_build_progress *progress);
                                 /* finish calls it for each node, tensor with data and graph, under
                                    the rules of qnnrt_load_fn (default NULL) */
    void        *progress_user;
    int          no_validate;    /* 1: finish does not ask the library about each node before it
                                    adds it: finalize alone decides. Nodes that would crash the
                                    library are refused all the same (default 0) */
    const volatile int *stop;    /* not 0: finish ends with QNNRT_E_CANCELLED. It is read after each
                                    call of .progress, or where there would be one (default NULL) */
} qnnrt_builder_desc;

typedef struct qnnrt_context_desc {
    const char    *name;             /* qnnrt_context_info.file of the model (default NULL:
                                        "context <i>") */
    int            weight_sharing;   /* HTP, ignored by others. 1: equal static tensors of its
                                        graphs are stored once */
    qnnrt_priority priority;
} qnnrt_context_desc;

typedef struct qnnrt_graph_desc {
    const char    *name;                 /* unique within the context */
    qnnrt_priority priority;
    uint32_t       vtcm_mib;             /* from here: HTP, ignored by others (default 0: the
                                            library's own) */
    uint32_t       optimization_level;   /* 1 to 3 (default 0: the library's own) */
    uint32_t       hvx_threads;          /* (default 0: the library's own) */
    int            fp16;                 /* 1: compute float32 graphs in half precision */
    int            exact_activations;    /* 1: Sigmoid, Tanh, Gelu and products of them are computed
                                            by operators of their own. By default the library fuses
                                            them with the Add, Conv2d or FullyConnected before them,
                                            and reads them from a table of 8 bits (measured on
                                            2.47 and 2.51: errors of 7e-3 against 5e-4) */
} qnnrt_graph_desc;

typedef enum qnnrt_tensor_kind {
    QNNRT_TENSOR_INPUT = 1,              /* written by the app  (vendor: APP_WRITE) */
    QNNRT_TENSOR_OUTPUT,                 /* read by the app     (vendor: APP_READ)  */
    QNNRT_TENSOR_INNER,                  /* between two nodes   (vendor: NATIVE)    */
    QNNRT_TENSOR_STATIC,                 /* weights, constants  (vendor: STATIC)    */
    QNNRT_TENSOR_OPTIONAL_INPUT,         /* (vendor: OPTIONAL_APP_WRITE), see qnnrt_omit() */
    QNNRT_TENSOR_OPTIONAL_OUTPUT,        /* (vendor: OPTIONAL_APP_READ)             */
    QNNRT_TENSOR_UPDATEABLE              /* as STATIC, see qnnrt_update() (vendor:
                                            UPDATEABLE_STATIC) */
} qnnrt_tensor_kind;

/* Weights with one scale per block of an axis, instead of qnnrt_tensor_desc.quant. The type is
   sfixed8 with values of 4 bits, one per byte: -8 to 7. Others are refused: HTP takes the low 4
   bits of a value without an error.
   EXPANSION  real = q * scales[channel] * multipliers[channel * blocks + block], with scales
              above 0. (vendor: BLOCKWISE_EXPANSION)
   PLAIN      real = code * scales[channel * blocks + block], with scales of any sign, and 0.
              (vendor: BLOCK)
   Measured on HTP 2.47 to 2.51: negative and zero scales of PLAIN are computed right (NMSE 1e-7),
   those of EXPANSION are not (above 2). CPU 2.47 computes EXPANSION wrong and has no PLAIN. */
typedef enum qnnrt_block_form { QNNRT_BLOCK_EXPANSION = 1, QNNRT_BLOCK_PLAIN } qnnrt_block_form;

typedef struct qnnrt_blocks {
    qnnrt_block_form form;
    int32_t          axis;               /* of the output channels */
    int32_t          block_axis;         /* the axis of the inputs, which is cut into blocks */
    uint32_t         block;              /* elements per block; divides dims[block_axis] */
    const float     *scales;             /* EXPANSION: [channels], PLAIN: [channels * blocks];
                                            finite */
    const uint8_t   *multipliers;        /* EXPANSION: [channels * blocks], 1 to 15 */
} qnnrt_blocks;

/* Write the `bytes` bytes of a static tensor to `data`, row-major, all of them. `data` is aligned
   to 64 and its content is undefined. On failure return a code and fill err, which is never NULL.
   qnnrt_builder_finish() calls it once per tensor, right before it gives the tensor to the library,
   which copies the data. It runs on that thread and under the lock of the backend
   (qnnrt_hooks.lock): it must not call functions on this backend, its models or its builders. */
typedef qnnrt_result (*qnnrt_load_fn)(void *user, void *data, size_t bytes, qnnrt_error *err);

/* How long the data of a tensor stays as it is, see qnnrt_tensor_desc.borrow. */
enum { QNNRT_BORROW_NONE = 0, QNNRT_BORROW_FINISH, QNNRT_BORROW_MODEL };

typedef struct qnnrt_tensor_desc {
    const char         *name;            /* unique within the graph (default NULL: made from its
                                            number, "t12") */
    qnnrt_tensor_kind   kind;
    qnnrt_dtype         dtype;
    uint32_t            rank;            /* 1 to 8 */
    uint32_t            dims[8];
    qnnrt_quant         quant;           /* NONE, PER_TENSOR, PER_AXIS; bitwidth under 8 bits still
                                            takes one byte per code */
    const qnnrt_blocks *blocks;          /* replaces quant (default NULL: quant applies) */
    const void         *data;            /* STATIC, UPDATEABLE: its elements, row-major */
    size_t              bytes;           /* of data; must be dims x dtype */
    int                 borrow;          /* QNNRT_BORROW_FINISH: data stays valid until finish;
                                            _MODEL: and unchanged until qnnrt_close(), so that
                                            libQnnRef.so reads it in place; other libraries copy it
                                            in finish (default 0: copied) */
    uint8_t             dynamic[8];      /* not 0: dims[i] is the most of this dimension, and each
                                            exec sets it, see qnnrt_set_dims() (default 0: fixed) */
    qnnrt_load_fn       load;            /* STATIC, UPDATEABLE: writes the elements when the library
                                            needs them, instead of data (default NULL: data). bytes
                                            may be 0 then. Not for parameters, see
                                            qnnrt_param_desc */
    void               *load_user;
    uint64_t            identity;        /* stands for the elements in qnnrt_builder_key(), which
                                            then does not read them: a hash of the file that they
                                            are from, with their place in it (default 0: read) */
} qnnrt_tensor_desc;

typedef struct qnnrt_param_desc {        /* a parameter of a node */
    const char  *name;
    qnnrt_dtype  dtype;                  /* of the scalar, or of data */
    double       value;                  /* a scalar ... */
    const void  *data;                   /* ... or a tensor of its own, copied; with .dtype, .rank,
                                            .dims */
    uint32_t     rank, dims[8];
    qnnrt_tensor tensor;                 /* ... or a STATIC tensor with data that was made before */
} qnnrt_param_desc;

typedef struct qnnrt_node_desc {
    const char             *name;        /* unique within the graph (default NULL: made from type
                                            and number, "MatMul_3") */
    const char             *package;     /* (default NULL: "qti.aisw") */
    const char             *type;        /* "MatMul", "ElementWiseAdd", ... */
    const qnnrt_tensor     *inputs;      /* in the operator's order */
    size_t                  input_count;
    const qnnrt_tensor     *outputs;
    size_t                  output_count;
    const qnnrt_param_desc *params;
    size_t                  param_count;
} qnnrt_node_desc;

/* Begin to build. The backend may serve models and other builders at the same time.
   desc     may be NULL or on the stack
   Returns  QNNRT_OK; QNNRT_E_ARG; QNNRT_E_UNSUPPORTED (a backend that cannot compose);
            QNNRT_E_MEMORY
   Frees    qnnrt_builder_finish() or qnnrt_builder_destroy(), before the backend is closed */
QNNRT_API qnnrt_result qnnrt_builder_create(qnnrt_backend *backend, const qnnrt_builder_desc *desc,
                                            qnnrt_builder **out, qnnrt_error *err);

/* Begin another context: the graphs that follow belong to it. The first one begins by itself.
   desc may be NULL. */
QNNRT_API void qnnrt_builder_context(qnnrt_builder *builder, const qnnrt_context_desc *desc);

/* Begin a graph: tensors and nodes that follow belong to it. */
QNNRT_API void qnnrt_builder_graph(qnnrt_builder *builder, const qnnrt_graph_desc *desc);

/* Add a tensor to the graph. Inputs and outputs are listed in the order in which they are added. */
QNNRT_API qnnrt_tensor qnnrt_builder_tensor(qnnrt_builder *builder, const qnnrt_tensor_desc *desc);

/* Add a node. Order does not matter: nodes may be added before those that feed them. */
QNNRT_API void qnnrt_builder_node(qnnrt_builder *builder, const qnnrt_node_desc *desc);

/* Add the graphs of a .dlc container, through libQnnSystem.so.
   desc     options of its graphs; .name renames the only one (default NULL: names as in the
            file) */
QNNRT_API void qnnrt_builder_dlc(qnnrt_builder *builder, const char *path,
                                 const qnnrt_graph_desc *desc);

/* Ask the library whether it supports this node, with these types and shapes. Nothing is added, and
   an error does not stop the builder. .load is not called: of data libraries read only parameters,
   and the static indices of Gather and Scatter operators, whose range they do not check then.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (err has the vendor's reason); QNNRT_E_ARG, ... (a
            descriptor that qnnrt_builder_node() would refuse); the builder's first error */
QNNRT_API qnnrt_result qnnrt_builder_supports(qnnrt_builder *builder, const qnnrt_node_desc *desc,
                                              qnnrt_error *err);

/* Compute a key of what the builder would give to the library: two builders with the same key make
   the same model. It comes before finish, so that a model that was kept need not be compiled again.
   Counted is all that is recorded, in its order, with library, build and chip. Names count where a
   model is used by them: those of graphs, and those that the caller gave to inputs, outputs and
   UPDATEABLE tensors. A container counts with its path. Data counts with .identity if it has one;
   else .data is read, and .load stands for itself with its address and .load_user, so that such a
   key means something in this process only.
   Returns  QNNRT_OK; QNNRT_E_ARG; the builder's first error
   Cost     reads static data once, at several GB/s; 10 us for a graph of 100 nodes without data.
            It is no signature: who wants two contents of one key can make them */
QNNRT_API qnnrt_result qnnrt_builder_key(qnnrt_builder *builder, uint64_t key[2], qnnrt_error *err);

/* Return the builder's first error, or QNNRT_OK with an empty text. It is valid until
   qnnrt_builder_finish() or qnnrt_builder_destroy(). */
QNNRT_API const qnnrt_error *qnnrt_builder_error(const qnnrt_builder *builder);

/* Return the name of the node, or of the graph, that the first error belongs to, or NULL; when the
   library fails to finalize a graph, the node that its log names, as HTP's does where it has no
   kernel. The name is valid until qnnrt_builder_finish() or qnnrt_builder_destroy(). After these
   ask again: then it is valid until qnnrt_backend_close(). */
QNNRT_API const char *qnnrt_builder_failed_node(const qnnrt_builder *builder);
QNNRT_API const char *qnnrt_builder_failed_graph(const qnnrt_builder *builder);

/* Check the graphs as a whole, give them to the vendor, finalize them, and return a model. It is
   wired, found, prepared and run like an opened model. The builder is used up, even after a
   failure.
   Returns  QNNRT_OK; the builder's first error; QNNRT_E_ARG (an input that no node writes, a
            cycle, a tensor written twice, an empty graph); QNNRT_E_UNSUPPORTED (a node that the
            vendor refuses: err has the reason); QNNRT_E_BACKEND; QNNRT_E_LIMIT; QNNRT_E_MEMORY;
            what .load of a tensor returned (err has its text, after graph and tensor); with .dlc
            containers also QNNRT_E_LIBRARY, QNNRT_E_VERSION (of libQnnSystem.so) and
            QNNRT_E_FORMAT
   Frees    qnnrt_close() */
QNNRT_API qnnrt_result qnnrt_builder_finish(qnnrt_builder *builder, qnnrt **out, qnnrt_error *err);

/* Free a builder; NULL and a spent one are allowed. Calls on a spent builder are errors until its
   backend is closed; 200 bytes of it stay until then. */
QNNRT_API void qnnrt_builder_destroy(qnnrt_builder *builder);

/* Write context `context` of a built model to a context binary. It is written aside and renamed.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (a model that was opened, not built: its file is the
            binary); QNNRT_E_ARG; QNNRT_E_IO; QNNRT_E_BACKEND; QNNRT_E_MEMORY
   Cost     the binary is in memory once; on the CPU backend each graph is executed once */
QNNRT_API qnnrt_result qnnrt_save(qnnrt *model, size_t context, const char *path, qnnrt_error *err);

/* Write the binary into memory of the caller. data NULL: only *bytes is set.
   Returns  as qnnrt_save(); QNNRT_E_MISMATCH when capacity is too small (*bytes receives
            the size that is needed) */
QNNRT_API qnnrt_result qnnrt_save_memory(qnnrt *model, size_t context, void *data,
                                         size_t capacity, size_t *bytes, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_BUILDER_H, end of the declarations */

#ifdef QNNRT_BUILDER_IMPLEMENTATION
#ifndef QNNRT_BUILDER__IMPL_ONCE
#define QNNRT_BUILDER__IMPL_ONCE

#ifndef QNNRT__IMPL_ONCE
#error "define QNNRT_IMPLEMENTATION before QNNRT_BUILDER_IMPLEMENTATION: both stand in one file"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   VENDOR INTERFACE OF GRAPHS                                                   >>op_abi
   Structs of operators and containers that only this header makes.
   Source and target: as in room >>abi of qnnrt.h.
   Needs: >>config >>abi     Knows nothing of: what the values mean to us
   ===================================================================================== */

/* A scalar or a tensor (of 144 bytes: that of version 1 in the layout of version 2). */
typedef struct qnnrt__abi_param {                 /* vendor: Qnn_Param_t                          */
    uint32_t    type;                             /*   0  0: scalar, 1: tensor                    */
    const char *name;                             /*   8                                          */
    union {                                       /*  16                                          */
        struct {
            uint32_t dtype;
            union { float f32; int32_t i32; uint32_t u32; uint8_t bool8; uint64_t room; } u;
        } scalar;
        qnnrt__abi_tensor tensor;
    } u;
} qnnrt__abi_param;

struct qnnrt__abi_op {                            /* vendor: Qnn_OpConfig_t; passed by value      */
    uint32_t          version;                    /*   0  1                                       */
    const char       *name, *package, *type;      /*   8, 16, 24                                  */
    uint32_t          param_count;                /*  32                                          */
    qnnrt__abi_param *params;                     /*  40                                          */
    uint32_t          input_count;                /*  48                                          */
    qnnrt__abi_tensor *inputs;                    /*  56                                          */
    uint32_t          output_count;               /*  64                                          */
    qnnrt__abi_tensor *outputs;                   /*  72                                          */
};

/* A provider as dlc_compose takes it: by value, with the size that the callee was built with, which
   differs from release to release. On x86-64 the callee therefore looks for the last two arguments
   directly after that size, which is among the spare slots here; see qnnrt__container_table(). */
enum { QNNRT__ABI_FRONT_SLOTS = 128 };
struct qnnrt__abi_front {
    uint32_t           backend_id;                /*  0                                           */
    const char        *name;                      /*  8                                           */
    qnnrt__abi_version core, backend;             /* 16, 28                                       */
    union { qnnrt__abi_calls calls; void *slots[QNNRT__ABI_FRONT_SLOTS]; } u;    /* 40            */
};

#if QNNRT__CAN_CALL
QNNRT__IS(param, 160);             QNNRT__AT(param, u, 16);
QNNRT__IS(op, 80);                 QNNRT__AT(op, name, 8);                QNNRT__AT(op, params, 40);
QNNRT__AT(op, inputs, 56);         QNNRT__AT(op, outputs, 72);
QNNRT__AT(front, core, 16);        QNNRT__AT(front, u, 40);
#endif

/* =====================================================================================
   VALIDATE                                                                     >>validate
   Asks the vendor whether it supports a node, except where the question would crash it. An
   error names the node with its tensors.
   Source: measured on CPU 2.47 and HTP 2.47 to 2.51, operator by operator.
   Needs: >>err >>log >>codes >>dtype >>abi >>compare >>backend (its struct) >>op_abi
   Knows nothing of: how a node was described, graphs
   ===================================================================================== */

/* Write a node's name and type, as in: node "fc" (FullyConnected). */
static const char *qnnrt__validate_what(const qnnrt__abi_op *op, char out[480])
{
    snprintf(out, 480, "node \"%.200s\" (%.200s)", op->name, op->type);
    return out;
}

/* The types and parameters that an operator accepts. Listed are operators whose validator in the
   CPU backend crashes at other types, or when a parameter is missing. A node must fit one row of
   its operator. Lists end with 0. */
typedef struct qnnrt__validate_row {
    const char *type;
    uint16_t    in[5];              /* types of the first input */
    uint16_t    out[3];             /* types of the last output; empty: same as the first input */
    const char *params[3];
} qnnrt__validate_row;

static const qnnrt__validate_row qnnrt__validate_cpu[] = {
    { "Split",        { 0x232, 0x408, 0x32, 0x508 }, { 0 },           { "axis", "split_index" } },
    { "StridedSlice", { 0x232, 0x408, 0x32, 0x508 }, { 0 },           { "ranges" } },
    { "Argmax",       { 0x232, 0x408, 0x308, 0x32 }, { 0x32, 0x132 }, { "axis" } },
    { "Argmin",       { 0x232, 0x32 },               { 0x32, 0x132 }, { "axis" } },
    { "Argmin",       { 0x408, 0x308 },              { 0x32 },        { "axis" } },
    { "TopK",         { 0x232, 0x408, 0x32 },        { 0x32, 0x132 }, { "k" } },
    { "OneHot",       { 0x32, 0x132 },               { 0x232, 0x32 }, { "depth", "axis" } },
    { "ResizeBilinear",        { 0x232, 0x408 },     { 0 },           { NULL } },
    { "ResizeNearestNeighbor", { 0x232, 0x408 },     { 0 },           { NULL } }
};

static int qnnrt__validate_has(const uint16_t *list, uint32_t dtype)
{
    while (*list != 0 && *list != dtype) ++list;
    return *list != 0;
}

static const qnnrt__abi_param *qnnrt__validate_param(const qnnrt__abi_op *op, const char *name)
{
    uint32_t i;
    for (i = 0; i < op->param_count; ++i)
        if (strcmp(op->params[i].name, name) == 0) return &op->params[i];
    return NULL;
}

static const char *qnnrt__validate_crashes_cpu(const qnnrt__abi_op *op, char out[160])
{
    const uint32_t in = op->input_count > 0 ? op->inputs[0].body.dtype : 0;
    const uint32_t last = op->outputs[op->output_count - 1].body.dtype;
    const qnnrt__abi_param *split;
    size_t i, k;
    int known = 0;
    for (i = 0; i < sizeof(qnnrt__validate_cpu) / sizeof(qnnrt__validate_cpu[0]); ++i) {
        const qnnrt__validate_row *row = &qnnrt__validate_cpu[i];
        if (strcmp(row->type, op->type) != 0) continue;
        known = 1;
        for (k = 0; k < 3 && row->params[k] != NULL; ++k)
            if (qnnrt__validate_param(op, row->params[k]) == NULL) {
                snprintf(out, 160, "its parameter \"%s\" is missing", row->params[k]);
                return out;
            }
        split = qnnrt__validate_param(op, "split_index");
        if (split != NULL &&
            (split->type == 0 || split->u.tensor.body.dtype != QNNRT_DTYPE_U32 ||
             *(const uint32_t *)split->u.tensor.body.buffer.data == 0))
            return "its parameter \"split_index\" is not a uint32 tensor, or begins with 0";
        if (qnnrt__validate_has(row->in, in) &&
            (row->out[0] == 0 ? last == in : qnnrt__validate_has(row->out, last))) return NULL;
    }
    return known ? "it does not have this operator with these types" : NULL;
}

/* Return what would crash the library instead of being refused, or NULL when it can be asked. */
static const char *qnnrt__validate_crashes(const qnnrt_backend *b, const qnnrt__abi_op *op,
                                           char out[160])
{
    const int cpu = b->info.id == QNNRT__ABI_BACKEND_CPU;
    const int htp = b->info.id == QNNRT__ABI_BACKEND_HTP;
    uint32_t i;
    if (strcmp(op->package, "qti.aisw") != 0) return NULL;
    for (i = 1; i < op->input_count; ++i) {
        const qnnrt__abi_quantize *quant = &op->inputs[i].body.quantize;
        const int by_blocks = quant->encoding >= QNNRT__ABI_BLOCK;
        if (quant->definition != QNNRT__ABI_DEFINED) continue;
        if (cpu && by_blocks && strcmp(op->type, "Conv2d") == 0)
            return "it does not take weights with a scale per block";
        if (htp && quant->encoding == QNNRT__ABI_BLOCK && strcmp(op->type, "MatMul") == 0)
            return "it does not take weights with a scale per block";
        if (htp && !by_blocks && quant->encoding % 2 == QNNRT__ABI_AXIS_SCALE_OFFSET &&
            strcmp(op->type, "MatMul") == 0 &&
            qnnrt__dtype_is_fixed((qnnrt_dtype)op->inputs[0].body.dtype))
            return "it does not take weights with a scale per channel";
    }
    return cpu ? qnnrt__validate_crashes_cpu(op, out) : NULL;
}

/* Append a tensor's name, type, dims and encoding to an error. */
static void qnnrt__validate_say(qnnrt_error *err, const qnnrt__abi_tensor_body *body)
{
    const qnnrt__abi_quantize *quant = &body->quantize;
    qnnrt_tensor_info info;
    char facts[256];
    memset(&info, 0, sizeof(info));
    info.dtype = (qnnrt_dtype)body->dtype;
    info.rank = body->rank;
    info.dims = body->dims;
    if (quant->definition == QNNRT__ABI_DEFINED) {
        info.quant.encoding = QNNRT_ENCODING_OTHER;
        info.quant.vendor_encoding = quant->encoding;
        if (quant->encoding == QNNRT__ABI_SCALE_OFFSET) {
            info.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
            info.quant.scale = quant->u.scale_offset.scale;
            info.quant.offset = quant->u.scale_offset.offset;
        }
    }
    qnnrt_error_add(err, "\"%.60s\" %s", body->name, body->type == QNNRT__ABI_NULL ? "none"
                    : qnnrt_tensor_text(&info, facts, sizeof(facts)));
}

/* Append the tensors and parameters of a node to an error. */
static void qnnrt__validate_describe(qnnrt_error *err, const qnnrt__abi_op *op)
{
    uint32_t i;
    for (i = 0; i < op->input_count && i < 6; ++i) {
        qnnrt_error_add(err, i == 0 ? "\n  of " : ", ");
        qnnrt__validate_say(err, &op->inputs[i].body);
    }
    if (op->input_count > 6) qnnrt_error_add(err, ", ...");
    for (i = 0; i < op->output_count && i < 4; ++i) {
        qnnrt_error_add(err, i == 0 ? "\n  to " : ", ");
        qnnrt__validate_say(err, &op->outputs[i].body);
    }
    for (i = 0; i < op->param_count && i < 8; ++i) {
        const qnnrt__abi_param *param = &op->params[i];
        const int tensor = param->type != 0;
        const uint32_t dtype = tensor ? param->u.tensor.body.dtype : param->u.scalar.dtype;
        qnnrt_error_add(err, i == 0 ? "\n  with " : ", ");
        qnnrt_error_add(err, "%.60s (%s%s)", param->name, qnnrt_dtype_name((qnnrt_dtype)dtype),
                        tensor ? " tensor" : "");
    }
}

/* Ask the vendor about a node; ask 0: only whether the question would crash it. The caller holds
   the lock; graph is a name for the error. */
static qnnrt_result qnnrt__validate(qnnrt_backend *b, const qnnrt__abi_op *op, int ask,
                                    const char *graph, qnnrt_error *err)
{
    char what[480], text[160];
    const char *why = qnnrt__validate_crashes(b, op, text);
    qnnrt__abi_code code = 0;
    if (why == NULL && !ask) return QNNRT_OK;
    if (why == NULL) {
        b->mark = qnnrt__log_mark(b->log_slot);
        code = b->calls->backend_validate_op(b->backend, *op);
        if (code == 0) return QNNRT_OK;
    }
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "graph \"%.200s\": %s is not supported by %s", graph,
                    qnnrt__validate_what(op, what),
                    b->provider_name[0] != '\0' ? b->provider_name : b->path);
    if (why != NULL)
        qnnrt_error_add(err, ": %s (the library was not called: this node would crash it)", why);
    qnnrt__validate_describe(err, op);
    if (why != NULL && b->info.id == QNNRT__ABI_BACKEND_HTP)
        return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Use FullyConnected or Conv2d.");
    if (why != NULL) return QNNRT_E_UNSUPPORTED;
    qnnrt_error_add(err, "\n  ");
    qnnrt__codes_explain(err, "backendValidateOpConfig", code, b->log_slot, b->mark);
    return QNNRT_E_UNSUPPORTED;
}

/* =====================================================================================
   CONTAINER                                                                   >>container
   Graphs of a .dlc file, composed into a context by libQnnSystem.so, which calls the
   backend through the table that it is given.
   Source: signatures from public headers (core 2.29 to 2.37). The struct by value has the
   callee's own size: seen on releases 2.47 to 2.51.
   Needs: >>mem >>err >>log >>codes >>abi >>system >>backend (its struct) >>op_abi
   Knows nothing of: builders, tensors
   ===================================================================================== */

typedef struct qnnrt__container_graph {
    struct qnnrt__container_graph *next;
    const char                    *name;
    qnnrt__abi_handle              handle;
} qnnrt__container_graph;

/* libQnnSystem.so gets a pointer to this as its context handle, and hands it to our graphCreate. */
typedef struct qnnrt__container {
    qnnrt__abi_handle        context;
    const qnnrt__abi_calls  *calls;
    const char              *name;         /* of the only graph; NULL: names of the file */
    const void             **configs;      /* of its graphs; NULL: the library's own */
    qnnrt_arena             *arena;
    qnnrt__container_graph  *first, **last;
    uint32_t                 made;
    int                      no_memory, several;
    const char              *refused;      /* the graph that graphCreate refused, and its answer */
    qnnrt__abi_code          refused_code;
    qnnrt__abi_handle        dlc;
    const qnnrt__abi_graph_info *graphs;   /* [count], until it is closed */
    uint32_t                 count;
} qnnrt__container;

static qnnrt__abi_code qnnrt__container_graph_create(qnnrt__abi_handle context, const char *name,
                                                     const void **config, qnnrt__abi_handle *out)
{
    qnnrt__container *c = (qnnrt__container *)context;
    qnnrt__container_graph *graph;
    qnnrt__abi_code code;
    c->several |= c->name != NULL && c->made > 0;
    if (c->several) return QNNRT__ABI_NOT_SUPPORTED;
    if (c->name != NULL) name = c->name;
    graph = (qnnrt__container_graph *)qnnrt_arena_get(c->arena, 1, sizeof(*graph));
    if (graph != NULL) graph->name = qnnrt_arena_text(c->arena, name, strlen(name));
    c->no_memory |= graph == NULL || graph->name == NULL;
    if (c->no_memory) return QNNRT__ABI_NOT_SUPPORTED;
    code = c->calls->graph_create(c->context, name, c->configs != NULL ? c->configs : config, out);
    if (code != 0) {
        c->refused = graph->name;
        c->refused_code = code;
        return code;
    }
    graph->handle = *out;
    *c->last = graph;
    c->last = &graph->next;
    c->made += 1;
    return 0;
}

/* Take the place of every other call that takes a context. Composing needs none of these calls, and
   none of them may see our handle. */
static qnnrt__abi_code qnnrt__container_refuse(void) { return QNNRT__ABI_NOT_SUPPORTED; }

/* Copy the backend's table for dlc_compose: as many slots as its version has, or as many as are
   known of a newer one, because tables only grow. Every slot after them points to a cell of its
   own. On x86-64 the callee looks for its last two arguments after the table of the size that it
   knows, so it takes two of these pointers and writes its answer to their cells. Elsewhere the
   struct is passed by reference and the arguments are in their place. */
static void qnnrt__container_table(const qnnrt__abi_provider *provider, qnnrt__abi_front *to,
                                   uint64_t cells[QNNRT__ABI_FRONT_SLOTS])
{
    static const struct { uint32_t minor, slots; } sizes[] = {
        { 37, 72 }, { 32, 71 }, { 28, 69 }, { 27, 68 }, { 26, 67 }, { 25, 66 }, { 0, 64 }
    };
    static const unsigned char contexts[] = { 10, 11, 12, 14, 20, 23, 35, 58, 59, 60, 61, 63, 64,
                                              65, 66, 71 };
    const qnnrt__abi_slot refuse = (qnnrt__abi_slot)qnnrt__container_refuse;
    size_t i, row = 0;
    while (sizes[row].minor > provider->core.minor) ++row;
    memset(to, 0, sizeof(*to));
    memset(cells, 0, QNNRT__ABI_FRONT_SLOTS * sizeof(*cells));
    memcpy((void *)to, (const void *)provider,
           offsetof(qnnrt__abi_front, u) + sizes[row].slots * sizeof(void *));
    for (i = 0; i < sizeof(contexts) && contexts[i] < sizes[row].slots; ++i)
        memcpy((void *)&to->u.slots[contexts[i]], (const void *)&refuse, sizeof(refuse));
    to->u.calls.graph_create = qnnrt__container_graph_create;
    for (i = sizes[row].slots; i < QNNRT__ABI_FRONT_SLOTS; ++i) to->u.slots[i] = &cells[i];
}

/* Compose a file's graphs into c->context. c->graphs describes them and c->first has their handles,
   in the same order. asked: the options, as in " with fp16", for errors. The caller holds the lock
   and frees c->dlc whatever the result. */
static qnnrt_result qnnrt__container_compose(qnnrt__container *c, const qnnrt__system *system,
                                             qnnrt_backend *b, const char *path, const char *asked,
                                             qnnrt_error *err)
{
    const qnnrt__abi_system_calls *calls = &system->provider->calls;
    uint64_t cells[QNNRT__ABI_FRONT_SLOTS];
    qnnrt__abi_front table;
    qnnrt__abi_code code;
    size_t i;
    c->calls = b->calls;
    c->last = &c->first;
    qnnrt__container_table(b->provider, &table, cells);
    b->mark = qnnrt__log_mark(b->log_slot);
    code = calls->dlc_open(NULL, path, &c->dlc);
    if (code != 0 || c->dlc == NULL) {
        c->dlc = NULL;
        qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: %s cannot read this container", path,
                        system->path);
        if (code == QNNRT__ABI_MEM_ALLOC && err != NULL)
            err->cause = "the file is damaged or cut short, or it is a zip archive of something"
                         " else";
        if (code == QNNRT__ABI_MEM_ALLOC)
            qnnrt_error_hint(err, QNNRT_E_FORMAT, "Copy it again from where it was made and compare"
                             " sizes or hashes, or convert it again.");
        qnnrt__codes_explain(err, "systemDlcCreateFromFile", code, -1, 0);
        return QNNRT_E_FORMAT;
    }
    code = calls->dlc_compose(c->dlc, NULL, 0, b->backend, c, table, 3, &c->graphs, &c->count);
    for (i = 0; i + 1 < QNNRT__ABI_FRONT_SLOTS && c->graphs == NULL; ++i)
        if (cells[i] != 0) {
            memcpy((void *)&c->graphs, &cells[i], sizeof(c->graphs));
            c->count = (uint32_t)cells[i + 1];
        }
    if (c->no_memory) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for graphs");
    if (c->several)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s holds several graphs, but graph_desc.name"
                               " gives one name, \"%.200s\"", path, c->name);
    if (code != 0 && c->refused != NULL) {       /* the code does not name that graph */
        qnnrt_error_set(err, QNNRT_E_BACKEND, "cannot create graph \"%.200s\" of %s%s", c->refused,
                        path, asked);
        return qnnrt__codes_explain(err, "graphCreate", c->refused_code, b->log_slot, b->mark);
    }
    if (code != 0) {
        qnnrt_error_set(err, QNNRT_E_BACKEND, "cannot compose the graphs of %s%s", path, asked);
        return qnnrt__codes_explain(err, "systemDlcComposeGraphs", code, b->log_slot, b->mark);
    }
    if (c->graphs == NULL || c->count == 0 || c->count != c->made)
        return qnnrt_error_set(err, QNNRT_E_FORMAT,
                               "%s: %u graphs created, but %u described", path,
                               (unsigned)c->made, c->graphs != NULL ? (unsigned)c->count : 0u);
    return QNNRT_OK;
}

/* =====================================================================================
   SAVE                                                                             >>save
   A context of a built model as a context binary, in memory or in a file.
   Needs: >>os >>mem >>err >>log >>codes >>abi >>backend (its struct) >>context (its struct)
          >>model (its struct) >>run (its view of a tensor)
   Knows nothing of: builders
   ===================================================================================== */

/* Make a result from the code and the size that the vendor returned for a binary. The size must be
   1 to `most`. */
static qnnrt_result qnnrt__save_answer(const qnnrt *model, size_t at, const char *call,
                                       qnnrt__abi_code code, uint64_t bytes, uint64_t most,
                                       qnnrt_error *err)
{
    qnnrt_backend *b = model->infos[at].backend;
    if (code == 0 && bytes > 0 && bytes <= most) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_BACKEND, "cannot save context \"%.200s\"%s", model->infos[at].file,
                    code == 0 ? ": its size is 0, or larger than the room for it" : "");
    return qnnrt__codes_explain(err, call, code, b->log_slot, b->mark);
}

static qnnrt_result qnnrt__save_check(const qnnrt *model, size_t at, qnnrt_error *err)
{
    const qnnrt__abi_calls *calls;
    if (at >= model->info.context_count)
        return qnnrt_error_set(err, QNNRT_E_ARG, "context %u does not exist, the model has %u",
                               (unsigned)at, (unsigned)model->info.context_count);
    if (model->made == NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "the model was opened, not built; its"
                               " binary is the file that was opened, %s", model->infos[at].file);
    calls = model->infos[at].backend->calls;
    if (calls->context_get_binary_size != NULL && calls->context_get_binary != NULL)
        return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s cannot write context binaries: its table lacks"
                    " %s", model->infos[at].backend->path,
                    calls->context_get_binary_size == NULL ? "contextGetBinarySize"
                                                           : "contextGetBinary");
    return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Use a complete library of one release.");
}

/* Make the tensors of one side of a graph with memory, except optional ones. */
static qnnrt__abi_tensor *qnnrt__save_tensors(qnnrt_arena *arena, const qnnrt_tensor_info *infos,
                                              size_t count, uint32_t *kept)
{
    qnnrt__abi_tensor *tensors =
        (qnnrt__abi_tensor *)qnnrt_arena_get(arena, count, sizeof(*tensors));
    size_t i;
    *kept = 0;
    for (i = 0; i < count && tensors != NULL; ++i) {
        qnnrt__abi_tensor *to = &tensors[*kept];
        if (infos[i].optional) continue;
        qnnrt__run_tensor(&infos[i], to);
        to->body.dynamic_dims = infos[i].dynamic_dims;
        to->body.buffer.data = qnnrt_arena_get(arena, infos[i].bytes, 1);
        *kept += 1;
    }
    return tensors;
}

/* Execute each graph of a context once, on the CPU backend. When that library (2.47) writes a
   binary, it reads the memory that outputs were last bound to, and the run that owned that memory
   may be destroyed; now it is that of the arena. Dims have their bound, and optional tensors, which
   the library refuses, are left out. Callers hold the lock. */
static qnnrt_result qnnrt__save_bind(const qnnrt *model, size_t at, qnnrt_arena *arena,
                                     qnnrt_error *err)
{
    const qnnrt_context_info *info = &model->infos[at];
    const qnnrt_backend *b = model->infos[at].backend;
    size_t g;
    for (g = 0; g < info->graph_count && b->info.id == QNNRT__ABI_BACKEND_CPU; ++g) {
        const qnnrt_graph_info *graph = &info->graphs[g];
        uint32_t inputs, outputs;
        qnnrt__abi_tensor *in, *out;
        if (graph->unsupported != NULL) continue;       /* no run ever bound it */
        in = qnnrt__save_tensors(arena, graph->inputs, graph->input_count, &inputs);
        out = qnnrt__save_tensors(arena, graph->outputs, graph->output_count, &outputs);
        if (arena->failed != QNNRT_OK)
            return qnnrt_error_set(err, arena->failed, "graph \"%.200s\" is executed to save it:"
                                   " out of memory, or over limits.arena_bytes", graph->name);
        b->calls->graph_execute(model->contexts[at].graphs[g], in, inputs, out, outputs, NULL,
                                NULL);
    }
    return QNNRT_OK;
}

/* Write the binary of a context into `data` of `capacity` bytes; or, with `own`, into new memory
   that *own receives. With neither only *bytes is set. */
static qnnrt_result qnnrt__save(qnnrt *model, size_t at, void *data, uint64_t capacity, void **own,
                                uint64_t *bytes, qnnrt_error *err)
{
    qnnrt_backend *b;
    const char *name;
    qnnrt_arena arena;
    qnnrt__abi_code code;
    uint64_t need = 0, got = 0;
    qnnrt_result result = qnnrt__save_check(model, at, err);
    if (result != QNNRT_OK) return result;
    b = model->infos[at].backend;
    name = model->infos[at].file;
    memset(&arena, 0, sizeof(arena));
    arena.hooks = model->arena.hooks;
    arena.limit = model->limits.arena_bytes;
    qnnrt__hooks_lock(&model->arena.hooks);
    result = qnnrt__save_bind(model, at, &arena, err);
    if (result == QNNRT_OK) {
        b->mark = qnnrt__log_mark(b->log_slot);
        code = b->calls->context_get_binary_size(model->infos[at].handle, &need);
        result = qnnrt__save_answer(model, at, "contextGetBinarySize", code, need, SIZE_MAX / 2,
                                    err);
    }
    if (result == QNNRT_OK) *bytes = need;
    if (result == QNNRT_OK && own != NULL) {
        *own = data = qnnrt__mem_raw(&model->arena.hooks, need);
        capacity = need;
        if (data == NULL)
            result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the %llu bytes of"
                                     " context \"%.200s\"", (unsigned long long)need, name);
    }
    if (result == QNNRT_OK && data != NULL && capacity < need)
        result = qnnrt_error_set(err, QNNRT_E_MISMATCH, "context \"%.200s\" takes %llu bytes, but"
                                 " the memory has %llu", name, (unsigned long long)need,
                                 (unsigned long long)capacity);
    if (result == QNNRT_OK && data != NULL) {
        /* Pass the exact size: HTP and CPU fill the whole memory and return its size. */
        b->mark = qnnrt__log_mark(b->log_slot);
        code = b->calls->context_get_binary(model->infos[at].handle, data, need, &got);
        result = qnnrt__save_answer(model, at, "contextGetBinary", code, got, need, err);
        if (result == QNNRT_OK) *bytes = got;
    }
    qnnrt__hooks_unlock(&model->arena.hooks);
    qnnrt_arena_free(&arena);
    return result;
}

extern int qnnrt__save_fsync(int fd) QNNRT__OS("fsync");      /* hidden by -std=c99 */

/* Write a temporary file beside `path` and rename it, so that a reader sees either the old file or
   the whole new one. The rename replaces a link at `path`, too. Return NULL, or the reason for the
   failure. */
static const char *qnnrt__save_file(const char *path, const void *data, uint64_t bytes)
{
    char aside[QNNRT__PATH_MAX], suffix[48];
    const size_t length = strlen(path);
    uint64_t done = 0;
    const char *why = NULL;
    unsigned try_number = 0;
    int fd;
    do {
        snprintf(suffix, sizeof(suffix), ".%ld-%u.part", (long)getpid(), try_number++);
        if (length + strlen(suffix) >= sizeof(aside)) return strerror(ENAMETOOLONG);
        memcpy(aside, path, length);
        memcpy(aside + length, suffix, strlen(suffix) + 1);
        fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | QNNRT__O_CLOEXEC, 0666);
    } while (fd < 0 && (errno == EINTR || (errno == EEXIST && try_number < 1000)));
    if (fd < 0) return strerror(errno);
    while (done < bytes && why == NULL) {
        uint64_t left = bytes - done;
        ptrdiff_t put = write(fd, (const unsigned char *)data + done,
                              left > 0x40000000u ? 0x40000000u : (size_t)left);
        if (put > 0) done += (uint64_t)put;
        else if (put == 0 || errno != EINTR) why = put == 0 ? "cannot write more"
                                                            : strerror(errno);
    }
    if (why == NULL && qnnrt__save_fsync(fd) != 0 && errno != EINVAL) why = strerror(errno);
    if (close(fd) != 0 && why == NULL && errno != EINTR) why = strerror(errno);
    if (why == NULL && rename(aside, path) != 0) why = strerror(errno);
    if (why != NULL) remove(aside);
    return why;
}

QNNRT_API qnnrt_result qnnrt_save_memory(qnnrt *model, size_t context, void *data,
                                         size_t capacity, size_t *bytes, qnnrt_error *err)
{
    uint64_t size = 0;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (bytes != NULL) *bytes = 0;
    if (model == NULL || bytes == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_save_memory: model or bytes is NULL");
    result = qnnrt__save(model, context, data, capacity, NULL, &size, err);
    *bytes = (size_t)size;
    return result;
}

QNNRT_API qnnrt_result qnnrt_save(qnnrt *model, size_t context, const char *path, qnnrt_error *err)
{
    uint64_t size = 0;
    void *data = NULL;
    const char *why;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (model == NULL || path == NULL || path[0] == '\0')
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_save: model is NULL, or path is NULL or"
                               " empty");
    result = qnnrt__save(model, context, NULL, 0, &data, &size, err);
    why = result == QNNRT_OK ? qnnrt__save_file(path, data, size) : NULL;
    qnnrt_hooks_free(&model->arena.hooks, data);
    if (why == NULL) return result;
    qnnrt_error_set(err, QNNRT_E_IO, "cannot write %.1000s: %s", path, why);
    return qnnrt_error_hint(err, QNNRT_E_IO,
                            "Choose a folder that exists, has room, and is writable.");
}

/* =====================================================================================
   BUILD                                                                           >>build
   What a builder records: contexts, graphs, tensors and nodes in the vendor's structs; lists,
   sets of names, errors that name graph and node.
   Needs: >>mem >>err >>codes >>abi >>table >>system (its struct) >>friends >>backend (its struct)
          >>context (its struct) >>validate
   Knows nothing of: what makes a tensor or a node right, vendor calls
   ===================================================================================== */

/* A set of names: open addressing, at most half full. */
typedef struct qnnrt__build_names {
    const char **slots;
    size_t       count, room;
} qnnrt__build_names;

typedef struct qnnrt__build_tensor {
    qnnrt__abi_tensor abi;              /* the vendor gets it and writes the id to it */
    struct qnnrt__build_node *writer;   /* the node that writes it, NULL: none yet */
    uint32_t          load_bytes;       /* of the data that load() writes */
    qnnrt_load_fn     load;             /* NULL: its data, if any, is in abi */
    void             *load_user;
    uint64_t          identity;         /* of its data, 0: none given */
    uint32_t          index;            /* in the graph */
    int               unnamed;          /* its name was made here */
} qnnrt__build_tensor;

typedef struct qnnrt__build_node {
    struct qnnrt__build_node *next;     /* in its graph */
    struct qnnrt__build_node *then, *waits;     /* of qnnrt__node_order(): the order, the stack */
    uint32_t              followed;     /* of its inputs, there */
    int                   placed;       /* there: 1 on the stack, 2 in the order */
    qnnrt__abi_op         op;           /* without inputs, outputs and tensors of params */
    qnnrt__build_tensor **inputs, **outputs;
    qnnrt__build_tensor **param_tensors; /* [param_count] NULL: a scalar */
} qnnrt__build_node;

typedef struct qnnrt__build_graph {
    struct qnnrt__build_graph *next;    /* in its context */
    qnnrt_graph_desc    desc;           /* .name is a copy; NULL: names of the container */
    const char         *dlc;            /* path of a container, or NULL */
    qnnrt_tensor        first;          /* handle of tensors[0] */
    qnnrt__build_tensor **tensors;
    size_t              tensor_count, tensor_room;
    qnnrt__build_node  *nodes, **last;
    size_t              node_count;
    uint32_t            load_bytes;     /* of the largest tensor with load() */
    size_t              number;         /* of the last node that got its name from us */
    size_t              tensor_number;  /* of the last tensor that did */
    uint32_t            side_counts[QNNRT__TABLE_KINDS];
} qnnrt__build_graph;

typedef struct qnnrt__build_context {
    struct qnnrt__build_context *next;
    qnnrt_context_desc   desc;
    qnnrt__build_graph  *graphs, **last;
    qnnrt__build_names   names;
} qnnrt__build_context;

/* What a built model has beside what an opened one has. */
typedef struct qnnrt__build_made {
    qnnrt__model_hook hook;             /* first */
    qnnrt__abi_handle device;           /* the contexts' own, NULL: the backend's */
} qnnrt__build_made;

/* What a builder records until it is finished or destroyed. */
typedef struct qnnrt__build {
    qnnrt_backend          *backend;
    qnnrt_error             error;      /* the first error; later ones are not kept */
    qnnrt_builder_desc      desc;       /* its limits are resolved, its system_path is a copy */
    qnnrt_arena             arena;
    qnnrt_error            *err;        /* receives errors: error above, or the caller's */
    qnnrt_arena            *into;       /* provides memory: arena above, or a temporary one that
                                           qnnrt_builder_supports() frees */
    int                     device_asked;
    qnnrt__abi_handle       device;     /* NULL: the backend's is used */
    uint32_t                device_soc; /* the chip that it is made for, 0: none named */
    qnnrt__build_context   *contexts, **last;
    size_t                  context_count;
    qnnrt__build_context   *context;    /* the context and the graph that are being filled */
    qnnrt__build_graph     *graph;
    const qnnrt__abi_op    *op;         /* the node that errors are about, or NULL */
    qnnrt__build_names      tensor_names, node_names;     /* of the graph */
    qnnrt_tensor            handles;    /* the last handle returned */
    qnnrt__abi_tensor      *room;       /* [ends] for the inputs and outputs of one node */
    size_t                  ends;
    int                     containers; /* 1: a container was added */
    qnnrt_build_progress    at;         /* .node_count and .byte_count: recorded so far */
    /* while it finishes */
    const qnnrt__system    *system;     /* reads containers */
    qnnrt                  *target;     /* gets the graphs */
    qnnrt__context         *place;      /* its context that gets them */
    size_t                  graph_room[2];  /* of place, for its graphs and their handles */
    qnnrt__abi_handle       handle;     /* the library's graph that is being made */
    void                   *scratch;    /* for the data of one tensor, aligned to 64 */
} qnnrt__build;

static void *qnnrt__build_alloc(const qnnrt__build *b, uint64_t count, uint64_t bytes)
{
    return qnnrt_arena_get(b->into, count, bytes);
}

/* Return 1 while what is recorded becomes part of the graph, 0 in qnnrt_builder_supports(). */
static int qnnrt__build_keeps(const qnnrt__build *b) { return b->into == &b->arena; }

/* Fill an error whose text begins with the graph and the node. */
static qnnrt_result qnnrt__build_fail(const qnnrt__build *b, qnnrt_result code,
                                      const char *format, ...) QNNRT__PRINTF(3, 4);
static qnnrt_result qnnrt__build_fail(const qnnrt__build *b, qnnrt_result code,
                                      const char *format, ...)
{
    char what[480];
    va_list args;
    qnnrt_error_clear(b->err);
    b->err->code = code;
    if (b->graph != NULL && b->graph->desc.name != NULL)
        qnnrt_error_add(b->err, "graph \"%.200s\": ", b->graph->desc.name);
    if (b->op != NULL) qnnrt_error_add(b->err, "%s: ", qnnrt__validate_what(b->op, what));
    va_start(args, format);
    qnnrt__err_vadd(b->err, format, args);
    va_end(args);
    return code;
}

/* Append what a vendor call returned to an error that says what was tried; code 0: success without
   a handle. The caller holds the lock. */
static qnnrt_result qnnrt__build_explain(const qnnrt__build *b, const char *call,
                                         qnnrt__abi_code code)
{
    return qnnrt__codes_explain(b->err, call, code, b->backend->log_slot, b->backend->mark);
}

static qnnrt_result qnnrt__build_no_memory(const qnnrt__build *b)
{
    return qnnrt_error_set(b->err, QNNRT_E_MEMORY, "out of memory for graphs to build");
}

/* Return QNNRT_OK unless memory for what was recorded was missing. Copies may be NULL until this
   was asked. */
static qnnrt_result qnnrt__build_recorded(const qnnrt__build *b)
{
    return b->into->failed == QNNRT_OK ? QNNRT_OK : qnnrt__build_no_memory(b);
}

/* Return the slot of a name, or the free slot for it. */
static size_t qnnrt__build_name_slot(const qnnrt__build_names *names, const char *name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    const char *at_name = name;
    size_t at;
    for (; *at_name != '\0'; ++at_name)
        hash = (hash ^ (unsigned char)*at_name) * UINT64_C(0xBF58476D1CE4E5B9);
    at = (size_t)(hash >> 32) & (names->room - 1);
    while (names->slots[at] != NULL && strcmp(names->slots[at], name) != 0)
        at = (at + 1) & (names->room - 1);
    return at;
}

static int qnnrt__build_taken(const qnnrt__build_names *names, const char *name)
{
    return names->room > 0 && names->slots[qnnrt__build_name_slot(names, name)] != NULL;
}

/* Add a name, which is not copied, to a set. Return 0 when out of memory. */
static int qnnrt__build_take(const qnnrt__build *b, qnnrt__build_names *names,
                             const char *name)
{
    if (names->count * 2 >= names->room) {
        qnnrt__build_names more;
        size_t i;
        more.count = names->count;
        more.room = names->room == 0 ? 64 : names->room * 2;
        more.slots = (const char **)qnnrt__build_alloc(b, more.room, sizeof(*more.slots));
        if (more.slots == NULL) return 0;
        for (i = 0; i < names->room; ++i)
            if (names->slots[i] != NULL)
                more.slots[qnnrt__build_name_slot(&more, names->slots[i])] = names->slots[i];
        *names = more;
    }
    names->slots[qnnrt__build_name_slot(names, name)] = name;
    names->count += 1;
    return 1;
}

/* Copy a name. what: the thing that has it, for errors. */
static qnnrt_result qnnrt__build_name(const qnnrt__build *b, const char *name, const char *what,
                                      const char **out)
{
    size_t length = name != NULL ? strlen(name) : 0;
    *out = NULL;
    if (length == 0) return qnnrt__build_fail(b, QNNRT_E_ARG, "%s has no name", what);
    if (length > b->desc.limits.name_bytes)
        return qnnrt__build_fail(b, QNNRT_E_LIMIT, "%s has a name of %u bytes, more than %u"
                                 " (limits.name_bytes)", what, (unsigned)length,
                                 (unsigned)b->desc.limits.name_bytes);
    *out = qnnrt_arena_text(b->into, name, length);
    return *out != NULL ? QNNRT_OK : qnnrt__build_no_memory(b);
}

/* Make a name that is not taken from a prefix and a number, at least `count` and *last, which
   receives it. */
static qnnrt_result qnnrt__build_number(const qnnrt__build *b, const qnnrt__build_names *names,
                                        const char *prefix, const char *dash, size_t count,
                                        size_t *last, const char **out)
{
    const size_t room = strlen(prefix) + 24;
    char *name = (char *)qnnrt__build_alloc(b, room, 1);
    size_t number = count < *last ? *last : count;
    *out = name;
    if (name == NULL) return qnnrt__build_no_memory(b);
    do snprintf(name, room, "%s%s%llu", prefix, dash, (unsigned long long)number++);
    while (qnnrt__build_taken(names, name));
    *last = number - 1;
    return QNNRT_OK;
}

static void *qnnrt__build_copy(const qnnrt__build *b, const void *data, uint64_t bytes)
{
    void *copy = qnnrt__build_alloc(b, bytes, 1);
    if (copy != NULL) memcpy(copy, data, (size_t)bytes);
    return copy;
}

static qnnrt_result qnnrt__build_needs_graph(const qnnrt__build *b, const char *what)
{
    if (b->graph != NULL && b->graph->dlc == NULL) return QNNRT_OK;
    return qnnrt_error_hint(b->err, qnnrt__build_fail(b, QNNRT_E_STATE, "%s needs a graph", what),
                            "Call qnnrt_builder_graph() first.");
}

/* =====================================================================================
   TENSOR                                                                         >>tensor
   Checks a tensor's descriptor and records it: kind, shape, data, encoding.
   Needs: >>mem >>err >>dtype >>encoding >>abi >>table >>backend (its struct) >>build
   Knows nothing of: nodes, vendor calls
   ===================================================================================== */

/* Make the vendor's pairs of scales and offsets; offsets may be NULL. */
static qnnrt__abi_scale_offset *qnnrt__tensor_pairs(const qnnrt__build *b, const float *scales,
                                                    const int32_t *offsets, uint64_t count)
{
    qnnrt__abi_scale_offset *pairs =
        (qnnrt__abi_scale_offset *)qnnrt__build_alloc(b, count, sizeof(*pairs));
    uint64_t i;
    for (i = 0; i < count && pairs != NULL; ++i) {
        pairs[i].scale = scales[i];
        pairs[i].offset = offsets != NULL ? offsets[i] : 0;
    }
    return pairs;
}

/* Return what is wrong with a block encoding, or NULL. */
static const char *qnnrt__tensor_blocks_wrong(const qnnrt_tensor_desc *d)
{
    const qnnrt_blocks *from = d->blocks;
    const int expansion = from->form == QNNRT_BLOCK_EXPANSION;
    uint64_t channels, blocks, i;
    if (d->quant.encoding != QNNRT_ENCODING_NONE) return "both quant and blocks are set";
    if (!expansion && from->form != QNNRT_BLOCK_PLAIN)
        return "blocks.form is neither EXPANSION nor PLAIN";
    if (d->dtype != QNNRT_DTYPE_S8Q)
        return "blocks have 4-bit values, one per byte: use sfixed8";
    if (from->axis < 0 || (uint32_t)from->axis >= d->rank) return "blocks.axis is outside the rank";
    if (from->block_axis < 0 || (uint32_t)from->block_axis >= d->rank ||
        from->block_axis == from->axis)
        return "blocks.block_axis is outside the rank, or equals blocks.axis";
    if (from->block == 0 || d->dims[from->block_axis] % from->block != 0)
        return "blocks.block does not divide the dimension of block_axis";
    if (from->scales == NULL) return "blocks.scales is NULL";
    if (expansion != (from->multipliers != NULL))
        return expansion ? "blocks.multipliers is NULL"
                         : "only the form EXPANSION takes blocks.multipliers";
    channels = d->dims[from->axis];
    blocks = d->dims[from->block_axis] / from->block;
    for (i = 0; i < channels * (expansion ? 1 : blocks); ++i) {
        if (expansion && !qnnrt__encoding_scale_ok(from->scales[i]))
            return "a scale is not positive and finite";
        if (!(from->scales[i] - from->scales[i] == 0))
            return "a scale is not finite";
    }
    for (i = 0; expansion && i < channels * blocks; ++i)
        if (from->multipliers[i] < 1 || from->multipliers[i] > 15)
            return "a multiplier is outside 1 to 15";
    return NULL;
}

/* Write checked blocks in the vendor's form. */
static void qnnrt__tensor_blocks(const qnnrt__build *b, const qnnrt_tensor_desc *d,
                                 qnnrt__abi_quantize *to)
{
    const qnnrt_blocks *from = d->blocks;
    const uint64_t channels = d->dims[from->axis];
    const uint32_t blocks = d->dims[from->block_axis] / from->block;
    if (from->form == QNNRT_BLOCK_EXPANSION) {
        qnnrt__abi_expansion *e = (qnnrt__abi_expansion *)qnnrt__build_alloc(b, 1, sizeof(*e));
        to->encoding = QNNRT__ABI_BLOCKWISE_EXPANSION;
        to->u.expansion = e;
        if (e == NULL) return;
        e->axis = from->axis;
        e->blocks = blocks;
        e->bitwidth = 4;
        e->pairs = qnnrt__tensor_pairs(b, from->scales, NULL, channels);
        e->multipliers =
            (const uint8_t *)qnnrt__build_copy(b, from->multipliers, channels * blocks);
    } else {
        uint32_t *sizes = (uint32_t *)qnnrt__build_copy(b, d->dims, d->rank * sizeof(*sizes));
        to->encoding = QNNRT__ABI_BLOCK;
        to->u.block.sizes = sizes;
        if (sizes == NULL) return;
        sizes[from->axis] = 1;
        sizes[from->block_axis] = from->block;
        to->u.block.pairs = qnnrt__tensor_pairs(b, from->scales, NULL, channels * blocks);
    }
}

/* Return the index of the first code that takes more than 4 bits, or `count`. */
static uint64_t qnnrt__tensor_wide(const signed char *values, uint64_t count)
{
    uint64_t begin, i;
    for (begin = 0; begin < count; begin += 1024) {
        const uint64_t end = count - begin < 1024 ? count : begin + 1024;
        unsigned wide = 0;
        for (i = begin; i < end; ++i) wide |= (unsigned)(values[i] + 8);
        for (i = begin; (wide & ~15u) != 0 && i < end; ++i)
            if (values[i] < -8 || values[i] > 7) return i;
    }
    return count;
}

/* Check the values of a tensor whose encoding may have blocks. */
static qnnrt_result qnnrt__tensor_values(const qnnrt__build *b, const qnnrt__abi_tensor_body *body,
                                        const void *data, uint32_t bytes)
{
    const signed char *values = (const signed char *)data;
    uint64_t at = bytes;
    if (body->quantize.definition == QNNRT__ABI_DEFINED &&
        body->quantize.encoding >= QNNRT__ABI_BLOCK) at = qnnrt__tensor_wide(values, bytes);
    if (at == bytes) return QNNRT_OK;
    qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\": value %d of element %llu is outside the 4"
                      " bits of blocks, -8 to 7", body->name, (int)values[at],
                      (unsigned long long)at);
    return qnnrt_error_hint(b->err, QNNRT_E_ARG,
                            "Quantize to 4 bits, or give 8-bit values a scale per channel.");
}

/* Check an encoding and write it in the vendor's form. */
static qnnrt_result qnnrt__tensor_quant(const qnnrt__build *b, const qnnrt_tensor_desc *d,
                                        qnnrt__abi_quantize *to)
{
    const qnnrt_quant *from = &d->quant;
    const qnnrt__dtype_info *info = qnnrt__dtype_find(d->dtype);
    const int fixed = qnnrt__dtype_is_fixed(d->dtype);
    const int narrow = from->bitwidth != 0 && from->bitwidth != info->bits;
    qnnrt_tensor_info tensor;
    const char *why = NULL;
    memset(&tensor, 0, sizeof(tensor));
    tensor.dtype = d->dtype;
    tensor.rank = d->rank;
    tensor.dims = d->dims;
    tensor.quant = d->quant;
    to->definition = to->encoding = QNNRT__ABI_UNDEFINED;
    if (!fixed && from->encoding == QNNRT_ENCODING_NONE && d->blocks == NULL) return QNNRT_OK;
    if (!fixed) why = "its type carries values, so it takes no encoding";
    else if (d->blocks != NULL) why = qnnrt__tensor_blocks_wrong(d);
    else if (from->encoding != QNNRT_ENCODING_PER_TENSOR &&
             from->encoding != QNNRT_ENCODING_PER_AXIS)
        why = "its type needs an encoding: quant with PER_TENSOR or PER_AXIS, or blocks";
    else why = qnnrt__encoding_check(&tensor);
    if (why != NULL)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\" (%s): %s", d->name,
                                 info->name, why);
    to->definition = QNNRT__ABI_DEFINED;
    if (d->blocks != NULL) {
        qnnrt__tensor_blocks(b, d, to);
    } else if (from->encoding == QNNRT_ENCODING_PER_TENSOR && narrow) {
        to->encoding = QNNRT__ABI_BW_SCALE_OFFSET;
        to->u.bw.bitwidth = from->bitwidth;
        to->u.bw.scale = from->scale;
        to->u.bw.offset = from->offset;
    } else if (from->encoding == QNNRT_ENCODING_PER_TENSOR) {
        to->encoding = QNNRT__ABI_SCALE_OFFSET;
        to->u.scale_offset.scale = from->scale;
        to->u.scale_offset.offset = from->offset;
    } else if (narrow) {
        const uint64_t bytes = (uint64_t)from->count * 4;
        to->encoding = QNNRT__ABI_BW_AXIS_SCALE_OFFSET;
        to->u.bw_axis.bitwidth = from->bitwidth;
        to->u.bw_axis.axis = from->axis;
        to->u.bw_axis.count = from->count;
        to->u.bw_axis.scales = (const float *)qnnrt__build_copy(b, from->scales, bytes);
        if (from->offsets != NULL)
            to->u.bw_axis.offsets = (const int32_t *)qnnrt__build_copy(b, from->offsets, bytes);
    } else {
        to->encoding = QNNRT__ABI_AXIS_SCALE_OFFSET;
        to->u.axis.axis = from->axis;
        to->u.axis.count = from->count;
        to->u.axis.pairs = qnnrt__tensor_pairs(b, from->scales, from->offsets, from->count);
    }
    return QNNRT_OK;
}

/* The vendor's type for each qnnrt_tensor_kind; kinds begin at 1. */
static const uint32_t qnnrt__tensor_kinds[] = {
    QNNRT__ABI_UNDEFINED, QNNRT__ABI_APP_WRITE, QNNRT__ABI_APP_READ, QNNRT__ABI_NATIVE,
    QNNRT__ABI_STATIC, QNNRT__ABI_OPTIONAL_APP_WRITE, QNNRT__ABI_OPTIONAL_APP_READ,
    QNNRT__ABI_UPDATEABLE_STATIC
};

/* Mark the dynamic dimensions; the vendor's struct has them since version 2. */
static qnnrt_result qnnrt__tensor_dynamic(const qnnrt__build *b, const qnnrt_tensor_desc *d,
                                          qnnrt__abi_tensor *to)
{
    uint32_t i = 0;
    while (i < d->rank && d->dynamic[i] == 0) ++i;
    if (i == d->rank) return QNNRT_OK;
    if (d->kind == QNNRT_TENSOR_STATIC || d->kind == QNNRT_TENSOR_UPDATEABLE)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\" has data, so its dimension %u"
                                 " cannot be dynamic", d->name, (unsigned)i);
    to->version = 2;
    to->body.sparse[0] = QNNRT__ABI_UNDEFINED;
    to->body.dynamic_dims = (const uint8_t *)qnnrt__build_copy(b, d->dynamic, d->rank);
    return QNNRT_OK;
}

/* Check kind, shape and data of a descriptor. *bytes receives the size of its elements. */
static qnnrt_result qnnrt__tensor_check(const qnnrt__build *b, const qnnrt_tensor_desc *d,
                                        int fixed_data, uint64_t *bytes)
{
    const int given = d->data != NULL || d->load != NULL;
    const char *why = NULL;
    qnnrt_result result;
    uint64_t count;
    if ((int)d->kind < QNNRT_TENSOR_INPUT || (int)d->kind > QNNRT_TENSOR_UPDATEABLE)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\": kind %d is not a"
                                 " qnnrt_tensor_kind", d->name, (int)d->kind);
    if (d->rank < 1 || d->rank > 8)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\" has rank %u, expected 1"
                                 " to 8 (a scalar is [1])", d->name, (unsigned)d->rank);
    result = qnnrt__dtype_bytes(d->dtype, d->dims, d->rank, &count, bytes);
    if (result == QNNRT_E_UNSUPPORTED)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\": dtype 0x%x is unknown or has"
                                 " no size", d->name, (unsigned)d->dtype);
    if (result != QNNRT_E_ARG && (result != QNNRT_OK || *bytes > UINT32_MAX)) {
        qnnrt__build_fail(b, QNNRT_E_LIMIT, "tensor \"%.200s\" is 4 GiB or more, past the vendor's"
                          " size field", d->name);
        return qnnrt_error_hint(b->err, QNNRT_E_LIMIT, "Check its dims, or split it.");
    }
    if (result == QNNRT_E_ARG) why = "has a dimension of 0";
    else if (d->load != NULL && d->data != NULL) why = "has both data and load";
    else if (!fixed_data && (given || d->bytes != 0))
        why = "has data, but only STATIC and UPDATEABLE tensors take data";
    if (why != NULL)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\" %s", d->name, why);
    if (!fixed_data || (d->load != NULL && d->bytes == 0) || (given && d->bytes == *bytes))
        return QNNRT_OK;
    return qnnrt__build_fail(b, QNNRT_E_ARG, "%s tensor \"%.200s\" needs %llu bytes of data, got"
                             " %llu%s", d->kind == QNNRT_TENSOR_STATIC ? "STATIC" : "UPDATEABLE",
                             d->name, (unsigned long long)*bytes, (unsigned long long)d->bytes,
                             d->load != NULL ? " of load" : !given ? " at NULL" : "");
}

/* Check a descriptor and record it in the vendor's form. Its name is a copy already. */
static qnnrt_result qnnrt__tensor_record(const qnnrt__build *b, const qnnrt_tensor_desc *d,
                                         qnnrt__build_tensor **out)
{
    const int fixed_data = d->kind == QNNRT_TENSOR_UPDATEABLE || d->kind == QNNRT_TENSOR_STATIC;
    qnnrt__build_tensor *tensor;
    qnnrt__abi_tensor_body *body;
    uint64_t bytes;
    qnnrt_result result = qnnrt__tensor_check(b, d, fixed_data, &bytes);
    *out = NULL;
    if (result != QNNRT_OK) return result;
    tensor = (qnnrt__build_tensor *)qnnrt__build_alloc(b, 1, sizeof(*tensor));
    if (tensor == NULL) return qnnrt__build_no_memory(b);
    tensor->abi.version = 1;
    tensor->identity = d->identity;
    body = &tensor->abi.body;
    body->name = d->name;
    body->type = qnnrt__tensor_kinds[d->kind];
    body->dtype = (uint32_t)d->dtype;
    body->rank = d->rank;
    body->dims = (const uint32_t *)qnnrt__build_copy(b, d->dims, d->rank * sizeof(uint32_t));
    result = qnnrt__tensor_quant(b, d, &body->quantize);
    if (result == QNNRT_OK) result = qnnrt__tensor_dynamic(b, d, &tensor->abi);
    if (result != QNNRT_OK) return result;
    if (d->load != NULL) {
        tensor->load = d->load;
        tensor->load_user = d->load_user;
        tensor->load_bytes = (uint32_t)bytes;
    } else if (fixed_data && d->data != NULL) {
        result = qnnrt__tensor_values(b, body, d->data, (uint32_t)bytes);
        if (result != QNNRT_OK) return result;
        body->buffer.data = d->borrow ? d->data : qnnrt__build_copy(b, d->data, bytes);
        if (d->borrow == QNNRT_BORROW_MODEL &&
            b->backend->info.id == (uint32_t)QNNRT__ABI_BACKEND_REF)
            body->mem_type = QNNRT__ABI_MEM_REF_IN_PLACE;
        body->buffer.bytes = (uint32_t)bytes;
    }
    result = qnnrt__build_recorded(b);
    if (result != QNNRT_OK) return result;
    *out = tensor;
    return QNNRT_OK;
}

/* Return which list of metadata has the tensor, or -1. */
static int qnnrt__tensor_side_of(const qnnrt__abi_tensor *tensor)
{
    switch (tensor->body.type) {
    case QNNRT__ABI_APP_WRITE: case QNNRT__ABI_OPTIONAL_APP_WRITE: return QNNRT__TABLE_INPUTS;
    case QNNRT__ABI_APP_READ: case QNNRT__ABI_OPTIONAL_APP_READ:   return QNNRT__TABLE_OUTPUTS;
    case QNNRT__ABI_UPDATEABLE_STATIC:                             return QNNRT__TABLE_UPDATEABLES;
    default:                                                       return -1;
    }
}

/* Add a recorded tensor to the graph. */
static qnnrt_result qnnrt__tensor_add(qnnrt__build *b, qnnrt__build_tensor *tensor)
{
    const char *name = tensor->abi.body.name;
    const int side = qnnrt__tensor_side_of(&tensor->abi);
    qnnrt__build_graph *graph = b->graph;
    qnnrt__build_tensor **grown;
    if (qnnrt__build_taken(&b->tensor_names, name))
        return qnnrt__build_fail(b, QNNRT_E_ARG, "two tensors are named \"%.200s\"", name);
    if ((uint32_t)b->handles >= b->desc.limits.tensors || b->handles >= INT32_MAX - 1)
        return qnnrt__build_fail(b, QNNRT_E_LIMIT, "more than %u tensors (limits.tensors)",
                                 (unsigned)b->desc.limits.tensors);
    grown = (qnnrt__build_tensor **)qnnrt_arena_more(
        b->into, graph->tensors, graph->tensor_count, &graph->tensor_room, sizeof(*grown));
    if (grown == NULL || !qnnrt__build_take(b, &b->tensor_names, name))
        return qnnrt__build_no_memory(b);
    graph->tensors = grown;
    tensor->index = (uint32_t)graph->tensor_count;
    grown[graph->tensor_count++] = tensor;
    b->handles += 1;
    b->at.byte_count += tensor->load_bytes + (uint64_t)tensor->abi.body.buffer.bytes;
    if (tensor->load_bytes > graph->load_bytes) graph->load_bytes = tensor->load_bytes;
    if (side >= 0) graph->side_counts[side] += 1;
    return QNNRT_OK;
}

/* =====================================================================================
   NODE                                                                             >>node
   Checks a node's descriptor and records it; puts the nodes of a graph in order.
   Needs: >>mem >>err >>dtype >>abi >>table >>op_abi >>build >>tensor
   Knows nothing of: vendor calls
   ===================================================================================== */

/* Return the tensor of a handle, or NULL. */
static qnnrt__build_tensor *qnnrt__tensor_find(const qnnrt__build *b, qnnrt_tensor handle)
{
    const qnnrt__build_graph *graph = b->graph;
    if (handle < graph->first || (size_t)(handle - graph->first) >= graph->tensor_count)
        return NULL;
    return graph->tensors[handle - graph->first];
}

/* Find the tensors of one side of a node from their handles. */
static qnnrt_result qnnrt__node_ends(const qnnrt__build *b, const qnnrt_tensor *handles,
                                     size_t count, int output, qnnrt__build_tensor ***out)
{
    const char *const side = output ? "output" : "input";
    size_t i;
    *out = (qnnrt__build_tensor **)qnnrt__build_alloc(b, count, sizeof(**out));
    if (*out == NULL) return qnnrt__build_no_memory(b);
    if (count > 0 && handles == NULL)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "%ss is NULL, but %s_count is %u", side, side,
                                 (unsigned)count);
    for (i = 0; i < count; ++i) {
        const qnnrt_tensor handle = handles[i];
        qnnrt__build_tensor *tensor;
        uint32_t type;
        if (handle == QNNRT_NO_TENSOR && !output) continue;
        tensor = qnnrt__tensor_find(b, handle);
        if (tensor == NULL)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "%s %u is not a tensor of this graph (handle"
                                     " %d)", side, (unsigned)i, (int)handle);
        type = tensor->abi.body.type;
        if (output && type != QNNRT__ABI_NATIVE &&
            qnnrt__tensor_side_of(&tensor->abi) != QNNRT__TABLE_OUTPUTS)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "output %u is \"%.200s\", which is %s; a node"
                                     " writes tensors of kind INNER or OUTPUT", (unsigned)i,
                                     tensor->abi.body.name,
                                     type == QNNRT__ABI_STATIC ? "STATIC"
                                     : type == QNNRT__ABI_UPDATEABLE_STATIC ? "UPDATEABLE"
                                                                            : "an input");
        (*out)[i] = tensor;
    }
    return QNNRT_OK;
}

/* Write a scalar in the vendor's form. Return 0 when its type cannot hold the value, or cannot be
   the scalar's. */
static int qnnrt__node_scalar(const qnnrt_param_desc *d, qnnrt__abi_param *to)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(d->dtype);
    const double value = d->value;
    const int infinite = value != 0 && value + value == value;
    const qnnrt__dtype_kind kind = qnnrt__dtype_kind_of(d->dtype);
    double top;
    to->u.scalar.dtype = (uint32_t)d->dtype;
    if (info == NULL || info->bits < 8) return 0;
    top = (double)((uint64_t)1 << (info->bits - 1));
    if (kind == QNNRT__DTYPE_BOOL && (value == 0 || value == 1)) {
        to->u.scalar.u.bool8 = value != 0;
    } else if (kind == QNNRT__DTYPE_INT && value >= -top && value < top &&
               value == (double)(int64_t)value) {
        const int64_t whole = (int64_t)value;
        memcpy(&to->u.scalar.u.room, &whole, sizeof(whole));
    } else if (kind == QNNRT__DTYPE_UINT && value >= 0 && value < 2 * top &&
               value == (double)(uint64_t)value) {
        to->u.scalar.u.room = (uint64_t)value;
    } else if (d->dtype == QNNRT_DTYPE_F64 && value == value) {
        memcpy(&to->u.scalar.u.room, &value, sizeof(value));
    } else if (d->dtype == QNNRT_DTYPE_F32 &&
               (infinite || (value >= -3.4028234663852886e38 && value <= 3.4028234663852886e38))) {
        to->u.scalar.u.f32 = (float)value;
    } else {
        return 0;
    }
    return 1;
}

/* Record the data of a parameter as a STATIC tensor named "<node>/<parameter>". */
static qnnrt_result qnnrt__node_own(qnnrt__build *b, const qnnrt_param_desc *d,
                                    const qnnrt__build_node *node, qnnrt__build_tensor **out)
{
    const size_t room = strlen(node->op.name) + strlen(d->name) + 2;
    char *name = (char *)qnnrt__build_alloc(b, room, 1);
    qnnrt_tensor_desc own;
    uint64_t count, bytes = 0;
    qnnrt_result result;
    if (name == NULL) return qnnrt__build_no_memory(b);
    snprintf(name, room, "%s/%s", node->op.name, d->name);
    memset(&own, 0, sizeof(own));
    own.name = name;
    own.kind = QNNRT_TENSOR_STATIC;
    own.dtype = d->dtype;
    own.rank = d->rank;
    memcpy(own.dims, d->dims, sizeof(own.dims));
    own.data = d->data;
    if (d->rank <= 8) qnnrt__dtype_bytes(d->dtype, own.dims, own.rank, &count, &bytes);
    own.bytes = (size_t)bytes;         /* 0 where qnnrt__tensor_record() will refuse it */
    result = qnnrt__tensor_record(b, &own, out);
    return result == QNNRT_OK && qnnrt__build_keeps(b) ? qnnrt__tensor_add(b, *out) : result;
}

/* Record a parameter: a scalar, data, or a tensor of the graph. */
static qnnrt_result qnnrt__node_param(qnnrt__build *b, const qnnrt_param_desc *d,
                                      qnnrt__build_node *node, size_t at)
{
    qnnrt__abi_param *param = &node->op.params[at];
    qnnrt__build_tensor *tensor = qnnrt__tensor_find(b, d->tensor);
    size_t i;
    qnnrt_result result;
    if (d->name == NULL || d->name[0] == '\0')
        return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter %u has no name", (unsigned)at);
    for (i = 0; i < at; ++i)
        if (strcmp(node->op.params[i].name, d->name) == 0)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "two parameters are named \"%.200s\"",
                                     d->name);
    result = qnnrt__build_name(b, d->name, "a parameter", &param->name);
    if (result != QNNRT_OK) return result;
    param->type = d->data != NULL || d->tensor != QNNRT_NO_TENSOR;
    if (d->data != NULL && d->tensor != QNNRT_NO_TENSOR)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter \"%.200s\" has both data and a"
                                 " tensor", d->name);
    if (d->data != NULL) return qnnrt__node_own(b, d, node, &node->param_tensors[at]);
    if (d->tensor != QNNRT_NO_TENSOR) {
        node->param_tensors[at] = tensor;
        if (tensor == NULL)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter \"%.200s\" is not a tensor of this"
                                     " graph (handle %d)", d->name, (int)d->tensor);
        if (tensor->abi.body.type == QNNRT__ABI_STATIC && tensor->load == NULL) return QNNRT_OK;
        return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter \"%.200s\" is tensor \"%.200s\","
                                 " which %s", d->name, tensor->abi.body.name,
                                 tensor->load != NULL ? "has load instead of data"
                                                      : "is not STATIC");
    }
    if (d->rank != 0)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter \"%.200s\" has rank %u and no data",
                                 d->name, (unsigned)d->rank);
    if (qnnrt__node_scalar(d, param)) return QNNRT_OK;
    return qnnrt__build_fail(b, QNNRT_E_ARG, "parameter \"%.200s\": %g is not a value of a scalar"
                             " of type %s", d->name, d->value, qnnrt_dtype_name(d->dtype));
}

/* Record a placeholder tensor for an omitted input that has other inputs after it. */
static qnnrt_result qnnrt__node_none(qnnrt__build *b, const qnnrt__build_node *node,
                                     size_t at)
{
    qnnrt__build_tensor *none =
        (qnnrt__build_tensor *)qnnrt__build_alloc(b, 1, sizeof(*none));
    const size_t room = strlen(node->op.name) + 40;
    char *name = (char *)qnnrt__build_alloc(b, room, 1);
    if (none == NULL || name == NULL) return qnnrt__build_no_memory(b);
    snprintf(name, room, "%s/no input %u", node->op.name, (unsigned)at);
    none->abi.version = 1;
    none->abi.body.name = name;
    none->abi.body.type = QNNRT__ABI_NULL;
    none->abi.body.dtype = QNNRT_DTYPE_F32;
    none->abi.body.dims = (const uint32_t *)qnnrt__build_alloc(b, 1, sizeof(uint32_t));
    none->abi.body.quantize.definition = none->abi.body.quantize.encoding = QNNRT__ABI_UNDEFINED;
    node->inputs[at] = none;
    return qnnrt__build_keeps(b) ? qnnrt__tensor_add(b, none) : QNNRT_OK;
}

/* Check and copy type, package and name of a node. */
static qnnrt_result qnnrt__node_names(const qnnrt__build *b, const qnnrt_node_desc *d,
                                      qnnrt__abi_op *op)
{
    qnnrt_result result = qnnrt__build_name(b, d->type, "the type of a node", &op->type);
    if (result == QNNRT_OK)
        result = qnnrt__build_name(b, d->package != NULL ? d->package : "qti.aisw",
                                   "the package of a node", &op->package);
    if (result != QNNRT_OK) return result;
    if (d->name == NULL)
        return qnnrt__build_number(b, &b->node_names, d->type, "_", b->graph->node_count,
                                   &b->graph->number, &op->name);
    result = qnnrt__build_name(b, d->name, "a node", &op->name);
    if (result != QNNRT_OK) return result;
    if (qnnrt__build_keeps(b) && qnnrt__build_taken(&b->node_names, op->name))
        return qnnrt__build_fail(b, QNNRT_E_ARG, "two nodes are named \"%.200s\"", op->name);
    return QNNRT_OK;
}

/* Make a node the writer of its outputs. */
static qnnrt_result qnnrt__node_write(const qnnrt__build *b, qnnrt__build_node *node)
{
    uint32_t i;
    for (i = 0; i < node->op.output_count; ++i) {
        qnnrt__build_tensor *tensor = node->outputs[i];
        if (tensor->writer != NULL)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "tensor \"%.200s\" is written twice, also by"
                                     " node \"%.200s\"", tensor->abi.body.name,
                                     tensor->writer->op.name);
        tensor->writer = node;
    }
    return QNNRT_OK;
}

/* Check a descriptor and record it. */
static qnnrt_result qnnrt__node_make(qnnrt__build *b, const qnnrt_node_desc *d,
                                     qnnrt__build_node **out)
{
    qnnrt__build_node *node;
    size_t i, inputs = d->input_count;
    qnnrt_result result = qnnrt__build_needs_graph(b, "a node");
    *out = NULL;
    if (result != QNNRT_OK) return result;
    node = (qnnrt__build_node *)qnnrt__build_alloc(b, 1, sizeof(*node));
    if (node == NULL) return qnnrt__build_no_memory(b);
    result = qnnrt__node_names(b, d, &node->op);
    if (result != QNNRT_OK) return result;
    b->op = &node->op;
    if (d->output_count == 0) return qnnrt__build_fail(b, QNNRT_E_ARG, "it has no output");
    /* Operators have fewer than 20 parameters; the name of each is compared with each. */
    if (inputs > 1000000 || d->output_count > 1000000 || d->param_count > 1000) {
        qnnrt__build_fail(b, QNNRT_E_LIMIT, "more than 1,000,000 inputs or outputs, or 1,000"
                          " parameters");
        return qnnrt_error_hint(b->err, QNNRT_E_LIMIT, "Check the counts of the descriptor.");
    }
    if (d->param_count > 0 && d->params == NULL)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "params is NULL, but param_count is %u",
                                 (unsigned)d->param_count);
    while (inputs > 0 && d->inputs != NULL && d->inputs[inputs - 1] == QNNRT_NO_TENSOR) --inputs;
    result = qnnrt__node_ends(b, d->inputs, inputs, 0, &node->inputs);
    if (result == QNNRT_OK)
        result = qnnrt__node_ends(b, d->outputs, d->output_count, 1, &node->outputs);
    if (result != QNNRT_OK) return result;
    node->op.version = 1;
    node->op.input_count = (uint32_t)inputs;
    node->op.output_count = (uint32_t)d->output_count;
    node->op.param_count = (uint32_t)d->param_count;
    node->op.params =
        (qnnrt__abi_param *)qnnrt__build_alloc(b, d->param_count, sizeof(*node->op.params));
    node->param_tensors = (qnnrt__build_tensor **)qnnrt__build_alloc(
        b, d->param_count, sizeof(*node->param_tensors));
    if (inputs + d->output_count > b->ends) {
        b->ends = 2 * (inputs + d->output_count);
        b->room = (qnnrt__abi_tensor *)qnnrt_arena_get(&b->arena, b->ends, sizeof(*b->room));
    }
    if (node->op.params == NULL || node->param_tensors == NULL || b->room == NULL)
        return qnnrt__build_no_memory(b);
    for (i = 0; i < inputs && result == QNNRT_OK; ++i)
        if (node->inputs[i] == NULL) result = qnnrt__node_none(b, node, i);
    for (i = 0; i < d->param_count && result == QNNRT_OK; ++i)
        result = qnnrt__node_param(b, &d->params[i], node, i);
    if (result == QNNRT_OK && qnnrt__build_keeps(b)) result = qnnrt__node_write(b, node);
    if (result != QNNRT_OK) return result;
    b->op = NULL;
    *out = node;
    return QNNRT_OK;
}

static qnnrt_result qnnrt__node_cycle(const qnnrt__build *b, const qnnrt__build_node *top,
                                      const qnnrt__build_node *from)
{
    const qnnrt__build_node *at;
    unsigned shown = 0;
    qnnrt__build_fail(b, QNNRT_E_ARG, "the nodes form a cycle: ");
    for (at = top; at != from->waits; at = at->waits)
        if (shown++ < 16) qnnrt_error_add(b->err, "\"%.80s\" -> ", at->op.name);
    if (shown > 16) qnnrt_error_add(b->err, "(%u more) -> ", shown - 16);
    qnnrt_error_add(b->err, "\"%.80s\"", top->op.name);
    return QNNRT_E_ARG;
}

/* Put a node in the order after those that feed it, which it waits for on a stack. */
static qnnrt_result qnnrt__node_place(qnnrt__build *b, qnnrt__build_node *node,
                                      qnnrt__build_node ***last)
{
    node->placed = 1;
    while (node != NULL) {
        const qnnrt__build_tensor *input;
        qnnrt__build_node *from;
        if (node->followed == node->op.input_count) {
            node->placed = 2;
            **last = node;
            *last = &node->then;
            node = node->waits;
            continue;
        }
        input = node->inputs[node->followed++];
        from = input->writer;
        if (from == NULL && input->abi.body.type == QNNRT__ABI_NATIVE) {
            b->op = &node->op;
            return qnnrt__build_fail(b, QNNRT_E_ARG, "no node writes input %u, \"%.200s\"",
                                     (unsigned)(node->followed - 1), input->abi.body.name);
        }
        if (from == NULL || from->placed == 2) continue;
        if (from->placed == 1) return qnnrt__node_cycle(b, node, from);
        from->placed = 1;
        from->waits = node;
        node = from;
    }
    return QNNRT_OK;
}

/* Put the nodes in an order in which each comes after those that feed it; nodes that are in such an
   order keep it. Refuse cycles, and tensors that are read, or are outputs of the graph, and that no
   node writes. */
static qnnrt_result qnnrt__node_order(qnnrt__build *b)
{
    qnnrt__build_graph *graph = b->graph;
    qnnrt__build_node *node, *first = NULL, **last = &first;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    if (graph->nodes == NULL) return qnnrt__build_fail(b, QNNRT_E_ARG, "it has no nodes");
    for (i = 0; i < graph->tensor_count; ++i) {
        const qnnrt__build_tensor *tensor = graph->tensors[i];
        if (qnnrt__tensor_side_of(&tensor->abi) == QNNRT__TABLE_OUTPUTS && tensor->writer == NULL)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "no node writes OUTPUT tensor \"%.200s\"",
                                     tensor->abi.body.name);
    }
    for (node = graph->nodes; node != NULL && result == QNNRT_OK; node = node->next)
        if (node->placed == 0) result = qnnrt__node_place(b, node, &last);
    if (result != QNNRT_OK) return result;
    for (node = graph->nodes = first; node != NULL; node = node->next) node->next = node->then;
    return QNNRT_OK;
}

/* Return the vendor's form of a node, with copies of its tensors. It is valid until that of another
   one is asked for. */
static qnnrt__abi_op qnnrt__node_op(const qnnrt__build *b, const qnnrt__build_node *node)
{
    qnnrt__abi_op op = node->op;
    uint32_t i;
    op.inputs = b->room;
    op.outputs = b->room + op.input_count;
    for (i = 0; i < op.input_count; ++i) op.inputs[i] = node->inputs[i]->abi;
    for (i = 0; i < op.output_count; ++i) op.outputs[i] = node->outputs[i]->abi;
    for (i = 0; i < op.param_count; ++i)
        if (node->param_tensors[i] != NULL) op.params[i].u.tensor = node->param_tensors[i]->abi;
    return op;
}

/* =====================================================================================
   DEVICE                                                                         >>device
   Options of contexts and graphs, and the device that contexts are made on.
   Source: option numbers from public header sets (core 2.23 to 2.37), tried on releases
   2.47 to 2.51.
   Needs: >>mem >>err >>log >>abi >>htp >>friends >>backend (its struct) >>model (its struct)
          >>build
   Knows nothing of: tensors, nodes
   ===================================================================================== */

/* A field of a descriptor that becomes an option if it is not 0: the priority, which every backend
   accepts, or an option of the HTP. */
typedef struct qnnrt__device_option {
    const char *name;
    size_t      field;
    uint32_t    option;
    uint32_t    form;             /* PRIORITY, NUMBER, OFF (0 where the field is 1), or the first
                                     word, which a float follows */
} qnnrt__device_option;
enum { QNNRT__DEVICE_NUMBER = 0, QNNRT__DEVICE_LEVEL = 3, QNNRT__DEVICE_PRIORITY = 100,
       QNNRT__DEVICE_OFF };
#define QNNRT__DEVICE_OPTION(desc, field, option, form) \
    { #field, offsetof(desc, field), option, QNNRT__DEVICE_##form }

static const qnnrt__device_option qnnrt__device_context_options[] = {
    QNNRT__DEVICE_OPTION(qnnrt_context_desc, priority, 1, PRIORITY),
    QNNRT__DEVICE_OPTION(qnnrt_context_desc, weight_sharing, 1, NUMBER), { NULL, 0, 0, 0 }
};

static const qnnrt__device_option qnnrt__device_graph_options[] = {
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, priority, 3, PRIORITY),
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, optimization_level, 1, LEVEL),
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, fp16, 2, NUMBER),
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, vtcm_mib, 3, NUMBER),
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, hvx_threads, 6, NUMBER),
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, exact_activations, 15, OFF),      /* the fusion */
    QNNRT__DEVICE_OPTION(qnnrt_graph_desc, exact_activations, 16, NUMBER),   /* Sigmoid exactly */
    { NULL, 0, 0, 0 }
};
#undef QNNRT__DEVICE_OPTION
enum { QNNRT__DEVICE_OPTIONS = 7 };      /* the most options of a descriptor */

typedef struct qnnrt__device_configs {
    const void           **asked;            /* ends with NULL; NULL: no option is set */
    const void            *list[QNNRT__DEVICE_OPTIONS + 1];
    qnnrt__abi_config      configs[QNNRT__DEVICE_OPTIONS];
    qnnrt__abi_htp_config  htp[QNNRT__DEVICE_OPTIONS];
    char                   text[160];        /* for errors, as in " with priority, fp16" */
} qnnrt__device_configs;

/* Collect the options that a descriptor sets. */
static void qnnrt__device_configure(const qnnrt__build *b, const void *desc,
                                    const qnnrt__device_option *option,
                                    qnnrt__device_configs *to)
{
    static const uint32_t priorities[] = { 100, 0, 100, 150, 200 };
    size_t count = 0;
    memset(to, 0, sizeof(*to));
    for (; option->name != NULL; ++option) {
        qnnrt__abi_config *config = &to->configs[count];
        qnnrt__abi_htp_config *htp = &to->htp[count];
        uint32_t value;
        size_t used;
        memcpy(&value, (const char *)desc + option->field, sizeof(value));
        if (value == 0) continue;
        if (option->form == QNNRT__DEVICE_PRIORITY) {
            config->option = option->option;
            config->u.word = priorities[value];
        } else if (b->backend->info.id == QNNRT__ABI_BACKEND_HTP) {
            const float as_float = (float)value;
            config->u.custom = htp;
            htp->option = option->option;
            htp->u.words[0] = option->form == QNNRT__DEVICE_LEVEL ? option->form
                              : option->form == QNNRT__DEVICE_OFF ? 0 : value;
            if (option->form == QNNRT__DEVICE_LEVEL)
                memcpy(&htp->u.words[1], &as_float, sizeof(as_float));
        } else {
            continue;
        }
        used = strlen(to->text);
        snprintf(to->text + used, sizeof(to->text) - used, "%s%s", count == 0 ? " with " : ", ",
                 option->name);
        to->list[count++] = config;
        to->asked = to->list;
    }
}

/* Return the chip to compile for on the emulator when the caller names none, because float graphs
   need one: a chip of the NPU generation dsp_arch (0: any). Return 0 on a device, which knows its
   own chip. */
static uint32_t qnnrt__device_chip(uint32_t dsp_arch)
{
#if defined(__x86_64__) || defined(_M_X64)
    static const uint32_t chips[][2] = { { 0, 57 }, { 68, 30 }, { 69, 36 }, { 73, 43 }, { 75, 57 },
                                         { 79, 69 }, { 81, 87 } };
    size_t i;
    for (i = 0; i < sizeof(chips) / sizeof(chips[0]); ++i)
        if (chips[i][0] == dsp_arch) return chips[i][1];
#endif
    (void)dsp_arch;
    return 0;
}

/* Create a device for a chip and an NPU generation; 0 leaves either out. */
static qnnrt_result qnnrt__device_make(qnnrt__build *b, uint32_t soc_model,
                                       uint32_t dsp_arch)
{
    qnnrt_backend *backend = b->backend;
    qnnrt__htp_soc soc, arch;
    qnnrt__abi_device_config configs[2];
    const qnnrt__abi_device_config *list[3] = { NULL, NULL, NULL };
    qnnrt__abi_code code;
    size_t count = 0;
    if (soc_model != 0) {
        qnnrt__htp_soc_config(soc_model, &soc, &configs[count]);
        list[count] = &configs[count];
        ++count;
    }
    if (dsp_arch != 0) {
        /* The same with option 1 and the generation as the second of two words, before which the
           device stands. Each of the two layouts needs its own image; 5.49 has the old one. */
        const uint32_t minor = backend->info.backend_api.minor;
        qnnrt__htp_soc_config(0, &arch, &configs[count]);
        arch.option = 1;
        *(minor < 47 || minor == 49 ? &arch.at_8 : &arch.at_12) = dsp_arch;
        list[count] = &configs[count];
    }
    backend->mark = qnnrt__log_mark(backend->log_slot);
    code = backend->calls->device_create(backend->log, list, &b->device);
    b->device_soc = soc_model;
    if (code == 0 && b->device != NULL) return QNNRT_OK;
    b->device = NULL;
    qnnrt_error_set(b->err, QNNRT_E_BACKEND, "cannot create a device of soc_model %u, dsp_arch %u"
                    " (0: not named) on %s", (unsigned)soc_model, (unsigned)dsp_arch,
                    backend->path);
    return qnnrt__build_explain(b, "deviceCreate", code);
}

/* Choose the device on which contexts are made. Create one for this builder if its desc names a
   chip or a generation, or if float graphs need it; else use the backend's. The caller holds the
   lock. */
static qnnrt_result qnnrt__device_choose(qnnrt__build *b)
{
    qnnrt_backend *backend = b->backend;
    const uint32_t dsp_arch = b->desc.dsp_arch;
    const uint32_t soc_model = b->desc.soc_model != 0 ? b->desc.soc_model : backend->soc_model;
    const uint32_t guess = soc_model == 0 ? qnnrt__device_chip(dsp_arch) : 0;
    if (b->device_asked) return QNNRT_OK;
    b->device_asked = 1;
    if (backend->info.id != QNNRT__ABI_BACKEND_HTP || backend->device == NULL) return QNNRT_OK;
    if (guess != 0) {
        if (qnnrt__device_make(b, guess, dsp_arch) == QNNRT_OK) return QNNRT_OK;
        qnnrt_log(&backend->hooks, QNNRT_LOG_WARN, "compose", b->err->vendor_code, "continuing"
                  " without a chip; float graphs may not compile: %s", b->err->text);
        qnnrt_error_clear(b->err);
    }
    b->device_soc = backend->soc_model;
    if (soc_model == backend->soc_model && dsp_arch == 0) return QNNRT_OK;
    b->device_asked = qnnrt__device_make(b, soc_model, dsp_arch) == QNNRT_OK;
    return b->device_asked ? QNNRT_OK : b->err->code;
}

/* Free a device other than the backend's own; NULL is none. */
static qnnrt_result qnnrt__device_free(qnnrt_backend *b, qnnrt__abi_handle device)
{
    qnnrt__abi_code code = 0;
    if (device == NULL) return QNNRT_OK;
    qnnrt__hooks_lock(&b->hooks);
    code = b->calls->device_free(device);
    qnnrt__hooks_unlock(&b->hooks);
    if (code == 0) return QNNRT_OK;
    qnnrt_log(&b->hooks, QNNRT_LOG_ERROR, "backend", code, "deviceFree answered 0x%x for the"
              " device of a built model", (unsigned)(code & 0xFFFF));
    return QNNRT_E_BACKEND;
}

/* Free what a built model has for itself. */
static qnnrt_result qnnrt__device_freed(qnnrt__model_hook *made, qnnrt *model)
{
    return qnnrt__device_free(model->info.backend, ((qnnrt__build_made *)made)->device);
}

/* =====================================================================================
   KEY                                                                               >>key
   A hash of everything that decides what a builder would make.
   Needs: >>abi >>backend (its struct) >>op_abi >>build >>tensor
   Knows nothing of: vendor calls, models
   ===================================================================================== */

/* Two words that each word of the content changes both. For a given state, two blocks of 16 bytes
   never give the same next state. */
typedef struct qnnrt__key { uint64_t a, b; } qnnrt__key;

static void qnnrt__key_two(qnnrt__key *key, uint64_t first, uint64_t second)
{
    key->a = (key->a ^ first) * UINT64_C(0x9E3779B97F4A7C15);
    key->a ^= key->a >> 29;
    key->b = (key->b ^ second ^ key->a) * UINT64_C(0xD6E8FEB86659FD93);
    key->b ^= key->b >> 32;
    key->a += key->b << 27 | key->b >> 37;
}

/* Add bytes and their number. */
static void qnnrt__key_bytes(qnnrt__key *key, const void *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    uint64_t words[2];
    qnnrt__key_two(key, bytes, 0x6B6579);
    for (; bytes >= sizeof(words); bytes -= sizeof(words), at += sizeof(words)) {
        memcpy(words, at, sizeof(words));
        qnnrt__key_two(key, words[0], words[1]);
    }
    if (bytes == 0) return;
    words[0] = words[1] = 0;
    memcpy(words, at, (size_t)bytes);
    qnnrt__key_two(key, words[0], words[1]);
}

/* Add a text; NULL differs from "". */
static void qnnrt__key_text(qnnrt__key *key, const char *text)
{
    qnnrt__key_two(key, text != NULL, 0);
    if (text != NULL) qnnrt__key_bytes(key, text, strlen(text));
}

static void qnnrt__key_quant(qnnrt__key *key, const qnnrt__abi_tensor_body *body)
{
    const qnnrt__abi_quantize *q = &body->quantize;
    uint64_t pairs = 1;
    uint32_t i;
    qnnrt__key_two(key, q->definition, q->encoding);
    if (q->definition != QNNRT__ABI_DEFINED) return;
    switch (q->encoding) {
    case QNNRT__ABI_SCALE_OFFSET: qnnrt__key_bytes(key, &q->u.scale_offset, 8); break;
    case QNNRT__ABI_AXIS_SCALE_OFFSET:
        qnnrt__key_two(key, (uint64_t)q->u.axis.axis, q->u.axis.count);
        qnnrt__key_bytes(key, q->u.axis.pairs, (uint64_t)q->u.axis.count * 8);
        break;
    case QNNRT__ABI_BW_SCALE_OFFSET:
        qnnrt__key_two(key, q->u.bw.bitwidth, (uint64_t)q->u.bw.offset);
        qnnrt__key_bytes(key, &q->u.bw.scale, sizeof(q->u.bw.scale));
        break;
    case QNNRT__ABI_BW_AXIS_SCALE_OFFSET:
        qnnrt__key_two(key, q->u.bw_axis.bitwidth, (uint64_t)q->u.bw_axis.axis);
        qnnrt__key_bytes(key, q->u.bw_axis.scales, (uint64_t)q->u.bw_axis.count * 4);
        qnnrt__key_bytes(key, q->u.bw_axis.offsets,
                         q->u.bw_axis.offsets != NULL ? (uint64_t)q->u.bw_axis.count * 4 : 0);
        break;
    case QNNRT__ABI_BLOCK:
        for (i = 0; i < body->rank; ++i) pairs *= body->dims[i] / q->u.block.sizes[i];
        qnnrt__key_bytes(key, q->u.block.sizes, (uint64_t)body->rank * 4);
        qnnrt__key_bytes(key, q->u.block.pairs, pairs * 8);
        break;
    default:                                            /* BLOCKWISE_EXPANSION */
        pairs = body->dims[q->u.expansion->axis];
        qnnrt__key_two(key, (uint64_t)q->u.expansion->axis, q->u.expansion->blocks);
        qnnrt__key_bytes(key, q->u.expansion->pairs, pairs * 8);
        qnnrt__key_bytes(key, q->u.expansion->multipliers, pairs * q->u.expansion->blocks);
    }
}

static void qnnrt__key_tensor(qnnrt__key *key, const qnnrt__build_tensor *tensor)
{
    const qnnrt__abi_tensor_body *body = &tensor->abi.body;
    const int named = qnnrt__tensor_side_of(&tensor->abi) >= 0 && !tensor->unnamed;
    const int dynamic = tensor->abi.version == 2;
    qnnrt__key_two(key, body->type, 0);
    qnnrt__key_two(key, body->dtype, body->rank);
    qnnrt__key_bytes(key, body->dims, (uint64_t)body->rank * 4);
    qnnrt__key_quant(key, body);
    qnnrt__key_bytes(key, body->dynamic_dims, dynamic ? body->rank : 0);
    qnnrt__key_text(key, named ? body->name : NULL);
    if (tensor->identity != 0) {
        qnnrt__key_two(key, 1, tensor->identity);
    } else if (tensor->load != NULL) {
        qnnrt__key_bytes(key, &tensor->load, sizeof(tensor->load));
        qnnrt__key_bytes(key, &tensor->load_user, sizeof(tensor->load_user));
    } else if (body->buffer.data != NULL) {
        qnnrt__key_bytes(key, body->buffer.data, body->buffer.bytes);
    }
}

static void qnnrt__key_node(qnnrt__key *key, const qnnrt__build_node *node)
{
    const qnnrt__abi_op *op = &node->op;
    uint32_t i;
    qnnrt__key_text(key, op->package);
    qnnrt__key_text(key, op->type);
    qnnrt__key_two(key, (uint64_t)op->input_count << 32 | op->output_count, op->param_count);
    for (i = 0; i < op->input_count; ++i) qnnrt__key_two(key, 0, node->inputs[i]->index);
    for (i = 0; i < op->output_count; ++i) qnnrt__key_two(key, 1, node->outputs[i]->index);
    for (i = 0; i < op->param_count; ++i) {
        const qnnrt__abi_param *param = &op->params[i];
        qnnrt__key_text(key, param->name);
        if (node->param_tensors[i] != NULL) qnnrt__key_two(key, 2, node->param_tensors[i]->index);
        else qnnrt__key_two(key, (uint64_t)param->u.scalar.dtype << 32, param->u.scalar.u.room);
    }
}

static void qnnrt__key_graph(qnnrt__key *key, const qnnrt__build_graph *graph)
{
    const qnnrt_graph_desc *d = &graph->desc;
    const qnnrt__build_node *node;
    size_t i;
    qnnrt__key_text(key, d->name);
    qnnrt__key_text(key, graph->dlc);
    qnnrt__key_two(key, (uint64_t)d->priority << 32 | d->vtcm_mib, d->optimization_level);
    qnnrt__key_two(key, d->hvx_threads, (uint64_t)d->fp16 | (uint64_t)d->exact_activations << 1);
    qnnrt__key_two(key, graph->tensor_count, graph->node_count);
    for (i = 0; i < graph->tensor_count; ++i) qnnrt__key_tensor(key, graph->tensors[i]);
    for (node = graph->nodes; node != NULL; node = node->next) qnnrt__key_node(key, node);
}

/* Compute the key of a builder. */
static qnnrt__key qnnrt__key_of(const qnnrt__build *b)
{
    const qnnrt_backend *backend = b->backend;
    qnnrt__key key = { UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707344) };
    const qnnrt__build_context *context;
    const qnnrt__build_graph *graph;
    qnnrt__key_two(&key, backend->info.id,
                   b->desc.soc_model != 0 ? b->desc.soc_model : backend->soc_model);
    qnnrt__key_two(&key, b->desc.dsp_arch, b->context_count);
    qnnrt__key_text(&key, backend->build_id);
    for (context = b->contexts; context != NULL; context = context->next) {
        qnnrt__key_two(&key, (uint64_t)context->desc.priority,
                       (uint64_t)context->desc.weight_sharing);
        for (graph = context->graphs; graph != NULL; graph = graph->next)
            qnnrt__key_graph(&key, graph);
    }
    qnnrt__key_two(&key, 0, 0);                         /* mix the last words */
    qnnrt__key_two(&key, 0, 0);
    return key;
}

/* =====================================================================================
   FILL                                                                             >>fill
   Gives the tensors and nodes of a graph to the vendor: data that a function writes, and how
   far it is.
   Needs: >>mem >>err >>log >>abi >>backend (its struct) >>validate >>build >>tensor >>node
   Knows nothing of: options, what becomes of a graph
   ===================================================================================== */

/* Tell the caller how far it is. Return QNNRT_E_CANCELLED if he wants it to end. */
static qnnrt_result qnnrt__fill_tell(qnnrt__build *b, qnnrt_build_phase phase,
                                     const char *graph)
{
    b->at.phase = phase;
    b->at.graph = graph;
    if (b->desc.progress != NULL) (b->desc.progress)(b->desc.progress_user, &b->at);
    if (b->desc.stop == NULL || *b->desc.stop == 0) return QNNRT_OK;
    return qnnrt_error_set(b->err, QNNRT_E_CANCELLED, "graph \"%.200s\": desc.stop ended the build"
                           " after %lu of %lu nodes", graph, (unsigned long)b->at.nodes,
                           (unsigned long)b->at.node_count);
}

/* Let the caller write a tensor's data. Its error is shown after graph and tensor. */
static qnnrt_result qnnrt__fill_load(const qnnrt__build *b, const qnnrt__build_tensor *tensor,
                                     void *data)
{
    qnnrt_error own;
    qnnrt_result result;
    memset(&own, 0, sizeof(own));
    result = (tensor->load)(tensor->load_user, data, tensor->load_bytes, &own);
    if (result == QNNRT_OK)
        return qnnrt__tensor_values(b, &tensor->abi.body, data, tensor->load_bytes);
    own.text[sizeof(own.text) - 1] = own.hint[sizeof(own.hint) - 1] = '\0';
    qnnrt__build_fail(b, result, "cannot load tensor \"%.200s\": %s", tensor->abi.body.name,
                      own.text[0] != '\0' ? own.text : qnnrt_result_name(result));
    b->err->vendor_code = own.vendor_code;
    return own.hint[0] != '\0' ? qnnrt_error_hint(b->err, result, "%s", own.hint) : result;
}

/* Give a tensor to the graph. If it has load(), that writes its data before. */
static qnnrt_result qnnrt__fill_tensor(const qnnrt__build *b, qnnrt__build_tensor *tensor)
{
    qnnrt__abi_tensor_body *body = &tensor->abi.body;
    qnnrt__abi_code code;
    if (tensor->load != NULL) {
        const qnnrt_result result = qnnrt__fill_load(b, tensor, b->scratch);
        if (result != QNNRT_OK) return result;
        body->buffer.data = b->scratch;
        body->buffer.bytes = tensor->load_bytes;
    }
    b->backend->mark = qnnrt__log_mark(b->backend->log_slot);
    code = b->backend->calls->tensor_create(b->handle, &tensor->abi);
    if (tensor->load != NULL) {                     /* nodes get it without data */
        body->buffer.data = NULL;
        body->buffer.bytes = 0;
    }
    if (code == 0) return QNNRT_OK;
    qnnrt__build_fail(b, QNNRT_E_BACKEND, "the library refuses tensor ");
    qnnrt__validate_say(b->err, body);
    return qnnrt__build_explain(b, "tensorCreateGraphTensor", code);
}

/* Give the tensors of the graph to the vendor, which copies their data. One scratch buffer takes
   the data of each tensor with load() in turn. The caller holds the lock. */
static qnnrt_result qnnrt__fill_tensors(qnnrt__build *b)
{
    const qnnrt__build_graph *graph = b->graph;
    const qnnrt_hooks *hooks = &b->backend->hooks;
    void *scratch = NULL;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    if (graph->load_bytes > 0) {
        scratch = qnnrt__mem_raw(hooks, (uint64_t)graph->load_bytes + 63);
        if (scratch == NULL) return qnnrt__build_no_memory(b);
        b->scratch = (void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    }
    for (i = 0; i < graph->tensor_count && result == QNNRT_OK; ++i) {
        qnnrt__build_tensor *tensor = graph->tensors[i];
        const uint64_t bytes = tensor->load_bytes + (uint64_t)tensor->abi.body.buffer.bytes;
        result = qnnrt__fill_tensor(b, tensor);
        if (result != QNNRT_OK || bytes == 0) continue;
        b->at.bytes += bytes;
        result = qnnrt__fill_tell(b, QNNRT_BUILD_FILL, graph->desc.name);
    }
    qnnrt_hooks_free(hooks, scratch);
    return result;
}

/* Give the tensors and nodes of the graph to the vendor. The caller holds the lock. */
static qnnrt_result qnnrt__fill_graph(qnnrt__build *b)
{
    const qnnrt__build_graph *graph = b->graph;
    const qnnrt__build_node *node;
    qnnrt_backend *backend = b->backend;
    qnnrt_result result = qnnrt__fill_tensors(b);
    for (node = graph->nodes; node != NULL && result == QNNRT_OK; node = node->next) {
        const qnnrt__abi_op op = qnnrt__node_op(b, node);
        qnnrt__abi_code code;
        b->op = &node->op;
        result = qnnrt__validate(backend, &op, !b->desc.no_validate, graph->desc.name, b->err);
        if (result != QNNRT_OK) return result;
        backend->mark = qnnrt__log_mark(backend->log_slot);
        code = backend->calls->graph_add_node(b->handle, op);
        if (code != 0) {
            qnnrt__build_fail(b, QNNRT_E_BACKEND, "the library refuses it%s",
                              b->desc.no_validate ? "" : ", although it validated it");
            qnnrt__validate_describe(b->err, &op);
            qnnrt_error_add(b->err, "\n  ");
            return qnnrt__build_explain(b, "graphAddNode", code);
        }
        b->op = NULL;
        b->at.nodes += 1;
        result = qnnrt__fill_tell(b, QNNRT_BUILD_FILL, graph->desc.name);
    }
    return result;
}

/* =====================================================================================
   COMPOSE                                                                       >>compose
   Gives what was recorded to the vendor and makes a model of what it returns.
   Needs: >>os >>mem >>err >>log >>abi >>table >>system >>backend (its struct) >>friends
          >>context >>pipeline >>model >>validate >>container >>build >>tensor >>node >>device
          >>fill
   Knows nothing of: memory plans, execution
   ===================================================================================== */

/* Return the node of the graph that the library's log names, or NULL.
   Source: HTP 2.47 and 2.51 log: "fc" generated: could not create op */
static const qnnrt__build_node *qnnrt__compose_failing(const qnnrt__build *b)
{
    static const char words[] = "\" generated: ";
    const qnnrt__build_node *node;
    qnnrt__log_part part;
    uint32_t i;
    qnnrt__log_copy(b->backend->log_slot, b->backend->mark, &part);
    for (i = 0; i < part.count; ++i) {
        const char *name = strchr(part.lines[i].text, '"');
        const char *end = name != NULL ? strchr(++name, '"') : NULL;
        while (end != NULL && strncmp(end, words, sizeof(words) - 1) != 0)
            end = strchr(end + 1, '"');
        if (end == NULL) continue;
        for (node = b->graph->nodes; node != NULL; node = node->next) {
            const size_t length = (size_t)(end - name);
            if (strncmp(node->op.name, name, length) == 0 && node->op.name[length] == '\0')
                return node;
        }
    }
    return NULL;
}

/* Say why a graph could not be finalized. */
static qnnrt_result qnnrt__compose_refused(qnnrt__build *b, const char *name, qnnrt__abi_code code)
{
    const qnnrt__build_node *failing = qnnrt__compose_failing(b);
    char what[480];
    qnnrt_error_set(b->err, QNNRT_E_BACKEND, "cannot finalize graph \"%.200s\"", name);
    if (failing != NULL) {
        b->op = &failing->op;
        qnnrt_error_add(b->err, ", because of %s", qnnrt__validate_what(b->op, what));
    }
    if (code == QNNRT__ABI_MEM_ALLOC) {
        const int chip = b->device_soc != 0 || b->desc.dsp_arch != 0;
        b->err->cause = chip ? "the HTP has no kernel for an operation of this type, rank or form,"
                               " though validation passed"
                             : "no chip was set, and without one the HTP has few kernels for"
                               " float32";
        qnnrt_error_hint(b->err, QNNRT_E_BACKEND, !chip ? "Set soc_model, 57 on x86-64."
                         : failing != NULL ? "Use float16 inside, rank 4 or less, or another"
                                             " operation."
                         : "The library names no operation: build parts of the graph to find it.");
    }
    return qnnrt__build_explain(b, "graphFinalize", code);
}

/* Finalize a graph, with the hooks of the builder. */
static qnnrt_result qnnrt__compose_finalize(qnnrt__build *b, const char *name)
{
    qnnrt_backend *backend = b->backend;
    qnnrt__creation creation;
    qnnrt_result result;
    memset(&creation, 0, sizeof(creation));
    creation.backend = backend;
    creation.context = (size_t)(b->place - b->target->contexts);
    result = qnnrt__friends_before(b->desc.context_hooks, &creation, b->err);
    if (result == QNNRT_OK) result = qnnrt__fill_tell(b, QNNRT_BUILD_FINALIZE, name);
    if (result == QNNRT_OK) {
        qnnrt__abi_code code;
        backend->mark = qnnrt__log_mark(backend->log_slot);
        code = backend->calls->graph_finalize(b->handle, creation.profile, NULL);
        creation.created = code == 0;
        if (code != 0) result = qnnrt__compose_refused(b, name, code);
    }
    result = qnnrt__friends_after(b->desc.context_hooks, &creation, result, b->err);
    return result == QNNRT_OK ? qnnrt__fill_tell(b, QNNRT_BUILD_FINALIZED, name) : result;
}

/* Make room for one more graph in the lists of the context. */
static qnnrt_graph_info *qnnrt__compose_grow(qnnrt__build *b)
{
    qnnrt__context *context = b->place;
    const size_t count = context->info->graph_count;
    qnnrt__abi_handle *handles = (qnnrt__abi_handle *)qnnrt_arena_more(
        &b->target->arena, context->graphs, count, &b->graph_room[0], sizeof(*handles));
    qnnrt_graph_info *graphs = (qnnrt_graph_info *)qnnrt_arena_more(
        &b->target->arena, (void *)(uintptr_t)context->info->graphs, count, &b->graph_room[1],
        sizeof(*graphs));
    if (handles == NULL || graphs == NULL) return NULL;
    context->graphs = handles;
    context->info->graphs = graphs;
    return &graphs[count];
}

/* Finalize a graph and copy its description into the model. */
static qnnrt_result qnnrt__compose_keep(qnnrt__build *b, const qnnrt__abi_graph_info *from)
{
    qnnrt_context_info *info = b->place->info;
    qnnrt__table table = qnnrt__model_table(b->target, info->file, b->err);
    qnnrt_result result = qnnrt__compose_finalize(b, from->name);
    qnnrt_graph_info *graph;
    if (result != QNNRT_OK) return result;
    graph = qnnrt__compose_grow(b);
    if (graph == NULL) return qnnrt__build_no_memory(b);
    memset(graph, 0, sizeof(*graph));
    result = qnnrt__table_take(&table, 1);
    if (result == QNNRT_OK)
        result = qnnrt__system_graph(&table, from, info->graph_count,
                                     b->backend->info.id == QNNRT__ABI_BACKEND_HTP, graph);
    if (result != QNNRT_OK) return result;
    b->place->graphs[info->graph_count++] = b->handle;
    return QNNRT_OK;
}

/* Collect the tensors of one side, in order, as metadata lists them. */
static qnnrt__abi_tensor *qnnrt__compose_side(const qnnrt__build *b, int side, uint32_t *count)
{
    const qnnrt__build_graph *graph = b->graph;
    qnnrt__abi_tensor *list;
    size_t i, at = 0;
    *count = graph->side_counts[side];
    list = (qnnrt__abi_tensor *)qnnrt__build_alloc(b, *count, sizeof(*list));
    for (i = 0; i < graph->tensor_count && list != NULL; ++i) {
        const qnnrt__abi_tensor *tensor = &graph->tensors[i]->abi;
        if (qnnrt__tensor_side_of(tensor) == side) list[at++] = *tensor;
    }
    return list;
}

/* Create, fill and finalize the graph. The caller holds the lock. */
static qnnrt_result qnnrt__compose_graph(qnnrt__build *b)
{
    const qnnrt__build_graph *graph = b->graph;
    qnnrt_backend *backend = b->backend;
    qnnrt__device_configs configs;
    qnnrt__abi_graph_info info;
    qnnrt__abi_code code;
    qnnrt_result result;
    qnnrt__device_configure(b, &graph->desc, qnnrt__device_graph_options, &configs);
    backend->mark = qnnrt__log_mark(backend->log_slot);
    b->handle = NULL;
    code = backend->calls->graph_create(b->place->info->handle, graph->desc.name, configs.asked,
                                        &b->handle);
    if (code != 0 || b->handle == NULL) {
        qnnrt__build_fail(b, QNNRT_E_BACKEND, "cannot create it%s", configs.text);
        return qnnrt__build_explain(b, "graphCreate", code);
    }
    result = qnnrt__fill_graph(b);
    if (result != QNNRT_OK) return result;
    memset(&info, 0, sizeof(info));
    info.version = 2;
    info.name = graph->desc.name;
    info.inputs = qnnrt__compose_side(b, QNNRT__TABLE_INPUTS, &info.input_count);
    info.outputs = qnnrt__compose_side(b, QNNRT__TABLE_OUTPUTS, &info.output_count);
    info.updateables = qnnrt__compose_side(b, QNNRT__TABLE_UPDATEABLES, &info.updateable_count);
    result = qnnrt__build_recorded(b);
    return result == QNNRT_OK ? qnnrt__compose_keep(b, &info) : result;
}

/* Create and finalize the graphs of a container. The caller holds the lock. */
static qnnrt_result qnnrt__compose_container(qnnrt__build *b)
{
    const qnnrt__build_graph *graph = b->graph;
    const qnnrt__container_graph *one;
    qnnrt__device_configs configs;
    qnnrt__container container;
    uint32_t i = 0;
    qnnrt__abi_code code;
    qnnrt_result result;
    memset(&container, 0, sizeof(container));
    qnnrt__device_configure(b, &graph->desc, qnnrt__device_graph_options, &configs);
    container.context = b->place->info->handle;
    container.name = graph->desc.name;
    container.configs = configs.asked;
    container.arena = &b->arena;
    result = qnnrt__container_compose(&container, b->system, b->backend, graph->dlc, configs.text,
                                      b->err);
    for (one = container.first; one != NULL && result == QNNRT_OK; one = one->next) {
        qnnrt__abi_graph_info info = container.graphs[i++];
        info.name = one->name;
        info.blob = NULL;
        b->handle = one->handle;
        result = qnnrt__compose_keep(b, &info);
    }
    code = container.dlc != NULL ? b->system->provider->calls.dlc_free(container.dlc) : 0;
    if (code != 0)
        qnnrt_log(&b->backend->hooks, QNNRT_LOG_WARN, "container", code,
                  "systemDlcFree returned 0x%x", (unsigned)(code & 0xFFFF));
    return result;
}

/* Create and finalize the graphs of a context. The caller holds the lock. */
static qnnrt_result qnnrt__compose_graphs(qnnrt__build *b, const qnnrt__build_context *from)
{
    for (b->graph = from->graphs; b->graph != NULL; b->graph = b->graph->next) {
        const qnnrt_result result = b->graph->dlc != NULL ? qnnrt__compose_container(b)
                                                          : qnnrt__compose_graph(b);
        if (result != QNNRT_OK) return result;
    }
    return qnnrt__model_sort(b->target, b->place, b->err);
}

/* Create a context with its graphs. The caller holds the lock. */
static qnnrt_result qnnrt__compose_context(qnnrt__build *b, const qnnrt__build_context *from)
{
    qnnrt *model = b->target;
    qnnrt__context *context = b->place = &model->contexts[model->info.context_count];
    qnnrt_context_info *info = &model->infos[model->info.context_count];
    const qnnrt__build_made *made = (const qnnrt__build_made *)model->made;
    qnnrt_backend *backend = b->backend;
    qnnrt__device_configs configs;
    const uint64_t began = qnnrt__os_clock_ns();
    qnnrt_result result;
    qnnrt__abi_code code;
    b->graph = NULL;
    memset(b->graph_room, 0, sizeof(b->graph_room));
    context->info = info;
    context->file.fd = -1;
    info->backend = model->info.backend;
    info->build_id = qnnrt_arena_text(&model->arena, backend->build_id, strlen(backend->build_id));
    info->file = qnnrt_arena_text(&model->arena, from->desc.name, strlen(from->desc.name));
    if (info->build_id == NULL || info->file == NULL) return qnnrt__build_no_memory(b);
    model->info.context_count += 1;
    info->backend_id = backend->info.id;
    info->core_api = backend->info.core_api;
    info->backend_api = backend->info.backend_api;
    info->soc_model = b->device_soc;
    info->dsp_arch = b->desc.dsp_arch;
    qnnrt__device_configure(b, &from->desc, qnnrt__device_context_options, &configs);
    backend->mark = qnnrt__log_mark(backend->log_slot);
    code = backend->calls->context_create(backend->backend,
                                          made->device != NULL ? made->device : backend->device,
                                          configs.asked, &context->info->handle);
    if (code != 0 || context->info->handle == NULL) {
        context->info->handle = NULL;
        qnnrt_error_set(b->err, QNNRT_E_BACKEND, "cannot create context \"%.200s\"%s", info->file,
                        configs.text);
        return qnnrt__build_explain(b, "contextCreate", code);
    }
    result = qnnrt__compose_graphs(b, from);
    info->create_ns = qnnrt__os_clock_ns() - began;
    info->creates = 1;
    return result;
}

/* Check each graph as a whole; this needs no vendor. */
static qnnrt_result qnnrt__compose_check(qnnrt__build *b)
{
    const qnnrt__build_context *context;
    qnnrt_result result = QNNRT_OK;
    b->graph = NULL;
    if (b->contexts == NULL)
        return qnnrt__build_fail(b, QNNRT_E_ARG, "the builder has no graph");
    for (context = b->contexts; context != NULL; context = context->next) {
        if (context->graphs == NULL)
            return qnnrt__build_fail(b, QNNRT_E_ARG, "context \"%.200s\" has no graph",
                                     context->desc.name);
        for (b->graph = context->graphs; b->graph != NULL; b->graph = b->graph->next) {
            if (b->graph->dlc == NULL) result = qnnrt__node_order(b);
            if (result != QNNRT_OK) return result;
        }
    }
    if (b->context_count > b->desc.limits.files)
        return qnnrt_error_set(b->err, QNNRT_E_LIMIT, "%u contexts, more than limits.files (%u)",
                               (unsigned)b->context_count, (unsigned)b->desc.limits.files);
    return QNNRT_OK;
}

/* Make the model of checked graphs. */
static qnnrt_result qnnrt__compose_model(qnnrt__build *b, qnnrt **out)
{
    const size_t count = b->context_count;
    const qnnrt__build_context *from;
    qnnrt *model = qnnrt__model_new(&b->backend->hooks, &b->desc.limits);
    qnnrt__build_made *made;
    qnnrt_result result = QNNRT_OK;
    if (model == NULL) return qnnrt__build_no_memory(b);
    made = (qnnrt__build_made *)qnnrt_arena_get(&model->arena, 1, sizeof(*made));
    model->contexts =
        (qnnrt__context *)qnnrt_arena_get(&model->arena, count, sizeof(*model->contexts));
    model->infos =
        (qnnrt_context_info *)qnnrt_arena_get(&model->arena, count, sizeof(*model->infos));
    if (model->arena.failed != QNNRT_OK) {
        qnnrt__model_free(model);
        return qnnrt__build_no_memory(b);
    }
    model->info.contexts = model->infos;
    qnnrt__model_give(model, b->backend, 0);
    made->hook.freed = qnnrt__device_freed;
    model->made = &made->hook;
    snprintf(model->system_path, sizeof(model->system_path), "%s",
             b->containers ? b->system->path
             : b->desc.system_path != NULL ? b->desc.system_path : "");
    b->target = model;
    qnnrt__hooks_lock(&b->backend->hooks);
    result = qnnrt__device_choose(b);
    made->device = b->device;
    b->device = NULL;
    for (from = b->contexts; from != NULL && result == QNNRT_OK; from = from->next)
        result = qnnrt__compose_context(b, from);
    qnnrt__hooks_unlock(&b->backend->hooks);
    if (result == QNNRT_OK) result = qnnrt__pipeline_discover(model, b->err);
    if (result != QNNRT_OK) {
        qnnrt__model_free(model);
        return result;
    }
    *out = model;
    return QNNRT_OK;
}

/* Open a system library that composes containers. */
static qnnrt_result qnnrt__compose_system(const qnnrt__build *b, qnnrt__system *system)
{
    const qnnrt__abi_system_provider *p;
    const qnnrt_result result = qnnrt__system_open(b->desc.system_path, b->backend->path,
                                                   QNNRT__SYSTEM_OWN_NEVER, &b->backend->hooks,
                                                   system, b->err);
    if (result != QNNRT_OK) return result;
    p = system->provider;
    if (qnnrt__system_is_whole(system) && p->calls.dlc_open != NULL &&
        p->calls.dlc_compose != NULL && p->calls.dlc_free != NULL) return QNNRT_OK;
    qnnrt_error_set(b->err, QNNRT_E_UNSUPPORTED, "%s cannot compose .dlc containers (interface"
                    " %u.%u)", system->path, (unsigned)p->version.major,
                    (unsigned)p->version.minor);
    return qnnrt_error_hint(b->err, QNNRT_E_UNSUPPORTED,
                            "Use the system library of QAIRT 2.47 or newer.");
}

static qnnrt_result qnnrt__compose_finish(qnnrt__build *b, qnnrt **out)
{
    qnnrt__system system;
    qnnrt_result result = qnnrt__compose_check(b);
    memset(&system, 0, sizeof(system));
    b->system = &system;
    if (result == QNNRT_OK && b->containers) result = qnnrt__compose_system(b, &system);
    if (result == QNNRT_OK) result = qnnrt__compose_model(b, out);
    if (b->backend->unload) qnnrt__system_close(&system);
    b->system = NULL;
    return result;
}

/* =====================================================================================
   BUILDER                                                                       >>builder
   The public functions of a builder.
   Needs: >>os >>mem >>err >>abi >>friends >>backend >>context >>model >>validate >>build
          >>tensor >>node >>device >>key >>compose
   Knows nothing of: memory plans, execution
   ===================================================================================== */

/* It stays until the backend is closed: calls on a spent builder are errors and not crashes. */
struct qnnrt_builder {
    qnnrt__backend_hook hook;
    qnnrt_backend      *backend;
    qnnrt__build       *now;                            /* NULL once spent */
    const char         *failed_node, *failed_graph;     /* of a spent one, in keep; NULL: none */
    qnnrt_arena         keep;
};

static const qnnrt_error qnnrt__builder_null = { QNNRT_E_ARG, 0, "the builder is NULL", "", NULL };
static const qnnrt_error qnnrt__builder_spent = {
    QNNRT_E_STATE, 0, "this builder was finished or destroyed", "Create another one.", NULL
};

QNNRT_API const qnnrt_error *qnnrt_builder_error(const qnnrt_builder *builder)
{
    if (builder == NULL) return &qnnrt__builder_null;
    return builder->now != NULL ? &builder->now->error : &qnnrt__builder_spent;
}

QNNRT_API const char *qnnrt_builder_failed_node(const qnnrt_builder *builder)
{
    const qnnrt__build *b = builder != NULL ? builder->now : NULL;
    if (b == NULL) return builder != NULL ? builder->failed_node : NULL;
    return b->error.code != QNNRT_OK && b->op != NULL ? b->op->name : NULL;
}

QNNRT_API const char *qnnrt_builder_failed_graph(const qnnrt_builder *builder)
{
    const qnnrt__build *b = builder != NULL ? builder->now : NULL;
    if (b == NULL) return builder != NULL ? builder->failed_graph : NULL;
    return b->error.code != QNNRT_OK && b->graph != NULL ? b->graph->desc.name : NULL;
}

/* Return what the builder records while it accepts more, else NULL; a desc that is NULL ends
   that. */
static qnnrt__build *qnnrt__builder_going(qnnrt_builder *builder, const void *desc,
                                          const char *call)
{
    if (qnnrt_builder_error(builder)->code != QNNRT_OK) return NULL;
    if (desc != NULL) return builder->now;
    qnnrt__build_fail(builder->now, QNNRT_E_ARG, "%s: desc is NULL", call);
    return NULL;
}

/* Free a spent builder. */
static void qnnrt__builder_closed(void *builder)
{
    qnnrt_arena_free(&((qnnrt_builder *)builder)->keep);
    qnnrt_hooks_free(&((qnnrt_builder *)builder)->backend->hooks, builder);
}

QNNRT_API qnnrt_result qnnrt_builder_create(qnnrt_backend *backend, const qnnrt_builder_desc *desc,
                                            qnnrt_builder **out, qnnrt_error *err)
{
    qnnrt_builder_desc defaults;
    const qnnrt__abi_calls *calls;
    const char *lacks;
    size_t path_bytes;
    qnnrt_builder *builder;
    qnnrt__build *b;
    const qnnrt_result result = qnnrt__err_begin("qnnrt_builder_create", "backend", backend, out,
                                                 err);
    if (result != QNNRT_OK) return result;
    memset(&defaults, 0, sizeof(defaults));
    if (desc == NULL) desc = &defaults;
    calls = backend->calls;
    lacks = calls->context_create == NULL        ? "contextCreate"
            : calls->graph_create == NULL        ? "graphCreate"
            : calls->tensor_create == NULL       ? "tensorCreateGraphTensor"
            : calls->backend_validate_op == NULL ? "backendValidateOpConfig"
            : calls->graph_add_node == NULL      ? "graphAddNode"
            : calls->graph_finalize == NULL      ? "graphFinalize"
                                                 : NULL;
    if (lacks != NULL) {
        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s cannot build graphs: its table lacks %s",
                        backend->path, lacks);
        return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Use a complete library of one release,"
                                " of a backend that builds graphs.");
    }
    if (backend->backend == NULL) return qnnrt__backend_lost(backend->path, err);
    path_bytes = desc->system_path != NULL ? strlen(desc->system_path) + 1 : 0;
    builder = (qnnrt_builder *)qnnrt_hooks_alloc(&backend->hooks, 1, sizeof(*builder));
    b = (qnnrt__build *)qnnrt_hooks_alloc(&backend->hooks, 1, sizeof(*b) + path_bytes);
    if (builder == NULL || b == NULL) {
        qnnrt_hooks_free(&backend->hooks, builder);
        qnnrt_hooks_free(&backend->hooks, b);
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a builder");
    }
    b->desc = *desc;
    if (path_bytes > 0)
        b->desc.system_path = (const char *)memcpy((void *)(b + 1), desc->system_path, path_bytes);
    b->backend = backend;
    qnnrt__model_limits(&desc->limits, &b->desc.limits);
    b->arena.hooks = backend->hooks;
    b->last = &b->contexts;
    b->err = &b->error;
    b->into = &b->arena;
    builder->backend = backend;
    builder->now = b;
    builder->keep.hooks = backend->hooks;
    builder->keep.chunk = 1;
    builder->hook.of = builder;
    builder->hook.call = qnnrt__builder_closed;
    qnnrt__backend_list(backend, &backend->kept, &builder->hook, 0);
    qnnrt__os_count(&backend->users, 1);
    *out = builder;
    return QNNRT_OK;
}

/* Begin a context. desc may be NULL. */
static void qnnrt__builder_context(qnnrt__build *b, const qnnrt_context_desc *desc)
{
    qnnrt__build_context *context;
    char name[40];
    b->graph = NULL;
    context = (qnnrt__build_context *)qnnrt__build_alloc(b, 1, sizeof(*context));
    if (context == NULL) {
        qnnrt__build_no_memory(b);
        return;
    }
    context->last = &context->graphs;
    *b->last = b->context = context;
    b->last = &context->next;
    b->context_count += 1;
    if (desc != NULL) context->desc = *desc;
    context->desc.weight_sharing = context->desc.weight_sharing != 0;
    snprintf(name, sizeof(name), "context %u", (unsigned)(b->context_count - 1));
    if (context->desc.name == NULL) context->desc.name = name;
    if (qnnrt__build_name(b, context->desc.name, "a context", &context->desc.name) == QNNRT_OK &&
        (unsigned)context->desc.priority > (unsigned)QNNRT_PRIORITY_HIGH)
        qnnrt__build_fail(b, QNNRT_E_ARG, "context \"%.200s\": priority %d is not a"
                          " qnnrt_priority", context->desc.name, (int)context->desc.priority);
}

QNNRT_API void qnnrt_builder_context(qnnrt_builder *builder, const qnnrt_context_desc *desc)
{
    qnnrt__build *b = qnnrt__builder_going(builder, builder, "");
    if (b != NULL) qnnrt__builder_context(b, desc);
}

/* Begin a graph of nodes, or the graphs of a container. desc may be NULL. */
static void qnnrt__builder_begin(qnnrt__build *b, const qnnrt_graph_desc *desc, const char *dlc)
{
    qnnrt__build_graph *graph;
    qnnrt_graph_desc *own;
    if (b->context == NULL) qnnrt__builder_context(b, NULL);
    if (b->error.code != QNNRT_OK) return;
    b->graph = NULL;
    graph = (qnnrt__build_graph *)qnnrt__build_alloc(b, 1, sizeof(*graph));
    if (graph == NULL) { qnnrt__build_no_memory(b); return; }
    own = &graph->desc;
    if (desc != NULL) *own = *desc;
    own->fp16 = own->fp16 != 0;
    own->exact_activations = own->exact_activations != 0;
    graph->dlc = dlc;
    graph->first = b->handles + 1;
    graph->last = &graph->nodes;
    if ((dlc == NULL || own->name != NULL) &&
        qnnrt__build_name(b, own->name, "a graph", &own->name) != QNNRT_OK) return;
    if (own->name != NULL && qnnrt__build_taken(&b->context->names, own->name)) {
        qnnrt__build_fail(b, QNNRT_E_ARG, "context \"%.200s\" has two graphs named \"%.200s\"",
                          b->context->desc.name, own->name);
        return;
    }
    b->graph = graph;
    memset(&b->tensor_names, 0, sizeof(b->tensor_names));
    memset(&b->node_names, 0, sizeof(b->node_names));
    if ((unsigned)own->priority > (unsigned)QNNRT_PRIORITY_HIGH)
        qnnrt__build_fail(b, QNNRT_E_ARG, "priority %d is not a qnnrt_priority",
                          (int)own->priority);
    else if (own->optimization_level > 3)
        qnnrt__build_fail(b, QNNRT_E_ARG, "optimization_level %u, expected 1 to 3",
                          (unsigned)own->optimization_level);
    else if (own->name != NULL && !qnnrt__build_take(b, &b->context->names, own->name))
        qnnrt__build_no_memory(b);
    *b->context->last = graph;
    b->context->last = &graph->next;
}

QNNRT_API void qnnrt_builder_graph(qnnrt_builder *builder, const qnnrt_graph_desc *desc)
{
    qnnrt__build *b = qnnrt__builder_going(builder, desc, "qnnrt_builder_graph");
    if (b != NULL) qnnrt__builder_begin(b, desc, NULL);
}

QNNRT_API void qnnrt_builder_dlc(qnnrt_builder *builder, const char *path,
                                 const qnnrt_graph_desc *desc)
{
    qnnrt__build *b = qnnrt__builder_going(builder, builder, "");
    const qnnrt__context_kind *kind;
    unsigned char head[64];
    uint64_t bytes;
    const char *copy;
    if (b == NULL) return;
    b->graph = NULL;
    if (path == NULL || path[0] == '\0') {
        qnnrt_error_set(&b->error, QNNRT_E_ARG, "qnnrt_builder_dlc: path is NULL or empty");
        return;
    }
    if (qnnrt_file_read(path, head, sizeof(head), &bytes, &b->error) != QNNRT_OK) return;
    if (bytes > b->desc.limits.file_bytes) {
        qnnrt_error_set(&b->error, QNNRT_E_LIMIT, "%s has %llu bytes, more than limits.file_bytes",
                        path, (unsigned long long)bytes);
        return;
    }
    if (bytes < 4 || memcmp(head, "PK\3\4", 4) != 0) {
        if (bytes > sizeof(head)) bytes = sizeof(head);
        kind = qnnrt__context_look(head, bytes);
        qnnrt_error_set(&b->error, QNNRT_E_FORMAT, "%s is not a .dlc container (a zip archive)",
                        path);
        if (kind != NULL)
            qnnrt_error_add(&b->error, "\n  it looks like %s%s", kind->text,
                            qnnrt__context_looks_right(head, bytes)
                                ? ", which is compiled already: open it with qnnrt_open()" : "");
        if (bytes > 0)
            qnnrt_error_hint(&b->error, QNNRT_E_FORMAT,
                             "Give a .dlc container; this file is of another kind.");
        return;
    }
    copy = qnnrt_arena_text(b->into, path, strlen(path));
    if (copy == NULL) qnnrt__build_no_memory(b);
    else qnnrt__builder_begin(b, desc, copy);
    b->containers = 1;
}

QNNRT_API qnnrt_tensor qnnrt_builder_tensor(qnnrt_builder *builder, const qnnrt_tensor_desc *desc)
{
    qnnrt__build *b = qnnrt__builder_going(builder, desc, "qnnrt_builder_tensor");
    qnnrt_tensor_desc own;
    qnnrt__build_tensor *tensor;
    if (b == NULL || qnnrt__build_needs_graph(b, "a tensor") != QNNRT_OK) return -1;
    own = *desc;
    if ((desc->name == NULL
             ? qnnrt__build_number(b, &b->tensor_names, "t", "", b->graph->tensor_count,
                                   &b->graph->tensor_number, &own.name)
             : qnnrt__build_name(b, desc->name, "a tensor", &own.name)) != QNNRT_OK) return -1;
    if (qnnrt__tensor_record(b, &own, &tensor) != QNNRT_OK ||
        qnnrt__tensor_add(b, tensor) != QNNRT_OK) return -1;
    tensor->unnamed = desc->name == NULL;
    return b->handles;
}

QNNRT_API void qnnrt_builder_node(qnnrt_builder *builder, const qnnrt_node_desc *desc)
{
    qnnrt__build *b = qnnrt__builder_going(builder, desc, "qnnrt_builder_node");
    qnnrt__build_node *node;
    if (b == NULL || qnnrt__node_make(b, desc, &node) != QNNRT_OK) return;
    if (!qnnrt__build_take(b, &b->node_names, node->op.name)) qnnrt__build_no_memory(b);
    *b->graph->last = node;
    b->graph->last = &node->next;
    b->graph->node_count += 1;
    b->at.node_count += 1;
}

QNNRT_API qnnrt_result qnnrt_builder_supports(qnnrt_builder *builder, const qnnrt_node_desc *desc,
                                              qnnrt_error *err)
{
    const qnnrt_error *first = qnnrt_builder_error(builder);
    qnnrt_error own;
    qnnrt__build *b;
    qnnrt_arena arena;
    qnnrt__build_node *node;
    qnnrt__abi_op op;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (err == NULL) err = &own;
    if (builder == NULL || desc == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_builder_supports: builder or desc is NULL");
    if (first->code != QNNRT_OK) {
        *err = *first;
        return first->code;
    }
    b = builder->now;
    memset(&arena, 0, sizeof(arena));
    arena.hooks = b->backend->hooks;
    b->into = &arena;
    b->err = err;
    result = qnnrt__node_make(b, desc, &node);
    if (result == QNNRT_OK) {
        op = qnnrt__node_op(b, node);
        qnnrt__hooks_lock(&b->backend->hooks);
        result = qnnrt__device_choose(b);           /* validators use the newest device */
        if (result == QNNRT_OK)
            result = qnnrt__validate(b->backend, &op, 1, b->graph->desc.name, err);
        qnnrt__hooks_unlock(&b->backend->hooks);
    }
    b->op = NULL;
    b->into = &b->arena;
    b->err = &b->error;
    qnnrt_arena_free(&arena);
    return result;
}

QNNRT_API qnnrt_result qnnrt_builder_finish(qnnrt_builder *builder, qnnrt **out, qnnrt_error *err)
{
    const qnnrt_error *first = qnnrt_builder_error(builder);
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (builder == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_builder_finish: builder is NULL");
    if (out == NULL && first->code == QNNRT_OK) {
        builder->now->graph = NULL;
        qnnrt_error_set(&builder->now->error, QNNRT_E_ARG, "qnnrt_builder_finish: out is NULL");
    }
    result = first->code;
    if (result == QNNRT_OK) result = qnnrt__compose_finish(builder->now, out);
    if (err != NULL && result != QNNRT_OK) *err = *first;
    qnnrt_builder_destroy(builder);
    return qnnrt__hint_general(err, result);
}

QNNRT_API void qnnrt_builder_destroy(qnnrt_builder *builder)
{
    const char *node = qnnrt_builder_failed_node(builder);
    const char *graph = qnnrt_builder_failed_graph(builder);
    qnnrt_backend *backend;
    if (builder == NULL || builder->now == NULL) return;
    backend = builder->backend;
    if (node != NULL) builder->failed_node = qnnrt_arena_text(&builder->keep, node, strlen(node));
    if (graph != NULL)
        builder->failed_graph = qnnrt_arena_text(&builder->keep, graph, strlen(graph));
    qnnrt__device_free(backend, builder->now->device);
    qnnrt_arena_free(&builder->now->arena);
    qnnrt_hooks_free(&backend->hooks, builder->now);
    builder->now = NULL;
    qnnrt__os_count(&backend->users, -1);
}

QNNRT_API qnnrt_result qnnrt_builder_key(qnnrt_builder *builder, uint64_t key[2], qnnrt_error *err)
{
    const qnnrt_error *first = qnnrt_builder_error(builder);
    qnnrt__key own;
    qnnrt_error_clear(err);
    if (key != NULL) key[0] = key[1] = 0;
    if (builder == NULL || key == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_builder_key: builder or key is NULL");
    if (first->code != QNNRT_OK) {
        if (err != NULL) *err = *first;
        return first->code;
    }
    own = qnnrt__key_of(builder->now);
    key[0] = own.a;
    key[1] = own.b;
    return QNNRT_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_BUILDER__IMPL_ONCE */
#endif /* QNNRT_BUILDER_IMPLEMENTATION */

/* Licence and history: at the end of qnnrt.h. */
