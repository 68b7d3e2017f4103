/* qnnrt_lower.h - v0.5.0 - graphs in ATen operators as graphs of QNN operators, to build and save

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_lower.h"
       #define QNNRT_BUILDER_IMPLEMENTATION
       #define QNNRT_WEIGHTS_IMPLEMENTATION
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_IR_PASSES_IMPLEMENTATION
       #define QNNRT_LOWER_IMPLEMENTATION
       #include "qnnrt_lower.h"
   The headers that it includes lie beside this file or are found by the compiler. Link with
   -ldl -lm.

       qnnrt_lower_desc desc = {0};
       desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
       qnnrt_lower_create(&desc, &lower, &err);
       // ir: from qnnrt_ir_read(), without findings; weights: from qnnrt_weights_open()
       if (qnnrt_lower_weights(lower, ir, weights, &err) != QNNRT_OK) puts(err.text);
       if (qnnrt_lower_passes(lower, ir, &err) != QNNRT_OK) puts(err.text);
       if (qnnrt_lower_graph(lower, ir, "model", &err) != QNNRT_OK) puts(err.text);
       qnnrt_builder_create(backend, NULL, &builder, &err);
       if (qnnrt_lower_emit(lower, builder, &err) != QNNRT_OK) puts(err.text);   // asks the library
       qnnrt_builder_finish(builder, &model, &err);      // reads the weights, one at a time
       qnnrt_save(model, 0, "model.bin", &err);

   Uses     Public names of the headers below it, libc and libm
   Trust    Graphs and weights may be hostile, once qnnrt_ir_check() has no finding. The caller and
            the library are trusted.
   Memory   One allocator hook serves every allocation. Weights are converted when the library asks
            for them, one at a time.
   Threads  The header creates none. One qnnrt_lower belongs to one thread at a time.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       lower      express a node of the graph with operators that the library has
       target     the kind of library: its rules decide between ways to lower a node
       storage    a value of the graph in a tensor: its elements in an order of its axes
       order      axes of a value from the slowest to the fastest: 0,2,3,1 is NHWC for a value that
                  the graph calls NCHW
       static     a tensor whose elements are known: a weight, a constant, or made here
       finding    a node that cannot be lowered, or an operator that the library refuses

   BUILD OPTIONS, to define before the header is first included
       QNNRT_LOWER_API  replaces the storage and export prefix of all functions (default: QNNRT_API)
       The options of qnnrt.h work here too:
       QNNRT_STATIC     makes every function static: all implementations and all calls in one file
       QNNRT_API        sets the prefix of all functions, for example for hidden visibility

   MANUAL

   Order of the calls
       Weights before passes: batch norms are folded into weights, and tables of weights through
       constant indices are computed, where the file has them in the type of the graph. Passes
       before the graph: some operators, such as relu_ and the rotary embedding, only exist before
       them.
       Several graphs may follow each other; weights that they share are the same tensors of the
       file, and one copy in the binary if the library shares weights (context_desc.weight_sharing).
       `lower` and the weights must live until qnnrt_builder_finish() returns, which reads them. A
       graph that was given to one `lower` has marks of it, and cannot be given to another.

   Findings
       A node without a rule, a node whose rule does not cover it, an operator that the library
       refuses, and one that the library accepts but computes wrong (qnnrt_quirks.h): all are
       collected, so that one run names everything that has to change.
           info = qnnrt_lower_get_info(lower);
           for (i = 0; i < info->finding_count; ++i) puts(info->findings[i].text);

   Layout
       QNN convolutions want the channels last, ATen has them second. No pass rewrites the graph
       for that. Instead a value may be stored in any order of its axes: transpose, permute,
       unsqueeze and most views only rename axes, and operators that work element by element, along
       one axis or over some axes work in the order that their input has. A Transpose is made where
       an operator needs another order, once for all that need it. So a convolutional network has
       one at its input and often none after it.

   Types
       Every float of the graph has the compute type: float16 on HTP, float32 elsewhere. Inputs and
       outputs are float32, unless native_io is set. int64, int16, int8 and uint8 become int32, bool
       stays bool. Constants beyond float16, such as the -3.4e38 of a mask, become its largest
       number; a weight beyond it is an error.

   Quantized weights
       With desc.weight_bits the weights of FullyConnected, Conv2d, DepthWiseConv2d and MatMul are
       signed integers with one scale per output channel, and activations stay float. 8 bits: the
       scale is the largest value / 127. 4 bits: -7 to 7, with the scale, among those that clip some
       values, whose rounding has the least square error; with desc.weight_block each block of
       inputs has a scale of its own. Scales are computed by qnnrt_lower_graph(), which reads these
       weights; quantized values when the builder reads them. Tables of embeddings stay float:
       the library gathers in the type of the table. qnnrt_quirks.h says what a library takes. A
       weight that it does not take stays as it is, and info.weight_only says why; if that is so
       for all weights it is a finding. With desc.weight_emulate such weights are rounded as
       well, and stored as floats.

   Quantized activations
       With desc.act_bits the float tensors of a graph become unsigned integers of 16 or 8 bits,
       each with a scale and an offset. Ranges come from the graph itself: lower it with watch =
       2, run it with samples, and give what the outputs and inputs had as desc.encodings of a
       second `lower`; tensors have the same names there. Or give the scales that another tool
       chose.
           desc.act_bits = 16;   desc.encodings = encodings;   desc.encoding_count = n;
           // create, weights, passes, graph
           qnnrt_builder_create(backend, NULL, &scratch, &err);
           if (qnnrt_lower_quantize(lower, scratch, &err) != QNNRT_OK) puts(err.text);
           qnnrt_builder_destroy(scratch);
           // emit, finish
       Tensors that an operator only moves (Reshape, Concat, StridedSlice, Gather, PoolMax2d ...)
       have one encoding. Weights of layers become int8 with a scale for each output channel, or
       for all of them where the library wants that; biases int32. An operator that the library
       refuses when quantized computes in floats, between Dequantize and Quantize: op.in_float says
       why. Inputs and outputs stay float32; with native_io they are quantized.
       A tensor without a range is an error. libQnnCpu.so 2.47 is refused: what Quantize and
       Dequantize compute is 0 from the second execution on, a quantized Relu clips nothing, the
       library crashes when it opens a binary with a quantized Conv2d or DepthWiseConv2d, and it has
       no operators for 16 bits. Weights in blocks are for float activations.

   Contexts
       With desc.contexts the graphs are cut into several contexts with near equal shares of the
       weights, where the fewest bytes cross. Each context has a graph of the same name, so that the
       saved files, loaded as shards, form one pipeline. A weight that several graphs read is in one
       context for all of them. Graphs that are parts of a model already are put into contexts by
       qnnrt_lower_place().

   A new operator
       Write a function in the room that it belongs to, and a row in >>table. Take the input with
       qnnrt_lower__in(), bring it into an order with __arrange() (one input) or __align()
       (several), make operators with __op(), and say with __set() in which order the result is
       stored. __op() returns an operator that exists already instead of a second one, and 0 after a
       finding; functions pass 0 on, so that no check is needed between the steps.

   Operators of your own
       An op package (qnnrt_backend_register_ops()) has operators that no library has. desc.custom
       says which operator of the graph becomes which one of a package, and which of its arguments
       become parameters; the library is asked about them as about others. Such a row comes before
       the rules of this header, and after the passes. Name the operators in qnnrt_ir_desc.custom,
       too, so that they are no findings: the shapes of their outputs are those of the file.
           qnnrt_lower_custom_param slope = { "slope", NULL, QNNRT_DTYPE_F32, 0, 0 };
           qnnrt_lower_custom row = { "mylib.line.default", "my.package", "LineOf", NULL, 0,
                                      &slope, 1 };

   Indices
       An index that is not a row of a table makes HTP fail (0x44c). libQnnCpu.so fails (0x1770) or,
       with -1, computes with a wrong row. Only index.Tensor takes indices below 0. So an input has
       the range of values that all its readers take: embedding, index_select, gather, index_copy
       and index, of the input itself or of views, copies and casts of it. qnnrt_manifest.h can
       write it for qnnrt_open(). Indices that the graph computes from an input are not followed.

   ROOMS (search for the tag)
       >>config >>arena >>params >>tensor >>static >>operator                       the floor
       >>layout >>align                                                             values
       >>elementwise >>binary >>shape >>reduce >>linear >>attention >>places >>convolve >>image
       >>norm >>select >>recipe >>sequence >>table >>range >>digits                 operators
       >>round >>weight_only >>custom >>graph >>encode >>propagate >>forms >>quant        programs
       >>cut >>emit >>public
*/
#ifndef QNNRT_LOWER_H
#define QNNRT_LOWER_H

#include "qnnrt_builder.h"
#include "qnnrt_weights.h"
#include "qnnrt_ir_passes.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_lower.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_LOWER_API
#define QNNRT_LOWER_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of libraries, whose rules differ. */
typedef enum qnnrt_lower_target {
    QNNRT_LOWER_REF = 0,             /* libQnnRef.so, and libraries without known rules */
    QNNRT_LOWER_CPU,                 /* libQnnCpu.so */
    QNNRT_LOWER_HTP                  /* libQnnHtp.so */
} qnnrt_lower_target;

/* Return the target of an opened backend. */
QNNRT_LOWER_API qnnrt_lower_target qnnrt_lower_target_of(const qnnrt_backend_info *backend);

/* How quantized values of a tensor become real numbers, or which range they have to cover. */
typedef struct qnnrt_lower_encoding {
    const char  *graph;              /* NULL: all graphs */
    const char  *name;               /* of a tensor, as in qnnrt_lower_tensor or of the value that
                                        it holds, or of a weight, as in its file */
    uint32_t     bits;               /* 8 or 16, of a weight 4 or 8 (default 0: act_bits, of a
                                        weight 8); 32 of a bias: its scale follows from its weight
                                        and input, and this one is not used */
    float        scale;              /* real = (q + offset) * scale; q is unsigned
                                        (default 0: low and high decide) */
    int32_t      offset;             /* 1 - 2^bits to 0 */
    double       low, high;          /* what was measured */
    int          masked;             /* 1: values at or below QNNRT_LOWER_MASKED were met, too */
    int          apart;              /* 1: what an operator only moves into this tensor has an
                                        encoding of its own, and is converted: caches of 8 bits */
    const float *scales;             /* of a weight: [count], one for each output channel */
    uint32_t     count;
} qnnrt_lower_encoding;

/* Values at or below are those of masks. A range does not cover them: they are only kept so far
   below the others that Softmax makes them 0. */
#define QNNRT_LOWER_MASKED (-10000.0)

/* Two inputs or outputs, of one graph or of two, with one encoding: the two ends of a state. */
typedef struct qnnrt_lower_same {
    const char *graphs[2];           /* NULL: every graph */
    const char *names[2];
} qnnrt_lower_same;

/* A parameter of an operator of the caller. */
typedef struct qnnrt_lower_custom_param {
    const char *name;                /* of the operator: "slope" */
    const char *attr;                /* argument of the node (default NULL: .name). A list of
                                        integers becomes a vector */
    qnnrt_dtype dtype;               /* F32, I32, U32, I16, U16, I8, U8 or BOOL8 */
    double      value;               /* if the node does not have the argument ... */
    int         optional;            /* 1: ... and this is set (default 0: then it is a finding) */
} qnnrt_lower_custom_param;

/* An operator of an op package (qnnrt_backend_register_ops()) for an operator of the graph. */
typedef struct qnnrt_lower_custom {
    const char *op;                  /* of the graph: "mylib.line.default" */
    const char *package, *type;      /* of the library: "my.package", "LineOf"; "qti.aisw" has the
                                        operators that come with it */
    const uint32_t *inputs;          /* [input_count] which input of the node each input of the
                                        operator is (default NULL: all of them, in their order) */
    size_t      input_count;
    const qnnrt_lower_custom_param *params;
    size_t      param_count;         /* at most 8 */
} qnnrt_lower_custom;

/* How the scales of a quantized weight are found. */
typedef enum qnnrt_lower_method {
    QNNRT_LOWER_MINMAX = 1,          /* the largest value has the largest code */
    QNNRT_LOWER_MSE                  /* the least square error of 8 scales up to that, each with the
                                        factor that fits its values best */
} qnnrt_lower_method;

typedef struct qnnrt_lower_desc {
    qnnrt_hooks        hooks;        /* alloc and free are used */
    qnnrt_lower_target target;
    qnnrt_dtype        compute;      /* F16 or F32 (default 0: F16 for HTP, else F32) */
    int                native_io;    /* 1: inputs and outputs have the compute type */
    int                no_ask;       /* 1: qnnrt_lower_emit() asks neither the library nor
                                        qnnrt_quirks.h about operators, except whether they end the
                                        process: qnnrt_builder_finish() decides, and known errors of
                                        libraries are not avoided, nor weights that they refuse.
                                        See also qnnrt_builder_desc.no_validate */
    int                watch;        /* 1: every value of the graph becomes an output, if it is
                                        stored in a tensor of its own; 2: so does every float
                                        tensor that an operator computes, with its name */
    const char        *build_id;     /* of the library, as in qnnrt_backend_info: what is known to
                                        be wrong differs (default NULL: any release) */
    uint32_t           contexts;     /* to cut the graphs into, by bytes of weights (default 0:
                                        1) */
    qnnrt_context_desc context;      /* options of all contexts; .name is not used */
    qnnrt_graph_desc   graph;        /* options of all graphs; .name is not used, and
                                        .exact_activations is 1 for graphs of floats */
    int                fast_activations;   /* 1: HTP may read activations from tables of 8 bits,
                                        see qnnrt_graph_desc.exact_activations */
    uint32_t           positions;    /* rows of tables of angles (default 0: 4096) */
    double             rope_base;    /* of "inv_freq" weights that no file has (default 0: such a
                                        weight is missing) */
    void             (*passed)(void *user, const char *pass, const qnnrt_ir *ir);
                                     /* is called after each pass, "rms_norm" (default NULL) */
    void              *passed_user;
    qnnrt_dtype      (*io)(void *user, const qnnrt_ir *ir, const qnnrt_ir_value *value, int output,
                           size_t index);
                                     /* returns the type of an input (output 0) or output of a
                                        graph, a float, number `index` in ir; or 0: as native_io
                                        says (default NULL) */
    void              *io_user;
    uint32_t           weight_bits;  /* 8 or 4: of the weights that operators multiply with, see
                                        "Quantized weights" (default 0: as they are computed) */
    uint32_t           weight_block; /* 4 bits: inputs that share a scale (default 0: all inputs of
                                        an output channel) */
    int                weight_emulate;   /* 1: a weight that the library takes in the compute type
                                        alone is rounded all the same (default 0: it is kept, or an
                                        error if there is no other) */
    uint32_t         (*weight_bits_of)(void *user, const qnnrt_ir_value *weight, const char *type,
                                       uint32_t bits);
                                     /* returns the bits of a weight, 0, 8 or 4, that an operator of
                                        this type reads; bits: the default (default NULL: `bits`) */
    void              *weight_user;
    uint32_t           act_bits;     /* 8 or 16: activations are quantized to so many bits,
                                        see "Quantized activations" (default 0: floats) */
    const qnnrt_lower_encoding *encodings;       /* [encoding_count]; a later one of the same name
                                        replaces an earlier one, and a scale replaces ranges. As
                                        .same it must live until qnnrt_lower_free() */
    size_t             encoding_count;
    const qnnrt_lower_same *same;    /* [same_count] */
    size_t             same_count;
    const qnnrt_lower_custom *custom;    /* [custom_count] operators of op packages, see "Operators
                                            of your own" (default NULL); it must live as long as
                                            the result of qnnrt_lower_create() */
    size_t             custom_count;
    int                weight_optional;  /* 1: a graph in which no weight can have weight_bits keeps
                                            all of them (default 0: that is an error) */
    qnnrt_lower_method weight_method;    /* how scales of its weights are found (default 0: MINMAX
                                        for 8 bits, MSE for 4) */
    int              (*updateable)(void *user, const char *name);
                                     /* returns 1 for an input of floats that becomes a tensor of
                                        the graph in the compute type, 0 until qnnrt_update()
                                        (default NULL: none) */
    void              *updateable_user;
} qnnrt_lower_desc;

typedef struct qnnrt_lower qnnrt_lower;

typedef struct qnnrt_lower_tensor {
    const char           *name;
    qnnrt_tensor_kind     kind;
    qnnrt_dtype           dtype;
    uint32_t              rank, dims[8];
    uint64_t              count, bytes;
    qnnrt_quant           quant;     /* NONE, PER_TENSOR or PER_AXIS */
    const qnnrt_blocks   *blocks;    /* replaces quant (NULL: quant applies) */
    const qnnrt_ir_value *value;     /* the value of the graph that it holds, NULL: a part of one */
    int32_t               op;        /* its producer in .ops, -1: an input or static */
    uint32_t              readers;
    int                   used;      /* 0: nothing that an output needs reads it */
    int                   has_range; /* 1: of an int32 input, low to high are the values that nodes
                                        can use as an index, see "Indices" */
    int32_t               low, high;
    uint32_t              context;   /* of its producer; of an input or static: 0 */
    uint32_t              last;      /* context of its last reader */
    size_t                weight_only;   /* 1 + number in info.weight_only, 0: not there */
} qnnrt_lower_tensor;

typedef struct qnnrt_lower_op {
    const char             *type;    /* "MatMul" */
    const char             *package; /* NULL: the library's own */
    const char             *name;    /* for the library, "relu.Relu.7"; NULL: not used */
    const qnnrt_ir_node    *node;    /* that it was made for; NULL: an input or output */
    const int32_t          *inputs, *outputs;    /* indices in .tensors; 0: an omitted input */
    size_t                  input_count, output_count;
    const qnnrt_param_desc *params;
    size_t                  param_count;
    int                     used;    /* 0: nothing that an output needs reads it */
    uint32_t                context; /* that it belongs to */
    const char             *in_float;            /* of quantized graphs: why it computes in floats,
                                        NULL: it does not, or was not asked to */
} qnnrt_lower_op;

typedef struct qnnrt_lower_finding {
    const qnnrt_ir_node *node;       /* NULL: the graph as a whole */
    const char          *text;       /* one line: node, operator, shapes, reason */
    const char          *hint;       /* one sentence, or "" */
} qnnrt_lower_finding;

typedef struct qnnrt_lower_graph_info {
    const char               *name;
    const qnnrt_ir           *ir;
    const qnnrt_lower_tensor *tensors;           /* [tensor_count], the first one is nothing */
    size_t                    tensor_count;
    const qnnrt_lower_op     *ops;               /* [op_count] in an order in which they can run */
    size_t                    op_count;
    size_t                    used_ops;
    uint64_t                  static_bytes;      /* of static tensors that are used */
    const int32_t            *inputs, *outputs;  /* [ir->input_count], [ir->output_count]: tensors;
                                                    an input that nothing reads: 0 */
    const qnnrt_ir_node      *no_nan;            /* first of the nodes that give NaN in PyTorch in
                                                    rows whose mask leaves nothing, and numbers in
                                                    this library; NULL: none */
    size_t                    no_nan_count;
} qnnrt_lower_graph_info;

/* A weight that was asked to be quantized, in one form. */
typedef struct qnnrt_lower_weight_only {
    const char         *name;        /* of the weight */
    const char         *type;        /* of the operator that reads it */
    const qnnrt_weight *weight;      /* its data */
    uint32_t            rank, dims[8];   /* as stored */
    uint32_t            bits;        /* 8 or 4; 0: it stays as it is, see .why */
    uint32_t            block;       /* inputs that share a scale, 0: one scale per channel */
    int                 emulated;    /* 1: stored in the compute type, its values are rounded */
    const char         *why;         /* it stays as it is, has another form, is emulated; or "" */
    uint64_t            float_bytes; /* in the compute type */
    uint64_t            bytes;       /* values of .bits and scales */
    int                 measured;    /* 1: it was read by the builder, and these are known: */
    double              snr;         /* power of the weight to that of the rounding, in dB; infinite
                                        if all values are exact */
    double              worst;       /* largest difference */
    int                 kept;        /* 1: weight_bits_of said that it stays */
} qnnrt_lower_weight_only;

typedef struct qnnrt_lower_info {
    const qnnrt_lower_graph_info *graphs;
    size_t                        graph_count;
    const qnnrt_lower_finding    *findings;
    size_t                        finding_count;
    uint32_t                      contexts;      /* that have operators */
    uint64_t                      flushed;       /* values of weights that became 0 in float16 */
    uint64_t                      clamped;       /* values of constants beyond float16 */
    const qnnrt_lower_weight_only *weight_only;  /* in the order in which operators read them */
    size_t                        weight_only_count;
    const char *const            *folded;        /* names of encodings with scales that were not
                                                    used, after qnnrt_lower_quantize(): passes have
                                                    folded or fused their tensors, or another
                                                    library has them */
    size_t                        folded_count;
} qnnrt_lower_info;

/* Begin. desc may be NULL or on the stack; its lists must live as long as the result.
   Returns  QNNRT_OK; QNNRT_E_ARG; QNNRT_E_UNSUPPORTED (act_bits for libQnnCpu.so); QNNRT_E_MEMORY
   Frees    qnnrt_lower_free(), after the model is finished: the builder reads from it */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_create(const qnnrt_lower_desc *desc, qnnrt_lower **out,
                                                qnnrt_error *err);
QNNRT_LOWER_API void qnnrt_lower_free(qnnrt_lower *lower);

/* Find the data of the weights that a graph reads: value->note is set, and belongs to `lower` from
   now on.

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND or QNNRT_E_MISMATCH: the text lists the weights that are
            missing, or have another shape; QNNRT_E_MEMORY; QNNRT_E_ARG */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_weights(qnnrt_lower *lower, qnnrt_ir *ir,
                                                 const qnnrt_weights *weights, qnnrt_error *err);

/* Return the weight that qnnrt_lower_weights() found or computed for a value, or NULL. Its dtype
   may differ from the value's. */
QNNRT_LOWER_API const qnnrt_weight *qnnrt_lower_weight_of(const qnnrt_ir_value *value);

/* Count the values of a weight that are NaN or infinite. A mask may be infinite: a weight in which
   every value is 0 or -infinity. Integers are good.

   Returns  QNNRT_OK; QNNRT_E_MISMATCH: the text has the name, the counts and the first of them;
            QNNRT_E_ARG
   Cost     reads the weight once */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_check_weight(const qnnrt_weight *weight, qnnrt_error *err);

/* Run the passes of qnnrt_ir_passes.h that the target wants, and fold constants. Weights that
   are folded are checked: QNNRT_E_MISMATCH, see qnnrt_lower_check_weight(). The others are checked
   when the builder asks for them. */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_passes(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err);

/* Lower a graph. ir must live as long as `lower`, and must not change.

   name     of the graph, unique within the program
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED: some nodes cannot be lowered, the text lists the first
            ones and info.findings all of them; QNNRT_E_ARG; QNNRT_E_MEMORY */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_graph(qnnrt_lower *lower, const qnnrt_ir *ir,
                                               const char *name, qnnrt_error *err);

/* Put the graphs that are lowered from now on, as a whole, into context number `context`, counted
   from 0; desc.contexts does not count then. Graphs that were lowered before the first call are in
   context 0. Each context must get a graph.
   Returns QNNRT_OK; QNNRT_E_ARG (lower is NULL, or context is 65,535 or more) */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_place(qnnrt_lower *lower, uint32_t context,
                                               qnnrt_error *err);

/* Replace desc.encodings: for names and operators that are known once the graphs were lowered. Call
   it before qnnrt_lower_quantize(). The list must live as long.
   Returns  QNNRT_OK; QNNRT_E_ARG (also after qnnrt_lower_quantize()) */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_encode(qnnrt_lower *lower,
                                                const qnnrt_lower_encoding *encodings, size_t count,
                                                qnnrt_error *err);

/* Quantize activations to desc.act_bits bits, with desc.encodings: call it after all graphs were
   lowered, before qnnrt_lower_emit(). Without act_bits it does nothing.

   scratch  builder of the same backend and chip, in which the library is asked about operators: do
            not finish it, destroy it afterwards
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND: tensors have no range, or encodings have no tensor: the
            text lists them; QNNRT_E_MISMATCH: an encoding or a range is not usable, or a weight
            has NaN; QNNRT_E_ARG; QNNRT_E_MEMORY; the builder's error */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_quantize(qnnrt_lower *lower, qnnrt_builder *scratch,
                                                  qnnrt_error *err);

/* Add all graphs to a builder, in contexts of their own; it asks the library about each operator
   first. Operators that are known to compute wrong values on the target are refused, too
   (qnnrt_quirks.h). With several contexts each has a part of each graph, with the same name: as
   shards they form one pipeline.

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED: the library refuses some operators, info.findings lists
            all of them; the builder's error; QNNRT_E_MEMORY */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_emit(qnnrt_lower *lower, qnnrt_builder *builder,
                                              qnnrt_error *err);

/* Ask the library about all operators of all graphs, in a builder that is thrown away afterwards.
   Nothing is added to it but tensors. Graphs that have findings already are asked about, too.
   Returns  QNNRT_OK, also after findings: see info.findings; the builder's error; QNNRT_E_ARG;
            QNNRT_E_MEMORY */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_ask(qnnrt_lower *lower, qnnrt_builder *builder,
                                             qnnrt_error *err);

/* Return the node that an operator was made for, by the names of graph and operator, which
   qnnrt_builder_failed_graph() and qnnrt_builder_failed_node() give; NULL: there is none. */
QNNRT_LOWER_API const qnnrt_ir_node *qnnrt_lower_node_of(const qnnrt_lower *lower,
                                                         const char *graph, const char *op);

/* Compute the values that a quantized weight has after rounding, in the order of the weight,
   without the factor that its operator multiplies with (alpha of addmm).
   number   in info.weight_only; .bits must not be 0
   values   [weight->count]
   Returns  QNNRT_OK; QNNRT_E_ARG; QNNRT_E_MEMORY; QNNRT_E_MISMATCH */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_weight_only_values(qnnrt_lower *lower, size_t number,
                                                            float *values, qnnrt_error *err);

/* Write the elements of a static tensor, as the builder gets them.
   graph, tensor   numbers in info.graphs and in its .tensors
   bytes           of data; must be the tensor's
   Returns         QNNRT_OK; QNNRT_E_ARG; QNNRT_E_MEMORY; QNNRT_E_MISMATCH */
QNNRT_LOWER_API qnnrt_result qnnrt_lower_static_data(qnnrt_lower *lower, size_t graph,
                                                     size_t tensor, void *data, size_t bytes,
                                                     qnnrt_error *err);

/* Return what was made, valid until the next call with `lower`. */
QNNRT_LOWER_API const qnnrt_lower_info *qnnrt_lower_get_info(qnnrt_lower *lower);

/* What is known about lowering an operator. */
typedef struct qnnrt_lower_rule {
    const char *op;                  /* names, separated by spaces: "to.*" is all that begin so, "*"
                                        all with words of qnnrt_ir_recipe() */
    const char *emits;               /* QNN operators that it may become, or "" */
    const char *limits;              /* what is refused, or "" */
} qnnrt_lower_rule;

/* Return the rules one by one, then NULL. */
QNNRT_LOWER_API const qnnrt_lower_rule *qnnrt_lower_rule_get(size_t index);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LOWER_H, end of the declarations */

#ifdef QNNRT_LOWER_IMPLEMENTATION
#ifndef QNNRT_LOWER__IMPL_ONCE
#define QNNRT_LOWER__IMPL_ONCE

#include "qnnrt_quirks.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   The state of a program, and errors, for every room.
   Needs: nothing     Knows nothing of: operators
   ===================================================================================== */

enum {
    QNNRT_LOWER__RANK = 8, QNNRT_LOWER__NONE = 0,
    QNNRT_LOWER__MOST_INPUTS = 64,   /* of an operator */
    QNNRT_LOWER__MOST_RANK = 4,      /* that all operators of all libraries take */
    QNNRT_LOWER__MOST_TABLE = 1 << 26,           /* numbers that are computed for one operator */
    QNNRT_LOWER__MOST_FOURIER = 1 << 23,         /* numbers of the matrix of a transform */
    QNNRT_LOWER__MOST_STEPS = 256                /* of recurrent layers that are written out */
};

typedef struct qnnrt_lower__graph qnnrt_lower__graph;
typedef struct qnnrt_lower__weight_only qnnrt_lower__weight_only;

/* In which context a weight is, with several contexts. */
typedef struct qnnrt_lower__home {
    struct qnnrt_lower__home *next;              /* of the same hash */
    const qnnrt_weight       *weight;
    uint32_t                  context;
} qnnrt_lower__home;

/* What belongs to a value of the IR: qnnrt_ir_value.note. */
typedef struct qnnrt_lower__record {
    const qnnrt_weight *weight;      /* WEIGHT: its data, or NULL */
    const qnnrt_weights *file;       /* that has the weight, NULL: memory */
    qnnrt_weight        own;         /* of a constant, and of what was computed here */
    int32_t             tensor;      /* where the value is stored, 0: nowhere yet */
    uint32_t            order[QNNRT_LOWER__RANK];    /* the storage's axes, slowest first */
    int32_t             statics;     /* first of the static tensors with its data */
    int                 narrow;      /* 1: tensor has the value before `expand`, with .dims */
    int                 ranged;      /* 1: low to high are its values that readers take */
    int64_t             low, high;
    int64_t             dims[QNNRT_LOWER__RANK];
    int                 whole, sums; /* 1: it comes of integers; of cumsum, as it is */
    int                 angle;       /* 1: it is an input, moved; 2: times numbers */
    const char         *digits;      /* why float16 has too few digits for it, or NULL */
} qnnrt_lower__record;

/* What a tensor has besides the public part. */
typedef struct qnnrt_lower__body {
    qnnrt_lower         *lower;
    const qnnrt_lower__record *source;           /* STATIC: its data, or NULL: .data */
    const void          *data;                   /* STATIC: of the tensor's dtype */
    uint32_t             source_rank;
    uint64_t             source_dims[QNNRT_LOWER__RANK];
    uint32_t             order[QNNRT_LOWER__RANK];       /* axes of the source in the tensor */
    double               scale;                  /* of the source */
    int32_t              root;                   /* the tensor of which this is a reshape */
    int32_t              next;                   /* of the same source, or of the same hash */
    qnnrt_lower__weight_only *weight_only;       /* STATIC: its form, NULL: as it is */
    int32_t              weight_only_next;       /* STATIC: of the same data in another form */
} qnnrt_lower__body;

struct qnnrt_lower__graph {
    qnnrt_lower           *lower;
    qnnrt_lower_graph_info info;
    qnnrt_lower_tensor    *tensors;
    qnnrt_lower__body     *bodies;               /* [tensor_room] */
    size_t                 tensor_count, tensor_room;
    qnnrt_lower_op        *ops;
    int32_t               *op_next;              /* of the same hash */
    size_t                 op_count, op_room;
    int32_t               *op_hash, *data_hash;  /* [QNNRT_LOWER__HASH] */
    int32_t               *inputs, *outputs;
    size_t                 base;                 /* of its tensors among those of all graphs */
    const qnnrt_ir_node   *node;                 /* that is being lowered */
    int                    failed;               /* 1: the node has a finding */
    size_t                 refused;              /* nodes with findings */
    uint32_t               place;                /* 1 + the context of the whole graph, 0: none */
    qnnrt_lower__graph    *next;
};
enum { QNNRT_LOWER__HASH = 4096 };

/* A copy of a weight, in the type of the graph, that the passes read; its elements follow. */
typedef struct qnnrt_lower__lent {
    struct qnnrt_lower__lent *next;
    qnnrt_ir_value           *value;
} qnnrt_lower__lent;

struct qnnrt_lower {
    qnnrt_lower_desc        desc;
    qnnrt_dtype             compute;
    qnnrt_arena             arena, scratch;  /* scratch: while a node is lowered */
    qnnrt_lower__lent      *lent;            /* while passes run: the last one, or NULL */
    qnnrt_lower__graph     *first, **last;
    size_t                  graph_count;
    qnnrt_lower_finding    *findings;
    size_t                  finding_count, finding_room;
    qnnrt_weights_loss      loss;                /* of weights, over all loads */
    uint64_t                clamped;
    int                     quantized;           /* 1: qnnrt_lower_quantize() was called */
    qnnrt_lower__home     **homes;               /* [QNNRT_LOWER__HASH], NULL: not yet needed */
    qnnrt_lower__weight_only *weight_only, **weight_only_last;
    size_t                  weight_only_count;
    uint32_t                place;               /* of the next graph */
    qnnrt_lower_info        info;
    qnnrt_lower_graph_info *graphs;              /* of info */
};

static qnnrt_result qnnrt_lower__fail_memory(qnnrt_error *err)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a lowered graph");
}

/* Return true if a list of names, separated by spaces, has the name of an operator. A name that
   ends in "*" stands for all that begin so. */
static int qnnrt_lower__listed(const char *list, const char *op)
{
    for (;;) {
        const size_t length = strcspn(list, " ");
        const int begins = list[length - 1] == '*';
        if (strncmp(list, op, length - (size_t)begins) == 0 && (begins || op[length] == '\0'))
            return 1;
        if (list[length] == '\0') return 0;
        list += length + 1;
    }
}

/* Copy the error of a builder, and return its code. */
static qnnrt_result qnnrt_lower__builder_error(const qnnrt_builder *builder, qnnrt_error *err)
{
    const qnnrt_error *error = qnnrt_builder_error(builder);
    if (err != NULL) *err = *error;
    return error->code;
}

/* =====================================================================================
   ARENA                                                                          >>arena
   Memory that is freed as a whole.
   Needs: >>config     Knows nothing of: what it holds
   ===================================================================================== */

static void *qnnrt_lower__copy(qnnrt_lower *lower, const void *data, size_t bytes)
{
    void *copy = qnnrt_arena_get(&lower->arena, bytes, 1);
    if (copy != NULL && bytes > 0) memcpy(copy, data, bytes);
    return copy;
}

__attribute__((format(printf, 2, 3)))
static const char *qnnrt_lower__text(qnnrt_lower *lower, const char *format, ...)
{
    char text[1024], *copy;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = (char *)qnnrt_lower__copy(lower, text, strlen(text) + 1);
    return copy != NULL ? copy : "";
}

/* Append a shape to an error's text, as in [1,3,224,224]. */
static void qnnrt_lower__add_shape(qnnrt_error *err, uint32_t rank, const int64_t *dims)
{
    uint32_t i;
    for (i = 0; i < rank; ++i)
        qnnrt_error_add(err, "%s%lld", i == 0 ? "[" : ",", (long long)dims[i]);
    qnnrt_error_add(err, rank == 0 ? "[]" : "]");
}

/* Add a finding about the node that is being lowered, unless it has one. */
__attribute__((cold, format(printf, 3, 4)))
static void qnnrt_lower__refuse(qnnrt_lower__graph *graph, const char *hint, const char *format,
                                ...)
{
    qnnrt_lower *lower = graph->lower;
    const qnnrt_ir_node *node = graph->node;
    char why[1024];
    qnnrt_error text;
    size_t i, place;
    va_list args;
    qnnrt_lower_finding *finding;
    if (graph->failed) return;
    graph->failed = 1;
    finding = (qnnrt_lower_finding *)qnnrt_arena_more(&lower->arena, lower->findings,
                                                      lower->finding_count, &lower->finding_room,
                                                      sizeof(*finding));
    if (finding == NULL) return;
    lower->findings = finding;
    finding += lower->finding_count++;
    qnnrt_error_clear(&text);
    if (node != NULL) {
        qnnrt_error_add(&text, "node %.200s (%.80s)", node->name, node->op);
        for (i = 0; i < node->input_count && strlen(text.text) < 600; ++i) {
            const qnnrt_ir_value *x = node->inputs[i];
            if (x == NULL) continue;
            qnnrt_error_add(&text, "%s%s ", i == 0 ? " of " : ", ", qnnrt_ir_dtype_name(x->dtype));
            qnnrt_lower__add_shape(&text, x->rank, x->dims);
        }
        place = qnnrt_ir_source_place(node);
        qnnrt_error_add(&text, "%s%.*s: ", place > 0 ? " at " : "", (int)place, node->source);
    }
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    qnnrt_error_add(&text, "%s", why);
    finding->node = node;
    finding->text = qnnrt_lower__text(lower, "%s", text.text);
    finding->hint = hint != NULL ? hint : "";
}

/* =====================================================================================
   PARAMETERS                                                                    >>params
   The parameters of an operator, while it is described.
   Needs: nothing     Knows nothing of: operators
   ===================================================================================== */

typedef struct qnnrt_lower__params {
    qnnrt_param_desc list[8];
    size_t           count, used;
    int              beyond;             /* 1: a number does not fit */
    uint32_t         numbers[64];        /* data of tensors; INT_32 has the same bits */
} qnnrt_lower__params;

static qnnrt_lower__params qnnrt_lower__params_none(void)
{
    qnnrt_lower__params p;
    memset(&p, 0, sizeof(p));
    return p;
}

static void qnnrt_lower__scalar(qnnrt_lower__params *p, const char *name, qnnrt_dtype dtype,
                                double value)
{
    qnnrt_param_desc *param = &p->list[p->count++];
    memset(param, 0, sizeof(*param));
    param->name = name;
    param->dtype = dtype;
    param->value = value;
}

static void qnnrt_lower__u32(qnnrt_lower__params *p, const char *name, uint32_t value)
{
    qnnrt_lower__scalar(p, name, QNNRT_DTYPE_U32, value);
}

static void qnnrt_lower__bool(qnnrt_lower__params *p, const char *name, int value)
{
    qnnrt_lower__scalar(p, name, QNNRT_DTYPE_BOOL8, value);
}

static void qnnrt_lower__f32(qnnrt_lower__params *p, const char *name, double value)
{
    qnnrt_lower__scalar(p, name, QNNRT_DTYPE_F32, (double)(float)value);
}

/* Add a tensor of UINT_32 or INT_32 with `rows` rows, or a vector if columns is 0. */
static void qnnrt_lower__numbers(qnnrt_lower__params *p, const char *name, qnnrt_dtype dtype,
                                 const int64_t *values, uint32_t rows, uint32_t columns)
{
    qnnrt_param_desc *param = &p->list[p->count++];
    const uint32_t count = rows * (columns != 0 ? columns : 1);
    uint32_t i;
    memset(param, 0, sizeof(*param));
    param->name = name;
    param->dtype = dtype;
    param->data = &p->numbers[p->used];
    param->rank = columns != 0 ? 2 : 1;
    param->dims[0] = rows;
    param->dims[1] = columns;
    for (i = 0; i < count; ++i) {
        if (dtype == QNNRT_DTYPE_I32 ? values[i] != (int32_t)values[i]
                                     : values[i] != (int64_t)(uint32_t)values[i])
            p->beyond = 1;
        p->numbers[p->used++] = (uint32_t)values[i];
    }
}

static size_t qnnrt_lower__param_bytes(const qnnrt_param_desc *param)
{
    size_t bytes = 4;
    uint32_t i;
    if (param->data == NULL) return 0;
    for (i = 0; i < param->rank; ++i) bytes *= param->dims[i];
    return bytes;
}

static int qnnrt_lower__param_same(const qnnrt_param_desc *a, const qnnrt_param_desc *b)
{
    const size_t bytes = qnnrt_lower__param_bytes(a);
    return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->value == b->value &&
           (a->data == NULL) == (b->data == NULL) && bytes == qnnrt_lower__param_bytes(b) &&
           a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0 &&
           (bytes == 0 || memcmp(a->data, b->data, bytes) == 0);
}

/* =====================================================================================
   TENSOR                                                                        >>tensor
   The tensors of a graph: a number stands for each, 0 for none.
   Needs: >>config >>arena     Knows nothing of: operators, values
   ===================================================================================== */

typedef struct qnnrt_lower__job {    /* what functions that lower a node work on */
    qnnrt_lower         *lower;
    qnnrt_lower__graph  *graph;
    const qnnrt_ir_node *node;
} qnnrt_lower__job;

static qnnrt_lower_tensor *qnnrt_lower__at(const qnnrt_lower__job *job, int32_t tensor)
{
    return &job->graph->tensors[tensor];
}

/* Get the dims of a tensor. Return its rank. */
static uint32_t qnnrt_lower__dims(const qnnrt_lower__job *job, int32_t tensor, int64_t *dims)
{
    const qnnrt_lower_tensor *from = qnnrt_lower__at(job, tensor);
    uint32_t i;
    for (i = 0; i < from->rank; ++i) dims[i] = from->dims[i];
    return from->rank;
}

static size_t qnnrt_lower__dtype_bytes(qnnrt_dtype dtype)
{
    switch (dtype) {
    case QNNRT_DTYPE_F16: case QNNRT_DTYPE_U16Q: return 2;
    case QNNRT_DTYPE_BOOL8: case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_S8Q: return 1;
    default: return 4;
    }
}

static int qnnrt_lower__is_float(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16 || dtype == QNNRT_DTYPE_F32 ||
           dtype == QNNRT_DTYPE_F64;
}

/* Return the type that values of a type of the graph have in tensors. */
static qnnrt_dtype qnnrt_lower__dtype(const qnnrt_lower__job *job, qnnrt_dtype dtype)
{
    if (qnnrt_lower__is_float(dtype)) return job->lower->compute;
    return dtype == QNNRT_DTYPE_BOOL8 ? QNNRT_DTYPE_BOOL8 : QNNRT_DTYPE_I32;
}

/* Add a tensor. rank 0 becomes [1]. Return its number, 0 after a finding or without memory. */
static int32_t qnnrt_lower__tensor(qnnrt_lower__job *job, qnnrt_tensor_kind kind,
                                   qnnrt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    qnnrt_lower *lower = job->lower;
    qnnrt_lower__graph *graph = job->graph;
    qnnrt_lower_tensor *tensor, *tensors;
    qnnrt_lower__body *bodies;
    size_t room = graph->tensor_room;
    uint32_t i;
    if (lower->arena.failed) return QNNRT_LOWER__NONE;
    tensors = (qnnrt_lower_tensor *)qnnrt_arena_more(&lower->arena,
                                                     graph->tensors, graph->tensor_count,
                                                     &room, sizeof(*graph->tensors));
    bodies = (qnnrt_lower__body *)qnnrt_arena_more(&lower->arena,
                                                   graph->bodies, graph->tensor_count,
                                                   &graph->tensor_room, sizeof(*graph->bodies));
    if (lower->arena.failed) return QNNRT_LOWER__NONE;      /* the arrays stay as they are */
    graph->tensors = tensors;
    graph->bodies = bodies;
    tensor = &graph->tensors[graph->tensor_count];
    tensor->name = graph->node != NULL ? graph->node->name : "";
    tensor->kind = kind;
    tensor->dtype = dtype;
    tensor->rank = rank == 0 ? 1 : rank;
    tensor->dims[0] = 1;
    tensor->count = 1;
    tensor->op = -1;
    for (i = 0; i < rank; ++i) {
        if (dims[i] < 1 || dims[i] > INT32_MAX ||
            (tensor->count *= (uint64_t)dims[i]) > INT32_MAX) {
            qnnrt_lower__refuse(graph, NULL, "it needs a tensor with a dimension of %lld,"
                                " or with more than 2147483647 elements", (long long)dims[i]);
            return QNNRT_LOWER__NONE;
        }
        tensor->dims[i] = (uint32_t)dims[i];
    }
    tensor->bytes = tensor->count * qnnrt_lower__dtype_bytes(dtype);
    graph->bodies[graph->tensor_count].lower = lower;
    graph->bodies[graph->tensor_count].root = (int32_t)graph->tensor_count;
    return (int32_t)graph->tensor_count++;
}

static int qnnrt_lower__dims_same(const qnnrt_lower_tensor *tensor, uint32_t rank,
                                  const int64_t *dims)
{
    uint32_t i;
    if (rank == 0) return tensor->rank == 1 && tensor->dims[0] == 1;
    if (tensor->rank != rank) return 0;
    for (i = 0; i < rank && tensor->dims[i] == (uint64_t)dims[i]; ++i) {}
    return i == rank;
}

/* Add a tensor with the dims of another one, for what that holds. */
static int32_t qnnrt_lower__tensor_as(qnnrt_lower__job *job, qnnrt_tensor_kind kind,
                                      qnnrt_dtype dtype, int32_t of)
{
    int64_t dims[QNNRT_LOWER__RANK];
    const uint32_t rank = qnnrt_lower__dims(job, of, dims);
    const int32_t at = qnnrt_lower__tensor(job, kind, dtype, rank, dims);
    if (at == QNNRT_LOWER__NONE) return at;
    qnnrt_lower__at(job, at)->name = qnnrt_lower__at(job, of)->name;
    qnnrt_lower__at(job, at)->value = qnnrt_lower__at(job, of)->value;
    return at;
}

static uint64_t qnnrt_lower__count(uint32_t rank, const int64_t *dims)
{
    uint64_t count = 1;
    uint32_t i;
    for (i = 0; i < rank; ++i) count *= (uint64_t)dims[i];
    return count;
}

/* Make room for a table of a * b numbers that are computed for an operator. Return NULL after a
   finding or without memory. It is there until the node is lowered. */
static void *qnnrt_lower__table(qnnrt_lower__job *job, uint64_t a, uint64_t b, size_t size)
{
    void *table;
    if (a != 0 && b > (uint64_t)QNNRT_LOWER__MOST_TABLE / a) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host, or use a smaller"
                            " shape.", "it needs a table of %llu x %llu numbers, and may have %d",
                            (unsigned long long)a, (unsigned long long)b,
                            (int)QNNRT_LOWER__MOST_TABLE);
        return NULL;
    }
    table = qnnrt_arena_get(&job->lower->scratch, a * b + 1, size);
    if (table == NULL) job->lower->arena.failed = QNNRT_E_MEMORY;
    return table;
}

/* Do the same for a * b doubles, which are 0. */
static double *qnnrt_lower__zeros(qnnrt_lower__job *job, int64_t a, int64_t b)
{
    return (double *)qnnrt_lower__table(job, (uint64_t)a, (uint64_t)b, sizeof(double));
}

/* Describe a tensor to a builder or to the table of known errors. */
static void qnnrt_lower__describe(const qnnrt_lower_tensor *tensor, qnnrt_tensor_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    desc->name = tensor->name;
    desc->kind = tensor->kind;
    desc->dtype = tensor->dtype;
    desc->rank = tensor->rank;
    memcpy(desc->dims, tensor->dims, sizeof(desc->dims));
    desc->quant = tensor->quant;
    desc->blocks = tensor->blocks;
}

/* Look an operator up in the table of known errors: with qnnrt_quirk_find() or another of its
   questions. */
static const qnnrt_quirk *qnnrt_lower__quirk(
    const qnnrt_lower *lower, const qnnrt_quirk_node *node,
    const qnnrt_quirk *(*ask)(const char *backend, const char *build_id,
                              const qnnrt_quirk_node *node))
{
    static const char *const names[] = { "Ref", "Cpu", "Htp" };
    return ask(names[lower->desc.target], lower->desc.build_id != NULL ? lower->desc.build_id : "",
               node);
}

/* =====================================================================================
   STATIC                                                                        >>static
   Tensors whose elements are known: data made here, and data of weights and constants, which
   is converted, scaled and transposed when the library asks for it.
   Needs: >>config >>arena >>tensor     Knows nothing of: operators
   ===================================================================================== */

static uint32_t qnnrt_lower__hash_bytes(uint32_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

/* Describe elements in memory as a weight, so that qnnrt_weights_convert() reads them. It must stay
   where it is. */
static void qnnrt_lower__as_weight(qnnrt_weight *out, qnnrt_dtype dtype, uint64_t count,
                                   const void *data)
{
    static const struct { qnnrt_dtype dtype; const char *type; } types[] = {
        { QNNRT_DTYPE_F32, "F32" }, { QNNRT_DTYPE_F64, "F64" }, { QNNRT_DTYPE_F16, "F16" },
        { QNNRT_DTYPE_BF16, "BF16" }, { QNNRT_DTYPE_I64, "I64" }, { QNNRT_DTYPE_I32, "I32" },
        { QNNRT_DTYPE_I16, "I16" }, { QNNRT_DTYPE_I8, "I8" }, { QNNRT_DTYPE_U8, "U8" },
        { QNNRT_DTYPE_BOOL8, "BOOL" },
    };
    size_t i = 0;
    while (i + 1 < sizeof(types) / sizeof(types[0]) && types[i].dtype != dtype) ++i;
    memset(out, 0, sizeof(*out));
    out->name = out->file = "";
    out->type = types[i].type;
    out->dtype = dtype;
    out->rank = 1;
    out->dims = &out->count;
    out->count = count;
    out->bytes = count * qnnrt_ir_dtype_bytes(dtype);
    out->data = data;
}

/* Copy the elements of an array with its axes in another order. */
static void qnnrt_lower__permute_copy(const char *from, char *to, size_t size, uint32_t rank,
                                      const uint64_t *dims, const uint32_t *order)
{
    uint64_t stride[QNNRT_LOWER__RANK], step[QNNRT_LOWER__RANK], turn[QNNRT_LOWER__RANK];
    uint64_t at[QNNRT_LOWER__RANK] = {0}, place = 0, done, count = 1;
    uint32_t i;
    for (i = rank; i-- > 0;) { stride[i] = count; count *= dims[i]; }
    for (i = 0; i < rank; ++i) { step[i] = stride[order[i]] * size; turn[i] = dims[order[i]]; }
    for (done = 0; done < count; ++done, to += size) {
        memcpy(to, from + place, size);
        for (i = rank; i-- > 0;) {
            place += step[i];
            if (++at[i] < turn[i]) break;
            place -= step[i] * turn[i];
            at[i] = 0;
        }
    }
}

/* Values of a weight that are no numbers. */
typedef struct qnnrt_lower__strange {
    uint64_t nans, infinite, first;
    int      mask;                   /* 1: all values are 0 or -infinity */
} qnnrt_lower__strange;

/* Count the values whose exponent has all bits: `ones`, in elements of `size` bytes. */
static uint64_t qnnrt_lower__strange_count(const char *data, uint64_t count, size_t size,
                                           uint64_t ones)
{
    uint64_t found = 0, i;
#define QNNRT_LOWER_X(bits_of) \
    for (i = 0; i < count && size == sizeof(bits_of); ++i) { \
        bits_of bits; \
        memcpy(&bits, data + sizeof(bits) * i, sizeof(bits)); \
        found += (bits & (bits_of)ones) == (bits_of)ones; \
    }
    QNNRT_LOWER_X(uint16_t)
    QNNRT_LOWER_X(uint32_t)
    QNNRT_LOWER_X(uint64_t)
#undef QNNRT_LOWER_X
    return found;
}

/* Find the values of a weight of blocks that are no numbers. */
static void qnnrt_lower__strange_blocks(const qnnrt_weight *weight, qnnrt_lower__strange *out)
{
    uint32_t values[512];
    uint64_t first, i, other = 0;
    for (first = 0; first < weight->count; first += 512) {
        const uint64_t count = weight->count - first < 512 ? weight->count - first : 512;
        if (qnnrt_weights_part(weight, first, count, QNNRT_DTYPE_F32, values, (size_t)count * 4,
                               NULL, NULL) != QNNRT_OK)
            return;
        for (i = 0; i < count; ++i) {
            const uint32_t bits = values[i];
            other += (bits & 0x7FFFFFFFu) != 0 && bits != 0xFF800000u;
            if ((bits & 0x7F800000u) != 0x7F800000u) continue;
            if (out->nans + out->infinite == 0) out->first = first + i;
            if ((bits & 0x7FFFFFu) != 0) out->nans += 1;
            else out->infinite += 1;
        }
    }
    out->mask = other == 0;
}

/* Find the values of a weight that are no numbers. */
static void qnnrt_lower__strange_find(const qnnrt_weight *weight, qnnrt_lower__strange *out)
{
    static const struct { qnnrt_dtype dtype; size_t size; uint64_t ones; } types[] = {
        { QNNRT_DTYPE_F16, 2, 0x7C00 }, { QNNRT_DTYPE_BF16, 2, 0x7F80 },
        { QNNRT_DTYPE_F32, 4, 0x7F800000 }, { QNNRT_DTYPE_F64, 8, 0x7FF0000000000000 },
    };
    const char *data = (const char *)weight->data;
    uint64_t i, other = 0;
    size_t t = 0;
    memset(out, 0, sizeof(*out));
    if (weight->block != 0) {
        qnnrt_lower__strange_blocks(weight, out);
        return;
    }
    while (t < sizeof(types) / sizeof(types[0]) && types[t].dtype != weight->dtype) ++t;
    if (t == sizeof(types) / sizeof(types[0]) || weight->data == NULL ||
        weight->bytes != weight->count * types[t].size ||
        qnnrt_lower__strange_count(data, weight->count, types[t].size, types[t].ones) == 0)
        return;
    for (i = 0; i < weight->count; ++i) {
        const uint64_t sign = (uint64_t)1 << (8 * types[t].size - 1);
        uint64_t bits = 0;
        memcpy((char *)&bits, data + i * types[t].size, types[t].size);
        other += (bits & (sign - 1)) != 0 && bits != (sign | types[t].ones);
        if ((bits & types[t].ones) != types[t].ones) continue;
        if (out->nans + out->infinite == 0) out->first = i;
        if ((bits & (sign - 1)) != types[t].ones) out->nans += 1;
        else out->infinite += 1;
    }
    out->mask = other == 0;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_check_weight(const qnnrt_weight *weight, qnnrt_error *err)
{
    qnnrt_lower__strange strange;
    if (weight == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_check_weight: weight is NULL");
    qnnrt_lower__strange_find(weight, &strange);
    if (strange.nans + strange.infinite == 0 || strange.mask) return qnnrt_error_clear(err);
    qnnrt_error_set(err, QNNRT_E_MISMATCH, "weight \"%.300s\" has %llu values that are NaN and "
                    "%llu that are infinite, of %llu; the first is number %llu, counted from 0",
                    weight->name, (unsigned long long)strange.nans,
                    (unsigned long long)strange.infinite, (unsigned long long)weight->count,
                    (unsigned long long)strange.first);
    qnnrt_error_hint(err, QNNRT_OK, "Repair the checkpoint, or export the model again.");
    return QNNRT_E_MISMATCH;
}

/* Read the elements of a weight as doubles. */
static qnnrt_result qnnrt_lower__read(const qnnrt_weight *weight, double *values, qnnrt_error *err)
{
    const size_t bytes = (size_t)weight->count * sizeof(double);
    const int whole = !qnnrt_lower__is_float(weight->dtype);
    const qnnrt_result result = qnnrt_weights_convert(
        weight, whole ? QNNRT_DTYPE_I64 : QNNRT_DTYPE_F64, values, bytes, NULL, err);
    uint64_t i;
    for (i = 0; whole && result == QNNRT_OK && i < weight->count; ++i) {
        int64_t number;
        memcpy(&number, &values[i], sizeof(number));
        values[i] = (double)number;
    }
    return result;
}

/* Write doubles as integers or bools of tensors; integers are cut off and clamped. */
static void qnnrt_lower__write_whole(qnnrt_dtype dtype, uint64_t count, const double *values,
                                     char *data)
{
    uint64_t i;
    for (i = 0; i < count; ++i) {
        const double near = !(values[i] > -2147483648.0) ? -2147483648.0
                            : values[i] > 2147483647.0 ? 2147483647.0 : values[i];
        const int32_t whole = (int32_t)near;
        if (dtype == QNNRT_DTYPE_I32) memcpy(data + 4 * i, &whole, 4);
        else data[i] = (char)(values[i] != 0);
    }
}

/* Convert elements; between floats, integers and bools, too. */
static qnnrt_result qnnrt_lower__convert_any(const qnnrt_lower *lower, const qnnrt_weight *weight,
                                             qnnrt_dtype dtype, void *data, size_t bytes,
                                             qnnrt_weights_loss *loss, qnnrt_error *err)
{
    double *values;
    qnnrt_weight wide;
    qnnrt_result result;
    if (qnnrt_lower__is_float(weight->dtype) == qnnrt_lower__is_float(dtype) &&
        (dtype != QNNRT_DTYPE_BOOL8 || weight->dtype == QNNRT_DTYPE_BOOL8))
        return qnnrt_weights_convert(weight, dtype, data, bytes, loss, err);
    values = (double *)qnnrt_hooks_alloc(&lower->desc.hooks, weight->count, sizeof(double));
    if (values == NULL) return qnnrt_lower__fail_memory(err);
    result = qnnrt_lower__read(weight, values, err);
    qnnrt_lower__as_weight(&wide, QNNRT_DTYPE_F64, weight->count, values);
    if (result == QNNRT_OK && qnnrt_lower__is_float(dtype))
        result = qnnrt_weights_convert(&wide, dtype, data, bytes, loss, err);
    else if (result == QNNRT_OK)
        qnnrt_lower__write_whole(dtype, weight->count, values, (char *)data);
    qnnrt_hooks_free(&lower->desc.hooks, values);
    return result;
}

/* Return how many floats float16 cannot hold, without numbers like the lowest float: they say what
   a mask hides, and the end of float16 says it, too. */
static uint64_t qnnrt_lower__beyond(const qnnrt_weight *weight)
{
    float values[512];
    uint64_t first, i, found = 0;
    for (first = 0; first < weight->count; first += 512) {
        const uint64_t count = weight->count - first < 512 ? weight->count - first : 512;
        if (qnnrt_weights_part(weight, first, count, QNNRT_DTYPE_F32, values, (size_t)count * 4,
                               NULL, NULL) != QNNRT_OK) return weight->count;
        for (i = 0; i < count; ++i)
            found += fabsf(values[i]) >= 65520.0f && fabsf(values[i]) < 1e30f;
    }
    return found;
}

/* Convert the data of a record to a type of tensors, with constants clamped to its range. */
static qnnrt_result qnnrt_lower__convert(qnnrt_lower *lower, const qnnrt_lower__record *source,
                                         qnnrt_dtype dtype, void *data, size_t bytes,
                                         qnnrt_error *err)
{
    const int constant = source->weight == &source->own;
    qnnrt_weights_loss loss = {0, 0, 0};
    uint16_t *halves = (uint16_t *)data;
    qnnrt_result result = QNNRT_OK;
    uint64_t i;
    if (!constant) result = qnnrt_lower_check_weight(source->weight, err);
    if (result == QNNRT_OK)
        result = qnnrt_lower__convert_any(lower, source->weight, dtype, data, bytes, &loss, err);
    if (result != QNNRT_OK) return result;
    if (!constant && dtype == QNNRT_DTYPE_F16 && loss.overflowed != 0)
        loss.overflowed = qnnrt_lower__beyond(source->weight);
    if (dtype == QNNRT_DTYPE_F16 && (constant || loss.overflowed == 0) &&    /* infinities, too */
        qnnrt_lower__strange_count((const char *)data, source->weight->count, 2, 0x7C00) > 0)
        for (i = 0; i < source->weight->count; ++i)
            if ((halves[i] & 0x7FFFu) == 0x7C00u) {
                halves[i] = (uint16_t)((halves[i] & 0x8000u) | 0x7BFFu);
                lower->clamped += 1;
            }
    if (!constant && (loss.overflowed != 0 || loss.out_of_range != 0)) {
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "weight \"%.300s\" has %llu values that %s cannot "
                        "hold", source->weight->name,
                        (unsigned long long)(loss.overflowed + loss.out_of_range), dtype ==
                        QNNRT_DTYPE_F16 ? "float16" : "int32");
        qnnrt_error_hint(err, QNNRT_OK, dtype == QNNRT_DTYPE_F16
                         ? "Compile for a backend with float32, or scale the weight."
                         : "Compute its readers on the host, in 64 bits: --backends npu,host "
                           "--pin NODE=host.");
        return QNNRT_E_MISMATCH;
    }
    if (!constant) lower->loss.flushed += loss.flushed;
    if (source->file != NULL) qnnrt_weights_done(source->file, source->weight);
    return QNNRT_OK;
}

/* Write the elements of a static tensor that is not quantized. */
static qnnrt_result qnnrt_lower__load_plain(qnnrt_lower *lower, const qnnrt_lower_tensor *tensor,
                                            const qnnrt_lower__body *body, void *data, size_t bytes,
                                            qnnrt_error *err)
{
    const size_t size = qnnrt_lower__dtype_bytes(tensor->dtype);
    qnnrt_result result = QNNRT_OK;
    char *room = NULL;
    uint32_t i, moved = 0;
    if (bytes != tensor->bytes)
        return qnnrt_error_set(err, QNNRT_E_ARG, "tensor \"%.200s\" has %llu bytes, not %llu",
                               tensor->name, (unsigned long long)tensor->bytes,
                               (unsigned long long)bytes);
    if (body->source == NULL) {
        memcpy(data, body->data, bytes);
        return QNNRT_OK;
    }
    for (i = 0; i < body->source_rank; ++i) moved |= (uint32_t)(body->order[i] != i);
    if (moved || body->scale != 1) {
        const size_t wide = body->scale != 1 ? 4 : size;
        room = (char *)qnnrt_hooks_alloc(&lower->desc.hooks, 1, bytes / size * wide);
        if (room == NULL) return qnnrt_lower__fail_memory(err);
    }
    if (body->scale != 1) {
        qnnrt_weight scaled;
        float *values = (float *)room;
        uint64_t k;
        if (body->source->weight != &body->source->own)
            result = qnnrt_lower_check_weight(body->source->weight, err);
        if (result == QNNRT_OK)
            result = qnnrt_lower__convert_any(lower, body->source->weight, QNNRT_DTYPE_F32, room,
                                              bytes / size * 4, NULL, err);
        for (k = 0; result == QNNRT_OK && k < tensor->count; ++k)
            values[k] = (float)(values[k] * body->scale);
        qnnrt_lower__as_weight(&scaled, QNNRT_DTYPE_F32, tensor->count, room);
        if (result == QNNRT_OK)
            result = qnnrt_weights_convert(&scaled, tensor->dtype, data, bytes, NULL, err);
        if (result == QNNRT_OK && moved) memcpy(room, data, bytes);
    } else {
        result = qnnrt_lower__convert(lower, body->source, tensor->dtype, moved ? room : data,
                                      bytes, err);
    }
    if (result == QNNRT_OK && moved)
        qnnrt_lower__permute_copy(room, (char *)data, size, body->source_rank, body->source_dims,
                                  body->order);
    qnnrt_hooks_free(&lower->desc.hooks, room);
    return result;
}

static int qnnrt_lower__is_codes(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_U8Q || dtype == QNNRT_DTYPE_U16Q || dtype == QNNRT_DTYPE_S8Q ||
           dtype == QNNRT_DTYPE_S32Q;
}

/* Write floats as quantized values of a tensor: rounded half away from zero, and clamped. */
static void qnnrt_lower__write_codes(const qnnrt_lower_tensor *tensor, const float *values,
                                     void *data)
{
    const qnnrt_quant *quant = &tensor->quant;
    const int axes = quant->encoding == QNNRT_ENCODING_PER_AXIS;
    const double half = quant->bitwidth != 0 ? (double)(1u << (quant->bitwidth - 1)) : 128;
    double low = -half, high = half - 1;
    uint64_t inner = 1, i;
    uint32_t k;
    if (tensor->dtype == QNNRT_DTYPE_U8Q || tensor->dtype == QNNRT_DTYPE_U16Q) {
        low = 0;
        high = tensor->dtype == QNNRT_DTYPE_U8Q ? 255 : 65535;
    } else if (tensor->dtype == QNNRT_DTYPE_S32Q) {
        low = -2147483648.0;
        high = 2147483647.0;
    }
    for (k = tensor->rank; axes && k-- > (uint32_t)quant->axis + 1;) inner *= tensor->dims[k];
    for (i = 0; i < tensor->count; ++i) {
        const uint64_t at = axes ? i / inner % quant->count : 0;
        const double scale = (double)(axes ? quant->scales[at] : quant->scale);
        const double offset = !axes ? quant->offset : quant->offsets != NULL ? quant->offsets[at]
                                                                             : 0;
        double code = (double)values[i] / scale;
        code = (code < 0 ? -floor(0.5 - code) : floor(code + 0.5)) - offset;
        code = code >= low ? code > high ? high : code : low;
        switch (tensor->dtype) {
        case QNNRT_DTYPE_U8Q: ((uint8_t *)data)[i] = (uint8_t)code; break;
        case QNNRT_DTYPE_U16Q: ((uint16_t *)data)[i] = (uint16_t)code; break;
        case QNNRT_DTYPE_S8Q: ((int8_t *)data)[i] = (int8_t)code; break;
        default: ((int32_t *)data)[i] = (int32_t)code; break;
        }
    }
}

/* Read a static tensor of floats into `values`, [tensor->count]. */
static qnnrt_result qnnrt_lower__load_floats(qnnrt_lower *lower, const qnnrt_lower_tensor *tensor,
                                             const qnnrt_lower__body *body, float *values,
                                             qnnrt_error *err)
{
    qnnrt_lower_tensor plain = *tensor;
    const size_t bytes = (size_t)tensor->count * sizeof(float);
    qnnrt_weight weight;
    plain.dtype = QNNRT_DTYPE_F32;
    plain.bytes = bytes;
    if (body->source != NULL)
        return qnnrt_lower__load_plain(lower, &plain, body, values, bytes, err);
    qnnrt_lower__as_weight(&weight, tensor->dtype, tensor->count, body->data);
    return qnnrt_weights_convert(&weight, QNNRT_DTYPE_F32, values, bytes, NULL, err);
}

/* Write the elements of a static tensor: the builder calls it. */
static qnnrt_result qnnrt_lower__load(qnnrt_lower *lower, const qnnrt_lower_tensor *tensor,
                                      const qnnrt_lower__body *body, void *data, size_t bytes,
                                      qnnrt_error *err)
{
    qnnrt_result result;
    float *values;
    if (!qnnrt_lower__is_codes(tensor->dtype) || body->source == NULL || bytes != tensor->bytes)
        return qnnrt_lower__load_plain(lower, tensor, body, data, bytes, err);
    values = (float *)qnnrt_hooks_alloc(&lower->desc.hooks, tensor->count, sizeof(float));
    if (values == NULL) return qnnrt_lower__fail_memory(err);
    result = qnnrt_lower__load_floats(lower, tensor, body, values, err);
    if (result == QNNRT_OK) qnnrt_lower__write_codes(tensor, values, data);
    qnnrt_hooks_free(&lower->desc.hooks, values);
    return result;
}

/* Make a static tensor of data, of the tensor's dtype. Equal ones are made once. */
static int32_t qnnrt_lower__data(qnnrt_lower__job *job, qnnrt_dtype dtype, uint32_t rank,
                                 const int64_t *dims, const void *data)
{
    qnnrt_lower__graph *graph = job->graph;
    const uint64_t count = qnnrt_lower__count(rank, dims);
    const size_t bytes = (size_t)count * qnnrt_lower__dtype_bytes(dtype);
    int32_t *slot = &graph->data_hash[qnnrt_lower__hash_bytes(2166136261u, data, bytes) %
                                      QNNRT_LOWER__HASH];
    int32_t at;
    for (at = *slot; at != QNNRT_LOWER__NONE; at = graph->bodies[at].next)
        if (graph->tensors[at].dtype == dtype &&
            qnnrt_lower__dims_same(&graph->tensors[at], rank, dims) &&
            memcmp(graph->bodies[at].data, data, bytes) == 0)
            return at;
    at = qnnrt_lower__tensor(job, QNNRT_TENSOR_STATIC, dtype, rank, dims);
    if (at == QNNRT_LOWER__NONE) return at;
    graph->bodies[at].data = qnnrt_lower__copy(job->lower, data, bytes);
    if (graph->bodies[at].data == NULL) return QNNRT_LOWER__NONE;
    graph->tensors[at].name = "constant";
    graph->bodies[at].next = *slot;
    *slot = at;
    return at;
}

/* Make a static tensor of the compute type, or of integers if dtype is INT_32, from doubles. */
static int32_t qnnrt_lower__doubles(qnnrt_lower__job *job, qnnrt_dtype dtype, uint32_t rank,
                                    const int64_t *dims, const double *values)
{
    const uint64_t count = qnnrt_lower__count(rank, dims);
    const size_t bytes = (size_t)count * qnnrt_lower__dtype_bytes(dtype);
    qnnrt_lower__record record;
    char *data = (char *)qnnrt_hooks_alloc(&job->lower->desc.hooks, 1, bytes + 1);
    int32_t tensor = QNNRT_LOWER__NONE;
    qnnrt_error err;
    if (data == NULL) { job->lower->arena.failed = QNNRT_E_MEMORY; return tensor; }
    if (dtype == QNNRT_DTYPE_I32 || dtype == QNNRT_DTYPE_BOOL8) {
        qnnrt_lower__write_whole(dtype, count, values, data);
        tensor = qnnrt_lower__data(job, dtype, rank, dims, data);
        qnnrt_hooks_free(&job->lower->desc.hooks, data);
        return tensor;
    }
    memset(&record, 0, sizeof(record));
    qnnrt_lower__as_weight(&record.own, QNNRT_DTYPE_F64, count, values);
    record.weight = &record.own;
    if (qnnrt_lower__convert(job->lower, &record, dtype, data, bytes, &err) != QNNRT_OK)
        qnnrt_lower__refuse(job->graph, NULL, "%s", err.text);
    else
        tensor = qnnrt_lower__data(job, dtype, rank, dims, data);
    qnnrt_hooks_free(&job->lower->desc.hooks, data);
    return tensor;
}

/* Make a static tensor [1] with a number. One that float16 would make 0, such as an epsilon of
   1e-12, becomes the smallest that it has. */
static int32_t qnnrt_lower__number(qnnrt_lower__job *job, qnnrt_dtype dtype, double value)
{
    const double least = 5.9604644775390625e-8;
    const int64_t one = 1;
    if (dtype == QNNRT_DTYPE_F16 && value != 0 && fabs(value) < least)
        value = value < 0 ? -least : least;
    return qnnrt_lower__doubles(job, dtype, 1, &one, &value);
}

/* Return the record of a value. Make it if there is none. */
static qnnrt_lower__record *qnnrt_lower__record_of(qnnrt_lower *lower, const qnnrt_ir_value *value)
{
    qnnrt_lower__record *record = (qnnrt_lower__record *)value->note;
    if (record != NULL) return record;
    record = (qnnrt_lower__record *)qnnrt_arena_get(&lower->arena, 1, sizeof(*record));
    if (record != NULL) ((qnnrt_ir_value *)(uintptr_t)value)->note = record;
    return record;
}

/* Return the data of a weight or constant as a record, NULL if the value is computed. */
static qnnrt_lower__record *qnnrt_lower__known(qnnrt_lower *lower, const qnnrt_ir_value *value)
{
    qnnrt_lower__record *record;
    if (value->origin != QNNRT_IR_WEIGHT && value->origin != QNNRT_IR_CONSTANT) return NULL;
    record = qnnrt_lower__record_of(lower, value);
    if (record != NULL && record->weight == NULL && value->data != NULL) {
        qnnrt_lower__as_weight(&record->own, value->dtype, value->count, value->data);
        record->own.name = value->name;
        record->weight = &record->own;
    }
    return record != NULL && record->weight != NULL ? record : NULL;
}

/* Make a static tensor with the data of a weight or constant: its axes in `order`, times scale, in
   a type of tensors, seen as `dims`. The same one is made once. */
static int32_t qnnrt_lower__static(qnnrt_lower__job *job, const qnnrt_ir_value *value,
                                   qnnrt_dtype dtype, const uint32_t *order, double scale,
                                   uint32_t rank, const int64_t *dims)
{
    qnnrt_lower__graph *graph = job->graph;
    qnnrt_lower__record *record = qnnrt_lower__known(job->lower, value);
    qnnrt_lower__body *body;
    uint32_t i;
    int32_t at;
    if (record == NULL) {
        qnnrt_lower__refuse(graph, "Give the file of the weights.",
                            "weight \"%.200s\" has no data", value->name);
        return QNNRT_LOWER__NONE;
    }
    for (at = record->statics; at != QNNRT_LOWER__NONE; at = graph->bodies[at].next) {
        body = &graph->bodies[at];
        for (i = 0; i < value->rank && body->order[i] == order[i]; ++i) {}
        if (i == value->rank && body->scale == scale && graph->tensors[at].dtype == dtype &&
            qnnrt_lower__dims_same(&graph->tensors[at], rank, dims))
            return at;
    }
    at = qnnrt_lower__tensor(job, QNNRT_TENSOR_STATIC, dtype, rank, dims);
    if (at == QNNRT_LOWER__NONE) return at;
    body = &graph->bodies[at];
    graph->tensors[at].name = value->name;
    graph->tensors[at].value = value;
    body->source = record;
    body->source_rank = value->rank;
    body->scale = scale;
    for (i = 0; i < value->rank; ++i) {
        body->source_dims[i] = (uint64_t)value->dims[i];
        body->order[i] = order[i];
    }
    body->next = record->statics;
    record->statics = at;
    return at;
}

/* Return the values of a weight or constant as a table of doubles, NULL after a finding. */
static double *qnnrt_lower__values(qnnrt_lower__job *job, const qnnrt_ir_value *value)
{
    const qnnrt_lower__record *record =
        value != NULL ? qnnrt_lower__known(job->lower, value) : NULL;
    double *values;
    qnnrt_error err;
    if (record == NULL) {
        qnnrt_lower__refuse(job->graph, NULL, "%.200s must be a weight or a constant",
                            value != NULL ? value->name : "an input");
        return NULL;
    }
    values = qnnrt_lower__zeros(job, (int64_t)value->count, 1);
    if (values == NULL) return NULL;
    if ((record->weight == &record->own ||
         qnnrt_lower_check_weight(record->weight, &err) == QNNRT_OK) &&
        qnnrt_lower__read(record->weight, values, &err) == QNNRT_OK) return values;
    qnnrt_lower__refuse(job->graph, NULL, "%s", err.text);
    return NULL;
}

/* =====================================================================================
   OPERATOR                                                                    >>operator
   Operators of QNN. An operator that exists already is not made again.
   Needs: >>config >>arena >>params >>tensor >>static     Knows nothing of: values of the graph
   ===================================================================================== */

static int qnnrt_lower__op_same(const qnnrt_lower__job *job, const qnnrt_lower_op *op,
                                const char *type, const int32_t *inputs, size_t input_count,
                                qnnrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                const qnnrt_lower__params *params)
{
    const qnnrt_lower_tensor *out = qnnrt_lower__at(job, op->outputs[0]);
    size_t i;
    if (op->output_count != 1 || strcmp(op->type, type) != 0 || op->input_count != input_count ||
        memcmp(op->inputs, inputs, input_count * sizeof(*inputs)) != 0 || out->dtype != dtype ||
        !qnnrt_lower__dims_same(out, rank, dims) ||
        op->param_count != (params != NULL ? params->count : 0))
        return 0;
    for (i = 0; i < op->param_count; ++i)
        if (!qnnrt_lower__param_same(&op->params[i], &params->list[i])) return 0;
    return 1;
}

/* Add an operator with outputs that exist. Return it, NULL when out of memory. */
static qnnrt_lower_op *qnnrt_lower__add(qnnrt_lower__job *job, const char *type,
                                        const int32_t *inputs, size_t input_count,
                                        const int32_t *outputs, size_t output_count,
                                        const qnnrt_lower__params *params)
{
    qnnrt_lower *lower = job->lower;
    qnnrt_lower__graph *graph = job->graph;
    const size_t param_count = params != NULL ? params->count : 0;
    size_t room = graph->op_room, i;
    qnnrt_param_desc *list;
    qnnrt_lower_op *op, *ops;
    int32_t *op_next;
    if (lower->arena.failed) return NULL;
    if (params != NULL && params->beyond) {
        qnnrt_lower__refuse(graph, NULL, "%s has a parameter beyond 32 bits", type);
        return NULL;
    }
    ops = (qnnrt_lower_op *)qnnrt_arena_more(&lower->arena, graph->ops, graph->op_count, &room,
                                             sizeof(*graph->ops));
    op_next = (int32_t *)qnnrt_arena_more(&lower->arena, graph->op_next, graph->op_count,
                                          &graph->op_room, sizeof(*graph->op_next));
    list = (qnnrt_param_desc *)qnnrt_lower__copy(lower, params != NULL ? params->list : NULL,
                                                 param_count * sizeof(*list));
    if (lower->arena.failed) return NULL;                   /* the arrays stay as they are */
    graph->ops = ops;
    graph->op_next = op_next;
    op = &graph->ops[graph->op_count];
    op->type = type;
    op->node = graph->node;
    op->inputs = (const int32_t *)qnnrt_lower__copy(lower, inputs, input_count * sizeof(*inputs));
    op->outputs = (const int32_t *)qnnrt_lower__copy(lower, outputs,
                                                     output_count * sizeof(*outputs));
    op->input_count = input_count;
    op->output_count = output_count;
    op->params = list;
    op->param_count = param_count;
    for (i = 0; i < param_count; ++i)
        if (list[i].data != NULL)
            list[i].data = qnnrt_lower__copy(lower, list[i].data,
                                             qnnrt_lower__param_bytes(&list[i]));
    if (lower->arena.failed) return NULL;
    for (i = 0; i < output_count; ++i)
        graph->tensors[outputs[i]].op = (int32_t)graph->op_count;
    graph->op_count += 1;
    return op;
}

/* Make an operator with one output, or find it. Return its output; 0 if an input is 0. */
static int32_t qnnrt_lower__op(qnnrt_lower__job *job, const char *type, const int32_t *inputs,
                               size_t input_count, qnnrt_dtype dtype, uint32_t rank,
                               const int64_t *dims, const qnnrt_lower__params *params)
{
    qnnrt_lower__graph *graph = job->graph;
    uint32_t hash = qnnrt_lower__hash_bytes(2166136261u, type, strlen(type));
    int32_t at, out, *slot;
    size_t i;
    for (i = 0; i < input_count; ++i)
        if (inputs[i] == QNNRT_LOWER__NONE) return QNNRT_LOWER__NONE;
    hash = qnnrt_lower__hash_bytes(hash, inputs, input_count * sizeof(*inputs));
    slot = &graph->op_hash[hash % QNNRT_LOWER__HASH];
    for (at = *slot; at != 0; at = graph->op_next[at - 1])
        if (qnnrt_lower__op_same(job, &graph->ops[at - 1], type, inputs, input_count, dtype, rank,
                                 dims, params))
            return graph->ops[at - 1].outputs[0];
    out = qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER, dtype, rank, dims);
    if (out == QNNRT_LOWER__NONE ||
        qnnrt_lower__add(job, type, inputs, input_count, &out, 1, params) == NULL)
        return QNNRT_LOWER__NONE;
    graph->op_next[graph->op_count - 1] = *slot;
    *slot = (int32_t)graph->op_count;
    return out;
}

/* Make an operator whose output has the dims of tensor x. */
static int32_t qnnrt_lower__op_as(qnnrt_lower__job *job, const char *type, const int32_t *inputs,
                                  size_t input_count, int32_t x, qnnrt_dtype dtype,
                                  const qnnrt_lower__params *params)
{
    int64_t dims[QNNRT_LOWER__RANK] = {0};
    const uint32_t rank = qnnrt_lower__dims(job, x, dims);
    return qnnrt_lower__op(job, type, inputs, input_count, dtype, rank, dims, params);
}

/* Make an operator that keeps type and dims of its input. */
static int32_t qnnrt_lower__op_like(qnnrt_lower__job *job, const char *type, int32_t x,
                                    const qnnrt_lower__params *params)
{
    return qnnrt_lower__op_as(job, type, &x, 1, x, qnnrt_lower__at(job, x)->dtype, params);
}

/* Return a tensor with the same elements and other dims. */
static int32_t qnnrt_lower__reshape(qnnrt_lower__job *job, int32_t x, uint32_t rank,
                                    const int64_t *dims)
{
    qnnrt_lower__graph *graph = job->graph;
    const qnnrt_lower_tensor *from = qnnrt_lower__at(job, x);
    const qnnrt_lower__body *body = &graph->bodies[x];
    const int64_t one = 1;
    int32_t root = body->root, out;
    if (x == QNNRT_LOWER__NONE || qnnrt_lower__dims_same(from, rank, dims)) return x;
    if (rank == 0) { rank = 1; dims = &one; }
    if (from->kind == QNNRT_TENSOR_STATIC && body->source != NULL)
        return qnnrt_lower__static(job, from->value, from->dtype, body->order, body->scale, rank,
                                   dims);
    if (from->kind == QNNRT_TENSOR_STATIC)
        return qnnrt_lower__data(job, from->dtype, rank, dims, body->data);
    if (qnnrt_lower__dims_same(qnnrt_lower__at(job, root), rank, dims)) return root;
    /* HTP ends the process, or computes garbage, where the rows of a product become rank 5 with as
       many columns before the last axis as the product has. */
    from = qnnrt_lower__at(job, root);
    if (job->lower->desc.target == QNNRT_LOWER_HTP && rank == 5 && dims[0] > 1 && dims[3] > 1 &&
        dims[3] == from->dims[from->rank - 1] && from->op >= 0 &&
        (strcmp(graph->ops[from->op].type, "MatMul") == 0 ||
         strcmp(graph->ops[from->op].type, "FullyConnected") == 0)) {
        const int32_t pair[2] = {root, qnnrt_lower__number(job, from->dtype, 1)};
        root = qnnrt_lower__op_as(job, "ElementWiseMultiply", pair, 2, root, from->dtype, NULL);
    }
    out = qnnrt_lower__op(job, "Reshape", &root, 1, from->dtype, rank, dims, NULL);
    if (out != QNNRT_LOWER__NONE) job->graph->bodies[out].root = root;
    return out;
}

static int32_t qnnrt_lower__cast(qnnrt_lower__job *job, int32_t x, qnnrt_dtype dtype)
{
    const qnnrt_lower_tensor *from = qnnrt_lower__at(job, x);
    const qnnrt_lower__body *body = &job->graph->bodies[x];
    int64_t dims[QNNRT_LOWER__RANK];
    qnnrt_lower__dims(job, x, dims);
    if (x == QNNRT_LOWER__NONE || from->dtype == dtype) return x;
    if (from->kind == QNNRT_TENSOR_STATIC && body->source != NULL)
        return qnnrt_lower__static(job, from->value, dtype, body->order, body->scale, from->rank,
                                   dims);
    return qnnrt_lower__op(job, "Cast", &x, 1, dtype, from->rank, dims, NULL);
}

/* Transpose a tensor, seen as `dims`: axis i of the result is axis perm[i]. Axes of size 1 and axes
   that stay together take no part. The result has the permuted dims. */
static int32_t qnnrt_lower__transpose(qnnrt_lower__job *job, int32_t x, uint32_t rank,
                                      const int64_t *dims, const uint32_t *perm)
{
    int64_t out[QNNRT_LOWER__RANK], packed[QNNRT_LOWER__RANK], moved[QNNRT_LOWER__RANK];
    int64_t places[QNNRT_LOWER__RANK];
    uint32_t group[QNNRT_LOWER__RANK], first[QNNRT_LOWER__RANK], count = 0, i, k, last = 0;
    const qnnrt_lower_tensor *from;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int sorted = 1, column;                      /* 1: of what qnnrt_lower__conv_column() made */
    /* Axes of the result, without those of size 1, gathered into groups that are adjacent in x. */
    for (i = 0; i < rank; ++i) {
        out[i] = dims[perm[i]];
        if (out[i] == 1) continue;
        for (k = last + 1; count > 0 && k < perm[i] && dims[k] == 1; ++k) {}
        if (count > 0 && k == perm[i]) moved[count - 1] *= out[i];
        else { first[count] = perm[i]; moved[count++] = out[i]; }
        last = perm[i];
    }
    for (i = 0; i < count; ++i) {                        /* the place of each group in x */
        group[i] = 0;
        for (k = 0; k < count; ++k) group[i] += (uint32_t)(first[k] < first[i]);
        packed[group[i]] = moved[i];
        if (group[i] != i) sorted = 0;
        places[i] = group[i];
    }
    if (sorted) return qnnrt_lower__reshape(job, x, rank, out);
    from = qnnrt_lower__at(job, x);
    column = rank == 4 && from->rank == 4 && from->dims[1] == 1 && dims[1] > 1 && dims[2] == 1;
    if (rank <= QNNRT_LOWER__MOST_RANK && !column) {     /* fewer Reshapes around it */
        count = rank;
        for (i = 0; i < rank; ++i) { packed[i] = dims[i]; moved[i] = out[i]; places[i] = perm[i]; }
    }
    x = qnnrt_lower__reshape(job, x, count, packed);
    qnnrt_lower__numbers(&p, "perm", QNNRT_DTYPE_U32, places, count, 0);
    x = qnnrt_lower__op(job, "Transpose", &x, 1, qnnrt_lower__at(job, x)->dtype, count, moved, &p);
    return qnnrt_lower__reshape(job, x, rank, out);
}

/* See a tensor as dims `own`, and repeat it to `dims` along each axis. */
static int32_t qnnrt_lower__tile(qnnrt_lower__job *job, int32_t x, uint32_t rank,
                                 const int64_t *own, const int64_t *dims)
{
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int64_t times[QNNRT_LOWER__RANK];
    uint32_t i;
    for (i = 0; i < rank; ++i) times[i] = own[i] != 0 ? dims[i] / own[i] : 1;
    x = qnnrt_lower__reshape(job, x, rank, own);
    qnnrt_lower__numbers(&p, "multiples", QNNRT_DTYPE_U32, times, rank, 0);
    return qnnrt_lower__op(job, "Tile", &x, 1, qnnrt_lower__at(job, x)->dtype, rank, dims, &p);
}

/* Return a tensor repeated to dims; a number may have any rank. */
static int32_t qnnrt_lower__fill(qnnrt_lower__job *job, int32_t t, uint32_t rank,
                                 const int64_t *dims)
{
    const qnnrt_lower_tensor *from = qnnrt_lower__at(job, t);
    const qnnrt_lower__body *body = &job->graph->bodies[t];
    int64_t own[QNNRT_LOWER__RANK];
    uint32_t i;
    if (t == QNNRT_LOWER__NONE || qnnrt_lower__dims_same(from, rank, dims)) return t;
    if (from->kind == QNNRT_TENSOR_STATIC && body->data != NULL && from->count == 1) {
        const size_t size = qnnrt_lower__dtype_bytes(from->dtype);
        const uint64_t count = qnnrt_lower__count(rank, dims);
        char *data = (char *)qnnrt_lower__table(job, count, 1, size);
        uint64_t k;
        if (data == NULL) return QNNRT_LOWER__NONE;
        for (k = 0; k < count; ++k) memcpy(data + k * size, body->data, size);
        return qnnrt_lower__data(job, from->dtype, rank, dims, data);
    }
    for (i = 0; i < rank; ++i) own[i] = from->rank == rank ? from->dims[i] : 1;
    return qnnrt_lower__tile(job, t, rank, own, dims);
}

/* =====================================================================================
   LAYOUT                                                                        >>layout
   Values of the graph in tensors: a view says in which order of axes, and which axes are not
   yet repeated.
   Needs: >>config >>arena >>tensor >>static >>operator     Knows nothing of: ATen operators
   ===================================================================================== */

typedef struct qnnrt_lower__view {
    int32_t               tensor;            /* 0: known data, see .value */
    const qnnrt_ir_value *value;             /* of known data */
    double                scale;             /* of known data */
    qnnrt_dtype           dtype;             /* of the tensor */
    uint32_t              rank;
    int64_t               dims[QNNRT_LOWER__RANK];   /* in the order of the graph */
    uint32_t              order[QNNRT_LOWER__RANK];  /* the storage's axes, slowest first */
} qnnrt_lower__view;

static void qnnrt_lower__identity(uint32_t *order)
{
    uint32_t i;
    for (i = 0; i < QNNRT_LOWER__RANK; ++i) order[i] = i;
}

/* Return true if two orders store the same elements in the same places: axes of size 1 do not
   count. */
static int qnnrt_lower__order_same(uint32_t rank, const int64_t *dims, const uint32_t *a,
                                   const uint32_t *b)
{
    uint32_t i = 0, k = 0;
    for (;;) {
        while (i < rank && dims[a[i]] == 1) ++i;
        while (k < rank && dims[b[k]] == 1) ++k;
        if (i == rank || k == rank) return i == rank && k == rank;
        if (a[i++] != b[k++]) return 0;
    }
}

/* Return a value as it is stored; `narrow` 1: without the repetitions of expand, which then has
   dims of 1. */
static qnnrt_lower__view qnnrt_lower__view_of(qnnrt_lower__job *job, const qnnrt_ir_value *value,
                                              int narrow)
{
    qnnrt_lower__view view;
    qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, value);
    const int known = value->origin == QNNRT_IR_WEIGHT || value->origin == QNNRT_IR_CONSTANT;
    uint32_t i;
    memset(&view, 0, sizeof(view));
    qnnrt_lower__identity(view.order);
    view.scale = 1;
    view.dtype = qnnrt_lower__dtype(job, value->dtype);
    view.rank = value->rank;
    memcpy(view.dims, value->dims, sizeof(view.dims));
    if (record == NULL) return view;
    if (known) {
        if (qnnrt_lower__known(job->lower, value) == NULL)
            qnnrt_lower__refuse(job->graph, "Give the file of the weights.",
                                "weight \"%.200s\" has no data", value->name);
        view.value = value;
        return view;
    }
    view.tensor = record->tensor;
    memcpy(view.order, record->order, sizeof(view.order));
    if (record->narrow) memcpy(view.dims, record->dims, sizeof(view.dims));
    if (record->narrow && !narrow) {
        int64_t dims[QNNRT_LOWER__RANK], stored[QNNRT_LOWER__RANK];
        for (i = 0; i < view.rank; ++i) {
            stored[i] = view.dims[view.order[i]];
            dims[i] = value->dims[view.order[i]];
        }
        view.tensor = qnnrt_lower__tile(job, view.tensor, view.rank, stored, dims);
        memcpy(view.dims, value->dims, sizeof(view.dims));
        record->narrow = 0;
        record->tensor = view.tensor;
    }
    return view;
}

/* Return the tensor of a view with its axes in an order, and the dims that this gives. */
static int32_t qnnrt_lower__stored(qnnrt_lower__job *job, const qnnrt_lower__view *view,
                                   const uint32_t *order)
{
    int64_t dims[QNNRT_LOWER__RANK], storage[QNNRT_LOWER__RANK];
    uint32_t perm[QNNRT_LOWER__RANK], i, k;
    for (i = 0; i < view->rank; ++i) {
        dims[i] = view->dims[order[i]];
        storage[i] = view->dims[view->order[i]];
        perm[i] = i;                     /* after a failure a view has no order */
        for (k = 0; k < view->rank; ++k) if (view->order[k] == order[i]) perm[i] = k;
    }
    if (view->value != NULL)
        return qnnrt_lower__static(job, view->value, view->dtype, order, view->scale, view->rank,
                                   dims);
    return qnnrt_lower__transpose(job, view->tensor, view->rank, storage, perm);
}

/* Return the tensor of a view with its axes in the order of the graph. */
static int32_t qnnrt_lower__plain(qnnrt_lower__job *job, const qnnrt_lower__view *view)
{
    uint32_t order[QNNRT_LOWER__RANK];
    qnnrt_lower__identity(order);
    return qnnrt_lower__stored(job, view, order);
}

/* Return input i of the node, as it is stored. */
static qnnrt_lower__view qnnrt_lower__in(qnnrt_lower__job *job, size_t i)
{
    return qnnrt_lower__view_of(job, job->node->inputs[i], 0);
}

/* Say where an output of the node is stored. order NULL: the order of the graph. */
static void qnnrt_lower__set(qnnrt_lower__job *job, size_t output, int32_t tensor,
                             const uint32_t *order)
{
    qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, job->node->outputs[output]);
    if (record == NULL) return;
    record->tensor = tensor;
    record->narrow = 0;
    if (order != NULL) memcpy(record->order, order, sizeof(record->order));
    else qnnrt_lower__identity(record->order);
    if (tensor != QNNRT_LOWER__NONE && qnnrt_lower__at(job, tensor)->value == NULL &&
        qnnrt_lower__at(job, tensor)->kind == QNNRT_TENSOR_INNER)
        qnnrt_lower__at(job, tensor)->value = job->node->outputs[output];
}

/* Return a view of known data in a tensor, so that it can be renamed like others. */
static void qnnrt_lower__settle(qnnrt_lower__job *job, qnnrt_lower__view *view)
{
    if (view->value == NULL) return;
    view->tensor = qnnrt_lower__plain(job, view);
    view->value = NULL;
}

/* Let an output of the node be a view. */
static void qnnrt_lower__store(qnnrt_lower__job *job, size_t output, qnnrt_lower__view *view)
{
    qnnrt_lower__settle(job, view);
    qnnrt_lower__set(job, output, view->tensor, view->order);
}

/* Let a view have other axes: axis i is what axis perm[i] was. Known data is transposed when it is
   loaded. */
static void qnnrt_lower__view_permute(qnnrt_lower__job *job, qnnrt_lower__view *view,
                                      const uint32_t *perm)
{
    const qnnrt_lower__view from = *view;
    uint32_t i, k;
    if (view->value != NULL) {
        view->tensor = qnnrt_lower__stored(job, view, perm);
        view->value = NULL;
        qnnrt_lower__identity(view->order);
    }
    for (i = 0; i < view->rank; ++i) {
        view->dims[i] = from.dims[perm[i]];
        for (k = 0; k < view->rank && from.value == NULL; ++k)
            if (perm[k] == from.order[i]) view->order[i] = k;
    }
}

/* Change the dims of a view. Axes are renamed if the storage allows, else the tensor is
   transposed to the order of the graph first. */
static void qnnrt_lower__view_dims(qnnrt_lower__job *job, qnnrt_lower__view *view, uint32_t rank,
                                   const int64_t *dims)
{
    uint64_t stride[QNNRT_LOWER__RANK], next[QNNRT_LOWER__RANK], count = 1, step = 0;
    uint32_t order[QNNRT_LOWER__RANK], i, k, used = 0;
    int good = 1;
    qnnrt_lower__settle(job, view);
    for (i = view->rank; i-- > 0;) {
        stride[view->order[i]] = count;
        count *= (uint64_t)view->dims[view->order[i]];
    }
    /* Walk both shapes from the last axis: a run of old axes whose strides follow each other is
       cut into new axes. */
    k = rank;
    for (i = view->rank; good && i > 0;) {
        uint64_t size = 1;
        if (view->dims[i - 1] == 1) { --i; continue; }
        step = stride[i - 1];
        while (i > 0 && (view->dims[i - 1] == 1 || stride[i - 1] == step * size)) {
            size *= (uint64_t)view->dims[i - 1];
            --i;
        }
        while (k > 0 && size > 1) {
            const uint64_t part = (uint64_t)dims[k - 1];
            if (size % part != 0) break;
            next[k - 1] = step;
            step *= part;
            size /= part;
            --k;
        }
        if (size != 1) good = 0;
    }
    for (i = 0; good && i < k; ++i) if (dims[i] != 1) good = 0;
    if (!good) {
        view->tensor = qnnrt_lower__plain(job, view);
        qnnrt_lower__identity(view->order);
    } else {
        /* Sort the axes by their strides; those of size 1 keep their place among the others. */
        qnnrt_lower__identity(order);
        for (i = 0; i < rank; ++i) if (dims[i] != 1) order[used++] = i;
        for (i = 1; i < used; ++i) {
            const uint32_t axis = order[i];
            for (k = i; k > 0 && next[order[k - 1]] < next[axis]; --k) order[k] = order[k - 1];
            order[k] = axis;
        }
        for (i = 0; i < rank; ++i) {
            if (dims[i] != 1) continue;
            for (k = used; k > i; --k) order[k] = order[k - 1];   /* axis i goes to place i */
            order[i < used ? i : used] = i;
            ++used;
        }
        memcpy(view->order, order, sizeof(order));
    }
    view->rank = rank;
    memcpy(view->dims, dims, rank * sizeof(*dims));
}

/* =====================================================================================
   ALIGN                                                                          >>align
   Values that an operator reads together, in one order of axes.
   Needs: >>config >>tensor >>operator >>layout     Knows nothing of: ATen operators
   ===================================================================================== */

typedef struct qnnrt_lower__aligned {
    uint32_t rank;
    int64_t  dims[QNNRT_LOWER__RANK];            /* of the result, as stored */
    uint32_t order[QNNRT_LOWER__RANK];           /* of its axes in the graph */
    uint32_t group[QNNRT_LOWER__RANK];           /* the packed axis that a stored axis is part of */
    uint32_t packed_rank;
    int64_t  packed[QNNRT_LOWER__RANK];          /* .dims, packed */
} qnnrt_lower__aligned;

/* Put axes in front of a view, so that it has `rank`. */
static void qnnrt_lower__extend(qnnrt_lower__job *job, qnnrt_lower__view *view, uint32_t rank)
{
    int64_t dims[QNNRT_LOWER__RANK];
    const uint32_t more = rank - view->rank;
    uint32_t i;
    if (more == 0) return;
    for (i = 0; i < rank; ++i) dims[i] = i < more ? 1 : view->dims[i - more];
    if (view->value != NULL) {
        qnnrt_lower__settle(job, view);
        qnnrt_lower__identity(view->order);
    }
    for (i = rank; i-- > 0;) view->order[i] = i < more ? i : view->order[i - more] + more;
    view->rank = rank;
    memcpy(view->dims, dims, sizeof(dims[0]) * rank);
}

static void qnnrt_lower__axis_last(uint32_t rank, uint32_t *order, uint32_t axis)
{
    uint32_t i = 0;
    if (rank == 0) return;
    while (i + 1 < rank && order[i] != axis) ++i;
    for (; i + 1 < rank; ++i) order[i] = order[i + 1];
    order[rank - 1] = axis;
}

static void qnnrt_lower__axis_first(uint32_t rank, uint32_t *order, uint32_t axis)
{
    uint32_t i = 0;
    while (i + 1 < rank && order[i] != axis) ++i;
    for (; i > 0; --i) order[i] = order[i - 1];
    order[0] = axis;
}

/* Choose the order in which the fewest elements have to be transposed. last: an axis that must be
   the fastest, -1 for none. */
static void qnnrt_lower__choose(const qnnrt_lower__view *views, size_t count, uint32_t rank,
                                int32_t last, uint32_t *order)
{
    uint64_t best = UINT64_MAX;
    size_t i, k;
    qnnrt_lower__identity(order);
    if (last >= 0) qnnrt_lower__axis_last(rank, order, (uint32_t)last);
    for (i = 0; i < count; ++i) {
        uint32_t candidate[QNNRT_LOWER__RANK];
        uint64_t cost = 0;
        if (views[i].value != NULL || views[i].rank != rank) continue;
        memcpy(candidate, views[i].order, sizeof(candidate));
        if (last >= 0) qnnrt_lower__axis_last(rank, candidate, (uint32_t)last);
        for (k = 0; k < count; ++k)
            if (views[k].value == NULL && views[k].rank == rank &&
                !qnnrt_lower__order_same(rank, views[k].dims, candidate, views[k].order) &&
                (k >= QNNRT_LOWER__MOST_INPUTS || views[k].tensor != QNNRT_LOWER__NONE))
                cost += qnnrt_lower__count(rank, views[k].dims);
        if (cost < best) { best = cost; memcpy(order, candidate, sizeof(candidate)); }
    }
}

/* Say which stored axes may be packed with the next one: bit i for axes i and i + 1. Pack as many
   as are needed for the rank that libraries like. */
static void qnnrt_lower__pack(qnnrt_lower__aligned *a, uint32_t mergeable)
{
    uint32_t over = a->rank > QNNRT_LOWER__MOST_RANK ? a->rank - QNNRT_LOWER__MOST_RANK : 0;
    uint32_t i;
    a->packed_rank = 0;
    for (i = 0; i < a->rank; ++i) {
        if (i > 0 && over > 0 && (mergeable >> (i - 1) & 1) != 0) {
            --over;
            a->packed[a->packed_rank - 1] *= a->dims[i];
        } else {
            a->packed[a->packed_rank++] = a->dims[i];
        }
        a->group[i] = a->packed_rank - 1;
    }
}

/* Pack dims, which are stored in the order of `a`, as those of the result were. */
static void qnnrt_lower__packed(const qnnrt_lower__aligned *a, const int64_t *dims, int64_t *out)
{
    uint32_t i;
    for (i = 0; i < QNNRT_LOWER__RANK; ++i) out[i] = 1;
    for (i = 0; i < a->rank; ++i) out[a->group[i]] *= dims[i];
}

/* Store views for an operator that works element by element, with broadcasting. tensors receives
   one for each view. */
static void qnnrt_lower__align(qnnrt_lower__job *job, qnnrt_lower__view *views, size_t count,
                               uint32_t rank, const int64_t *dims, int32_t *tensors,
                               qnnrt_lower__aligned *a)
{
    int64_t own[QNNRT_LOWER__RANK], packed[QNNRT_LOWER__RANK];
    uint32_t mergeable = 0xFF, i, last;
    size_t k, full = 0;
    int32_t root;
    for (k = 0; k < count; ++k)
        if (qnnrt_lower__count(views[k].rank, views[k].dims) != 1)
            qnnrt_lower__extend(job, &views[k], rank);
    qnnrt_lower__choose(views, count, rank, -1, a->order);
    a->rank = rank;
    for (i = 0; i < rank; ++i) a->dims[i] = dims[a->order[i]];
    for (k = 0; k < count; ++k) {
        if (views[k].rank != rank) continue;
        for (i = 0, last = 0; i + 1 < rank; ++i) {   /* last: the last axis that is not 1, or 0 */
            const int one = views[k].dims[a->order[last]] == 1;
            const int next = views[k].dims[a->order[i + 1]] == 1;
            if (a->dims[i + 1] == 1) continue;
            if (one != next && a->dims[last] != 1) mergeable &= ~(1u << i);
            last = i + 1;
        }
        full += memcmp(views[k].dims, dims, rank * sizeof(*dims)) == 0;
    }
    qnnrt_lower__pack(a, mergeable);
    for (k = 0; k < count; ++k) {
        const int64_t one = 1;
        if (views[k].rank != rank || qnnrt_lower__count(rank, views[k].dims) == 1) {
            tensors[k] = qnnrt_lower__plain(job, &views[k]);
            tensors[k] = qnnrt_lower__reshape(job, tensors[k], 1, &one);
            full += views[k].rank != rank;
            continue;
        }
        for (i = 0; i < rank; ++i) own[i] = views[k].dims[a->order[i]];
        qnnrt_lower__packed(a, own, packed);
        tensors[k] = qnnrt_lower__stored(job, &views[k], a->order);
        tensors[k] = qnnrt_lower__reshape(job, tensors[k], a->packed_rank, packed);
    }
    if (full < count) return;
    /* Without broadcasting any dims serve: those that the first tensor has already. */
    for (k = 0; k < count && qnnrt_lower__at(job, tensors[k])->count == 1; ++k) {}
    if (k == count) {
        a->packed_rank = 1;
        a->packed[0] = 1;
        return;
    }
    if (tensors[k] == QNNRT_LOWER__NONE) return;
    root = job->graph->bodies[tensors[k]].root;
    if (qnnrt_lower__at(job, root)->rank > QNNRT_LOWER__MOST_RANK) return;
    a->packed_rank = qnnrt_lower__at(job, root)->rank;
    for (i = 0; i < a->packed_rank; ++i) a->packed[i] = qnnrt_lower__at(job, root)->dims[i];
    for (k = 0; k < count; ++k)
        if (qnnrt_lower__at(job, tensors[k])->count != 1)
            tensors[k] = qnnrt_lower__reshape(job, tensors[k], a->packed_rank, a->packed);
}

/* Choose how views with these dims are stored together, for an operator that treats some axes apart
   from the others (their bits). last: see qnnrt_lower__choose(). */
static void qnnrt_lower__place_axes(const qnnrt_lower__view *views, size_t count, uint32_t rank,
                                    const int64_t *dims, uint32_t axes, int32_t last,
                                    qnnrt_lower__aligned *a)
{
    uint32_t mergeable = 0, i;
    qnnrt_lower__choose(views, count, rank, last, a->order);
    a->rank = rank;
    for (i = 0; i < rank; ++i) a->dims[i] = dims[a->order[i]];
    for (i = 0; i + 1 < rank; ++i)
        if (((axes >> a->order[i] | axes >> a->order[i + 1]) & 1) == 0) mergeable |= 1u << i;
    qnnrt_lower__pack(a, mergeable);
}

/* If only the fastest axis matters, keep the dims that a tensor has already. */
static int32_t qnnrt_lower__as_rows(qnnrt_lower__job *job, int32_t tensor, uint32_t axes,
                                    qnnrt_lower__aligned *a)
{
    const int32_t root = job->graph->bodies[tensor].root;
    const qnnrt_lower_tensor *t = qnnrt_lower__at(job, root);
    uint32_t i;
    if (a->rank == 0 || axes != 1u << a->order[a->rank - 1] || t->rank > QNNRT_LOWER__MOST_RANK ||
        t->kind == QNNRT_TENSOR_STATIC || t->dims[t->rank - 1] != (uint64_t)a->dims[a->rank - 1])
        return tensor;
    a->packed_rank = t->rank;
    for (i = 0; i < t->rank; ++i) a->packed[i] = t->dims[i];
    a->group[a->rank - 1] = t->rank - 1;
    return root;
}

/* Store a view for an operator that treats some axes of it apart from the others. axes: their bits;
   last: one that must be the fastest, -1 for none. Return the tensor, with the packed dims. */
static int32_t qnnrt_lower__arrange(qnnrt_lower__job *job, qnnrt_lower__view *view, uint32_t axes,
                                    int32_t last, qnnrt_lower__aligned *a)
{
    int32_t tensor;
    qnnrt_lower__place_axes(view, 1, view->rank, view->dims, axes, last, a);
    tensor = qnnrt_lower__stored(job, view, a->order);
    tensor = qnnrt_lower__as_rows(job, tensor, axes, a);
    return qnnrt_lower__reshape(job, tensor, a->packed_rank, a->packed);
}

/* Let a view be a tensor whose axes are stored in the order of `a`. */
static void qnnrt_lower__become(qnnrt_lower__view *view, int32_t tensor,
                                const qnnrt_lower__aligned *a)
{
    view->tensor = tensor;
    view->value = NULL;
    memcpy(view->order, a->order, sizeof(a->order));
}

/* Return the packed axis of an axis of the graph. */
static uint32_t qnnrt_lower__packed_axis(const qnnrt_lower__aligned *a, uint32_t axis)
{
    uint32_t i = 0;
    while (i + 1 < a->rank && a->order[i] != axis) ++i;
    return a->group[i];
}

/* Return an argument that names an axis, from 0 on. */
static uint32_t qnnrt_lower__axis(const qnnrt_ir_node *node, const char *name, uint32_t rank,
                                  int64_t otherwise)
{
    const int64_t axis = qnnrt_ir_int(node, name, otherwise);
    if (rank == 0) return 0;
    return (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
}

/* =====================================================================================
   ELEMENTWISE                                                              >>elementwise
   Operators on each element.
   Needs: >>config >>params >>tensor >>static >>operator
   Knows nothing of: other operators
   ===================================================================================== */

static int32_t qnnrt_lower__binary_op(qnnrt_lower__job *job, const char *type, int32_t a, int32_t b)
{
    const int32_t inputs[2] = {a, b};
    return qnnrt_lower__op_as(job, type, inputs, 2, a, qnnrt_lower__at(job, a)->dtype, NULL);
}

/* Clamp a tensor of floats, where infinity means no bound. */
static int32_t qnnrt_lower__clamp(qnnrt_lower__job *job, int32_t t, double low, double high)
{
    const qnnrt_dtype dtype = qnnrt_lower__at(job, t)->dtype;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    if (low == 0 && high == HUGE_VAL && qnnrt_lower__is_float(dtype))
        return qnnrt_lower__op_like(job, "Relu", t, NULL);
    if (low > -HUGE_VAL && high < HUGE_VAL && qnnrt_lower__is_float(dtype)) {
        qnnrt_lower__f32(&p, "min_value", low);
        qnnrt_lower__f32(&p, "max_value", high);
        return qnnrt_lower__op_like(job, "ReluMinMax", t, &p);
    }
    if (low > -HUGE_VAL)
        t = qnnrt_lower__binary_op(job, "ElementWiseMaximum", t,
                                   qnnrt_lower__number(job, dtype, low));
    if (high < HUGE_VAL)
        t = qnnrt_lower__binary_op(job, "ElementWiseMinimum", t,
                                   qnnrt_lower__number(job, dtype, high));
    return t;
}

/* Multiply and add numbers: x * scale + shift. */
static int32_t qnnrt_lower__linear_map(qnnrt_lower__job *job, int32_t t, double scale, double shift)
{
    const qnnrt_dtype dtype = qnnrt_lower__at(job, t)->dtype;
    if (scale != 1)
        t = qnnrt_lower__binary_op(job, "ElementWiseMultiply", t,
                                   qnnrt_lower__number(job, dtype, scale));
    if (shift != 0)
        t = qnnrt_lower__binary_op(job, "ElementWiseAdd", t,
                                   qnnrt_lower__number(job, dtype, shift));
    return t;
}

/* =====================================================================================
   BINARY                                                                        >>binary
   Operators on pairs of elements: arithmetic, division, comparison.
   Needs: >>config >>tensor >>static >>operator >>layout >>align >>elementwise
   Knows nothing of: other operators
   ===================================================================================== */

/* Return a tensor as a view, with its axes in the order of the graph. */
static qnnrt_lower__view qnnrt_lower__view_tensor(const qnnrt_lower__job *job, int32_t tensor,
                                                  uint32_t rank, const int64_t *dims)
{
    qnnrt_lower__view view;
    memset(&view, 0, sizeof(view));
    qnnrt_lower__identity(view.order);
    view.tensor = tensor;
    view.scale = 1;
    view.dtype = qnnrt_lower__at(job, tensor)->dtype;
    view.rank = rank;
    memcpy(view.dims, dims, rank * sizeof(*dims));
    return view;
}

/* Return a number as a view without axes. */
static qnnrt_lower__view qnnrt_lower__view_number(qnnrt_lower__job *job, qnnrt_dtype dtype,
                                                  double value)
{
    const int64_t none = 0;
    return qnnrt_lower__view_tensor(job, qnnrt_lower__number(job, dtype, value), 0, &none);
}

/* Return an operand of a node as a view: an input, or a number. */
static qnnrt_lower__view qnnrt_lower__operand(qnnrt_lower__job *job, size_t input,
                                              const char *argument, qnnrt_dtype dtype)
{
    if (job->node->input_count > input && job->node->inputs[input] != NULL)
        return qnnrt_lower__view_of(job, job->node->inputs[input], 1);
    return qnnrt_lower__view_number(job, dtype, qnnrt_ir_float(job->node, argument, 0));
}

/* Say whether an operator of two tensors is in the table of known errors. */
static int qnnrt_lower__pair_wrong(const qnnrt_lower__job *job, const char *type,
                                   const int32_t *pair, qnnrt_dtype dtype, uint32_t rank,
                                   const int64_t *dims)
{
    qnnrt_tensor_desc descs[3];
    const qnnrt_tensor_desc *inputs[2], *output = &descs[2];
    const qnnrt_quirk *known;
    qnnrt_quirk_node node;
    uint32_t i, k;
    memset(descs, 0, sizeof(descs));
    for (i = 0; i < 2; ++i) {
        inputs[i] = &descs[i];
        qnnrt_lower__describe(qnnrt_lower__at(job, pair[i]), &descs[i]);
    }
    descs[2].dtype = dtype;
    descs[2].rank = rank;
    for (k = 0; k < rank; ++k) descs[2].dims[k] = (uint32_t)dims[k];
    memset(&node, 0, sizeof(node));
    node.type = type;
    node.inputs = inputs;
    node.input_count = 2;
    node.outputs = &output;
    node.output_count = 1;
    known = qnnrt_lower__quirk(job->lower, &node, qnnrt_quirk_find);
    return known != NULL && known->what != QNNRT_QUIRK_VALUES;
}

/* Repeat operands with Tile, one after the other, until the library computes the operator right. */
static void qnnrt_lower__spread(qnnrt_lower__job *job, const char *type, int32_t *pair,
                                qnnrt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    int64_t own[QNNRT_LOWER__RANK];
    uint32_t i, k;
    for (i = 2; i-- > 0;) {
        const qnnrt_lower_tensor *t = qnnrt_lower__at(job, pair[i]);
        if (pair[0] == QNNRT_LOWER__NONE || pair[1] == QNNRT_LOWER__NONE ||
            qnnrt_lower__dims_same(t, rank, dims) ||
            !qnnrt_lower__pair_wrong(job, type, pair, dtype, rank, dims)) continue;
        for (k = 0; k < rank; ++k) own[k] = k + t->rank < rank ? 1 : t->dims[k + t->rank - rank];
        pair[i] = qnnrt_lower__tile(job, pair[i], rank, own, dims);
    }
}

/* Make an operator on two views, with broadcasting to `dims`. Return the result. */
static qnnrt_lower__view qnnrt_lower__between(qnnrt_lower__job *job, const char *type,
                                              const qnnrt_lower__view *x,
                                              const qnnrt_lower__view *y, qnnrt_dtype dtype,
                                              uint32_t rank, const int64_t *dims)
{
    qnnrt_lower__view pair[2], out;
    qnnrt_lower__aligned a;
    int32_t tensors[2];
    pair[0] = *x;
    pair[1] = *y;
    qnnrt_lower__align(job, pair, 2, rank, dims, tensors, &a);
    qnnrt_lower__spread(job, type, tensors, dtype, a.packed_rank, a.packed);
    out = qnnrt_lower__view_tensor(job, qnnrt_lower__op(job, type, tensors, 2, dtype,
                                                        a.packed_rank, a.packed, NULL), rank, dims);
    out.dtype = dtype;
    memcpy(out.order, a.order, sizeof(out.order));
    return out;
}

/* Make an operator on two views; the result has the dims that broadcasting gives. */
static qnnrt_lower__view qnnrt_lower__both(qnnrt_lower__job *job, const char *type,
                                           const qnnrt_lower__view *x, const qnnrt_lower__view *y,
                                           qnnrt_dtype dtype)
{
    const uint32_t rank = x->rank > y->rank ? x->rank : y->rank;
    int64_t dims[QNNRT_LOWER__RANK];
    uint32_t i;
    for (i = 0; i < rank; ++i) {
        const int64_t a = i + x->rank < rank ? 1 : x->dims[i + x->rank - rank];
        const int64_t b = i + y->rank < rank ? 1 : y->dims[i + y->rank - rank];
        dims[i] = a != 1 ? a : b;
    }
    return qnnrt_lower__between(job, type, x, y, dtype, rank, dims);
}

/* Let output 0 be a view; an axis of size 1 that the output repeats is repeated later, if ever. */
static void qnnrt_lower__set_view(qnnrt_lower__job *job, qnnrt_lower__view *view)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, out);
    qnnrt_lower__extend(job, view, out->rank);
    qnnrt_lower__store(job, 0, view);
    if (record == NULL) return;
    memcpy(record->dims, view->dims, sizeof(view->dims));
    record->narrow = memcmp(view->dims, out->dims, out->rank * sizeof(*out->dims)) != 0;
}

/* Make an operator on two views, with broadcasting, and store output 0. */
static void qnnrt_lower__pair(qnnrt_lower__job *job, const char *type, qnnrt_lower__view *pair)
{
    qnnrt_lower__view out = qnnrt_lower__both(
        job, type, &pair[0], &pair[1], qnnrt_lower__dtype(job, job->node->outputs[0]->dtype));
    qnnrt_lower__set_view(job, &out);
}

/* Give a view another type of tensors. As bool it says which elements are not 0. */
static void qnnrt_lower__view_cast(qnnrt_lower__job *job, qnnrt_lower__view *view,
                                   qnnrt_dtype dtype)
{
    if (view->dtype == dtype) return;
    if (view->value == NULL && dtype == QNNRT_DTYPE_BOOL8) {
        const qnnrt_lower__view zero = qnnrt_lower__view_number(job, view->dtype, 0);
        *view = qnnrt_lower__between(job, "ElementWiseNotEqual", view, &zero, dtype, view->rank,
                                     view->dims);
    } else if (view->value == NULL) {
        view->tensor = qnnrt_lower__cast(job, job->graph->bodies[view->tensor].root, dtype);
    }
    view->dtype = dtype;
}

/* Return a view in a tensor for an operator on each element, of any dims. */
static int32_t qnnrt_lower__view_root(qnnrt_lower__job *job, qnnrt_lower__view *view)
{
    qnnrt_lower__settle(job, view);
    return job->graph->bodies[view->tensor].root;
}

/* Make an operator on each element of a view. */
static void qnnrt_lower__view_unary(qnnrt_lower__job *job, const char *type,
                                    qnnrt_lower__view *view)
{
    view->tensor = qnnrt_lower__op_like(job, type, qnnrt_lower__view_root(job, view), NULL);
}

/* Multiply and add numbers to a view. Known data is multiplied when it is loaded. */
static void qnnrt_lower__view_map(qnnrt_lower__job *job, qnnrt_lower__view *view, double scale,
                                  double shift)
{
    if (view->value != NULL && shift == 0 && qnnrt_lower__is_float(view->dtype))
        view->scale *= scale;
    else
        view->tensor = qnnrt_lower__linear_map(job, qnnrt_lower__view_root(job, view), scale,
                                               shift);
}

static void qnnrt_lower__view_clamp(qnnrt_lower__job *job, qnnrt_lower__view *view, double low,
                                    double high)
{
    view->tensor = qnnrt_lower__clamp(job, qnnrt_lower__view_root(job, view), low, high);
}

/* Make an operator on a view and another one, which does not repeat it. */
static void qnnrt_lower__view_with(qnnrt_lower__job *job, const char *type, qnnrt_lower__view *x,
                                   const qnnrt_lower__view *y)
{
    *x = qnnrt_lower__both(job, type, x, y, x->dtype);
}

/* =====================================================================================
   SHAPE                                                                          >>shape
   Operators that move elements: views, permutations, slices, joins, copies.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>binary
   Knows nothing of: arithmetic
   ===================================================================================== */

/* Output 0 is input 0, in its type. */
static void qnnrt_lower__do_alias(qnnrt_lower__job *job)
{
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, job->node->outputs[0]->dtype);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    qnnrt_lower__view_cast(job, &x, dtype);
    qnnrt_lower__store(job, 0, &x);
}

/* dropout does nothing after training. */
static void qnnrt_lower__do_dropout(qnnrt_lower__job *job)
{
    if (qnnrt_ir_int(job->node, "train", 0) && qnnrt_ir_float(job->node, "p", 1) > 0)
        qnnrt_lower__refuse(job->graph, "Export the model after model.eval().",
                            "dropout in training is not lowered");
    qnnrt_lower__do_alias(job);
}

/* Let an output of the node have the elements of a view, and its own dims. */
static void qnnrt_lower__set_dims(qnnrt_lower__job *job, size_t output, qnnrt_lower__view *view)
{
    const qnnrt_ir_value *out = job->node->outputs[output];
    qnnrt_lower__view_dims(job, view, out->rank, out->dims);
    qnnrt_lower__set(job, output, view->tensor, view->order);
}

static void qnnrt_lower__do_view(qnnrt_lower__job *job)
{
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    qnnrt_lower__set_dims(job, 0, &x);
}

static void qnnrt_lower__do_permute(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int swap = strncmp(node->op, "swapaxes", 8) == 0;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    uint32_t perm[QNNRT_LOWER__RANK], i, k;
    int64_t dims[QNNRT_LOWER__RANK];
    qnnrt_lower__identity(perm);
    if (strncmp(node->op, "permute", 7) == 0) {
        qnnrt_ir_ints(node, "dims", dims);
        for (i = 0; i < x.rank; ++i) perm[i] = (uint32_t)(dims[i] < 0 ? dims[i] + x.rank : dims[i]);
    } else if (swap || qnnrt_lower__listed("transpose.* mT.*", node->op)) {
        i = qnnrt_lower__axis(node, swap ? "axis0" : "dim0", x.rank, -2);
        k = qnnrt_lower__axis(node, swap ? "axis1" : "dim1", x.rank, -1);
        perm[i] = k;
        perm[k] = i;
    } else if (strncmp(node->op, "movedim", 7) == 0) {
        i = qnnrt_lower__axis(node, "source", x.rank, 0);
        k = qnnrt_lower__axis(node, "destination", x.rank, 0);
        for (; i < k; ++i) perm[i] = perm[i + 1];
        for (; i > k; --i) perm[i] = perm[i - 1];
        perm[k] = qnnrt_lower__axis(node, "source", x.rank, 0);
    } else {
        for (i = 0; i < x.rank; ++i) perm[i] = x.rank - 1 - i;
    }
    qnnrt_lower__view_permute(job, &x, perm);
    qnnrt_lower__set(job, 0, x.tensor, x.order);
}

/* Take elements first, first + step, ... of an axis of a view. The view is then the result. */
static void qnnrt_lower__cut(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                             int64_t first, int64_t count, int64_t step)
{
    int64_t ranges[3 * QNNRT_LOWER__RANK], own[QNNRT_LOWER__RANK], dims[QNNRT_LOWER__RANK];
    int64_t inner = 1;
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    uint32_t i, at, rank;
    int32_t t;
    if (first == 0 && count == x->dims[axis] && step == 1) return;
    if (x->dtype == QNNRT_DTYPE_BOOL8 && job->lower->desc.target == QNNRT_LOWER_HTP) {
        qnnrt_lower__view_cast(job, x, QNNRT_DTYPE_I32); /* HTP cuts no bools */
        qnnrt_lower__cut(job, x, axis, first, count, step);
        qnnrt_lower__view_cast(job, x, QNNRT_DTYPE_BOOL8);
        return;
    }
    t = qnnrt_lower__arrange(job, x, 1u << axis, -1, &a);
    at = qnnrt_lower__packed_axis(&a, axis);
    rank = a.packed_rank;
    /* HTP 2.51 does not finalize one of the middle before Transpose and Reshape, but it does with
       the axes behind it as part of the last. */
    if (job->lower->desc.target == QNNRT_LOWER_HTP && count == 1 && at > 0)
        for (; rank > at + 1; --rank) inner *= a.packed[rank - 1];
    for (i = 0; i < rank; ++i) {
        ranges[3 * i] = i == at ? first * inner : 0;
        ranges[3 * i + 1] = i == at ? (first + (count - 1) * step + 1) * inner : a.packed[i];
        ranges[3 * i + 2] = i == at ? step : 1;
        own[i] = i == at ? count * inner : a.packed[i];
    }
    if (inner != 1) {
        memcpy(dims, a.packed, sizeof(dims));
        dims[at] *= inner;
        t = qnnrt_lower__reshape(job, t, rank, dims);
    }
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] = count;
    qnnrt_lower__numbers(&p, "ranges", QNNRT_DTYPE_I32, ranges, rank, 3);
    t = qnnrt_lower__op(job, "StridedSlice", &t, 1, x->dtype, rank, own, &p);
    memcpy(x->dims, dims, sizeof(dims));
    qnnrt_lower__become(x, t, &a);
}

/* Remove an axis of size 1 from a view. */
static void qnnrt_lower__drop_axis(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis)
{
    uint32_t order[QNNRT_LOWER__RANK], i, used = 0;
    qnnrt_lower__settle(job, x);
    qnnrt_lower__identity(order);
    for (i = 0; i < x->rank; ++i)
        if (x->order[i] != axis) order[used++] = x->order[i] - (uint32_t)(x->order[i] > axis);
    memcpy(x->order, order, sizeof(order));
    for (i = axis; i + 1 < x->rank; ++i) x->dims[i] = x->dims[i + 1];
    x->rank -= 1;
}

static void qnnrt_lower__do_slice(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    const int64_t size = x.dims[axis];
    if (strncmp(node->op, "select", 6) == 0) {
        int64_t index = qnnrt_ir_int(node, "index", 0);
        if (index < 0) index += size;
        qnnrt_lower__cut(job, &x, axis, index, 1, 1);
        qnnrt_lower__drop_axis(job, &x, axis);
    } else {
        int64_t start = qnnrt_ir_int(node, "start", 0);
        if (start < 0) start += size;
        if (start < 0) start = 0;
        qnnrt_lower__cut(job, &x, axis, start, node->outputs[0]->dims[axis],
                         qnnrt_ir_int(node, "step", 1));
    }
    qnnrt_lower__store(job, 0, &x);
}

/* Store a value in the order of the graph, if that puts its first axis first. Slices of that axis,
   as queries, keys and values are, would each be transposed otherwise. */
static void qnnrt_lower__front(qnnrt_lower__job *job, const qnnrt_ir_value *value)
{
    const qnnrt_lower__view x = qnnrt_lower__view_of(job, value, 0);
    qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, value);
    uint32_t i = 0;
    while (i + 1 < x.rank && x.dims[x.order[i]] == 1) ++i;
    if (x.value != NULL || x.rank < 4 || x.order[i] == 0 || record == NULL) return;
    record->tensor = qnnrt_lower__plain(job, &x);
    qnnrt_lower__identity(record->order);
}

/* split, chunk, unbind: each output is a slice. */
static void qnnrt_lower__do_split(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int unbind = strncmp(node->op, "unbind", 6) == 0;
    int64_t first = 0;
    size_t i;
    if (qnnrt_lower__axis(node, "dim", node->inputs[0]->rank, 0) == 0)
        qnnrt_lower__front(job, node->inputs[0]);
    for (i = 0; i < node->output_count; ++i) {
        qnnrt_lower__view x = qnnrt_lower__in(job, 0);
        const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
        const int64_t count = unbind ? 1 : node->outputs[i]->dims[axis];
        if (node->outputs[i]->users != 0 || node->outputs[i]->is_output) {
            qnnrt_lower__cut(job, &x, axis, first, count, 1);
            if (unbind) qnnrt_lower__drop_axis(job, &x, axis);
            qnnrt_lower__store(job, i, &x);
        }
        first += count;
    }
}

/* Join views along an axis. Return the result as a view. */
static qnnrt_lower__view qnnrt_lower__join(qnnrt_lower__job *job, qnnrt_lower__view *views,
                                           size_t count, uint32_t axis)
{
    qnnrt_lower__view out = views[0];
    int32_t tensors[QNNRT_LOWER__MOST_INPUTS];
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    uint32_t i;
    size_t k;
    if (count == 1) return out;
    if (count > QNNRT_LOWER__MOST_INPUTS) {              /* in groups */
        const size_t most = QNNRT_LOWER__MOST_INPUTS;
        size_t group = 0;
        for (k = 0; k < count; k += most)
            views[group++] = qnnrt_lower__join(job, views + k, count - k < most ? count - k : most,
                                               axis);
        return qnnrt_lower__join(job, views, group, axis);
    }
    /* HTP reads true of a static bool as false beside what it compares in floats. */
    for (k = 0; k < count && qnnrt_lower__at(job, views[k].tensor)->kind != QNNRT_TENSOR_STATIC;
         ++k) {}
    if (k < count && out.dtype == QNNRT_DTYPE_BOOL8 && job->lower->desc.target == QNNRT_LOWER_HTP) {
        for (k = 0; k < count; ++k) qnnrt_lower__view_cast(job, &views[k], QNNRT_DTYPE_I32);
        out = qnnrt_lower__join(job, views, count, axis);
        qnnrt_lower__view_cast(job, &out, QNNRT_DTYPE_BOOL8);
        return out;
    }
    for (k = 1; k < count; ++k) out.dims[axis] += views[k].dims[axis];
    qnnrt_lower__place_axes(views, count, out.rank, out.dims, 1u << axis, -1, &a);
    for (k = 0; k < count; ++k) {
        int64_t own[QNNRT_LOWER__RANK], packed[QNNRT_LOWER__RANK];
        for (i = 0; i < a.rank; ++i) own[i] = views[k].dims[a.order[i]];
        qnnrt_lower__packed(&a, own, packed);
        tensors[k] = qnnrt_lower__stored(job, &views[k], a.order);
        tensors[k] = qnnrt_lower__reshape(job, tensors[k], a.packed_rank, packed);
    }
    qnnrt_lower__u32(&p, "axis", qnnrt_lower__packed_axis(&a, axis));
    qnnrt_lower__become(&out, qnnrt_lower__op(job, "Concat", tensors, count, out.dtype,
                                              a.packed_rank, a.packed, &p), &a);
    return out;
}

/* cat, stack. Tensors without elements are left out. */
static void qnnrt_lower__do_cat(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, out->dtype);
    const int stack = strncmp(node->op, "stack", 5) == 0;
    const uint32_t axis = qnnrt_lower__axis(node, "dim", out->rank, 0);
    qnnrt_lower__view views[256], joined;
    size_t i, count = 0;
    memset(views, 0, sizeof(views[0]));
    for (i = 0; i < node->input_count; ++i) {
        qnnrt_lower__view *view = &views[count];
        if (node->inputs[i] == NULL || node->inputs[i]->count == 0) continue;
        if (count == sizeof(views) / sizeof(views[0])) {
            qnnrt_lower__refuse(job->graph, "Join some of them first.", "more than %lu tensors "
                                "are joined", (unsigned long)(sizeof(views) / sizeof(views[0])));
            return;
        }
        *view = qnnrt_lower__in(job, i);
        qnnrt_lower__view_cast(job, view, dtype);
        if (stack) {
            int64_t dims[QNNRT_LOWER__RANK];
            memcpy(dims, out->dims, sizeof(dims));
            dims[axis] = 1;
            qnnrt_lower__view_dims(job, view, out->rank, dims);
        }
        ++count;
    }
    joined = qnnrt_lower__join(job, views, count, axis);
    qnnrt_lower__store(job, 0, &joined);
}

/* expand: repeated axes stay 1 until an operator needs them. copy: input 1 is expanded. */
static void qnnrt_lower__do_expand(qnnrt_lower__job *job)
{
    const size_t from = strncmp(job->node->op, "expand", 6) != 0;
    qnnrt_lower__view x = qnnrt_lower__view_of(job, job->node->inputs[from], 1);
    qnnrt_lower__view_cast(job, &x, qnnrt_lower__dtype(job, job->node->outputs[0]->dtype));
    qnnrt_lower__set_view(job, &x);
}

/* repeat: whole copies along each axis. */
static void qnnrt_lower__do_repeat(qnnrt_lower__job *job)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int64_t own[QNNRT_LOWER__RANK], dims[QNNRT_LOWER__RANK];
    int32_t t;
    uint32_t i;
    qnnrt_lower__extend(job, &x, out->rank);
    qnnrt_lower__settle(job, &x);
    for (i = 0; i < out->rank; ++i) {
        own[i] = x.dims[x.order[i]];
        dims[i] = out->dims[x.order[i]];
    }
    t = qnnrt_lower__stored(job, &x, x.order);
    qnnrt_lower__set(job, 0, qnnrt_lower__tile(job, t, out->rank, own, dims), x.order);
}

/* repeat_interleave: each element of an axis, or of all, several times in a row. */
static void qnnrt_lower__do_interleave(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const qnnrt_ir_attr *dim = qnnrt_ir_attr_find(node, "dim");
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t axis = dim == NULL || dim->kind == QNNRT_IR_NULL
                              ? 0 : qnnrt_lower__axis(node, "dim", x.rank, 0);
    int64_t own[3] = {1, 1, 1}, dims[3];
    uint32_t i;
    int32_t t;
    if (x.rank == 0 || x.rank != out->rank || dim == NULL || dim->kind == QNNRT_IR_NULL) {
        const int64_t whole = (int64_t)qnnrt_lower__count(x.rank, x.dims);
        qnnrt_lower__view_dims(job, &x, 1, &whole);
    }
    for (i = 0; i < x.rank && x.order[i] != axis; ++i) own[0] *= x.dims[x.order[i]];
    own[0] *= x.dims[axis];
    for (++i; i < x.rank; ++i) own[2] *= x.dims[x.order[i]];
    memcpy(dims, own, sizeof(dims));
    if (out->rank > 0 && x.dims[axis] != 0) dims[1] = out->dims[axis] / x.dims[axis];
    t = qnnrt_lower__stored(job, &x, x.order);
    qnnrt_lower__set(job, 0, qnnrt_lower__tile(job, t, 3, own, dims), x.order);
}

/* diff: differences of neighbours, n times; tensors before and after x are joined to it first. */
static void qnnrt_lower__do_diff(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, node->outputs[0]->dtype);
    const uint32_t axis = qnnrt_lower__axis(node, "dim", node->outputs[0]->rank, -1);
    const char *type = dtype == QNNRT_DTYPE_BOOL8 ? "ElementWiseXor" : "ElementWiseSubtract";
    static const size_t places[3] = {1, 0, 2};
    int64_t turns = qnnrt_ir_int(node, "n", 1);
    qnnrt_lower__view parts[3], x;
    size_t i, count = 0;
    for (i = 0; i < 3; ++i) {
        if (places[i] >= node->input_count || node->inputs[places[i]] == NULL) continue;
        parts[count] = qnnrt_lower__in(job, places[i]);
        qnnrt_lower__view_cast(job, &parts[count++], dtype);
    }
    if (turns > QNNRT_LOWER__MOST_INPUTS) {
        qnnrt_lower__refuse(job->graph, NULL, "more than %d differences of differences"
                            " are not lowered", (int)QNNRT_LOWER__MOST_INPUTS);
        return;
    }
    x = qnnrt_lower__join(job, parts, count, axis);
    for (; turns > 0; --turns) {
        qnnrt_lower__view y = x;
        const int64_t left = x.dims[axis] - 1;
        qnnrt_lower__cut(job, &x, axis, 0, left, 1);
        qnnrt_lower__cut(job, &y, axis, 1, left, 1);
        x = qnnrt_lower__between(job, type, &y, &x, dtype, x.rank, x.dims);
    }
    qnnrt_lower__store(job, 0, &x);
}

/* =====================================================================================
   REDUCE                                                                        >>reduce
   Operators over some axes.
   Needs: >>config >>params >>tensor >>operator >>layout >>align >>elementwise >>binary >>shape
   Knows nothing of: weights
   ===================================================================================== */

/* Reduce axes (their bits) of a view to size 1. */
static void qnnrt_lower__reduce(qnnrt_lower__job *job, const char *type, qnnrt_lower__view *x,
                                uint32_t axes)
{
    int64_t list[QNNRT_LOWER__RANK] = {0}, own[QNNRT_LOWER__RANK];
    uint32_t bits = 0, count = 0, i;
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    /* The CPU library has no maximum of integers. */
    const int turned = job->lower->desc.target == QNNRT_LOWER_CPU &&
                       x->dtype == QNNRT_DTYPE_I32 && strcmp(type, "ReduceMax") == 0;
    int32_t t = qnnrt_lower__arrange(job, x, axes, -1, &a);
    for (i = 0; i < x->rank; ++i)
        if (axes >> i & 1) { bits |= 1u << qnnrt_lower__packed_axis(&a, i); x->dims[i] = 1; }
    for (i = 0; i < a.packed_rank; ++i) {
        own[i] = bits >> i & 1 ? 1 : a.packed[i];
        if (bits >> i & 1) list[count++] = i;
    }
    qnnrt_lower__numbers(&p, "axes", QNNRT_DTYPE_U32, list, count, 0);
    qnnrt_lower__bool(&p, "keep_dims", 1);
    if (turned) t = qnnrt_lower__linear_map(job, t, -1, 0);
    if (count > 0)
        t = qnnrt_lower__op(job, turned ? "ReduceMin" : type, &t, 1, x->dtype, a.packed_rank, own,
                            &p);
    if (turned) t = qnnrt_lower__linear_map(job, t, -1, 0);
    qnnrt_lower__become(x, t, &a);
}

/* Return the axes that a node reduces, as bits. */
static uint32_t qnnrt_lower__axes(const qnnrt_ir_node *node, uint32_t rank)
{
    int64_t dims[QNNRT_LOWER__RANK];
    const size_t count = qnnrt_ir_ints(node, "dim", dims);
    uint32_t bits = 0;
    size_t i;
    for (i = 0; i < count && rank > 0; ++i)
        bits |= 1u << (uint32_t)(dims[i] < 0 ? dims[i] + rank : dims[i]);
    return count == 0 ? (1u << rank) - 1 : bits;
}

/* Give an output what is left after a reduction: axes of size 1 stay or go. */
static void qnnrt_lower__set_reduced(qnnrt_lower__job *job, size_t output, qnnrt_lower__view *x,
                                     uint32_t axes)
{
    uint32_t i;
    if (job->node->outputs[output]->rank != x->rank)
        for (i = x->rank; i-- > 0;) if (axes >> i & 1) qnnrt_lower__drop_axis(job, x, i);
    qnnrt_lower__set(job, output, x->tensor, x->order);
}

/* The logarithm of a sum of exponentials: beside the largest element, which stays finite. */
static void qnnrt_lower__do_logsumexp(qnnrt_lower__job *job)
{
    const double most = job->lower->compute == QNNRT_DTYPE_F16 ? 65504 : 3.4028234663852886e38;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), largest;
    const uint32_t axes = qnnrt_lower__axes(job->node, x.rank);
    qnnrt_lower__settle(job, &x);
    qnnrt_lower__view_cast(job, &x, job->lower->compute);
    largest = x;
    qnnrt_lower__reduce(job, "ReduceMax", &largest, axes);
    qnnrt_lower__view_clamp(job, &largest, -most, most);
    qnnrt_lower__view_with(job, "ElementWiseSubtract", &x, &largest);
    if (job->lower->desc.target == QNNRT_LOWER_HTP)      /* its Exp errs below -88 */
        qnnrt_lower__view_clamp(job, &x, -80, HUGE_VAL);
    qnnrt_lower__view_unary(job, "ElementWiseExp", &x);
    qnnrt_lower__reduce(job, "ReduceSum", &x, axes);
    qnnrt_lower__view_unary(job, "ElementWiseLog", &x);
    qnnrt_lower__view_with(job, "ElementWiseAdd", &x, &largest);
    qnnrt_lower__set_reduced(job, 0, &x, axes);
}

/* Multiply the elements of an axis: halves, until one is left. */
static void qnnrt_lower__multiply_axis(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis)
{
    while (x->dims[axis] > 1) {
        const int64_t half = x->dims[axis] / 2, odd = x->dims[axis] % 2;
        qnnrt_lower__view parts[2], left = *x, right = *x;
        parts[1] = *x;
        qnnrt_lower__cut(job, &left, axis, 0, half, 1);
        qnnrt_lower__cut(job, &right, axis, half, half, 1);
        parts[0] = qnnrt_lower__between(job, "ElementWiseMultiply", &left, &right, x->dtype,
                                        x->rank, left.dims);
        if (odd) qnnrt_lower__cut(job, &parts[1], axis, 2 * half, 1, 1);
        *x = qnnrt_lower__join(job, parts, odd ? 2 : 1, axis);
        if (x->tensor == QNNRT_LOWER__NONE) return;
    }
}

static void qnnrt_lower__do_reduce(qnnrt_lower__job *job)
{
    const char *const op = job->node->op;
    const char *const type = qnnrt_lower__listed("mean.*", op) ? "ReduceMean"
                             : qnnrt_lower__listed("sum.* any.*", op) ? "ReduceSum"
                             : qnnrt_lower__listed("amax.* max.*", op) ? "ReduceMax"
                             : qnnrt_lower__listed("prod.*", op) ? "ReduceProd" : "ReduceMin";
    const qnnrt_lower_target target = job->lower->desc.target;
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, job->node->outputs[0]->dtype);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t axes = qnnrt_lower__axes(job->node, x.rank);
    const int test = dtype == QNNRT_DTYPE_BOOL8 || qnnrt_lower__listed("any.* all.*", op);
    uint32_t i;
    qnnrt_lower__view_cast(job, &x, test ? QNNRT_DTYPE_BOOL8 : dtype);
    if (test)                            /* counted or compared as floats: HTP errs in integers */
        qnnrt_lower__view_cast(job, &x, job->lower->compute);
    if (type[6] == 'P' && (target == QNNRT_LOWER_HTP ||
                           (target == QNNRT_LOWER_CPU && dtype == QNNRT_DTYPE_I32))) {
        for (i = 0; i < x.rank; ++i)
            if (axes >> i & 1) qnnrt_lower__multiply_axis(job, &x, i);
        qnnrt_lower__settle(job, &x);
    } else {
        qnnrt_lower__reduce(job, type, &x, axes);
    }
    if (test) qnnrt_lower__view_cast(job, &x, QNNRT_DTYPE_BOOL8);
    qnnrt_lower__view_cast(job, &x, dtype);
    qnnrt_lower__set_reduced(job, 0, &x, axes);
}

/* Find the place of the largest or least element of an axis, which becomes 1 long. */
static void qnnrt_lower__find(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                              int largest)
{
    const char *type = largest ? "Argmax" : "Argmin";
    int64_t own[QNNRT_LOWER__RANK];
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    uint32_t at;
    int32_t t = qnnrt_lower__arrange(job, x, 1u << axis, -1, &a);
    /* HTP has no Argmin of integers. */
    if (!largest && x->dtype == QNNRT_DTYPE_I32 && job->lower->desc.target == QNNRT_LOWER_HTP) {
        t = qnnrt_lower__linear_map(job, t, -1, 0);
        type = "Argmax";
    }
    at = qnnrt_lower__packed_axis(&a, axis);
    memcpy(own, a.packed, sizeof(own));
    own[at] = 1;
    qnnrt_lower__u32(&p, "axis", at);
    qnnrt_lower__bool(&p, "keep_dims", 1);
    t = qnnrt_lower__op(job, type, &t, 1, QNNRT_DTYPE_I32, a.packed_rank, own, &p);
    x->dtype = QNNRT_DTYPE_I32;
    x->dims[axis] = 1;
    qnnrt_lower__become(x, t, &a);
}

/* Return input 0, of one axis at least, for a comparison of its elements: bools are integers. */
static qnnrt_lower__view qnnrt_lower__comparable(qnnrt_lower__job *job)
{
    const int64_t one = 1;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    if (x.dtype == QNNRT_DTYPE_BOOL8) qnnrt_lower__view_cast(job, &x, QNNRT_DTYPE_I32);
    if (x.rank == 0) qnnrt_lower__view_dims(job, &x, 1, &one);
    return x;
}

/* argmax, argmin: over an axis, or over all elements */
static void qnnrt_lower__do_argmax(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_attr *dim = qnnrt_ir_attr_find(node, "dim");
    const int whole = dim == NULL || dim->kind == QNNRT_IR_NULL;
    qnnrt_lower__view x = qnnrt_lower__comparable(job);
    uint32_t axis = 0;
    if (whole) {
        const int64_t flat = (int64_t)qnnrt_lower__count(x.rank, x.dims);
        qnnrt_lower__settle(job, &x);
        x.tensor = qnnrt_lower__plain(job, &x);          /* the place counts in this order */
        qnnrt_lower__identity(x.order);
        qnnrt_lower__view_dims(job, &x, 1, &flat);
    } else {
        axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    }
    qnnrt_lower__find(job, &x, axis, strncmp(node->op, "argmax", 6) == 0);
    qnnrt_lower__set_dims(job, 0, &x);
}

/* max.dim, min.dim: the values, and their places */
static void qnnrt_lower__do_extreme(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int largest = strncmp(node->op, "max", 3) == 0;
    qnnrt_lower__view x = qnnrt_lower__comparable(job), places = x;
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    const qnnrt_ir_value *out = node->outputs[0];
    qnnrt_lower__reduce(job, largest ? "ReduceMax" : "ReduceMin", &x, 1u << axis);
    qnnrt_lower__view_cast(job, &x, qnnrt_lower__dtype(job, out->dtype));
    qnnrt_lower__set_dims(job, 0, &x);
    if (node->outputs[1]->users == 0 && !node->outputs[1]->is_output) return;
    qnnrt_lower__find(job, &places, axis, largest);
    qnnrt_lower__set_dims(job, 1, &places);
}

/* topk: over the last axis */
static void qnnrt_lower__do_topk(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int64_t count = qnnrt_ir_int(node, "k", 1);
    qnnrt_lower__view x = qnnrt_lower__comparable(job), out;
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, -1);
    int64_t dims[QNNRT_LOWER__RANK];
    int32_t t, outputs[2];
    uint32_t i;
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    t = qnnrt_lower__arrange(job, &x, 1u << axis, (int32_t)axis, &a);
    memcpy(dims, a.packed, sizeof(dims));
    dims[a.packed_rank - 1] = count;
    outputs[0] = qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER, x.dtype, a.packed_rank, dims);
    outputs[1] = qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER, QNNRT_DTYPE_I32, a.packed_rank, dims);
    if (t == QNNRT_LOWER__NONE || outputs[1] == QNNRT_LOWER__NONE) return;
    qnnrt_lower__u32(&p, "k", (uint32_t)count);
    qnnrt_lower__bool(&p, "largest", qnnrt_ir_int(node, "largest", 1) != 0);
    if (qnnrt_lower__add(job, "TopK", &t, 1, outputs, 2, &p) == NULL) return;
    for (i = 0; i < 2; ++i) {
        const qnnrt_ir_value *value = node->outputs[i];
        out = x;
        out.dtype = qnnrt_lower__at(job, outputs[i])->dtype;
        out.dims[axis] = count;
        qnnrt_lower__become(&out, outputs[i], &a);
        qnnrt_lower__view_cast(job, &out, qnnrt_lower__dtype(job, value->dtype));
        qnnrt_lower__view_dims(job, &out, value->rank, value->dims);
        qnnrt_lower__set(job, i, out.tensor, out.order);
    }
}

/* =====================================================================================
   LINEAR                                                                        >>linear
   Products of matrices.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>elementwise
          >>binary >>shape
   Knows nothing of: images
   ===================================================================================== */

/* Multiply two tensors of one or more matrices. transpose: the second one is stored transposed. */
static int32_t qnnrt_lower__matmul(qnnrt_lower__job *job, int32_t x, int32_t y, int transpose,
                                   uint32_t rank, const int64_t *dims)
{
    const int32_t inputs[2] = {x, y};
    qnnrt_lower__params p = qnnrt_lower__params_none();
    if (transpose) qnnrt_lower__bool(&p, "transpose_in1", 1);
    return qnnrt_lower__op(job, "MatMul", inputs, 2, qnnrt_lower__at(job, x)->dtype, rank, dims,
                           &p);
}

/* Return bias (NULL: none) as a static or computed tensor of the compute type. */
static int32_t qnnrt_lower__vector(qnnrt_lower__job *job, const qnnrt_ir_value *value)
{
    const qnnrt_lower__view view = qnnrt_lower__view_of(job, value, 0);
    return qnnrt_lower__plain(job, &view);
}

/* linear: the rows of x, in the order in which they are stored, times W[out, in]. */
static void qnnrt_lower__do_linear(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *weight = node->inputs[1];
    const int biased = node->input_count > 2 && node->inputs[2] != NULL;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), w = qnnrt_lower__in(job, 1);
    const uint32_t last = x.rank - 1;
    int64_t rows[2], dims[2];
    int32_t inputs[3], t;
    qnnrt_lower__aligned a;
    t = qnnrt_lower__arrange(job, &x, 1u << last, (int32_t)last, &a);
    rows[1] = x.dims[last];
    rows[0] = (int64_t)(qnnrt_lower__count(x.rank, x.dims) / (uint64_t)rows[1]);
    dims[0] = rows[0];
    dims[1] = weight->rank == 1 ? 1 : weight->dims[0];
    inputs[0] = job->graph->bodies[t].root;              /* the operator makes rows of anything */
    if (qnnrt_lower__at(job, inputs[0])->rank > QNNRT_LOWER__MOST_RANK)
        inputs[0] = qnnrt_lower__reshape(job, t, 2, rows);
    inputs[1] = qnnrt_lower__plain(job, &w);
    if (weight->rank == 1) {
        const int64_t row[2] = {1, weight->dims[0]};
        inputs[1] = qnnrt_lower__reshape(job, inputs[1], 2, row);
    }
    if (biased) inputs[2] = qnnrt_lower__vector(job, node->inputs[2]);
    t = qnnrt_lower__op(job, "FullyConnected", inputs, biased ? 3 : 2, x.dtype, 2, dims, NULL);
    qnnrt_lower__set(job, 0, t, a.order);
}

/* Return a matrix operand: its tensor with the matrix in the last two axes, and in *transposed
   whether it is stored with these two exchanged. */
static int32_t qnnrt_lower__matrix(qnnrt_lower__job *job, const qnnrt_lower__view *x,
                                   int *transposed)
{
    uint32_t order[QNNRT_LOWER__RANK];
    qnnrt_lower__identity(order);
    *transposed = 0;
    if (x->value == NULL && x->rank >= 2) {
        order[x->rank - 1] = x->rank - 2;
        order[x->rank - 2] = x->rank - 1;
        /* Exchanged is cheaper if the rows are the fastest of the two. */
        if (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 2] != 1) {
            uint32_t i, row = 0, column = 0;
            for (i = 0; i < x->rank; ++i) {
                if (x->order[i] == x->rank - 2) row = i;
                if (x->order[i] == x->rank - 1) column = i;
            }
            *transposed = row > column;
        }
        if (!*transposed) qnnrt_lower__identity(order);
    }
    return qnnrt_lower__stored(job, x, order);
}

/* Multiply x[.., M, K] and y[.., K, N], with ATen's broadcasting. dims: of the result, rank >= 2 */
static int32_t qnnrt_lower__product(qnnrt_lower__job *job, qnnrt_lower__view *x,
                                    qnnrt_lower__view *y, int transpose_b, uint32_t rank,
                                    const int64_t *dims)
{
    int64_t own[QNNRT_LOWER__RANK], batch[QNNRT_LOWER__RANK];
    qnnrt_lower__view *both[2] = {x, y};
    int32_t tensors[2];
    int transposed;
    uint32_t i, k;
    if (transpose_b && y->value == NULL) {       /* y is [.., N, K]: exchange the names */
        const uint32_t last = y->rank - 1;
        const int64_t size = y->dims[last];
        y->dims[last] = y->dims[last - 1];
        y->dims[last - 1] = size;
        for (i = 0; i < y->rank; ++i)
            if (y->order[i] >= last - 1) y->order[i] = 2 * last - 1 - y->order[i];
        transpose_b = 0;
    }
    tensors[1] = qnnrt_lower__matrix(job, y, &transposed);
    if (transpose_b) transposed = 1;
    tensors[0] = qnnrt_lower__plain(job, x);
    if (rank <= QNNRT_LOWER__MOST_RANK)
        return qnnrt_lower__matmul(job, tensors[0], tensors[1], transposed, rank, dims);
    /* Many axes of matrices: repeat them where they differ, and make one axis of them. */
    batch[0] = 1;
    for (i = 0; i + 2 < rank; ++i) batch[0] *= dims[i];
    for (k = 0; k < 2; ++k) {
        const qnnrt_lower_tensor *t = qnnrt_lower__at(job, tensors[k]);
        int64_t matrix[2], whole[QNNRT_LOWER__RANK];
        int tiled = 0;
        const uint32_t missing = rank - both[k]->rank;
        if (tensors[k] == QNNRT_LOWER__NONE) return QNNRT_LOWER__NONE;
        matrix[0] = t->dims[t->rank - 2];
        matrix[1] = t->dims[t->rank - 1];
        for (i = 0; i + 2 < rank; ++i) {
            own[i] = i < missing ? 1 : both[k]->dims[i - missing];
            whole[i] = dims[i];
            if (own[i] != dims[i]) tiled = 1;
        }
        own[rank - 2] = whole[rank - 2] = 1;
        own[rank - 1] = whole[rank - 1] = matrix[0] * matrix[1];
        if (tiled) tensors[k] = qnnrt_lower__tile(job, tensors[k], rank, own, whole);
        own[0] = batch[0];
        own[1] = matrix[0];
        own[2] = matrix[1];
        tensors[k] = qnnrt_lower__reshape(job, tensors[k], 3, own);
    }
    batch[1] = dims[rank - 2];
    batch[2] = dims[rank - 1];
    return qnnrt_lower__matmul(job, tensors[0], tensors[1], transposed, 3, batch);
}

/* Add up the elements of an axis by a product with a triangle of ones. */
static void qnnrt_lower__triangle(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis)
{
    const int64_t size = x->dims[axis], square[2] = {size, size};
    int64_t rows[2], i;
    qnnrt_lower__aligned a;
    int32_t t = qnnrt_lower__arrange(job, x, 1u << axis, (int32_t)axis, &a);
    double *values = qnnrt_lower__zeros(job, size, size);
    if (values == NULL) return;
    for (i = 0; i < size * size; ++i) values[i] = i / size <= i % size;
    rows[0] = (int64_t)qnnrt_lower__count(x->rank, x->dims) / size;
    rows[1] = size;
    t = qnnrt_lower__reshape(job, t, 2, rows);
    t = qnnrt_lower__matmul(job, t, qnnrt_lower__doubles(job, x->dtype, 2, square, values), 0, 2,
                            rows);
    qnnrt_lower__become(x, t, &a);
}

/* cumsum, cumprod. HTP adds up integers only. */
static void qnnrt_lower__do_cumulate(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, node->outputs[0]->dtype);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), parts[64];
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    qnnrt_lower__view_cast(job, &x, dtype);
    qnnrt_lower__settle(job, &x);
    if (x.rank == 0 || x.dims[axis] == 1) {
        qnnrt_lower__set(job, 0, x.tensor, x.order);
        return;
    }
    if (strncmp(node->op, "cumprod", 7) == 0) {
        const int64_t count = x.dims[axis];
        int64_t i;
        if (count > 64) {
            qnnrt_lower__refuse(job->graph, NULL, "more than 64 elements are multiplied");
            return;
        }
        for (i = 0; i < count; ++i) {
            parts[i] = x;
            qnnrt_lower__cut(job, &parts[i], axis, i, 1, 1);
            if (i > 0)
                parts[i] = qnnrt_lower__between(job, "ElementWiseMultiply", &parts[i - 1],
                                                &parts[i], dtype, x.rank, parts[i].dims);
        }
        x = qnnrt_lower__join(job, parts, (size_t)count, axis);
    } else if (dtype != QNNRT_DTYPE_I32 && job->lower->desc.target == QNNRT_LOWER_HTP) {
        qnnrt_lower__triangle(job, &x, axis);
    } else {
        qnnrt_lower__aligned a;
        qnnrt_lower__params p = qnnrt_lower__params_none();
        int32_t t = qnnrt_lower__arrange(job, &x, 1u << axis, -1, &a);
        qnnrt_lower__u32(&p, "axis", qnnrt_lower__packed_axis(&a, axis));
        qnnrt_lower__bool(&p, "exclusive", 0);
        qnnrt_lower__bool(&p, "reverse", 0);
        t = qnnrt_lower__op(job, "CumulativeSum", &t, 1, dtype, a.packed_rank, a.packed, &p);
        qnnrt_lower__become(&x, t, &a);
    }
    qnnrt_lower__set(job, 0, x.tensor, x.order);
}

/* matmul, mm, bmm, mv: vectors become matrices. Integers are multiplied as float32. */
static void qnnrt_lower__do_matmul(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), y = qnnrt_lower__in(job, 1);
    const qnnrt_ir_value *out = node->outputs[0];
    const int transpose_b = (int)qnnrt_ir_int(node, "transpose_b", 0);
    int64_t dims[QNNRT_LOWER__RANK];
    const uint32_t x_rank = x.rank, y_rank = y.rank;
    uint32_t rank = 0, i, most;
    int32_t t;
    if (!qnnrt_lower__is_float(x.dtype)) {
        qnnrt_lower__view_cast(job, &x, QNNRT_DTYPE_F32);
        qnnrt_lower__view_cast(job, &y, QNNRT_DTYPE_F32);
    }
    if (x_rank == 1) {
        const int64_t row[2] = {1, x.dims[0]};
        qnnrt_lower__view_dims(job, &x, 2, row);
    }
    if (y_rank == 1) {
        const int64_t column[2] = {y.dims[0], 1};
        qnnrt_lower__view_dims(job, &y, 2, column);
    }
    most = x.rank > y.rank ? x.rank : y.rank;
    for (i = 0; i + 2 < most; ++i) {
        const int64_t a = i + x.rank < most ? 1 : x.dims[i + x.rank - most];
        const int64_t b = i + y.rank < most ? 1 : y.dims[i + y.rank - most];
        dims[rank++] = a > b ? a : b;
    }
    dims[rank++] = x.dims[x.rank - 2];
    dims[rank++] = transpose_b ? y.dims[y.rank - 2] : y.dims[y.rank - 1];
    t = qnnrt_lower__product(job, &x, &y, transpose_b, rank, dims);
    qnnrt_lower__set(job, 0, qnnrt_lower__cast(job, t, qnnrt_lower__dtype(job, out->dtype)), NULL);
}

/* addmm, baddbmm: beta * bias + alpha * x y. */
static void qnnrt_lower__do_addmm(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const double beta = qnnrt_ir_float(node, "beta", 1), alpha = qnnrt_ir_float(node, "alpha", 1);
    qnnrt_lower__view bias = qnnrt_lower__view_of(job, node->inputs[0], 1), pair[2];
    qnnrt_lower__view x = qnnrt_lower__in(job, 1), y = qnnrt_lower__in(job, 2);
    int32_t t;
    if (alpha == 0) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", "alpha is 0");
        return;
    }
    if (out->rank == 2 && y.value != NULL && bias.value != NULL && bias.rank == 1 && beta != 0 &&
        bias.dims[0] == y.dims[1]) {
        static const uint32_t turned[2] = {1, 0};
        const int64_t dims[2] = {y.dims[1], y.dims[0]};
        int32_t inputs[3];
        uint32_t order[QNNRT_LOWER__RANK];
        qnnrt_lower__identity(order);
        inputs[0] = qnnrt_lower__plain(job, &x);
        inputs[1] = qnnrt_lower__static(job, y.value, y.dtype, turned, alpha, 2, dims);
        inputs[2] = qnnrt_lower__static(job, bias.value, bias.dtype, order, beta, 1, bias.dims);
        qnnrt_lower__set(job, 0, qnnrt_lower__op(job, "FullyConnected", inputs, 3, x.dtype, 2,
                                                 out->dims, NULL), NULL);
        return;
    }
    t = qnnrt_lower__product(job, &x, &y, 0, out->rank, out->dims);
    t = qnnrt_lower__linear_map(job, t, alpha, 0);
    if (beta == 0) {                                     /* the bias is not read */
        qnnrt_lower__set(job, 0, t, NULL);
        return;
    }
    pair[0] = bias;
    qnnrt_lower__view_map(job, &pair[0], beta, 0);
    pair[1] = qnnrt_lower__view_tensor(job, t, out->rank, out->dims);
    pair[1].dtype = x.dtype;
    qnnrt_lower__pair(job, "ElementWiseAdd", pair);
}

/* =====================================================================================
   ATTENTION                                                                  >>attention
   Softmax and attention, and rows whose mask leaves nothing.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>elementwise
          >>binary >>reduce >>linear
   Knows nothing of: other operators
   ===================================================================================== */

/* What masks put in the place of what they hide. float16 holds none of the first two. */
enum {
    QNNRT_LOWER__INFINITE = 1,           /* -infinity: a row of it is NaN after softmax, 0 after
                                            attention */
    QNNRT_LOWER__LOWEST = 2,             /* about the lowest float: a row of it gives the mean */
    QNNRT_LOWER__LOW = 4,                /* -1e9, -10000: a row of it is a row without a mask, with
                                            few digits left or none */
    QNNRT_LOWER__GIVEN = 8,              /* unknown: the caller's */
    QNNRT_LOWER__COMPUTED = 16           /* scores are among it, or what else is no mask */
};

/* Scores at or below are equal. Bools hide with it. */
enum { QNNRT_LOWER__MASKED = -30000, QNNRT_LOWER__MASK_STATIC = 1 << 17, QNNRT_LOWER__STEPS = 8 };

static unsigned qnnrt_lower__hides_number(double x)
{
    return x <= -HUGE_VAL ? QNNRT_LOWER__INFINITE : x <= -1e30 ? QNNRT_LOWER__LOWEST
           : x <= -500 ? QNNRT_LOWER__LOW : 0;
}

/* Return what a mask, or scores with their mask, hides with. `steps`: how far to look back. */
static unsigned qnnrt_lower__hides(qnnrt_lower__job *job, const qnnrt_ir_value *value, int steps)
{
    static const char kept[] =
        "where.* masked_fill.* add.* sub.* rsub.* mul.* div.* cat.* min* max* clamp* slice.*"
        " select.* squeeze.* unsqueeze.* expand.* repeat.* view.* reshape.* permute.* transpose.*"
        " to.* _to_copy.* clone.* alias.* contiguous.*";
    static const char *const numbers[] = { "value", "other", "self", "min", NULL };
    const qnnrt_ir_node *node = qnnrt_ir_producer(value);
    unsigned out = 0;
    size_t i;
    if (value->origin == QNNRT_IR_CONSTANT || value->origin == QNNRT_IR_WEIGHT) {
        const double *values;
        if (qnnrt_ir_dtype_kind(value->dtype) != 2 || value->count > QNNRT_LOWER__MASK_STATIC ||
            qnnrt_lower__known(job->lower, value) == NULL) return 0;
        values = qnnrt_lower__values(job, value);
        for (i = 0; values != NULL && i < value->count; ++i)
            out |= qnnrt_lower__hides_number(values[i]);
        return out;
    }
    if (node == NULL) return value->origin == QNNRT_IR_INPUT ? QNNRT_LOWER__GIVEN : 0;
    if (steps == 0 || !qnnrt_lower__listed(kept, node->op)) return QNNRT_LOWER__COMPUTED;
    for (i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != NULL && qnnrt_ir_dtype_kind(node->inputs[i]->dtype) == 2)
            out |= qnnrt_lower__hides(job, node->inputs[i], steps - 1);
    for (i = 0; numbers[i] != NULL; ++i)
        out |= qnnrt_lower__hides_number(qnnrt_ir_float(node, numbers[i], 0));
    return out;
}

/* Return true if a backend computes in float16, as libQnnHtp.so does in float32, too. */
static int qnnrt_lower__is_half(const qnnrt_lower__job *job)
{
    return job->lower->desc.target == QNNRT_LOWER_HTP || job->lower->compute == QNNRT_DTYPE_F16;
}

/* Keep the node if what it hides with gives NaN that the library does not have: libQnnCpu.so makes
   -infinity the least number when it computes. */
static void qnnrt_lower__no_nan(qnnrt_lower__job *job, unsigned hides)
{
    qnnrt_lower_graph_info *info = &job->graph->info;
    if ((hides & QNNRT_LOWER__INFINITE) == 0 || job->lower->desc.target == QNNRT_LOWER_REF) return;
    if (info->no_nan_count++ == 0) info->no_nan = job->node;
}

/* Raise the elements of a view to a number. */
static void qnnrt_lower__level(qnnrt_lower__job *job, qnnrt_lower__view *x, double low)
{
    const qnnrt_lower__view least = qnnrt_lower__view_number(job, x->dtype, low);
    qnnrt_lower__view_with(job, "ElementWiseMaximum", x, &least);
}

/* Say in *seen which rows of a mask or of scores, along an axis, are not -infinity throughout: 1,
   otherwise 0. In the view they become finite. libQnnCpu.so makes -infinity the least number when
   it computes. */
static void qnnrt_lower__seen(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                              unsigned hides, qnnrt_lower__view *seen)
{
    const int half = qnnrt_lower__is_half(job);
    const int apart = job->lower->desc.target != QNNRT_LOWER_CPU ||
                      (hides & (QNNRT_LOWER__LOWEST | QNNRT_LOWER__GIVEN)) != 0;
    const double low = half ? (double)QNNRT_LOWER__MASKED : apart ? -FLT_MAX : -1e38;
    const qnnrt_lower__view least = qnnrt_lower__view_number(job, x->dtype, low);
    *seen = qnnrt_lower__between(job, half ? "ElementWiseGreater" : "ElementWiseGreaterEqual", x,
                                 &least, QNNRT_DTYPE_BOOL8, x->rank, x->dims);
    qnnrt_lower__view_cast(job, seen, x->dtype);
    qnnrt_lower__reduce(job, "ReduceMax", seen, 1u << axis);
    qnnrt_lower__level(job, x, low);
}

/* Apply Softmax or LogSoftmax along an axis of a view. */
static void qnnrt_lower__softmax(qnnrt_lower__job *job, const char *type, qnnrt_lower__view *x,
                                 uint32_t axis)
{
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    const int anywhere = job->lower->desc.target == QNNRT_LOWER_CPU && type[0] == 'S';
    int32_t t;
    if (type[0] == 'L' && (x->rank == 0 || x->dims[axis] == 1)) {    /* it is garbage on HTP */
        *x = qnnrt_lower__between(job, "ElementWiseSubtract", x, x, x->dtype, x->rank, x->dims);
        return;
    }
    t = qnnrt_lower__arrange(job, x, 1u << axis, anywhere ? -1 : (int32_t)axis, &a);
    qnnrt_lower__u32(&p, "axis", qnnrt_lower__packed_axis(&a, axis));
    qnnrt_lower__f32(&p, "beta", 1);
    t = qnnrt_lower__op(job, type, &t, 1, x->dtype, a.packed_rank, a.packed, &p);
    qnnrt_lower__become(x, t, &a);
}

/* What is added up before a softmax: scores, and masks in the rows of which nothing may be left.
   Masks that hide twice need what their sum is, and -10000 needs the digits of what it hides. */
enum { QNNRT_LOWER__ADDENDS = 6, QNNRT_LOWER__MASKS = 3 };

typedef struct qnnrt_lower__addends {
    size_t   count, masks;
    unsigned hides;                                  /* of all masks */
    struct {
        const qnnrt_ir_value *value, *fill;          /* fill: bools that hide the value, or NULL */
        double                number;                /* of bools that hide; 0: .value is floats */
        unsigned              hides;                 /* 0: scores */
        int                   when;                  /* the bool that hides */
    } list[QNNRT_LOWER__ADDENDS];
    qnnrt_lower__view mask, seen;    /* the sum of the masks without the largest of each row; 0 in
                                        rows that lose their scores, otherwise 1, or neither .tensor
                                        nor .value */
} qnnrt_lower__addends;

/* Return a number of a node: an argument, or an input that is known. */
static double qnnrt_lower__number_of(qnnrt_lower__job *job, const qnnrt_ir_node *node,
                                     const char *argument, size_t input)
{
    const qnnrt_ir_value *other = node->input_count > input ? node->inputs[input] : NULL;
    const double *known = other != NULL && other->count == 1 &&
                          qnnrt_lower__known(job->lower, other) != NULL
                              ? qnnrt_lower__values(job, other) : NULL;
    return known != NULL ? known[0] : qnnrt_ir_float(node, argument, 0);
}

/* Return the number that a node puts in the place of scores where bools are *when, or 0. where.*:
   bools, scores and number in either order; masked_fill.*: scores, bools, number. */
static double qnnrt_lower__filled(qnnrt_lower__job *job, const qnnrt_ir_node *node,
                                  const qnnrt_ir_value **scores, const qnnrt_ir_value **bools,
                                  int *when)
{
    const int where = strncmp(node->op, "where.", 6) == 0;
    const size_t last = node->input_count - 1;
    double number;
    if ((!where && strncmp(node->op, "masked_fill.", 12) != 0) || last < 1 || last > 2) return 0;
    *bools = node->inputs[!where];
    *scores = node->inputs[where];
    *when = !where;
    number = qnnrt_lower__number_of(job, node, where ? "other" : "value", 2);
    if (where && !(number < 0)) {
        number = qnnrt_lower__number_of(job, node, "self", 3 - last);
        *scores = node->inputs[last];
        *when = 1;
    }
    return qnnrt_lower__hides_number(number) & (QNNRT_LOWER__LOWEST | QNNRT_LOWER__LOW) &&
                   qnnrt_ir_dtype_kind((*scores)->dtype) == 2 &&
                   qnnrt_lower__hides(job, *scores, QNNRT_LOWER__STEPS) & QNNRT_LOWER__COMPUTED &&
                   qnnrt_ir_same_shape(*scores, node->outputs[0]) ? number : 0;
}

/* Return true for an operator that gives its floats as they are, where no mask is lower than the
   lowest float. */
static int qnnrt_lower__keeps(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const int most = strncmp(node->op, "max", 3) == 0 && node->input_count == 2;
    if (node->input_count == 0 || qnnrt_ir_dtype_kind(node->inputs[0]->dtype) != 2) return 0;
    if (most || strncmp(node->op, "clamp", 5) == 0)
        return qnnrt_lower__hides_number(qnnrt_lower__number_of(job, node, "min", 1)) ==
               QNNRT_LOWER__LOWEST;
    return strncmp(node->op, "to.", 3) == 0 || strncmp(node->op, "_to_copy.", 9) == 0;
}

/* Take a sum apart. Return 0 if there are too many parts. */
static int qnnrt_lower__addends_find(qnnrt_lower__job *job, const qnnrt_ir_value *x,
                                     qnnrt_lower__addends *out)
{
    const qnnrt_ir_node *node = qnnrt_ir_producer(x);
    const qnnrt_ir_value *scores, *bools;
    const size_t first = out->count;
    unsigned hides;
    double number = 0;
    int when = 0;
    size_t i;
    if (node != NULL && strcmp(node->op, "add.Tensor") == 0 && node->input_count == 2 &&
        qnnrt_ir_float(node, "alpha", 1) == 1 &&
        qnnrt_ir_dtype_kind(node->inputs[0]->dtype) == 2 &&
        qnnrt_ir_dtype_kind(node->inputs[1]->dtype) == 2)
        return qnnrt_lower__addends_find(job, node->inputs[0], out) &&
               qnnrt_lower__addends_find(job, node->inputs[1], out);
    if (node != NULL &&
        (number = qnnrt_lower__filled(job, node, &scores, &bools, &when)) < 0) {
        x = bools;
        if (!qnnrt_lower__addends_find(job, scores, out)) return 0;
        for (i = first; i < out->count; ++i) {
            if (out->list[i].fill != NULL) return 0;
            out->list[i].fill = x;
            if (out->list[i].number >= 0) out->list[i].when = when;
            else if (out->list[i].when != when) return 0;
        }
        hides = qnnrt_lower__hides_number(number);
    } else if (node != NULL && qnnrt_lower__keeps(job, node)) {
        const qnnrt_lower__addends before = *out;
        if (!qnnrt_lower__addends_find(job, node->inputs[0], out)) return 0;
        if (node->op[0] == 't' || node->op[0] == '_' || out->masks - before.masks < 2 ||
            !(out->hides & QNNRT_LOWER__LOWEST)) return 1;
        *out = before;
        hides = 0;
    } else {
        hides = qnnrt_lower__hides(job, x, QNNRT_LOWER__STEPS) & ~(unsigned)QNNRT_LOWER__GIVEN;
        if (hides & QNNRT_LOWER__COMPUTED) hides = 0;
    }
    if (out->count == QNNRT_LOWER__ADDENDS) return 0;
    memset(&out->list[out->count], 0, sizeof(out->list[0]));
    out->list[out->count].value = x;
    out->list[out->count].number = number;
    out->list[out->count].when = when;
    out->list[out->count++].hides = hides;
    out->masks += hides != 0;
    out->hides |= hides;
    return 1;
}

/* Return true if the masks of a sum need qnnrt_lower__addends_sum(). */
static int qnnrt_lower__addends_need(qnnrt_lower__job *job, const qnnrt_ir_value *x,
                                     qnnrt_lower__addends *out)
{
    memset(out, 0, sizeof(*out));
    return qnnrt_lower__addends_find(job, x, out) && out->masks <= QNNRT_LOWER__MASKS &&
           (out->masks > 1 || out->hides == QNNRT_LOWER__LOW) &&
           (out->hides & QNNRT_LOWER__INFINITE) == 0;
}

/* Return 1 where a bool is `when`, else 0, times a number. */
static qnnrt_lower__view qnnrt_lower__when(qnnrt_lower__job *job, const qnnrt_ir_value *value,
                                           int when, double number)
{
    qnnrt_lower__view x = qnnrt_lower__view_of(job, value, 1);
    qnnrt_lower__view_cast(job, &x, job->lower->compute);
    qnnrt_lower__settle(job, &x);
    if (!when) x.tensor = qnnrt_lower__linear_map(job, x.tensor, -1, 1);
    x.tensor = qnnrt_lower__linear_map(job, x.tensor, number, 0);
    return x;
}

/* Add up masks or scores. Each mask is cut off where the sum of all keeps its digits. */
static qnnrt_lower__view qnnrt_lower__addends_part(qnnrt_lower__job *job,
                                                   const qnnrt_lower__addends *a, int masks,
                                                   double lowest, double low)
{
    qnnrt_lower__view sum, x, shown;
    size_t i;
    memset(&sum, 0, sizeof(sum));
    for (i = 0; i < a->count; ++i) {
        const double least = a->list[i].hides & QNNRT_LOWER__LOWEST ? lowest : low;
        const double number = a->list[i].number;
        if ((a->list[i].hides != 0) != masks) continue;
        if (number < 0) {
            x = qnnrt_lower__when(job, a->list[i].value, a->list[i].when,
                                  number > least ? number : least);
        } else {
            x = qnnrt_lower__view_of(job, a->list[i].value, 1);
            qnnrt_lower__view_cast(job, &x, job->lower->compute);
            qnnrt_lower__settle(job, &x);
            if (masks && least > -HUGE_VAL) qnnrt_lower__level(job, &x, least);
        }
        if (a->list[i].fill != NULL) {
            shown = qnnrt_lower__when(job, a->list[i].fill, !a->list[i].when, 1);
            x = qnnrt_lower__both(job, "ElementWiseMultiply", &x, &shown, x.dtype);
        }
        sum = sum.tensor == QNNRT_LOWER__NONE
                  ? x : qnnrt_lower__both(job, "ElementWiseAdd", &sum, &x, x.dtype);
    }
    return sum;
}

/* Make .mask and .seen, of a rank. Rows that the lowest float hides everywhere lose their scores:
   in float32 by themselves. */
static void qnnrt_lower__addends_sum(qnnrt_lower__job *job, uint32_t rank, uint32_t axis,
                                     qnnrt_lower__addends *a)
{
    const int half = qnnrt_lower__is_half(job), lost = (a->hides & QNNRT_LOWER__LOWEST) != 0;
    const double share = 1 / (double)a->masks;
    const double lowest = half ? -40000 * share : -1e38;
    const double low = !half || a->masks == 1 ? -HUGE_VAL : (lost ? -10000 : -60000) * share;
    qnnrt_lower__view most, least;
    a->mask = qnnrt_lower__addends_part(job, a, 1, lowest, low);
    qnnrt_lower__extend(job, &a->mask, rank);
    if (lost && !half) return;
    most = a->mask;
    qnnrt_lower__reduce(job, "ReduceMax", &most, 1u << axis);
    a->mask = qnnrt_lower__both(job, "ElementWiseSubtract", &a->mask, &most, most.dtype);
    if (!lost) return;
    least = qnnrt_lower__view_number(job, most.dtype, 0.75 * lowest);
    a->seen = qnnrt_lower__between(job, "ElementWiseGreater", &most, &least, QNNRT_DTYPE_BOOL8,
                                   most.rank, most.dims);
    qnnrt_lower__view_cast(job, &a->seen, most.dtype);
}

static void qnnrt_lower__do_softmax(qnnrt_lower__job *job)
{
    const char *op = job->node->op;
    const int safe = strncmp(op, "_safe_", 6) == 0, half = qnnrt_lower__is_half(job);
    const unsigned hides = qnnrt_lower__hides(job, job->node->inputs[0], QNNRT_LOWER__STEPS);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), seen;
    const uint32_t axis = qnnrt_lower__axis(job->node, "dim", x.rank, -1);
    qnnrt_lower__addends sum;
    qnnrt_lower__view_cast(job, &x, qnnrt_lower__dtype(job, job->node->outputs[0]->dtype));
    memset(&seen, 0, sizeof(seen));
    if (qnnrt_lower__addends_need(job, job->node->inputs[0], &sum) && sum.masks < sum.count) {
        qnnrt_lower__addends_sum(job, x.rank, axis, &sum);
        x = qnnrt_lower__addends_part(job, &sum, 0, 0, 0);
        if (sum.seen.tensor != QNNRT_LOWER__NONE)
            x = qnnrt_lower__both(job, "ElementWiseMultiply", &x, &sum.seen, x.dtype);
        x = qnnrt_lower__both(job, "ElementWiseAdd", &x, &sum.mask, x.dtype);
    } else if (safe && hides & (QNNRT_LOWER__INFINITE | QNNRT_LOWER__GIVEN))
        qnnrt_lower__seen(job, &x, axis, hides, &seen);
    else if (half && hides & QNNRT_LOWER__LOWEST && !(hides & QNNRT_LOWER__INFINITE))
        qnnrt_lower__level(job, &x, QNNRT_LOWER__MASKED);
    if (!safe) qnnrt_lower__no_nan(job, hides);
    qnnrt_lower__softmax(job, op[0] == 'l' ? "LogSoftmax" : "Softmax", &x, axis);
    if (seen.tensor != QNNRT_LOWER__NONE)
        qnnrt_lower__view_with(job, "ElementWiseMultiply", &x, &seen);
    qnnrt_lower__set(job, 0, x.tensor, x.order);
}

/* The axes of attention: .. , heads, rows, cells. `share` heads of queries have one of keys. */
typedef struct qnnrt_lower__heads {
    uint32_t          rank;
    int64_t           share, rows, cells;
    qnnrt_lower__view seen;              /* 0 in rows whose mask leaves nothing, otherwise 1; with
                                            neither .tensor nor .value: all rows are 1 */
    qnnrt_lower__view kept;              /* 0 in rows that lose their scores, likewise: of cells
                                            that are hidden as often, they give the mean */
    int               level;             /* 1: all hidden scores are equal */
} qnnrt_lower__heads;

/* Return a mask whose values are known, for heads that are folded into rows. `values` is seen as
   mask->dims. */
static qnnrt_lower__view qnnrt_lower__mask_known(qnnrt_lower__job *job, const qnnrt_lower__heads *h,
                                                 const qnnrt_lower__view *mask,
                                                 const double *values)
{
    const uint32_t at = h->rank - 3;
    const int64_t heads = mask->dims[at], rows = mask->dims[at + 1], cells = mask->dims[at + 2];
    const int apart = h->share > 1 && (heads > 1 || rows > 1);   /* rows differ */
    int64_t dims[QNNRT_LOWER__RANK], total, i;
    qnnrt_lower__view out = *mask;
    double *whole;
    memcpy(dims, mask->dims, sizeof(dims));
    if (heads > 1) dims[at] = heads / h->share;
    if (apart) dims[at + 1] = h->share * h->rows;
    total = (int64_t)qnnrt_lower__count(h->rank, dims);
    whole = qnnrt_lower__zeros(job, total, 1);
    if (whole == NULL) { out.tensor = QNNRT_LOWER__NONE; return out; }
    for (i = 0; i < total; ++i) {
        const int64_t cell = i % cells, row = i / cells % dims[at + 1];
        const int64_t head = i / cells / dims[at + 1] % dims[at];
        const int64_t before = i / cells / dims[at + 1] / dims[at];
        const int64_t own_head = heads == 1 ? 0
                                 : apart ? head * h->share + row / h->rows : head;
        const int64_t own_row = rows == 1 ? 0 : apart ? row % h->rows : row;
        whole[i] = values[((before * heads + own_head) * rows + own_row) * cells + cell];
    }
    return qnnrt_lower__view_tensor(
        job, qnnrt_lower__doubles(job, job->lower->compute, h->rank, dims, whole), h->rank, dims);
}

/* Give a mask the rank of attention. Heads that share a key are rows that follow each other: so are
   those of the mask. */
static void qnnrt_lower__mask_fold(qnnrt_lower__job *job, const qnnrt_lower__heads *h,
                                   qnnrt_lower__view *mask)
{
    const uint32_t at = h->rank - 3;
    int64_t dims[QNNRT_LOWER__RANK];
    qnnrt_lower__extend(job, mask, h->rank);
    if (h->share == 1 || (mask->dims[at] == 1 && mask->dims[at + 1] == 1)) return;
    memcpy(dims, mask->dims, sizeof(dims));
    if (mask->dims[at] == 1) dims[at + 1] *= h->share;
    else if (mask->dims[at + 1] == 1) dims[at + 1] *= h->rows;
    mask->tensor = qnnrt_lower__plain(job, mask);
    if (dims[at + 1] != mask->dims[at + 1])
        mask->tensor = qnnrt_lower__tile(job, mask->tensor, h->rank, mask->dims, dims);
    if (mask->dims[at] != 1) {
        dims[at] /= h->share;
        dims[at + 1] *= h->share;
        mask->tensor = qnnrt_lower__reshape(job, mask->tensor, h->rank, dims);
    }
    *mask = qnnrt_lower__view_tensor(job, mask->tensor, h->rank, dims);
}

/* Make a mask that is computed one to add, and find the rows that it hides. */
static void qnnrt_lower__mask_given(qnnrt_lower__job *job, qnnrt_lower__heads *h,
                                    qnnrt_lower__view *mask)
{
    const qnnrt_ir_node *node = job->node;
    const int nan = qnnrt_ir_int(node, "nan_rows", 0) != 0, half = qnnrt_lower__is_half(job);
    const uint32_t last = mask->rank - 1;
    qnnrt_lower__addends sum;
    unsigned hides;
    if (mask->dtype == QNNRT_DTYPE_BOOL8) {
        qnnrt_lower__settle(job, mask);
        qnnrt_lower__view_cast(job, mask, job->lower->compute);
        h->seen = *mask;
        qnnrt_lower__reduce(job, "ReduceMax", &h->seen, 1u << last);
        qnnrt_lower__view_map(job, mask, 1, -1);
        qnnrt_lower__view_map(job, mask, -(double)QNNRT_LOWER__MASKED, 0);
        return;
    }
    hides = qnnrt_lower__hides(job, node->inputs[3], QNNRT_LOWER__STEPS);
    if (qnnrt_lower__addends_need(job, node->inputs[3], &sum)) {
        qnnrt_lower__view rest = qnnrt_lower__addends_part(job, &sum, 0, 0, 0);
        qnnrt_lower__addends_sum(job, mask->rank, last, &sum);
        *mask = sum.masks == sum.count ? sum.mask : qnnrt_lower__both(
            job, "ElementWiseAdd", &sum.mask, &rest, rest.dtype);
        h->kept = sum.seen;
    } else if (hides & QNNRT_LOWER__INFINITE) {
        if (nan) qnnrt_lower__no_nan(job, hides);
        else qnnrt_lower__seen(job, mask, last, hides, &h->seen);
    } else if (half && hides & QNNRT_LOWER__LOWEST) {
        h->level = 1;
    } else if (hides & QNNRT_LOWER__GIVEN && !nan) {
        qnnrt_lower__seen(job, mask, last, hides, &h->seen);
    }
}

/* Look for rows of a mask whose values are known that leave nothing, and say it in h. */
static void qnnrt_lower__mask_rows(qnnrt_lower__job *job, qnnrt_lower__heads *h,
                                   const qnnrt_lower__view *mask, double *values)
{
    const int nan = qnnrt_ir_int(job->node, "nan_rows", 0) != 0;
    const int half = qnnrt_lower__is_half(job);
    const int64_t cells = mask->dims[h->rank - 1];
    const int64_t rows = (int64_t)qnnrt_lower__count(h->rank - 1, mask->dims);
    double *seen = qnnrt_lower__zeros(job, rows, 1), *kept = qnnrt_lower__zeros(job, rows, 1);
    qnnrt_lower__view narrow = *mask;
    int64_t row, c, hidden = 0, lost = 0;
    if (seen == NULL || kept == NULL) return;
    for (row = 0; row < rows; ++row) {
        double *x = values + row * cells, most = -HUGE_VAL;
        unsigned kind;
        for (c = 0; c < cells; ++c) if (!(x[c] <= most)) most = x[c];
        kind = qnnrt_lower__hides_number(most);
        seen[row] = kind != QNNRT_LOWER__INFINITE;
        hidden += kind == QNNRT_LOWER__INFINITE;
        if (kind == QNNRT_LOWER__INFINITE && nan && half)
            qnnrt_lower__refuse(job->graph, "Compute it on a backend with NaN: --backends "
                                "npu,cpu,host; or hide with a finite number.",
                                "its mask has rows of -infinity, where softmax is NaN; float16 of "
                                "this backend has no NaN");
        kept[row] = kind != QNNRT_LOWER__LOWEST;
        lost += kind == QNNRT_LOWER__LOWEST;
        for (c = 0; c < cells; ++c) {
            if (kind == QNNRT_LOWER__LOW) x[c] -= most;
            if (kind == QNNRT_LOWER__LOWEST) x[c] = x[c] < 1.5 * most ? QNNRT_LOWER__MASKED : 0;
            if (kind == QNNRT_LOWER__INFINITE && !nan) x[c] = 0;
        }
    }
    narrow.dims[h->rank - 1] = 1;
    if (lost > 0) h->kept = qnnrt_lower__mask_known(job, h, &narrow, kept);
    if (hidden > 0 && !nan) h->seen = qnnrt_lower__mask_known(job, h, &narrow, seen);
}

/* Return the mask that attention adds, 0 for none in .tensor and .value. Bools say what to keep. */
static qnnrt_lower__view qnnrt_lower__mask(qnnrt_lower__job *job, qnnrt_lower__heads *h)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *value = node->input_count > 3 ? node->inputs[3] : NULL;
    const int causal = (int)qnnrt_ir_int(node, "is_causal", 0);
    const uint32_t at = h->rank - 3;
    const int64_t most = h->share * h->rows * h->cells;
    qnnrt_lower__view mask;
    int64_t i;
    uint32_t d;
    memset(&mask, 0, sizeof(mask));
    qnnrt_lower__identity(mask.order);
    if (value == NULL && !causal) return mask;
    if (value == NULL || (value->origin == QNNRT_IR_CONSTANT &&
                          (uint64_t)most / (uint64_t)(h->rows * h->cells) * value->count <=
                              QNNRT_LOWER__MASK_STATIC)) {
        double *values;
        for (d = 0; d < h->rank; ++d) mask.dims[d] = 1;
        mask.rank = h->rank;
        if (value != NULL) {
            values = qnnrt_lower__values(job, value);
            for (d = 0; d < value->rank; ++d)
                mask.dims[h->rank - value->rank + d] = value->dims[d];
            for (i = 0; values != NULL && value->dtype == QNNRT_DTYPE_BOOL8 &&
                        i < (int64_t)value->count; ++i)
                values[i] = values[i] != 0 ? 0 : -HUGE_VAL;
        } else {
            mask.dims[at + 1] = h->rows;
            mask.dims[at + 2] = h->cells;
            values = qnnrt_lower__zeros(job, h->rows, h->cells);
            for (i = 0; values != NULL && i < h->rows * h->cells; ++i)
                values[i] = i % h->cells > i / h->cells ? QNNRT_LOWER__MASKED : 0;
        }
        if (values == NULL) return mask;
        qnnrt_lower__mask_rows(job, h, &mask, values);
        for (i = 0; value != NULL && value->dtype == QNNRT_DTYPE_BOOL8 && i < (int64_t)value->count;
             ++i) if (values[i] < 0) values[i] = QNNRT_LOWER__MASKED;
        return qnnrt_lower__mask_known(job, h, &mask, values);
    }
    mask = qnnrt_lower__view_of(job, value, 1);
    if (mask.rank == 0) mask.dims[mask.rank++] = 1;
    qnnrt_lower__mask_given(job, h, &mask);
    if (h->seen.tensor != QNNRT_LOWER__NONE) qnnrt_lower__mask_fold(job, h, &h->seen);
    if (h->kept.tensor != QNNRT_LOWER__NONE) qnnrt_lower__mask_fold(job, h, &h->kept);
    qnnrt_lower__mask_fold(job, h, &mask);
    return mask;
}

/* Attention, decomposed: q is scaled, heads that share a key are rows of one matrix, so that k and
   v are not copied, and the mask is added before the softmax. */
static void qnnrt_lower__do_attention(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view views[3], scores, mask;
    int64_t dims[QNNRT_LOWER__RANK];
    double scale = qnnrt_ir_float(node, "scale", 0);
    qnnrt_lower__heads h;
    uint32_t at, i;
    int32_t t;
    memset(&h, 0, sizeof(h));
    for (i = 0; i < 3; ++i) {
        views[i] = qnnrt_lower__in(job, i);
        dims[0] = 1;
        memcpy(dims + 1, views[i].dims, 2 * sizeof(dims[0]));
        if (views[i].rank == 2) qnnrt_lower__view_dims(job, &views[i], 3, dims);
    }
    h.rank = views[0].rank;
    at = h.rank - 3;
    h.share = views[0].dims[at] / views[1].dims[at];
    h.rows = views[0].dims[at + 1];
    h.cells = views[1].dims[at + 1];
    if (scale == 0) scale = 1 / sqrt((double)views[0].dims[at + 2]);
    memcpy(dims, views[0].dims, sizeof(dims));
    dims[at] /= h.share;
    dims[at + 1] *= h.share;
    t = qnnrt_lower__linear_map(job, qnnrt_lower__plain(job, &views[0]), scale, 0);
    views[0] = qnnrt_lower__view_tensor(job, qnnrt_lower__reshape(job, t, h.rank, dims), h.rank,
                                        dims);
    dims[at + 2] = h.cells;
    t = qnnrt_lower__product(job, &views[0], &views[1], 1, h.rank, dims);
    scores = qnnrt_lower__view_tensor(job, t, h.rank, dims);
    mask = qnnrt_lower__mask(job, &h);
    if (h.kept.tensor != QNNRT_LOWER__NONE)
        scores = qnnrt_lower__between(job, "ElementWiseMultiply", &scores, &h.kept, scores.dtype,
                                      h.rank, dims);
    if (mask.tensor != QNNRT_LOWER__NONE || mask.value != NULL)
        scores = qnnrt_lower__between(job, "ElementWiseAdd", &scores, &mask, scores.dtype, h.rank,
                                      dims);
    if (h.level) qnnrt_lower__level(job, &scores, QNNRT_LOWER__MASKED);
    qnnrt_lower__softmax(job, "Softmax", &scores, at + 2);
    dims[at + 2] = views[2].dims[at + 2];
    t = qnnrt_lower__product(job, &scores, &views[2], 0, h.rank, dims);
    if (h.seen.tensor != QNNRT_LOWER__NONE) {
        scores = qnnrt_lower__view_tensor(job, t, h.rank, dims);
        scores = qnnrt_lower__between(job, "ElementWiseMultiply", &scores, &h.seen, scores.dtype,
                                      h.rank, dims);
        t = qnnrt_lower__plain(job, &scores);
    }
    qnnrt_lower__set(job, 0, t, NULL);
}

/* =====================================================================================
   PLACES                                                                        >>places
   Values of an axis by their places: padding, rolling, and sums with known factors.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>shape
          >>linear
   Knows nothing of: images
   ===================================================================================== */

/* Multiply an axis of n values by a matrix [o, n]: it then has o values. The axis stays where it is
   stored. */
static void qnnrt_lower__mix(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis, int64_t o,
                             const double *matrix)
{
    const int64_t n = x->dims[axis], dims[3] = {1, o, n};
    int64_t own[3] = {1, 1, 1}, out[3];
    uint32_t i = 0;
    int32_t t, m = qnnrt_lower__doubles(job, x->dtype, 3, dims, matrix);
    qnnrt_lower__settle(job, x);
    for (; x->order[i] != axis; ++i) own[0] *= x->dims[x->order[i]];
    for (++i; i < x->rank; ++i) own[2] *= x->dims[x->order[i]];
    own[1] = n;
    memcpy(out, own, sizeof(out));
    out[1] = o;
    t = qnnrt_lower__reshape(job, x->tensor, own[2] == 1 ? 2 : 3, own);
    x->tensor = own[2] == 1                      /* rows: [before, n] x [o, n]^T */
        ? qnnrt_lower__matmul(job, t, qnnrt_lower__reshape(job, m, 2, dims + 1), 1, 2, out)
        : qnnrt_lower__matmul(job, m, t, 0, 3, out);
    x->dims[axis] = o;
}

/* Take values of an axis by their places: slices that are joined, or a matrix of zeros and ones if
   there would be many. */
static void qnnrt_lower__take(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                              const int64_t *from, int64_t count)
{
    enum { FEW = 8 };
    qnnrt_lower__view parts[QNNRT_LOWER__MOST_INPUTS];
    int64_t runs = 1, first, i;
    size_t used = 0;
    for (i = 1; i < count; ++i) runs += from[i] != from[i - 1] + 1;
    if (runs > FEW && qnnrt_lower__is_float(x->dtype)) {
        double *matrix = qnnrt_lower__zeros(job, count, x->dims[axis]);
        if (matrix == NULL) return;
        for (i = 0; i < count; ++i) matrix[i * x->dims[axis] + from[i]] = 1;
        qnnrt_lower__mix(job, x, axis, count, matrix);
        return;
    }
    if (runs > QNNRT_LOWER__MOST_INPUTS) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.",
                            "it needs %lld slices of integers", (long long)runs);
        return;
    }
    for (first = 0; first < count; first = i) {
        for (i = first + 1; i < count && from[i] == from[i - 1] + 1; ++i) {}
        parts[used] = *x;
        qnnrt_lower__cut(job, &parts[used++], axis, from[first], i - first, 1);
    }
    *x = qnnrt_lower__join(job, parts, used, axis);
    qnnrt_lower__settle(job, x);
}

/* Put a number before and after the values of axes: lo and hi say how often. */
static void qnnrt_lower__pad(qnnrt_lower__job *job, qnnrt_lower__view *x, const int64_t *lo,
                             const int64_t *hi, double number)
{
    /* HTP's Pad is wrong in float32, and in float16 between a Transpose and a MatMul. */
    const int joined = !qnnrt_lower__is_float(x->dtype) ||
                       job->lower->desc.target == QNNRT_LOWER_HTP;
    int64_t amounts[2 * QNNRT_LOWER__RANK] = {0};
    uint32_t axes = 0, padded = 0, i;
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t t;
    for (i = 0; i < x->rank; ++i) {
        axes |= (uint32_t)(lo[i] > 0 || hi[i] > 0) << i;
        padded += lo[i] > 0 || hi[i] > 0;
    }
    if (axes == 0) return;
    if (padded > 3 && !qnnrt_lower__is_float(x->dtype) &&
        job->lower->desc.target == QNNRT_LOWER_HTP) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.",
                            "HTP joins integers along more than three axes wrong");
        return;
    }
    for (i = 0; i < x->rank && joined; ++i) {
        qnnrt_lower__view parts[3];
        size_t used = 0;
        int side;
        for (side = 0; side < 3; ++side) {
            const int64_t count = side == 0 ? lo[i] : hi[i];
            qnnrt_lower__view *part = &parts[used];
            int64_t stored[QNNRT_LOWER__RANK];
            uint32_t d;
            *part = *x;
            if (side == 1) { ++used; continue; }
            if (count <= 0) continue;
            part->dims[i] = count;
            part->value = NULL;
            for (d = 0; d < part->rank; ++d) stored[d] = part->dims[part->order[d]];
            part->tensor = qnnrt_lower__fill(job, qnnrt_lower__number(job, x->dtype, number),
                                             part->rank, stored);
            ++used;
        }
        *x = qnnrt_lower__join(job, parts, used, i);
    }
    if (joined) return;
    t = qnnrt_lower__arrange(job, x, axes, -1, &a);
    for (i = 0; i < x->rank; ++i) {
        const uint32_t at = qnnrt_lower__packed_axis(&a, i);
        if ((axes >> i & 1) == 0) continue;
        amounts[2 * at] = lo[i];
        amounts[2 * at + 1] = hi[i];
        a.packed[at] += lo[i] + hi[i];
        x->dims[i] += lo[i] + hi[i];
    }
    qnnrt_lower__u32(&p, "scheme", 0);
    qnnrt_lower__numbers(&p, "pad_amount", QNNRT_DTYPE_U32, amounts, a.packed_rank, 2);
    qnnrt_lower__f32(&p, "pad_constant_value", number);
    t = qnnrt_lower__op(job, "Pad", &t, 1, x->dtype, a.packed_rank, a.packed, &p);
    qnnrt_lower__become(x, t, &a);
}

/* pad: with a number, or with values of the axis by their places. Negative amounts cut. */
static void qnnrt_lower__do_pad(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_attr *mode = qnnrt_ir_attr_find(node, "mode");
    const char *kind = mode != NULL && mode->kind == QNNRT_IR_TEXT ? mode->text : "constant";
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int64_t given[2 * QNNRT_LOWER__RANK] = {0};
    int64_t lo[QNNRT_LOWER__RANK] = {0}, hi[QNNRT_LOWER__RANK] = {0};
    const qnnrt_ir_attr *pads = qnnrt_ir_attr_find(node, "pad");
    uint32_t i;
    size_t k;
    if (pads == NULL || pads->ints == NULL || pads->count > 2 * x.rank) {
        qnnrt_lower__refuse(job->graph, NULL, "\"pad\" is not a list of integers");
        return;
    }
    for (k = 0; k < pads->count; ++k) given[k] = pads->ints[k];
    for (k = 0; 2 * k < pads->count; ++k) {
        const uint32_t axis = x.rank - 1 - (uint32_t)k;
        const int64_t before = given[2 * k] < 0 ? -given[2 * k] : 0;
        const int64_t after = given[2 * k + 1] < 0 ? -given[2 * k + 1] : 0;
        lo[axis] = given[2 * k] > 0 ? given[2 * k] : 0;
        hi[axis] = given[2 * k + 1] > 0 ? given[2 * k + 1] : 0;
        if (x.dims[axis] <= before + after) {
            qnnrt_lower__refuse(job->graph, NULL, "padding leaves nothing of axis %u",
                                (unsigned)axis);
            return;
        }
        qnnrt_lower__cut(job, &x, axis, before, x.dims[axis] - before - after, 1);
    }
    qnnrt_lower__settle(job, &x);
    if (strcmp(kind, "constant") == 0) {
        qnnrt_lower__pad(job, &x, lo, hi, qnnrt_ir_float(node, "value", 0));
        qnnrt_lower__set(job, 0, x.tensor, x.order);
        return;
    }
    for (i = 0; i < x.rank; ++i) {
        const int64_t n = x.dims[i], count = n + lo[i] + hi[i];
        int64_t *from, at;
        if (count == n) continue;
        from = (int64_t *)qnnrt_lower__table(job, (uint64_t)count, 1, sizeof(*from));
        if (from == NULL) return;
        for (at = 0; at < count; ++at) {
            int64_t place = at - lo[i];
            if (strcmp(kind, "reflect") == 0)
                place = place < 0 ? -place : place >= n ? 2 * (n - 1) - place : place;
            else if (strcmp(kind, "circular") == 0)
                place = (place % n + n) % n;
            from[at] = place < 0 ? 0 : place >= n ? n - 1 : place;
        }
        qnnrt_lower__take(job, &x, i, from, count);
    }
    qnnrt_lower__set(job, 0, x.tensor, x.order);
}

/* roll, flip: each axis is taken in another order. */
static void qnnrt_lower__do_roll(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const int flip = strncmp(node->op, "flip", 4) == 0;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int64_t axes[QNNRT_LOWER__RANK], shifts[QNNRT_LOWER__RANK] = {0};
    size_t count = qnnrt_ir_ints(node, "dims", axes), k;
    if (!flip) qnnrt_ir_ints(node, "shifts", shifts);
    if (!flip && count == 0) {                   /* all elements in a row */
        const int64_t whole = (int64_t)out->count;
        qnnrt_lower__view_dims(job, &x, 1, &whole);
        axes[0] = 0;
        count = 1;
    }
    qnnrt_lower__settle(job, &x);
    for (k = 0; k < count && x.rank > 0; ++k) {
        const uint32_t axis = (uint32_t)(axes[k] < 0 ? axes[k] + x.rank : axes[k]);
        const int64_t n = x.dims[axis];
        int64_t *from = (int64_t *)qnnrt_lower__table(job, (uint64_t)n, 1, sizeof(*from)), i;
        if (from == NULL) return;
        for (i = 0; i < n; ++i)
            from[i] = flip ? n - 1 - i : ((i - shifts[k] % n) % n + n) % n;
        qnnrt_lower__take(job, &x, axis, from, n);
    }
    qnnrt_lower__set_dims(job, 0, &x);
}

/* =====================================================================================
   CONVOLUTION                                                                 >>convolve
   Convolutions of images and films: QNN wants channels last.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>elementwise
          >>binary >>shape >>linear >>places
   Knows nothing of: matrices
   ===================================================================================== */

/* Get the dims of a value as [N, H, W, C], with three spatial dimensions as [N, D, H, W, C]. */
static void qnnrt_lower__image_dims(const qnnrt_ir_value *x, uint32_t spatial, int64_t *dims)
{
    const uint32_t channel = x->rank - spatial - 1, room = spatial > 2 ? spatial : 2;
    uint32_t i;
    dims[0] = channel == 1 ? x->dims[0] : 1;
    dims[1] = 1;
    for (i = 0; i < spatial; ++i) dims[1 + room - spatial + i] = x->dims[channel + 1 + i];
    dims[room + 1] = x->dims[channel];
}

/* Return input 0 as [N, H, W, C], for [N, C, H, W], [N, C, L] (H is 1) or without N. in and out
   receive the dims of input and output, order that of the result. */
static int32_t qnnrt_lower__image(qnnrt_lower__job *job, uint32_t spatial, int64_t *in,
                                  int64_t *out, uint32_t *order)
{
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    qnnrt_lower__identity(order);
    qnnrt_lower__axis_last(x.rank, order, x.rank - spatial - 1);
    qnnrt_lower__image_dims(job->node->inputs[0], spatial, in);
    qnnrt_lower__image_dims(job->node->outputs[0], spatial, out);
    return qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &x, order), 4, in);
}

/* Make an operator whose input 0 is the image that input 0 of the node is, and let output 0 be its
   result. inputs[0] is not set. */
static void qnnrt_lower__image_op(qnnrt_lower__job *job, const char *type, uint32_t spatial,
                                  int32_t *inputs, size_t count, const qnnrt_lower__params *p)
{
    int64_t in[4], out[4];
    uint32_t order[QNNRT_LOWER__RANK];
    inputs[0] = qnnrt_lower__image(job, spatial, in, out, order);
    qnnrt_lower__set(job, 0, qnnrt_lower__op(
        job, type, inputs, count, qnnrt_lower__dtype(job, job->node->outputs[0]->dtype), 4, out, p),
        order);
}

/* Get the numbers for depth, height and width of an argument for `spatial` dimensions. */
static void qnnrt_lower__three(const qnnrt_ir_node *node, const char *name, uint32_t spatial,
                               int64_t absent, int64_t *out)
{
    int64_t own[3] = {0};
    uint32_t i;
    const int given = qnnrt_ir_each(node, name, spatial, own);
    for (i = 0; i < 3; ++i) out[i] = given && i + spatial >= 3 ? own[i + spatial - 3] : absent;
}

/* The same for height and width alone. */
static void qnnrt_lower__two(const qnnrt_ir_node *node, const char *name, uint32_t spatial,
                             int64_t absent, int64_t *out)
{
    int64_t all[3];
    qnnrt_lower__three(node, name, spatial, absent, all);
    memcpy(out, all + 1, 2 * sizeof(*out));
}

/* A convolution of frames: depth, height, width. */
typedef struct qnnrt_lower__conv {
    int64_t kernel[3], stride[3], dilation[3], pads[6];  /* pads: before and after each */
    int64_t groups;
    int32_t bias;
    int     weight_known;                        /* 1: it is not computed */
} qnnrt_lower__conv;

static void qnnrt_lower__conv_begin(qnnrt_lower__job *job, qnnrt_lower__conv *c)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *weight = node->inputs[1];
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, "padding");
    const uint32_t spatial = weight->rank - 2;
    const int same = attr != NULL && attr->kind == QNNRT_IR_TEXT && strcmp(attr->text, "same") == 0;
    int64_t own[3];
    uint32_t i;
    memset(c, 0, sizeof(*c));
    c->groups = qnnrt_ir_int(node, "groups", 1);
    c->weight_known = weight->origin == QNNRT_IR_WEIGHT || weight->origin == QNNRT_IR_CONSTANT;
    if (node->input_count > 2 && node->inputs[2] != NULL)
        c->bias = qnnrt_lower__vector(job, node->inputs[2]);
    qnnrt_lower__three(node, "stride", spatial, 1, c->stride);
    qnnrt_lower__three(node, "dilation", spatial, 1, c->dilation);
    qnnrt_lower__three(node, "padding", spatial, 0, own);
    for (i = 0; i < 3; ++i) {
        int64_t whole;
        c->kernel[i] = i + spatial >= 3 ? weight->dims[i + spatial - 1] : 1;
        whole = same ? c->dilation[i] * (c->kernel[i] - 1) : 2 * own[i];
        c->pads[2 * i] = whole / 2;
        c->pads[2 * i + 1] = whole - whole / 2;
    }
}

/* Return true for images of one row, such as those of conv1d, that HTP convolves wrong: of a width
   that is a multiple of 8 and is kept, with padding of more than a quarter of it; and with padding
   above or below. */
static int qnnrt_lower__conv_row(const qnnrt_lower__conv *c, const int64_t *in, const int64_t *out)
{
    if (in[1] != 1 || c->kernel[1] != 1) return 0;
    return c->pads[2] + c->pads[3] > 0 ||
           (c->stride[2] == 1 && in[2] % 8 == 0 && out[2] == in[2] &&
            4 * (c->pads[4] + c->pads[5]) > in[2]);
}

static int32_t qnnrt_lower__conv2d(qnnrt_lower__job *job, const qnnrt_lower__conv *c, int32_t x,
                                   int32_t weight, int64_t channels, const int64_t *out);

/* Convolve images of one column, with padding, as images of one row, [N, 1, H, O]: before a
   Transpose HTP computes the columns wrong. One place of each window is not in the padding. */
static int32_t qnnrt_lower__conv_column(qnnrt_lower__job *job, const qnnrt_lower__conv *c,
                                        int32_t x, int32_t weight, const int64_t *out)
{
    const uint32_t *from = qnnrt_lower__at(job, x)->dims, *w = qnnrt_lower__at(job, weight)->dims;
    const int64_t in[4] = {from[0], 1, from[1], from[3]}, made[4] = {out[0], 1, out[1], out[3]};
    const int64_t kernel[4] = {1, w[0], w[2], w[3]}, own[4] = {w[0], w[1], w[2], w[3]};
    const int64_t place = c->pads[4] / c->dilation[2];
    qnnrt_lower__view view = qnnrt_lower__view_tensor(job, weight, 4, own);
    qnnrt_lower__conv row = *c;
    row.kernel[1] = row.stride[1] = row.dilation[1] = 1;
    row.kernel[2] = kernel[1];
    row.stride[2] = c->stride[1];
    row.dilation[2] = c->dilation[1];
    memset(row.pads + 2, 0, 2 * sizeof(*row.pads));
    memcpy(row.pads + 4, c->pads + 2, 2 * sizeof(*row.pads));
    if (place * c->dilation[2] != c->pads[4] || place >= own[1] ||
        qnnrt_lower__conv_row(&row, in, made)) {
        qnnrt_lower__refuse(job->graph, "Pad it first.", "an image of one column with padding");
        return QNNRT_LOWER__NONE;
    }
    qnnrt_lower__cut(job, &view, 1, place, 1, 1);
    return qnnrt_lower__conv2d(job, &row, qnnrt_lower__reshape(job, x, 4, in),
                               qnnrt_lower__reshape(job, view.tensor, 4, kernel), in[3], made);
}

/* Convolve images [N, H, W, C] with a weight [h, w, C / groups, O], of height and width. */
static int32_t qnnrt_lower__conv2d(qnnrt_lower__job *job, const qnnrt_lower__conv *c, int32_t x,
                                   int32_t weight, int64_t channels, const int64_t *out)
{
    const qnnrt_lower_target target = job->lower->desc.target;
    const int64_t *stride = c->stride + 1, *dilation = c->dilation + 1;
    const int32_t inputs[3] = {x, weight, c->bias};
    /* libQnnCpu.so 2.47 crashes when it loads a context with DepthWiseConv2d from a file. */
    int depthwise = c->groups == channels && c->groups > 1 && target != QNNRT_LOWER_CPU;
    const uint32_t *dims = qnnrt_lower__at(job, x)->dims, *w = qnnrt_lower__at(job, weight)->dims;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int i;
    /* Alone both are right; between the Transposes of a graph libQnnHtp.so computes garbage. */
    for (i = 0; i < 4 && target == QNNRT_LOWER_HTP; ++i)
        if (dilation[i / 2] == 1 && c->pads[2 + i] >= w[i / 2])
            qnnrt_lower__refuse(job->graph, "Pad it first.", "a window lies in the padding");
    if (target == QNNRT_LOWER_HTP && dims[1] == 1 && out[1] == 1 && out[2] == 1 && dims[2] > 1 &&
        dims[2] == out[3])
        qnnrt_lower__refuse(job->graph, NULL, "one pixel becomes as many channels as the line has"
                            " columns");
    /* Several outputs of a channel, and windows with gaps between them (seen with 96 channels): HTP
       computes some forms wrong. */
    if (target == QNNRT_LOWER_HTP &&
        (stride[0] > w[0] || stride[1] > w[1] ||
         (out[3] > c->groups && (stride[0] > 1 || stride[1] > 1 || dilation[0] > 1 ||
                                 dilation[1] > 1 || !c->weight_known))))
        depthwise = 0;
    if (target == QNNRT_LOWER_HTP && !depthwise && dims[2] == 1 && out[2] == 1 && dims[1] > 1 &&
        c->pads[2] + c->pads[3] + c->pads[4] + c->pads[5] > 0)
        return qnnrt_lower__conv_column(job, c, x, weight, out);
    qnnrt_lower__numbers(&p, "stride", QNNRT_DTYPE_U32, stride, 2, 0);
    qnnrt_lower__numbers(&p, "pad_amount", QNNRT_DTYPE_U32, c->pads + 2, 2, 2);
    qnnrt_lower__numbers(&p, "dilation", QNNRT_DTYPE_U32, dilation, 2, 0);
    if (!depthwise) qnnrt_lower__u32(&p, "group", (uint32_t)c->groups);
    return qnnrt_lower__op(job, depthwise ? "DepthWiseConv2d" : "Conv2d", inputs,
                           c->bias != QNNRT_LOWER__NONE ? 3 : 2, job->lower->compute, 4, out, &p);
}

/* Return the weight [O, I, d, h, w], stored as [h, w, d, I, O], with dims of rank 4. */
static int32_t qnnrt_lower__conv_weight(qnnrt_lower__job *job, const int64_t *dims)
{
    const qnnrt_lower__view w = qnnrt_lower__in(job, 1);
    const uint32_t spatial = w.rank - 2;
    uint32_t order[QNNRT_LOWER__RANK], used = 0, i;
    for (i = spatial > 2 ? 1 : 0; i < spatial; ++i) order[used++] = i + 2;
    if (spatial > 2) order[used++] = 2;
    order[used++] = 1;
    order[used] = 0;
    return qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &w, order), 4, dims);
}

/* Return a known weight [O, I, d, h, w], or turned [I, O, h, w], as a kernel of dims [h, w, I, O],
   with zeros for the rest: frame `frame` of it, from row `top` on, with `dilation` between rows and
   columns. The groups of a turned one lie apart. */
static int32_t qnnrt_lower__kernel(qnnrt_lower__job *job, int64_t frame, int64_t top, int turned,
                                   int64_t groups, const int64_t *dilation, const int64_t *dims)
{
    const qnnrt_ir_value *weight = job->node->inputs[1];
    const uint32_t last = weight->rank - 1;
    const int64_t w = weight->dims[last], h = last > 2 ? weight->dims[last - 1] : 1;
    const int64_t frames = last > 3 ? weight->dims[2] : 1, inner = weight->dims[1];
    const double *from = qnnrt_lower__values(job, weight);
    double *to = qnnrt_lower__zeros(job, dims[0] * dims[1], dims[2] * dims[3]);
    int64_t x, y, t;
    if (from == NULL || to == NULL) return QNNRT_LOWER__NONE;
    for (x = 0; x < weight->dims[0]; ++x)
        for (y = 0; y < inner; ++y)
            for (t = 0; t < h * w; ++t) {
                const int64_t row = top + t / w * dilation[0], column = t % w * dilation[1];
                const int64_t i = turned ? x : y;
                const int64_t o = turned ? x / (weight->dims[0] / groups) * inner + y : x;
                to[((row * dims[1] + column) * dims[2] + i) * dims[3] + o] =
                    from[((x * inner + y) * frames + frame) * h * w + t];
            }
    return qnnrt_lower__doubles(job, job->lower->compute, 4, dims, to);
}

/* Return the sum over the frames of a window of each frame's own Conv2d: [N * D, H, W, O]. */
static int32_t qnnrt_lower__conv_sum(qnnrt_lower__job *job, qnnrt_lower__conv *c,
                                     const int32_t *frames, int64_t channels, const int64_t *out)
{
    static const int64_t ones[2] = {1, 1};
    int32_t sum = QNNRT_LOWER__NONE;
    int64_t k, dims[4];
    memcpy(dims, c->kernel + 1, 2 * sizeof(*dims));
    dims[2] = job->node->inputs[1]->dims[1];
    dims[3] = job->node->inputs[1]->dims[0];
    for (k = 0; k < c->kernel[0]; ++k) {
        const int32_t w = qnnrt_lower__kernel(job, k, 0, 0, 1, ones, dims);
        const int32_t t = qnnrt_lower__conv2d(job, c, frames[k], w, channels, out);
        sum = k == 0 ? t : qnnrt_lower__binary_op(job, "ElementWiseAdd", sum, t);
        c->bias = QNNRT_LOWER__NONE;
    }
    return sum;
}

/* conv3d whose window has one place of each frame: it slides over [D, H * W]. */
static void qnnrt_lower__conv_flat(qnnrt_lower__job *job, qnnrt_lower__conv *c,
                                   qnnrt_lower__view *x, const int64_t *all)
{
    const uint32_t depth = x->rank - 3, channel = x->rank - 4;
    const int64_t channels = x->dims[channel];
    int64_t in[4], out[4], kernel[4];
    uint32_t order[QNNRT_LOWER__RANK], i;
    int32_t t;
    memcpy(order, x->order, sizeof(order));
    for (i = 1; i < 3; ++i) qnnrt_lower__cut(job, x, depth + i, 0, all[1 + i], c->stride[i]);
    out[0] = in[0] = all[0];
    out[1] = all[1];
    in[1] = x->dims[depth];
    out[2] = in[2] = all[2] * all[3];
    out[3] = kernel[3] = all[4];
    in[3] = channels;
    kernel[0] = c->kernel[0];
    kernel[1] = c->stride[2] = c->dilation[2] = 1;
    kernel[2] = job->node->inputs[1]->dims[1];
    c->stride[1] = c->stride[0];
    c->dilation[1] = c->dilation[0];
    memcpy(c->pads + 2, c->pads, 2 * sizeof(*c->pads));
    t = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, x, order), 4, in);
    t = qnnrt_lower__conv2d(job, c, t, qnnrt_lower__conv_weight(job, kernel), channels, out);
    qnnrt_lower__set(job, 0, t, order);
}

/* conv3d: the frames that a window covers become channels of one Conv2d; with groups there is a
   Conv2d for each, and a sum. */
static void qnnrt_lower__conv3d(qnnrt_lower__job *job, qnnrt_lower__conv *c)
{
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), parts[QNNRT_LOWER__MOST_INPUTS];
    const uint32_t depth = x.rank - 3, channel = x.rank - 4;
    const int64_t channels = x.dims[channel], frames = c->kernel[0];
    int64_t lo[QNNRT_LOWER__RANK] = {0}, hi[QNNRT_LOWER__RANK] = {0}, all[5], in[4], kernel[4], k;
    int32_t tensors[QNNRT_LOWER__MOST_INPUTS], t;
    uint32_t order[QNNRT_LOWER__RANK];
    if (frames > QNNRT_LOWER__MOST_INPUTS) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", "its window has %lld frames",
                            (long long)frames);
        return;
    }
    qnnrt_lower__image_dims(job->node->outputs[0], 3, all);
    qnnrt_lower__identity(order);
    qnnrt_lower__axis_last(x.rank, order, channel);
    x.tensor = qnnrt_lower__stored(job, &x, order);
    x.value = NULL;
    memcpy(x.order, order, sizeof(order));
    if (frames > 1 && c->kernel[1] * c->kernel[2] == 1 && c->pads[2] + c->pads[4] == 0) {
        qnnrt_lower__conv_flat(job, c, &x, all);
        return;
    }
    lo[depth] = c->pads[0];
    hi[depth] = c->pads[1];
    qnnrt_lower__pad(job, &x, lo, hi, 0);
    all[1] *= all[0];                            /* from here on [N * D, H, W, C] */
    in[0] = all[1];
    in[1] = x.dims[depth + 1];
    in[2] = x.dims[depth + 2];
    in[3] = channels;
    kernel[0] = c->kernel[1];
    kernel[1] = c->kernel[2];
    kernel[2] = frames * job->node->inputs[1]->dims[1];
    kernel[3] = all[4];
    for (k = 0; k < frames; ++k) {
        parts[k] = x;
        qnnrt_lower__cut(job, &parts[k], depth, k * c->dilation[0], all[1] / all[0], c->stride[0]);
        tensors[k] = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &parts[k], order), 4, in);
    }
    if (frames > 1 && c->groups > 1) {
        t = qnnrt_lower__conv_sum(job, c, tensors, channels, all + 1);
    } else {
        x = qnnrt_lower__join(job, parts, (size_t)frames, channel);
        in[3] *= frames;
        t = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &x, order), 4, in);
        t = qnnrt_lower__conv2d(job, c, t, qnnrt_lower__conv_weight(job, kernel), in[3], all + 1);
    }
    qnnrt_lower__set(job, 0, t, order);
}

static void qnnrt_lower__do_conv(qnnrt_lower__job *job)
{
    const qnnrt_ir_value *weight = job->node->inputs[1];
    const uint32_t spatial = weight->rank - 2;
    uint32_t order[QNNRT_LOWER__RANK];
    int64_t in[4], out[4], kernel[4];
    qnnrt_lower__conv c;
    int32_t x, w;
    qnnrt_lower__conv_begin(job, &c);
    if (spatial > 2) {
        qnnrt_lower__conv3d(job, &c);
        return;
    }
    x = qnnrt_lower__image(job, spatial, in, out, order);
    memcpy(kernel, c.kernel + 1, 2 * sizeof(*kernel));
    kernel[2] = weight->dims[1];
    kernel[3] = weight->dims[0];
    if (job->lower->desc.target == QNNRT_LOWER_HTP && qnnrt_lower__conv_row(&c, in, out)) {
        static const int64_t ones[2] = {1, 1};
        kernel[0] = 3;                           /* zeros above and below; Pad does not help */
        c.pads[2] += c.dilation[1];
        c.pads[3] += c.dilation[1];
        w = qnnrt_lower__kernel(job, 0, 1, 0, 1, ones, kernel);
    } else {
        w = qnnrt_lower__conv_weight(job, kernel);
    }
    x = qnnrt_lower__conv2d(job, &c, x, w, in[3], out);
    qnnrt_lower__set(job, 0, x, order);
}

/* Return the weight [I, O / groups, h, w] of a transposed convolution as [h, w, I, O], with zeros
   between the groups (which the libraries refuse), between its rows and columns for dilation, and
   `more` of them at the end. */
static int32_t qnnrt_lower__turned_weight(qnnrt_lower__job *job, const qnnrt_ir_value *weight,
                                          int64_t groups, const int64_t *dilation,
                                          const int64_t *more, int64_t *dims)
{
    const uint32_t spatial = weight->rank - 2;
    const int64_t h = spatial == 2 ? weight->dims[2] : 1, w = weight->dims[spatial + 1];
    dims[0] = (h - 1) * dilation[0] + 1 + more[0];
    dims[1] = (w - 1) * dilation[1] + 1 + more[1];
    dims[2] = weight->dims[0];
    dims[3] = weight->dims[1] * groups;
    if (groups == 1 && dims[0] == h && dims[1] == w) {
        const qnnrt_lower__view view = qnnrt_lower__in(job, 1);
        uint32_t order[QNNRT_LOWER__RANK], d;
        for (d = 0; d < spatial; ++d) order[d] = d + 2;
        order[spatial] = 0;
        order[spatial + 1] = 1;
        return qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &view, order), 4, dims);
    }
    return qnnrt_lower__kernel(job, 0, 0, 1, groups, dilation, dims);
}

/* conv_transpose. output_padding: less is cut at the end, or zeros follow the kernel, because HTP
   does not compute the rows that the parameter adds. */
static void qnnrt_lower__do_deconv(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *weight = node->inputs[1];
    const int biased = node->input_count > 2 && node->inputs[2] != NULL;
    const uint32_t spatial = weight->rank - 2;
    const int64_t groups = qnnrt_ir_int(node, "groups", 1);
    int64_t kernel[4], stride[2], dilation[2], pad[2], extra[2], pads[4], more[2];
    uint32_t i;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t inputs[3];
    qnnrt_lower__two(node, "stride", spatial, 1, stride);
    qnnrt_lower__two(node, "dilation", spatial, 1, dilation);
    qnnrt_lower__two(node, "padding", spatial, 0, pad);
    qnnrt_lower__two(node, "output_padding", spatial, 0, extra);
    for (i = 0; i < 2; ++i) {
        more[i] = extra[i] > pad[i] ? extra[i] - pad[i] : 0;
        pads[2 * i] = pad[i];
        pads[2 * i + 1] = pad[i] + more[i] - extra[i];
    }
    inputs[1] = qnnrt_lower__turned_weight(job, weight, groups, dilation, more, kernel);
    if (biased) inputs[2] = qnnrt_lower__vector(job, node->inputs[2]);
    for (i = 1; i < (biased ? 3u : 2u); ++i)
        if (job->lower->desc.target == QNNRT_LOWER_CPU &&
            qnnrt_lower__at(job, inputs[i])->kind != QNNRT_TENSOR_STATIC)
            qnnrt_lower__refuse(job->graph, "Export it as a parameter.", "libQnnCpu.so computes"
                                " garbage when the %s is not constant", i == 1 ? "weight" : "bias");
    qnnrt_lower__numbers(&p, "stride", QNNRT_DTYPE_U32, stride, 2, 0);
    qnnrt_lower__numbers(&p, "pad_amount", QNNRT_DTYPE_U32, pads, 2, 2);
    qnnrt_lower__image_op(job, "TransposeConv2d", spatial, inputs, biased ? 3 : 2, &p);
}

/* =====================================================================================
   IMAGE                                                                          >>image
   Pooling and resizing.
   Needs: >>config >>arena >>params >>tensor >>operator >>layout >>elementwise >>binary >>shape
          >>reduce >>places >>convolve
   Knows nothing of: matrices
   ===================================================================================== */

/* max_pool that PoolMax2d does not compute: along each axis the largest of shifted images. kernel,
   stride, dilation, pads: of depth, height, width. */
static void qnnrt_lower__shifted_pool(qnnrt_lower__job *job, uint32_t spatial,
                                      const int64_t *kernel, const int64_t *stride,
                                      const int64_t *dilation, const int64_t *pads)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const double least = x.dtype == QNNRT_DTYPE_F16 ? -65504 : -3.4028234663852886e38;
    uint32_t i;
    for (i = 3 - spatial; i < 3; ++i) {
        const uint32_t axis = x.rank + i - 3;
        int64_t lo[QNNRT_LOWER__RANK] = {0}, hi[QNNRT_LOWER__RANK] = {0}, k;
        qnnrt_lower__view all, best;
        if (kernel[i] == 1 && stride[i] == 1) continue;
        if (kernel[i] > QNNRT_LOWER__MOST_INPUTS) {
            qnnrt_lower__refuse(job->graph, NULL, "a kernel of more than %d is not lowered",
                                (int)QNNRT_LOWER__MOST_INPUTS);
            return;
        }
        qnnrt_lower__settle(job, &x);
        lo[axis] = pads[2 * i];
        hi[axis] = pads[2 * i + 1];
        qnnrt_lower__pad(job, &x, lo, hi, least);
        all = best = x;
        for (k = 0; k < kernel[i]; ++k) {
            qnnrt_lower__view part = all;
            qnnrt_lower__cut(job, &part, axis, k * dilation[i], out->dims[axis], stride[i]);
            best = k == 0 ? part : qnnrt_lower__between(job, "ElementWiseMaximum", &best, &part,
                                                        x.dtype, part.rank, part.dims);
        }
        x = best;
    }
    qnnrt_lower__store(job, 0, &x);
}

/* Multiply each axis that a node averages or resizes by its matrix. */
static void qnnrt_lower__bands(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    uint32_t axis;
    if (!qnnrt_lower__is_float(x.dtype)) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.",
                            "it is not lowered for integers");
        return;
    }
    for (axis = 0; axis < out->rank; ++axis) {
        const int64_t n = x.dims[axis], o = out->dims[axis];
        double *matrix;
        int64_t k = 0;
        if (!qnnrt_ir_axis_matrix(node, axis, NULL)) continue;
        matrix = qnnrt_lower__zeros(job, o, n);
        if (matrix == NULL) return;
        qnnrt_ir_axis_matrix(node, axis, matrix);
        while (n == o && k < n * n && fabs(matrix[k] - (k % (n + 1) == 0)) <= 0) ++k;
        if (n != o || k < n * n) qnnrt_lower__mix(job, &x, axis, o, matrix);
    }
    qnnrt_lower__store(job, 0, &x);
}

/* max_pool and avg_pool. With ceil_mode the end is padded until the size of the output results. */
static void qnnrt_lower__do_pool(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const uint32_t spatial = (uint32_t)(node->op[8] - '0');
    const int average = node->op[0] == 'a';
    int64_t in[5], out[5], kernels[3], strides[3], dilations[3], own[3], all_pads[6];
    const int64_t *kernel = kernels + 1, *stride = strides + 1, *pad = own + 1;
    const int64_t *dilation = dilations + 1, *pads = all_pads + 2;
    uint32_t i;
    int extra = 0, padded = 0, usual, column;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t t;
    qnnrt_lower__image_dims(node->inputs[0], spatial, in);
    qnnrt_lower__image_dims(node->outputs[0], spatial, out);
    qnnrt_lower__three(node, "kernel_size", spatial, 1, kernels);
    qnnrt_lower__three(node, "stride", spatial, 0, strides);
    if (strides[2] == 0) memcpy(strides, kernels, sizeof(strides));
    for (i = 0; i < 3; ++i) if (strides[i] == 0) strides[i] = 1;
    qnnrt_lower__three(node, "padding", spatial, 0, own);
    qnnrt_lower__three(node, "dilation", spatial, 1, dilations);
    for (i = 0; i < 3; ++i) {
        const uint32_t at = spatial > 2 ? i + 1 : i;     /* in [N, H, W, C] or [N, D, H, W, C] */
        const int64_t need = at == 0 ? 0 : (out[at] - 1) * strides[i] + (kernels[i] - 1) *
                             dilations[i] + 1 - (in[at] + 2 * own[i]);
        all_pads[2 * i] = all_pads[2 * i + 1] = own[i];
        if (need > 0) { all_pads[2 * i + 1] += need; extra = 1; }
        if (all_pads[2 * i + 1] > 0) padded = 1;
    }
    if (spatial == 3 && average) {
        qnnrt_lower__bands(job);
        return;
    }
    /* With padding HTP's PoolAvg2d is right for 3x3 in the middle of larger images, and wrong for
       others. */
    usual = spatial == 2 && kernel[0] == 3 && kernel[1] == 3 && pad[0] == 1 && pad[1] == 1 &&
            in[1] > 3 && in[2] > 3;
    /* HTP's PoolMax2d ends the process with windows of one column, stride 2 and pads. */
    column = !average && padded && kernel[1] == 1 && job->lower->desc.target == QNNRT_LOWER_HTP;
    if (dilation[0] != 1 || dilation[1] != 1 || column || spatial == 3) {
        qnnrt_lower__shifted_pool(job, spatial, kernels, strides, dilations, all_pads);
        return;
    }
    if (average && (qnnrt_ir_int(node, "divisor_override", 0) != 0 ||
                    (extra && qnnrt_ir_int(node, "count_include_pad", 1) &&
                     (pad[0] != 0 || pad[1] != 0)) ||
                    (padded && !usual && job->lower->desc.target == QNNRT_LOWER_HTP))) {
        qnnrt_lower__bands(job);
        return;
    }
    qnnrt_lower__numbers(&p, "filter_size", QNNRT_DTYPE_U32, kernel, 2, 0);
    qnnrt_lower__numbers(&p, "stride", QNNRT_DTYPE_U32, stride, 2, 0);
    qnnrt_lower__numbers(&p, "pad_amount", QNNRT_DTYPE_U32, pads, 2, 2);
    if (average)
        qnnrt_lower__bool(&p, "count_pad_for_edges",
                          !extra && qnnrt_ir_int(node, "count_include_pad", 1));
    qnnrt_lower__image_op(job, average ? "PoolAvg2d" : "PoolMax2d", spatial, &t, 1, &p);
}

static void qnnrt_lower__do_adaptive(qnnrt_lower__job *job)
{
    const qnnrt_ir_value *value = job->node->outputs[0];
    const uint32_t spatial = (uint32_t)(job->node->op[17] - '0');
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t first = x.rank - spatial;
    int64_t size[2] = {1, 1};
    uint32_t i;
    int divides = spatial < 3, ones = 1;
    for (i = first; i < x.rank; ++i) {
        if (spatial < 3) size[i + 2 - x.rank] = x.dims[i] / value->dims[i];
        if (x.dims[i] % value->dims[i] != 0) divides = 0;
        if (value->dims[i] != 1) ones = 0;
    }
    if (ones) {
        qnnrt_lower__reduce(job, "ReduceMean", &x, ((1u << spatial) - 1) << first);
        qnnrt_lower__set(job, 0, x.tensor, x.order);
    } else if (divides) {
        qnnrt_lower__params p = qnnrt_lower__params_none();
        const int64_t none[4] = {0, 0, 0, 0};
        int32_t t;
        qnnrt_lower__numbers(&p, "filter_size", QNNRT_DTYPE_U32, size, 2, 0);
        qnnrt_lower__numbers(&p, "stride", QNNRT_DTYPE_U32, size, 2, 0);
        qnnrt_lower__numbers(&p, "pad_amount", QNNRT_DTYPE_U32, none, 2, 2);
        qnnrt_lower__image_op(job, "PoolAvg2d", spatial, &t, 1, &p);
    } else {
        qnnrt_lower__bands(job);
    }
}

/* adaptive_max_pool: along each axis the largest of each window. */
static void qnnrt_lower__do_adaptive_max(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *value = node->outputs[0];
    const uint32_t spatial = (uint32_t)(node->op[17] - '0');
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), parts[QNNRT_LOWER__MOST_INPUTS];
    uint32_t axis;
    if (node->output_count > 1 && (node->outputs[1]->users > 0 || node->outputs[1]->is_output)) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", "its places are used");
        return;
    }
    qnnrt_lower__settle(job, &x);
    for (axis = x.rank - spatial; axis < x.rank; ++axis) {
        const int64_t n = x.dims[axis], o = value->dims[axis];
        int64_t k;
        if (n == o) continue;
        if (o > QNNRT_LOWER__MOST_INPUTS) {
            qnnrt_lower__refuse(job->graph, "Compute it on the host.", "it has %lld windows",
                                (long long)o);
            return;
        }
        for (k = 0; k < o; ++k) {
            const int64_t begin = k * n / o, end = ((k + 1) * n + o - 1) / o;
            parts[k] = x;
            qnnrt_lower__cut(job, &parts[k], axis, begin, end - begin, 1);
            qnnrt_lower__reduce(job, "ReduceMax", &parts[k], 1u << axis);
        }
        x = qnnrt_lower__join(job, parts, (size_t)o, axis);
    }
    qnnrt_lower__store(job, 0, &x);
}

/* upsample: an operator, or matrices where there is none, or its step would differ. */
static void qnnrt_lower__do_upsample(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int linear = strncmp(node->op, "upsample_bilinear", 17) == 0;
    const int corners = linear && qnnrt_ir_int(node, "align_corners", 0) != 0;
    const qnnrt_ir_attr *factors = qnnrt_ir_attr_find(node, "scale_factors");
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int64_t in[4], out[4];
    uint32_t i;
    int same = linear || strncmp(node->op, "upsample_nearest2d", 18) == 0;
    int32_t t;
    if (same) {
        qnnrt_lower__image_dims(node->inputs[0], 2, in);
        qnnrt_lower__image_dims(node->outputs[0], 2, out);
    }
    for (i = 0; i < 2 && same; ++i) {
        double factor = qnnrt_ir_float(node, i == 0 ? "scales_h" : "scales_w", 0);
        if (factors != NULL && factors->floats != NULL && factors->count == 2)
            factor = factors->floats[i];
        if (corners ? out[1 + i] == 1
                    : factor > 0 && 1 / factor * (double)out[1 + i] != (double)in[1 + i]) same = 0;
    }
    if (!same) {
        qnnrt_lower__bands(job);
        return;
    }
    qnnrt_lower__bool(&p, "align_corners", corners);
    qnnrt_lower__bool(&p, "half_pixel_centers", linear && !corners);
    qnnrt_lower__image_op(job, linear ? "ResizeBilinear" : "ResizeNearestNeighbor", 2, &t, 1, &p);
}

/* Axes of axes change places: pixel_unshuffle, channel_shuffle. */
static void qnnrt_lower__do_blocks(qnnrt_lower__job *job)
{
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int64_t dims[QNNRT_LOWER__RANK];
    uint32_t order[QNNRT_LOWER__RANK];
    qnnrt_lower__view_dims(job, &x, qnnrt_ir_blocks(job->node, dims, order), dims);
    qnnrt_lower__view_permute(job, &x, order);
    qnnrt_lower__set_dims(job, 0, &x);
}

/* grid_sampler of two dimensions. */
static void qnnrt_lower__do_grid(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int64_t mode = qnnrt_ir_int(node, "interpolation_mode", 0);
    const int64_t padding = qnnrt_ir_int(node, "padding_mode", 0);
    qnnrt_lower__view grid = qnnrt_lower__in(job, 1);
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int64_t in[4], out[4];
    uint32_t order[QNNRT_LOWER__RANK];
    int32_t inputs[2], t;
    if (node->inputs[0]->rank != 4 || mode != 0 || job->lower->desc.target == QNNRT_LOWER_REF) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", "only bilinear grids of two "
                            "dimensions are lowered, on HTP and CPU");
        return;
    }
    inputs[0] = qnnrt_lower__image(job, 2, in, out, order);
    inputs[1] = qnnrt_lower__plain(job, &grid);
    qnnrt_lower__bool(&p, "align_corners", qnnrt_ir_int(node, "align_corners", 0) != 0);
    qnnrt_lower__u32(&p, "mode", 0);
    qnnrt_lower__u32(&p, "padding_mode", (uint32_t)padding);
    t = qnnrt_lower__op(job, "GridSample", inputs, 2, job->lower->compute, 4, out, &p);
    if (job->lower->desc.target == QNNRT_LOWER_CPU && padding == 0) {   /* NaN stays NaN */
        qnnrt_lower__settle(job, &grid);
        grid.tensor = qnnrt_lower__binary_op(job, "ElementWiseSubtract", inputs[1], inputs[1]);
        qnnrt_lower__identity(grid.order);
        qnnrt_lower__reduce(job, "ReduceSum", &grid, 8);
        inputs[0] = t;
        inputs[1] = grid.tensor;
        t = qnnrt_lower__op(job, "ElementWiseAdd", inputs, 2, job->lower->compute, 4, out, NULL);
    }
    qnnrt_lower__set(job, 0, t, order);
}

/* pixel_shuffle: channels become blocks of r x r. */
static void qnnrt_lower__do_pixel_shuffle(qnnrt_lower__job *job)
{
    const int64_t r = qnnrt_ir_int(job->node, "upscale_factor", 1), block[2] = {r, r};
    enum { CRD = 1 };
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t t;
    if (job->node->outputs[0]->rank > 4) {
        qnnrt_lower__do_blocks(job);
        return;
    }
    qnnrt_lower__numbers(&p, "block_size", QNNRT_DTYPE_U32, block, 2, 0);
    qnnrt_lower__u32(&p, "mode", CRD);
    qnnrt_lower__image_op(job, "DepthToSpace", 2, &t, 1, &p);
}

/* =====================================================================================
   NORM                                                                            >>norm
   Normalizations.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>elementwise
          >>binary >>shape >>reduce >>linear
   Knows nothing of: images
   ===================================================================================== */

/* Return a static vector of `count` times one number. */
static int32_t qnnrt_lower__same(qnnrt_lower__job *job, qnnrt_dtype dtype, int64_t count,
                                 double number)
{
    return qnnrt_lower__fill(job, qnnrt_lower__number(job, dtype, number), 1, &count);
}

/* Apply a norm over the last axis of a view, as one operator. weight, bias: 0 for none. */
static void qnnrt_lower__last_norm(qnnrt_lower__job *job, const char *type, qnnrt_lower__view *x,
                                   int32_t weight, int32_t bias, double eps)
{
    const uint32_t last = x->rank - 1;
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t inputs[3];
    int64_t axis;
    size_t count = 2;
    inputs[0] = qnnrt_lower__arrange(job, x, 1u << last, (int32_t)last, &a);
    if (type[0] == 'R' && a.packed_rank > 2 && job->lower->desc.target == QNNRT_LOWER_HTP) {
        a.packed_rank = 2;                       /* HTP's RmsNorm is wrong with more rows of rows */
        a.packed[1] = x->dims[last];
        a.packed[0] = (int64_t)(qnnrt_lower__count(x->rank, x->dims) / (uint64_t)a.packed[1]);
        inputs[0] = qnnrt_lower__reshape(job, inputs[0], 2, a.packed);
    }
    inputs[1] = weight;
    if (weight == QNNRT_LOWER__NONE)
        inputs[1] = qnnrt_lower__same(job, x->dtype, x->dims[last], 1);
    if (bias != QNNRT_LOWER__NONE) inputs[count++] = bias;
    axis = a.packed_rank - 1;
    qnnrt_lower__f32(&p, "epsilon", eps);
    qnnrt_lower__numbers(&p, "axes", QNNRT_DTYPE_U32, &axis, 1, 0);
    qnnrt_lower__become(x, qnnrt_lower__op(job, type, inputs, count, x->dtype, a.packed_rank,
                                           a.packed, &p), &a);
}

/* Let output 0 be x times (step 0) or plus (step 1) numbers for each channel. */
static void qnnrt_lower__channels(qnnrt_lower__job *job, int step, const qnnrt_lower__view *x,
                                  const qnnrt_lower__view *numbers)
{
    int64_t dims[QNNRT_LOWER__RANK];
    qnnrt_lower__view pair[2];
    uint32_t d;
    for (d = 0; d < x->rank; ++d) dims[d] = d == 1 ? x->dims[1] : 1;
    pair[0] = *x;
    pair[1] = *numbers;
    qnnrt_lower__view_cast(job, &pair[1], x->dtype);
    qnnrt_lower__view_dims(job, &pair[1], x->rank, dims);
    qnnrt_lower__pair(job, step == 0 ? "ElementWiseMultiply" : "ElementWiseAdd", pair);
}

/* Normalize groups of channels of input 0: GroupNorm where it works; else each group is a row of
   LayerNorm, and factors follow. */
static void qnnrt_lower__group_norm(qnnrt_lower__job *job, int64_t groups)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const double eps = qnnrt_ir_float(node, "eps", 1e-5);
    const int64_t channels = out->dims[1];
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    uint32_t order[QNNRT_LOWER__RANK], i;
    int64_t dims[QNNRT_LOWER__RANK], rows[2], last = 1;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    int32_t inputs[3];
    qnnrt_lower__f32(&p, "epsilon", eps);
    if (job->lower->desc.target != QNNRT_LOWER_HTP) {
        memcpy(order, x.order, sizeof(order));
        qnnrt_lower__axis_last(x.rank, order, 1);
        qnnrt_lower__axis_first(x.rank, order, 0);
        dims[0] = x.dims[0];
        dims[2] = x.rank == 4 ? x.dims[order[2]] : 1;
        dims[1] = (int64_t)(out->count / (uint64_t)(x.dims[0] * channels * dims[2]));
        dims[3] = channels;
        inputs[0] = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &x, order), 4, dims);
        for (i = 1; i < 3; ++i)
            inputs[i] = node->input_count > i && node->inputs[i] != NULL
                            ? qnnrt_lower__vector(job, node->inputs[i])
                            : qnnrt_lower__same(job, x.dtype, channels, i == 1);
        qnnrt_lower__u32(&p, "group", (uint32_t)groups);
        qnnrt_lower__set(job, 0, qnnrt_lower__op(job, "GroupNorm", inputs, 3, x.dtype, 4, dims, &p),
                         order);
        return;
    }
    if (x.rank == QNNRT_LOWER__RANK) {
        qnnrt_lower__refuse(job->graph, "Reshape it to fewer dimensions.", "groups of channels "
                            "need one dimension more than %u", (unsigned)QNNRT_LOWER__RANK);
        return;
    }
    /* [N, C, ..] as [N, G, C / G, ..]: N and G first, the others as they are stored. */
    dims[0] = x.dims[0];
    dims[1] = groups;
    dims[2] = channels / groups;
    for (i = 2; i < x.rank; ++i) dims[i + 1] = x.dims[i];
    qnnrt_lower__view_dims(job, &x, x.rank + 1, dims);
    memcpy(order, x.order, sizeof(order));
    qnnrt_lower__axis_first(x.rank, order, 1);
    qnnrt_lower__axis_first(x.rank, order, 0);
    rows[0] = x.dims[0] * groups;
    rows[1] = (int64_t)(out->count / (uint64_t)rows[0]);
    inputs[0] = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &x, order), 2, rows);
    inputs[1] = qnnrt_lower__same(job, x.dtype, rows[1], 1);
    inputs[2] = qnnrt_lower__same(job, x.dtype, rows[1], 0);
    qnnrt_lower__numbers(&p, "axes", QNNRT_DTYPE_U32, &last, 1, 0);
    x.tensor = qnnrt_lower__op(job, "LayerNorm", inputs, 3, x.dtype, 2, rows, &p);
    memcpy(x.order, order, sizeof(order));
    qnnrt_lower__set_dims(job, 0, &x);
    for (i = 0; i < 2; ++i) {
        qnnrt_lower__view numbers;
        if (node->input_count <= i + 1 || node->inputs[i + 1] == NULL) continue;
        x = qnnrt_lower__view_of(job, out, 0);
        numbers = qnnrt_lower__in(job, i + 1);
        qnnrt_lower__channels(job, (int)i, &x, &numbers);
    }
}

static void qnnrt_lower__do_group_norm(qnnrt_lower__job *job)
{
    qnnrt_lower__group_norm(job, qnnrt_ir_int(job->node, "num_groups", 1));
}

/* Raise a view to a power. */
static void qnnrt_lower__raise(qnnrt_lower__job *job, qnnrt_lower__view *x, double power)
{
    const int32_t t = qnnrt_lower__view_root(job, x);
    if (power == 2) x->tensor = qnnrt_lower__binary_op(job, "ElementWiseMultiply", t, t);
    else if (power == 0.5) x->tensor = qnnrt_lower__op_like(job, "ElementWiseSquareRoot", t, NULL);
    else if (power != 1)
        x->tensor = qnnrt_lower__binary_op(job, "ElementWisePower", t,
                                           qnnrt_lower__number(job, x->dtype, power));
}

/* Return (sum of |x|^power over axes (their bits), times `factor`)^(1 / power). In float16 squares
   overflow from 256 on, and vanish below 0.0002: there they are of x / max |x|. */
static qnnrt_lower__view qnnrt_lower__length(qnnrt_lower__job *job, const qnnrt_lower__view *from,
                                             uint32_t axes, double power, double factor)
{
    const int scaled = from->dtype == QNNRT_DTYPE_F16 && power != 1;
    qnnrt_lower__view x = *from, peak = x, y;
    if (scaled || power != 2) qnnrt_lower__view_unary(job, "ElementWiseAbs", &peak);
    y = peak;
    if (scaled) {
        if (power != 2) x = peak;
        qnnrt_lower__reduce(job, "ReduceMax", &peak, axes);
        qnnrt_lower__view_clamp(job, &peak, 1e-4, HUGE_VAL);
        qnnrt_lower__view_with(job, "ElementWiseDivide", &x, &peak);
        y = x;
    }
    qnnrt_lower__raise(job, &y, power);
    qnnrt_lower__reduce(job, factor == 1 ? "ReduceSum" : "ReduceMean", &y, axes);
    if (factor != 1)
        qnnrt_lower__view_map(job, &y, factor * (double)qnnrt_lower__count(x.rank, x.dims) /
                                       (double)qnnrt_lower__count(y.rank, y.dims), 0);
    qnnrt_lower__raise(job, &y, 1 / power);
    if (scaled) qnnrt_lower__view_with(job, "ElementWiseMultiply", &y, &peak);
    return y;
}

/* linalg_vector_norm: of order 2, 1, infinity, or another. */
static void qnnrt_lower__do_vector_norm(qnnrt_lower__job *job)
{
    const double order = qnnrt_ir_float(job->node, "ord", 2);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t axes = qnnrt_lower__axes(job->node, x.rank);
    if (order == 0) qnnrt_lower__view_cast(job, &x, QNNRT_DTYPE_BOOL8);
    qnnrt_lower__view_cast(job, &x, job->lower->compute);
    qnnrt_lower__settle(job, &x);
    if (order == 0) {
        qnnrt_lower__reduce(job, "ReduceSum", &x, axes);
    } else if (order > -HUGE_VAL && order < HUGE_VAL) {
        x = qnnrt_lower__length(job, &x, axes, order, 1);
    } else {
        qnnrt_lower__view_unary(job, "ElementWiseAbs", &x);
        qnnrt_lower__reduce(job, order > 0 ? "ReduceMax" : "ReduceMin", &x, axes);
    }
    qnnrt_lower__set_reduced(job, 0, &x, axes);
}

/* var, std: of the differences from the mean. */
static void qnnrt_lower__do_var(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const double correction = qnnrt_ir_attr_find(node, "unbiased") != NULL
                                  ? (double)qnnrt_ir_int(node, "unbiased", 1)
                                  : qnnrt_ir_float(node, "correction", 1);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), mean;
    const uint32_t axes = qnnrt_lower__axes(node, x.rank);
    double count = 1;
    uint32_t i;
    for (i = 0; i < x.rank; ++i) if (axes >> i & 1) count *= (double)x.dims[i];
    if (!(count - correction > 0)) {
        qnnrt_lower__refuse(job->graph, NULL, "the variance of %g values with"
                            " correction %g is not a number", count, correction);
        return;
    }
    qnnrt_lower__settle(job, &x);
    mean = x;
    qnnrt_lower__reduce(job, "ReduceMean", &mean, axes);
    qnnrt_lower__view_with(job, "ElementWiseSubtract", &x, &mean);
    if (node->output_count == 2) qnnrt_lower__set_reduced(job, 1, &mean, axes);
    x = qnnrt_lower__length(job, &x, axes, 2, 1 / (count - correction));
    if (strncmp(node->op, "var", 3) == 0) qnnrt_lower__raise(job, &x, 2);
    qnnrt_lower__set_reduced(job, 0, &x, axes);
}

/* Make the axes that a node normalizes one axis of a view: those of "normalized_shape", or the last
   one. */
static void qnnrt_lower__join_last(qnnrt_lower__job *job, qnnrt_lower__view *x)
{
    int64_t dims[QNNRT_LOWER__RANK], whole = 1;
    const size_t given = qnnrt_ir_ints(job->node, "normalized_shape", dims);
    uint32_t i;
    if (given < 2) return;
    for (i = x->rank - (uint32_t)given; i < x->rank; ++i) whole *= x->dims[i];
    for (i = 0; i + given < x->rank; ++i) dims[i] = x->dims[i];
    dims[i] = whole;
    qnnrt_lower__view_dims(job, x, i + 1, dims);
}

/* rms_norm: an operator on HTP, where squares overflow; parts on CPU, whose operator adds epsilon
   in another place. */
static void qnnrt_lower__do_rms_norm(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_value *out = node->outputs[0];
    const double least = out->dtype == QNNRT_DTYPE_F16 ? 9.765625e-4
                         : out->dtype == QNNRT_DTYPE_BF16 ? 7.8125e-3 : 1.1920928955078125e-7;
    const double eps = qnnrt_ir_float(node, "eps", node->op[0] == 'q' ? 1e-6 : least);
    const qnnrt_ir_value *weight = node->input_count > 1 ? node->inputs[1] : NULL;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), y;
    int32_t factors = QNNRT_LOWER__NONE;
    qnnrt_lower__join_last(job, &x);
    if (weight != NULL)
        factors = qnnrt_lower__reshape(job, qnnrt_lower__vector(job, weight), 1,
                                       &x.dims[x.rank - 1]);
    if (job->lower->desc.target != QNNRT_LOWER_CPU) {
        qnnrt_lower__last_norm(job, "RmsNorm", &x, factors, QNNRT_LOWER__NONE, eps);
    } else {
        y = x;
        qnnrt_lower__raise(job, &y, 2);
        qnnrt_lower__reduce(job, "ReduceMean", &y, 1u << (y.rank - 1));
        qnnrt_lower__view_map(job, &y, 1, eps);
        qnnrt_lower__view_unary(job, "ElementWiseRsqrt", &y);
        qnnrt_lower__view_with(job, "ElementWiseMultiply", &x, &y);
        if (weight != NULL) {
            y = qnnrt_lower__view_tensor(job, factors, 1, &x.dims[x.rank - 1]);
            y.dtype = x.dtype;
            qnnrt_lower__view_with(job, "ElementWiseMultiply", &x, &y);
        }
    }
    qnnrt_lower__set_dims(job, 0, &x);
}

/* layer_norm over the last axis, or over several, which become one. */
static void qnnrt_lower__do_layer_norm(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int32_t vectors[2] = {QNNRT_LOWER__NONE, QNNRT_LOWER__NONE};
    int64_t width;
    uint32_t i;
    qnnrt_lower__join_last(job, &x);
    width = x.dims[x.rank - 1];
    for (i = 0; i < 2; ++i)
        if (node->input_count > i + 1 && node->inputs[i + 1] != NULL)
            vectors[i] = qnnrt_lower__reshape(job, qnnrt_lower__vector(job, node->inputs[i + 1]), 1,
                                              &width);
    if (vectors[1] == QNNRT_LOWER__NONE) vectors[1] = qnnrt_lower__same(job, x.dtype, width, 0);
    qnnrt_lower__last_norm(job, "LayerNorm", &x, vectors[0], vectors[1],
                           qnnrt_ir_float(node, "eps", 1e-5));
    qnnrt_lower__set_dims(job, 0, &x);
}

/* batch_norm: x * k + b, with k and b computed here. */
static void qnnrt_lower__do_batch_norm(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const double eps = qnnrt_ir_float(node, "eps", 1e-5);
    double *parts[4] = {NULL, NULL, NULL, NULL}, *k, *b;      /* weight, bias, mean, variance */
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    int64_t channels, i;
    int d;
    if (qnnrt_ir_int(node, "training", 0) || node->input_count < 5) {
        qnnrt_lower__refuse(job->graph, "Export the model after model.eval().",
                            "batch norm in training is not lowered");
        return;
    }
    channels = node->inputs[0]->dims[1];
    k = qnnrt_lower__zeros(job, channels, 2);
    if (k == NULL) return;
    b = k + channels;
    for (d = 0; d < 4; ++d)
        if (node->inputs[d + 1] != NULL) parts[d] = qnnrt_lower__values(job, node->inputs[d + 1]);
    for (i = 0; i < channels; ++i) {
        k[i] = parts[0] != NULL ? parts[0][i] : 1;
        k[i] /= sqrt((parts[3] != NULL ? parts[3][i] : 1) + eps);
        b[i] = (parts[1] != NULL ? parts[1][i] : 0) - (parts[2] != NULL ? parts[2][i] : 0) * k[i];
    }
    for (d = 0; d < 2; ++d) {
        const qnnrt_lower__view numbers = qnnrt_lower__view_tensor(
            job, qnnrt_lower__doubles(job, x.dtype, 1, &channels, d == 0 ? k : b), 1, &channels);
        qnnrt_lower__channels(job, d, &x, &numbers);
        x = qnnrt_lower__view_of(job, node->outputs[0], 0);
    }
}

/* instance_norm: each channel of each sample is a group. */
static void qnnrt_lower__do_instance_norm(qnnrt_lower__job *job)
{
    if (qnnrt_ir_int(job->node, "use_input_stats", 1))
        qnnrt_lower__group_norm(job, job->node->outputs[0]->dims[1]);
    else
        qnnrt_lower__do_batch_norm(job);
}

/* =====================================================================================
   SELECT                                                                        >>select
   Operators that read or write places given by indices.
   Needs: >>config >>arena >>params >>tensor >>static >>operator >>layout >>align >>elementwise
          >>binary >>shape
   Knows nothing of: arithmetic
   ===================================================================================== */

/* Gather rows of an axis of x by indices, an INT_32 tensor with count elements seen as `shape`.
   The axis comes first in storage: along other axes HTP computes garbage. */
static void qnnrt_lower__gather(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                                int32_t indices, uint32_t index_rank, const int64_t *index_dims)
{
    uint32_t order[QNNRT_LOWER__RANK], placed[QNNRT_LOWER__RANK], i, used = 0;
    const int64_t count = (int64_t)qnnrt_lower__count(index_rank, index_dims);
    int64_t rows[2], dims[2];
    int32_t inputs[2];
    qnnrt_lower__params p = qnnrt_lower__params_none();
    memcpy(order, x->order, sizeof(order));
    qnnrt_lower__axis_first(x->rank, order, axis);
    inputs[0] = qnnrt_lower__stored(job, x, order);
    rows[0] = x->dims[axis];
    rows[1] = (int64_t)(qnnrt_lower__count(x->rank, x->dims) / (uint64_t)rows[0]);
    inputs[0] = qnnrt_lower__reshape(job, inputs[0], 2, rows);
    inputs[1] = qnnrt_lower__reshape(job, indices, 1, &count);
    dims[0] = count;
    dims[1] = rows[1];
    qnnrt_lower__scalar(&p, "axis", QNNRT_DTYPE_I32, 0);
    x->tensor = qnnrt_lower__op(job, "Gather", inputs, 2, x->dtype, 2, dims, &p);
    x->value = NULL;
    /* The axes of the indices are stored first, then the others. */
    qnnrt_lower__identity(placed);
    for (i = 0; i < index_rank; ++i) placed[used++] = axis + i;
    for (i = 1; i < x->rank; ++i)
        placed[used++] = order[i] > axis ? order[i] + index_rank - 1 : order[i];
    memcpy(x->order, placed, sizeof(placed));
}

/* Gather by ids, a view with values of INT_32, along an axis. Bools are gathered as integers. */
static void qnnrt_lower__take_rows(qnnrt_lower__job *job, qnnrt_lower__view *x, uint32_t axis,
                                   int32_t ids, uint32_t rank, const int64_t *dims)
{
    const qnnrt_dtype dtype = x->dtype;
    if (dtype == QNNRT_DTYPE_BOOL8) qnnrt_lower__view_cast(job, x, QNNRT_DTYPE_I32);
    qnnrt_lower__gather(job, x, axis, ids, rank, dims);
    memcpy(x->dims, job->node->outputs[0]->dims, sizeof(x->dims));
    x->rank = job->node->outputs[0]->rank;
    qnnrt_lower__view_cast(job, x, dtype);
    qnnrt_lower__set(job, 0, x->tensor, x->order);
}

/* Return the values of constant indices, from 0 on; NULL after a finding. */
static double *qnnrt_lower__ids(qnnrt_lower__job *job, const qnnrt_ir_value *value, int64_t size)
{
    double *ids = qnnrt_lower__values(job, value);
    uint64_t i;
    for (i = 0; ids != NULL && i < value->count; ++i) {
        if (ids[i] < 0) ids[i] += (double)size;
        if (ids[i] >= 0 && ids[i] < (double)size) continue;
        qnnrt_lower__refuse(job->graph, NULL, "index %g is beyond the dimension of"
                            " %lld", ids[i], (long long)size);
        return NULL;
    }
    return ids;
}

static void qnnrt_lower__do_embedding(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int select = strncmp(node->op, "index_select", 12) == 0;
    const qnnrt_ir_value *ids = node->inputs[1];
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), index;
    const uint32_t axis = select ? qnnrt_lower__axis(node, "dim", x.rank, 0) : 0;
    const uint32_t rank = select && ids->rank == 0 ? 1 : ids->rank;
    int64_t dims[QNNRT_LOWER__RANK];
    int32_t t;
    if (x.rank == 0) {
        qnnrt_lower__store(job, 0, &x);
        return;
    }
    memcpy(dims, ids->dims, sizeof(dims));
    if (ids->rank == 0) dims[0] = 1;
    if (ids->origin == QNNRT_IR_CONSTANT) {
        double *values = qnnrt_lower__ids(job, ids, x.dims[axis]);
        if (values == NULL) return;
        t = qnnrt_lower__doubles(job, QNNRT_DTYPE_I32, rank, dims, values);
    } else {
        index = qnnrt_lower__in(job, 1);
        t = qnnrt_lower__plain(job, &index);
    }
    qnnrt_lower__take_rows(job, &x, axis, t, rank, dims);
}

/* gather: each element by an index of its own. */
static void qnnrt_lower__do_gather(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), ids = qnnrt_lower__in(job, 1);
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    const qnnrt_dtype dtype = x.dtype;
    int64_t own[QNNRT_LOWER__RANK], packed[QNNRT_LOWER__RANK];
    int32_t inputs[2];
    qnnrt_lower__aligned a;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    uint32_t i;
    if (x.rank == 0) {
        const int64_t one = 1;
        qnnrt_lower__view_dims(job, &x, 1, &one);
        qnnrt_lower__view_dims(job, &ids, 1, &one);
    }
    if (dtype == QNNRT_DTYPE_BOOL8) qnnrt_lower__view_cast(job, &x, QNNRT_DTYPE_I32);
    for (i = 0; i < x.rank; ++i)
        if (i != axis) qnnrt_lower__cut(job, &x, i, 0, ids.dims[i], 1);
    /* With two axes, dims are those of the view, which the indices share. */
    inputs[0] = qnnrt_lower__arrange(job, &x, 1u << axis | (x.rank > 1 ? 1u << (axis == 0) : 0), -1,
                                     &a);
    for (i = 0; i < a.rank; ++i) own[i] = ids.dims[a.order[i]];
    qnnrt_lower__packed(&a, own, packed);
    inputs[1] = qnnrt_lower__stored(job, &ids, a.order);
    inputs[1] = qnnrt_lower__reshape(job, inputs[1], a.packed_rank, packed);
    qnnrt_lower__u32(&p, "axis", qnnrt_lower__packed_axis(&a, axis));
    qnnrt_lower__become(&ids, qnnrt_lower__op(job, "GatherElements", inputs, 2, x.dtype,
                                              a.packed_rank, packed, &p), &a);
    ids.dtype = x.dtype;
    qnnrt_lower__view_cast(job, &ids, dtype);
    qnnrt_lower__set_dims(job, 0, &ids);
}

/* What index.Tensor reads: neighbouring axes of x, each with a list of indices. */
typedef struct qnnrt_lower__lists {
    const qnnrt_ir_value *values[QNNRT_LOWER__RANK];
    int64_t               sizes[QNNRT_LOWER__RANK];      /* of the axes */
    uint32_t              count, rank;                   /* rank: of all indices, broadcast */
    int64_t               dims[QNNRT_LOWER__RANK];
} qnnrt_lower__lists;

/* Return places in the axes as one, computed here; 0 after a finding. */
static int32_t qnnrt_lower__flat_known(qnnrt_lower__job *job, const qnnrt_lower__lists *lists)
{
    const uint64_t total = qnnrt_lower__count(lists->rank, lists->dims);
    double *flat = qnnrt_lower__zeros(job, (int64_t)total, 1);
    uint32_t k, d;
    uint64_t i;
    if (flat == NULL) return QNNRT_LOWER__NONE;
    for (k = 0; k < lists->count; ++k) {
        const qnnrt_ir_value *value = lists->values[k];
        double *ids = qnnrt_lower__ids(job, value, lists->sizes[k]);
        if (ids == NULL) return QNNRT_LOWER__NONE;
        for (i = 0; i < total; ++i) {
            uint64_t left = i, at = 0, step = 1;
            for (d = lists->rank; d-- > 0;) {
                const uint64_t here = left % (uint64_t)lists->dims[d];
                const uint32_t missing = lists->rank - value->rank;
                left /= (uint64_t)lists->dims[d];
                if (d < missing) continue;
                if (value->dims[d - missing] != 1) at += here * step;
                step *= (uint64_t)value->dims[d - missing];
            }
            flat[i] = flat[i] * (double)lists->sizes[k] + ids[at];
        }
    }
    return qnnrt_lower__doubles(job, QNNRT_DTYPE_I32, lists->rank, lists->dims, flat);
}

/* Return places in the axes as one, computed by the graph. Those below 0 count from the end. */
static int32_t qnnrt_lower__flat(qnnrt_lower__job *job, const qnnrt_lower__lists *lists)
{
    const qnnrt_lower__view zero = qnnrt_lower__view_number(job, QNNRT_DTYPE_I32, 0);
    qnnrt_lower__view sum, ids, below;
    uint32_t k;
    memset(&sum, 0, sizeof(sum));
    for (k = 0; k < lists->count; ++k) {
        const double size = (double)lists->sizes[k];
        ids = qnnrt_lower__view_of(job, lists->values[k], 0);
        qnnrt_lower__settle(job, &ids);
        below = qnnrt_lower__between(job, "ElementWiseLess", &ids, &zero, QNNRT_DTYPE_BOOL8,
                                     ids.rank, ids.dims);
        qnnrt_lower__view_cast(job, &below, QNNRT_DTYPE_I32);
        qnnrt_lower__view_map(job, &below, size, 0);
        ids = qnnrt_lower__between(job, "ElementWiseAdd", &ids, &below, QNNRT_DTYPE_I32, ids.rank,
                                   ids.dims);
        if (k > 0) {
            qnnrt_lower__view_map(job, &sum, size, 0);
            sum = qnnrt_lower__both(job, "ElementWiseAdd", &sum, &ids, QNNRT_DTYPE_I32);
        } else {
            sum = ids;
        }
    }
    return qnnrt_lower__plain(job, &sum);
}

/* index.Tensor: lists of indices for some axes. These are moved together, in front if they were
   apart, and become one axis. */
static void qnnrt_lower__do_index(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    qnnrt_lower__lists lists;
    uint32_t perm[QNNRT_LOWER__RANK], axis = 0, last = 0, i, k;
    int64_t dims[QNNRT_LOWER__RANK], size = 1;
    int known = 1;
    int32_t t;
    memset(&lists, 0, sizeof(lists));
    for (i = 0; i + 1 < node->input_count; ++i) {
        const qnnrt_ir_value *value = node->inputs[i + 1];
        if (value == NULL) continue;
        if (value->dtype == QNNRT_DTYPE_BOOL8) {
            qnnrt_lower__refuse(job->graph, NULL, "indices of bools are not lowered");
            return;
        }
        if (lists.count == 0) axis = i;
        last = i;
        lists.values[lists.count] = value;
        lists.sizes[lists.count++] = x.dims[i];
        size *= x.dims[i];
        if (value->origin != QNNRT_IR_CONSTANT) known = 0;
        if (value->rank > lists.rank) {
            for (k = 0; k < lists.rank; ++k)
                lists.dims[value->rank - 1 - k] = lists.dims[lists.rank - 1 - k];
            for (k = 0; k < value->rank - lists.rank; ++k) lists.dims[k] = 1;
            lists.rank = value->rank;
        }
        for (k = 0; k < value->rank; ++k)
            if (value->dims[k] != 1) lists.dims[lists.rank - value->rank + k] = value->dims[k];
    }
    for (i = 0; i < lists.rank; ++i) if (lists.dims[i] == 0) lists.dims[i] = 1;
    if (last + 1 - axis != lists.count) {                /* apart: in front */
        k = 0;
        for (i = 0; i < x.rank; ++i)
            if (i + 1 < node->input_count && node->inputs[i + 1] != NULL) perm[k++] = i;
        for (i = 0; i < x.rank; ++i)
            if (i + 1 >= node->input_count || node->inputs[i + 1] == NULL) perm[k++] = i;
        qnnrt_lower__view_permute(job, &x, perm);
        axis = 0;
    }
    if (lists.count > 1) {
        for (i = 0, k = 0; i < x.rank; ++i)
            if (i <= axis || i >= axis + lists.count) dims[k++] = i == axis ? size : x.dims[i];
        qnnrt_lower__view_dims(job, &x, k, dims);
    }
    t = known ? qnnrt_lower__flat_known(job, &lists) : qnnrt_lower__flat(job, &lists);
    if (t != QNNRT_LOWER__NONE) qnnrt_lower__take_rows(job, &x, axis, t, lists.rank, lists.dims);
}

/* Return a where the condition is true, and b elsewhere. Libraries repeat nothing there; bools are
   combined. */
static qnnrt_lower__view qnnrt_lower__choice(qnnrt_lower__job *job, qnnrt_lower__view *cond,
                                             qnnrt_lower__view *a, qnnrt_lower__view *b,
                                             qnnrt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    qnnrt_lower__view views[3], out;
    qnnrt_lower__aligned placed;
    int32_t tensors[3];
    size_t i;
    qnnrt_lower__view_cast(job, cond, QNNRT_DTYPE_BOOL8);
    qnnrt_lower__view_cast(job, a, dtype);
    qnnrt_lower__view_cast(job, b, dtype);
    if (dtype == QNNRT_DTYPE_BOOL8) {
        views[0] = qnnrt_lower__both(job, "ElementWiseAnd", cond, a, dtype);
        qnnrt_lower__view_unary(job, "ElementWiseNot", cond);
        views[1] = qnnrt_lower__both(job, "ElementWiseAnd", cond, b, dtype);
        return qnnrt_lower__both(job, "ElementWiseOr", &views[0], &views[1], dtype);
    }
    views[0] = *cond;
    views[1] = *a;
    views[2] = *b;
    qnnrt_lower__align(job, views, 3, rank, dims, tensors, &placed);
    for (i = 0; i < 3; ++i)
        tensors[i] = qnnrt_lower__fill(job, tensors[i], placed.packed_rank, placed.packed);
    out = qnnrt_lower__view_tensor(job, qnnrt_lower__op(job, "ElementWiseSelect", tensors, 3, dtype,
                                                        placed.packed_rank, placed.packed, NULL),
                                   rank, dims);
    out.dtype = dtype;
    memcpy(out.order, placed.order, sizeof(out.order));
    return out;
}

/* Let output 0 be a where the condition is true, and b elsewhere. */
static void qnnrt_lower__choose_by(qnnrt_lower__job *job, qnnrt_lower__view *cond,
                                   qnnrt_lower__view *a, qnnrt_lower__view *b)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    qnnrt_lower__view chosen = qnnrt_lower__choice(
        job, cond, a, b, qnnrt_lower__dtype(job, out->dtype), out->rank, out->dims);
    qnnrt_lower__set_view(job, &chosen);
}

/* tril, triu: elements beyond a diagonal are 0. */
static void qnnrt_lower__do_triangle(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int64_t diagonal = qnnrt_ir_int(node, "diagonal", 0);
    const int lower = node->op[3] == 'l';
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), zero, cond;
    int64_t dims[2], i;
    double *values;
    dims[0] = x.dims[x.rank - 2];
    dims[1] = x.dims[x.rank - 1];
    values = qnnrt_lower__zeros(job, dims[0], dims[1]);
    if (values == NULL) return;
    for (i = 0; i < dims[0] * dims[1]; ++i) {
        const int64_t right = i % dims[1] - i / dims[1];
        values[i] = lower ? right <= diagonal : right >= diagonal;
    }
    cond = qnnrt_lower__view_tensor(
        job, qnnrt_lower__doubles(job, QNNRT_DTYPE_BOOL8, 2, dims, values), 2, dims);
    zero = qnnrt_lower__view_number(job, x.dtype, 0);
    qnnrt_lower__choose_by(job, &cond, &x, &zero);
}

/* Return where the indices point to in x as it is stored: [pieces, 1]. Those of whole rows are
   repeated for each place before the axis, others have one for each element. */
static int32_t qnnrt_lower__targets(qnnrt_lower__job *job, const qnnrt_lower__view *index,
                                    const qnnrt_lower__view *x, uint32_t axis, int rows,
                                    int64_t pieces)
{
    const int64_t count = (int64_t)qnnrt_lower__count(index->rank, index->dims);
    int64_t stride[QNNRT_LOWER__RANK], dims[2], i, step = 1;
    double *base = qnnrt_lower__zeros(job, pieces, 1);
    int32_t pair[2];
    uint32_t d;
    if (base == NULL) return QNNRT_LOWER__NONE;
    for (d = x->rank; d-- > 0; step *= x->dims[d]) stride[d] = step;
    for (i = 0; i < pieces; ++i) {
        int64_t left = i;
        if (rows) base[i] = (double)(i / count * x->dims[axis]);
        for (d = index->rank; !rows && d-- > 0; left /= index->dims[d])
            if (d != axis) base[i] += (double)(left % index->dims[d] * stride[d]);
    }
    dims[0] = rows ? pieces / count : 1;
    dims[1] = count;
    pair[1] = qnnrt_lower__linear_map(job, qnnrt_lower__plain(job, index),
                                      rows ? 1 : (double)stride[axis], 0);
    pair[0] = qnnrt_lower__doubles(job, QNNRT_DTYPE_I32, 2, dims, base);
    dims[0] = 1;
    pair[1] = qnnrt_lower__reshape(job, pair[1], 2, dims);
    dims[0] = rows ? pieces / count : 1;
    if (!rows || dims[0] > 1)
        pair[1] = qnnrt_lower__op(job, "ElementWiseAdd", pair, 2, QNNRT_DTYPE_I32, 2, dims, NULL);
    dims[0] = pieces;
    dims[1] = 1;
    return qnnrt_lower__reshape(job, pair[1], 2, dims);
}

/* index_copy, index_add, scatter and their like: rows, or elements, of the flat tensor are written.
   reduction: 0 in their place, 1 added, 2 multiplied. */
static void qnnrt_lower__do_scatter(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_ir_attr *way = qnnrt_ir_attr_find(node, "reduce");
    const int rows = strncmp(node->op, "index_", 6) == 0;
    const uint32_t reduction = way != NULL ? (strchr("pm", way->text[0]) != NULL ? 2 : 1)
                                           : strstr(node->op, "_add") != NULL;
    double alpha = qnnrt_ir_float(node, "alpha", 1);
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), index = qnnrt_lower__in(job, 1), from;
    const qnnrt_dtype dtype = x.dtype, own = dtype == QNNRT_DTYPE_BOOL8 ? QNNRT_DTYPE_I32 : dtype;
    const uint32_t axis = qnnrt_lower__axis(node, "dim", x.rank, 0);
    int64_t pieces = 1, width = 1, dims[2];
    int32_t inputs[3];
    qnnrt_lower__params p = qnnrt_lower__params_none();
    uint32_t d;
    if (x.rank == 0 || qnnrt_ir_int(node, "include_self", 1) == 0 ||
        (way != NULL && (way->text[0] == 'm' ? way->text[1] == 'e' : way->text[1] == 'm'))) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", x.rank == 0
                            ? "a number has no rows" : "only sums and products are lowered");
        return;
    }
    qnnrt_lower__view_cast(job, &x, own);
    from = qnnrt_lower__operand(job, 2, "value", dtype);
    qnnrt_lower__view_cast(job, &from, own);
    for (d = 0; d < x.rank; ++d) {
        if (!rows) pieces *= index.dims[d];
        else if (d == axis) pieces *= (int64_t)qnnrt_lower__count(index.rank, index.dims);
        else if (d < axis) pieces *= x.dims[d];
        else width *= x.dims[d];
        if (!rows && from.rank == x.rank)
            qnnrt_lower__cut(job, &from, d, 0, index.dims[d], 1);
    }
    inputs[1] = qnnrt_lower__targets(job, &index, &x, axis, rows, pieces);
    if (inputs[1] == QNNRT_LOWER__NONE) return;
    dims[0] = pieces;
    dims[1] = width;
    if (dtype == QNNRT_DTYPE_BOOL8 && alpha != 0) alpha = 1;
    inputs[2] = qnnrt_lower__linear_map(job, qnnrt_lower__plain(job, &from), alpha, 0);
    inputs[2] = qnnrt_lower__count(from.rank, from.dims) == (uint64_t)(pieces * width)
                    ? qnnrt_lower__reshape(job, inputs[2], 2, dims)
                    : qnnrt_lower__fill(job, inputs[2], 2, dims);
    dims[0] = (int64_t)qnnrt_lower__count(x.rank, x.dims) / width;
    inputs[0] = qnnrt_lower__reshape(job, qnnrt_lower__plain(job, &x), 2, dims);
    if (reduction > 0) qnnrt_lower__u32(&p, "reduction", reduction);
    inputs[0] = qnnrt_lower__op(job, "ScatterNd", inputs, 3, own, 2, dims, &p);
    x = qnnrt_lower__view_tensor(job, inputs[0], 2, dims);
    qnnrt_lower__view_cast(job, &x, dtype);
    qnnrt_lower__set(job, 0, x.tensor, NULL);
}

/* A constant: its elements are computed here. */
static void qnnrt_lower__do_constant(qnnrt_lower__job *job)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    const qnnrt_dtype dtype = qnnrt_lower__dtype(job, out->dtype);
    double *values = qnnrt_lower__zeros(job, (int64_t)out->count, 1);
    const char *op = job->node->op;
    const void *no_input = NULL;
    void *data = qnnrt_lower__table(job, out->count, 1, qnnrt_ir_dtype_bytes(out->dtype));
    qnnrt_weight weight;
    qnnrt_error err;
    if (values == NULL || data == NULL) {
        /* no memory, or a finding */
    } else if (job->node->input_count != 0) {            /* only its shape matters */
        const double number = strstr(op, "ones") != NULL ? 1
                              : qnnrt_ir_float(job->node, strncmp(op, "fill.", 5) == 0
                                                              ? "value" : "fill_value", 0);
        uint64_t i;
        for (i = 0; i < out->count; ++i) values[i] = number;
        qnnrt_lower__set(job, 0, qnnrt_lower__doubles(job, dtype, out->rank, out->dims, values),
                         NULL);
    } else {
        qnnrt_result result = qnnrt_ir_eval_node(&job->lower->desc.hooks, job->node, &no_input,
                                                 &data, &err);
        qnnrt_lower__as_weight(&weight, out->dtype, out->count, data);
        if (result == QNNRT_OK)
            result = qnnrt_lower__read(&weight, values, &err);
        if (result != QNNRT_OK)
            qnnrt_lower__refuse(job->graph, NULL, "%s", err.text);
        else
            qnnrt_lower__set(job, 0, qnnrt_lower__doubles(job, dtype, out->rank, out->dims, values),
                             NULL);
    }
}

/* =====================================================================================
   RECIPE                                                                        >>recipe
   Operators on each element, from the words of qnnrt_ir_recipe().
   Needs: >>config >>arena >>params >>tensor >>operator >>layout >>align >>binary >>shape >>select
   Knows nothing of: single operators of the graph
   ===================================================================================== */

/* Words: operators of QNN, which begin with a capital and may have parameters, NAME=WORD; or other
   words, where x and y are the operands. "": nothing to do; NULL: not lowered. The first row for a
   place counts. where: r, c, h: Ref, CPU, HTP in float32; R, C, H: in float16; b: bools; "": all
   but bools, which are integers where they have no row. */
static const struct qnnrt_lower__word {
    const char *name;
    int         operands;
    const char *where, *floats, *whole;
} qnnrt_lower__words[] = {
    { "+", 2, "b", NULL, "ElementWiseOr" }, { "+", 2, "", "ElementWiseAdd", "ElementWiseAdd" },
    { "-", 2, "", "ElementWiseSubtract", "ElementWiseSubtract" },
    { "*", 2, "b", NULL, "ElementWiseAnd" },
    { "*", 2, "", "ElementWiseMultiply", "ElementWiseMultiply" },
    { "/", 2, "", "ElementWiseDivide", "ElementWiseDivide" },
    { "max", 2, "b", NULL, "ElementWiseOr" },
    { "max", 2, "", "ElementWiseMaximum", "ElementWiseMaximum" },
    { "min", 2, "b", NULL, "ElementWiseAnd" },
    { "min", 2, "", "ElementWiseMinimum", "ElementWiseMinimum" },
    { "pow", 2, "", "ElementWisePower", "x x 0 == y 0 < && 1 y ? power" },
    { "power", 2, "", "ElementWisePower", "ElementWisePower" },     /* but infinity for 0 ** -1 */
    { "==", 2, "", "ElementWiseEqual", "ElementWiseEqual" },
    { "!=", 2, "", "ElementWiseNotEqual", "ElementWiseNotEqual" },
    { "<", 2, "", "ElementWiseLess", "ElementWiseLess" },
    { "<=", 2, "", "ElementWiseLessEqual", "ElementWiseLessEqual" },
    { ">", 2, "", "ElementWiseGreater", "ElementWiseGreater" },
    { ">=", 2, "", "ElementWiseGreaterEqual", "ElementWiseGreaterEqual" },
    { "?", 3, "rchRCHb", "ElementWiseSelect", "ElementWiseSelect" },
    { "&", 2, "b", NULL, "ElementWiseAnd" }, { "or", 2, "b", NULL, "ElementWiseOr" },
    { "^", 2, "b", NULL, "ElementWiseXor" }, { "~", 1, "b", NULL, "ElementWiseNot" },
    { "~", 1, "", NULL, "x -1 * 1 -" }, { "!", 1, "b", NULL, "ElementWiseNot" },
    { "!", 1, "", "x 0 ==", "x 0 ==" },
    { "&&", 2, "rchRCHb", "ElementWiseAnd", "ElementWiseAnd" },     /* not 0, as all that follow */
    { "||", 2, "rchRCHb", "ElementWiseOr", "ElementWiseOr" },
    { "^^", 2, "rchRCHb", "ElementWiseXor", "ElementWiseXor" },
    { "abs", 1, "", "ElementWiseAbs", "ElementWiseAbs" },
    { "sigmoid", 1, "", "Sigmoid", NULL }, { "tanh", 1, "", "Tanh", NULL },
    { "Prelu", 2, "", "Prelu", NULL }, { "HardSwish", 1, "", "HardSwish", NULL },
    { "HardSigmoid", 1, "",
      "ElementWiseNeuron operation=2 alpha=0.16666666666666666 beta=0.5", NULL },
    { "Softplus", 1, "",
      "ElementWiseNeuron operation=7 beta=.beta|1 threshold=.threshold|20", NULL },
    { "Elu", 1, "", "Elu alpha=.alpha", NULL },
    /* The two forms of Gelu differ by 0.0005 at most, as much as float16. CPU has an operator for
       the second one; HTP has none in float32. */
    { "gelu", 1, "h", "x tanhgelu", NULL }, { "gelu", 1, "", "Gelu", NULL },
    { "tanhgelu", 1, "H", "Gelu", NULL },
    { "tanhgelu", 1, "cC", "ElementWiseNeuron operation=1", NULL },
    { "tanhgelu", 1, "",
      "x x x * 0.03567740813630014 * 0.7978845608028654 + x * tanh 0.5 * 0.5 + *", NULL },
    /* HTP has garbage for numbers beyond 88 of either sign. */
    { "exp", 1, "hRCH", "x -80 max 80 min Exp", NULL }, { "exp", 1, "", "ElementWiseExp", NULL },
    { "Exp", 1, "", "ElementWiseExp", NULL }, { "log", 1, "", "ElementWiseLog", NULL },
    { "sqrt", 1, "", "ElementWiseSquareRoot", NULL },
    { "Rsqrt", 1, "", "ElementWiseRsqrt", NULL },
    /* Less the nearest multiple of pi: HTP is 0.005 wrong at 3, 0.07 at 100, but 0.001 up to 256
       so: y * 3.125 is exact in float16 (Cody and Waite). flip: -1 for odd multiples. */
    { "turns", 1, "", "x 0.3183098861837907 * round", NULL },
    { "unturn", 2, "", "x y 3.125 * - y 0.016592653589793116 * -", NULL },
    { "flip", 1, "", "x x 0.5 * round 2 * - square -2 * 1 +", NULL },
    { "sin", 1, "hRCH", "x x turns unturn Sin x turns flip *", NULL },
    { "cos", 1, "hRCH", "x x turns unturn Cos x turns flip *", NULL },
    { "sin", 1, "", "ElementWiseSin", NULL }, { "cos", 1, "", "ElementWiseCos", NULL },
    { "Sin", 1, "", "ElementWiseSin", NULL }, { "Cos", 1, "", "ElementWiseCos", NULL },
    /* HTP is wrong beyond 32768. */
    { "atan", 1, "hRCH", "x -16384 max 16384 min Atan", NULL },
    { "atan", 1, "", "ElementWiseAtan", NULL }, { "Atan", 1, "", "ElementWiseAtan", NULL },
    { "Gelu", 1, "", "Gelu", NULL },
    { "floor", 1, "", "ElementWiseFloor", "" }, { "ceil", 1, "", "ElementWiseCeil", "" },
    { "round", 1, "", "ElementWiseRound", "" },
    { "sign", 1, "", "ElementWiseSign", "x -1 max 1 min" },
    { "trunc", 1, "", "x sign x abs floor *", "" },
    { "square", 1, "", "x x *", "x x *" },
    /* Integers stay exact: without the rest nothing is left over. HTP rounds -1 / 2 down, CPU and
       Ref towards 0. */
    { "%", 2, "", "x x y / floor y * -", "ElementWiseMod" },
    { "//", 2, "", "x y / floor", "x x y % - y /" },
    { "quotient", 2, "", "x y / trunc", "x abs y abs // x sign y sign * *" },
    { "fmod", 2, "", "x x y / trunc y * -", "x x y quotient y * -" },
    { "<<", 2, "", NULL, "x 2 y pow *" }, { ">>", 2, "", NULL, "x 2 y pow //" },
    /* Near 0 these are as exact as their operand. */
    { "expm1", 1, "", "x 0.5 * tanh x exp 1 + *", NULL },
    { "log1p", 1, "", "x 1 + log x 9999 min x 9999 min 1 + 1 - - x 9999 min 1 + 1e-30 max / +",
      NULL },
    { "exp2", 1, "", "x 0.6931471805599453 * exp", NULL },
    { "log2", 1, "", "x log 1.4426950408889634 *", NULL },
    { "log10", 1, "", "x log 0.4342944819032518 *", NULL },
    { "tan", 1, "", "x sin x cos /", NULL },
    { "asin", 1, "", "x 1 x square - sqrt 1 + / atan 2 *", NULL },
    { "acos", 1, "", "1 x - sqrt x 1 + sqrt / atan 2 *", NULL },
    { "sinh", 1, "", "x expm1 x -1 * expm1 - 0.5 *", NULL },
    { "cosh", 1, "hRCH", "x abs 0.5 * exp x abs 0.5 * exp 0.5 * * x abs -1 * exp 0.5 * +", NULL },
    { "cosh", 1, "", "x exp x -1 * exp + 0.5 *", NULL },
    { "asinh", 1, "", "x abs x abs x finite x finite 1 hypot 1 + / * + log1p x sign *", NULL },
    { "finite", 1, "", "x abs 1e30 min", NULL },
    { "acosh", 1, "", "x 1 - x 1 - sqrt x 1 + sqrt * + log1p", NULL },
    { "atanh", 1, "", "x log1p x -1 * log1p - 0.5 *", NULL },
    { "softplus", 1, "", "x 0 max x abs -1 * exp log1p +", NULL },
    /* erf(x) is 2 Gelu(a) / a - 1 with a = sqrt(2) x, for positive a. In float16
       tanh(1.1283792 x + 0.1009114 x^3) is nearer; there the cube stays in float16. */
    { "erf", 1, "hRCH", "x -4 max 4 min square 0.1009114 * 1.1283792 + x -4 max 4 min * tanh",
      NULL },
    { "erf", 1, "", "x 2gelu Gelu x 2gelu / 2 * 1 - x sign *", NULL },
    { "2gelu", 1, "", "x abs 1.4142135623730951 * 1e-30 max 8 min", NULL },
    { "erfc", 1, "", "1 x erf -", NULL },
    /* The larger of two distances, and how much smaller the other one is. */
    { "far", 2, "", "x abs y abs max", NULL },
    { "near", 2, "", "x abs y abs min x y far 1e-30 max /", NULL },
    { "hypot", 2, "", "x y near square 1 + sqrt x y far *", NULL },
    { "octant", 2, "", "x abs y abs > 1.5707963267948966 x y near atan - x y near atan ?", NULL },
    { "halfturn", 2, "", "y 0 < 3.141592653589793 x y octant - x y octant ?", NULL },
    { "atan2", 2, "", "x 0 < x y halfturn -1 * x y halfturn ?", NULL },
    { "copysign", 2, "rcRC", "y 0 < 1 y / 0 < || x abs -1 * x abs ?", NULL },     /* of -0 */
    { "copysign", 2, "", "y 0 < x abs -1 * x abs ?", NULL },
};

/* Words of operators whose recipes libraries have better ones for. has: a part of the recipe. */
static const struct { const char *ops, *has, *where, *words; } qnnrt_lower__better[] = {
    { "gelu.* q.gelu", "tanh", "", "a tanhgelu" }, { "gelu.* q.gelu", "", "", "a gelu" },
    { "rsqrt.*", "", "", "a Rsqrt" }, { "hardswish.*", "", "", "a HardSwish" },
    { "hardsigmoid.*", "", "", "a HardSigmoid" },
    { "leaky_relu.*", "", "", "a .negative_slope Prelu" },
    { "elu.*", "", "", ".input_scale 1 - a 0 max a 0 min .input_scale * expm1 .alpha * + a Elu ?"
      " .scale *" },
    /* HTP's operator is wrong by 0.012 near 0, and has garbage below -88. */
    { "softplus.*", "", "rcRC", "a Softplus" }, { "mish.*", "", "rcRC", "a a Softplus tanh *" },
    { "mish.*", "", "", "a -9 max a softplus tanh *" },
    { "logical_not.*", "", "", "a !" }, { "logical_and.*", "", "", "a b &&" },
    { "logical_or.*", "", "", "a b ||" }, { "logical_xor.*", "", "", "a b ^^" },
};

/* Powers that are no power. */
static const struct { double exponent; const char *words; } qnnrt_lower__powers[] = {
    { 1, "x" }, { 2, "x x *" }, { 3, "x x x * *" }, { 0.5, "x sqrt" }, { -0.5, "x Rsqrt" },
    { -1, "1 x /" },
};

/* An operand or a result: a view, or a number. */
typedef struct qnnrt_lower__item {
    int               number;            /* 1: of a recipe, 2: of the node; 0: a view ... */
    double            f;
    double            low, high;         /* ... which is yet to be clamped */
    qnnrt_lower__view view;
} qnnrt_lower__item;
enum { QNNRT_LOWER__DEEP = 8 };

/* Return the words of a node. place: see qnnrt_lower__words; NULL: it has none. */
static const char *qnnrt_lower__words_of(const qnnrt_ir_node *node, const char *place)
{
    const char *words = qnnrt_ir_recipe(node);
    size_t i;
    if (words == NULL || strcmp(node->op, node->info->name) != 0) return NULL;
    for (i = 0; i < sizeof(qnnrt_lower__better) / sizeof(qnnrt_lower__better[0]); ++i)
        if (qnnrt_lower__listed(qnnrt_lower__better[i].ops, node->op) &&
            strstr(words, qnnrt_lower__better[i].has) != NULL &&
            (qnnrt_lower__better[i].where[0] == '\0' ||
             strstr(qnnrt_lower__better[i].where, place) != NULL))
            return qnnrt_lower__better[i].words;
    return words;
}

/* Return the row of a word, NULL for none. */
static const struct qnnrt_lower__word *qnnrt_lower__word_of(const char *name, size_t bytes,
                                                            char place)
{
    size_t i;
    for (i = 0; i < sizeof(qnnrt_lower__words) / sizeof(qnnrt_lower__words[0]); ++i) {
        const struct qnnrt_lower__word *word = &qnnrt_lower__words[i];
        if (strncmp(word->name, name, bytes) == 0 && word->name[bytes] == '\0' &&
            (word->where[0] == '\0' ? place != 'b' : strchr(word->where, place) != NULL))
            return word;
    }
    return NULL;
}

/* Return a number as a type has it. One of a recipe becomes neither infinite nor 0. */
static double qnnrt_lower__item_f(const qnnrt_lower__item *item, qnnrt_dtype dtype)
{
    const int half = dtype == QNNRT_DTYPE_F16;
    const double most = half ? 65504 : 3.4028234663852886e38, least = half ? 6.103515625e-5 : 1e-37;
    if (item->number == 2 || item->f >= HUGE_VAL || item->f <= -HUGE_VAL) return item->f;
    if (item->f > 0 && item->f < least) return least;
    return item->f > most ? most : item->f < -most ? -most : item->f;
}

/* Let an item be a tensor of a dtype. */
static qnnrt_lower__view *qnnrt_lower__item_view(qnnrt_lower__job *job, qnnrt_lower__item *item,
                                                 qnnrt_dtype dtype)
{
    qnnrt_lower__view *view = &item->view;
    if (item->number) {
        *view = qnnrt_lower__view_number(job, dtype, qnnrt_lower__item_f(item, dtype));
    } else if (item->low > -HUGE_VAL || item->high < HUGE_VAL) {
        qnnrt_lower__view_clamp(job, view, item->low, item->high);
    }
    item->number = 0;
    item->low = -HUGE_VAL;
    item->high = HUGE_VAL;
    qnnrt_lower__view_cast(job, view, dtype);
    return view;
}

/* Compute an operator of numbers alone: 1 - eps, 2^n, the size or the sign of one. Return 0 for
   others. */
static int qnnrt_lower__item_number(const char *name, qnnrt_lower__item *x, int whole)
{
    const double y = x[1].f;
    if (strcmp(name, "-") == 0) x->f -= y;
    else if (strcmp(name, "*") == 0) x->f *= y;
    else if (strcmp(name, "<") == 0) x->f = x->f < y;
    else if (strcmp(name, "abs") == 0) x->f = fabs(x->f);
    else if (strcmp(name, "max") == 0) x->f = x->f > y ? x->f : y;
    else if (strcmp(name, "min") == 0) x->f = x->f < y ? x->f : y;
    else if (strcmp(name, "pow") == 0) x->f = pow(x->f, y);
    else return 0;
    return !whole || name[0] != 'p' || (x->f >= 1 && x->f < 2147483648.0);
}

/* Apply an operator of QNN with its parameters: "Elu alpha=.alpha". */
static void qnnrt_lower__item_unary(qnnrt_lower__job *job, const char *text,
                                    qnnrt_lower__view *view)
{
    const char *at = text + strcspn(text, " "), *type = text;
    qnnrt_lower__params p = qnnrt_lower__params_none();
    if (*at != '\0') type = qnnrt_lower__text(job->lower, "%.*s", (int)(at - text), text);
    while (*at != '\0') {
        const size_t bytes = strcspn(++at, "=");
        const char *name = qnnrt_lower__text(job->lower, "%.*s", (int)bytes, at);
        qnnrt_ir_attr number;
        qnnrt_ir_recipe_operand(job->node, at + bytes + 1, &number);
        if (strcmp(name, "operation") == 0) qnnrt_lower__u32(&p, name, (uint32_t)number.f);
        else qnnrt_lower__f32(&p, name, number.f);
        at += strcspn(at, " ");
    }
    view->tensor = qnnrt_lower__op_like(job, type, qnnrt_lower__view_root(job, view), &p);
}

/* Compute x * number, or number * x. Return 0 if an operator is needed. */
static int qnnrt_lower__item_times(qnnrt_lower__job *job, qnnrt_lower__item *x, qnnrt_dtype dtype)
{
    const double f = x->number ? x->f : qnnrt_lower__item_f(&x[1], dtype);
    if (f >= 1 && f <= 1) {
        if (x->number) *x = x[1];
        return 1;
    }
    if (x->number || !qnnrt_lower__is_float(dtype)) return 0;
    if (f >= -1 && f <= -1)
        qnnrt_lower__view_unary(job, "ElementWiseNeg", qnnrt_lower__item_view(job, x, dtype));
    else
        qnnrt_lower__view_map(job, qnnrt_lower__item_view(job, x, dtype), f, 0);
    return 1;
}

/* Compute a power. HTP errs in those of numbers that are near 0; integers become floats. */
static int qnnrt_lower__item_power(qnnrt_lower__job *job, qnnrt_lower__item *x, qnnrt_dtype dtype)
{
    const double base = x->number ? x->f : 0;
    const int whole = !qnnrt_lower__is_float(dtype);
    const qnnrt_lower__view *a, *b;
    if (whole && strncmp(job->node->op, "pow", 3) != 0) return 0;
    if (whole) dtype = job->lower->compute;
    b = qnnrt_lower__item_view(job, &x[1], dtype);
    if (base > 0 && !whole && job->lower->desc.target == QNNRT_LOWER_HTP) {
        if (base > 1.1) x[1].low = -80 / log(base);
        if (base < 0.9) x[1].high = -80 / log(base);
        b = qnnrt_lower__item_view(job, &x[1], dtype);
    }
    a = qnnrt_lower__item_view(job, x, dtype);
    x->view = qnnrt_lower__both(job, "ElementWisePower", a, b, dtype);
    if (whole) qnnrt_lower__view_unary(job, "ElementWiseRound", &x->view);
    return 1;
}

/* Compute a comparison or another operator of two operands, where one may be a number. */
static int qnnrt_lower__item_pair(qnnrt_lower__job *job, const char *name, const char *type,
                                  qnnrt_lower__item *x, qnnrt_dtype dtype)
{
    const int test = strchr("=!<>", name[0]) != NULL, logic = strchr("&|^", name[0]) != NULL;
    const int floats = qnnrt_lower__is_float(dtype);
    qnnrt_lower__view *a, *b;
    if (name[0] == '*' && (x->number || x[1].number) && qnnrt_lower__item_times(job, x, dtype))
        return 1;
    if (name[0] == 'p') return qnnrt_lower__item_power(job, x, dtype);
    if (x[1].number && strcmp(type, "ElementWiseMaximum") == 0) {
        qnnrt_lower__item_view(job, x, dtype);
        x->low = qnnrt_lower__item_f(&x[1], dtype);
        return 1;
    }
    if (x[1].number && strcmp(type, "ElementWiseMinimum") == 0) {
        if (!(x->low > -HUGE_VAL) || x->high < HUGE_VAL) qnnrt_lower__item_view(job, x, dtype);
        x->high = qnnrt_lower__item_f(&x[1], dtype);
        return 1;
    }
    if (test && !floats && x[1].number && (x[1].f > floor(x[1].f))) {
        /* No integer is between the two: less than 2.5 is less than 3. */
        if (name[0] == '=' || name[0] == '!') dtype = job->lower->compute;
        else x[1].f = (name[0] == '<') == (name[1] == '=') ? floor(x[1].f) : ceil(x[1].f);
    }
    if (logic) dtype = QNNRT_DTYPE_BOOL8;
    a = qnnrt_lower__item_view(job, x, dtype);
    b = qnnrt_lower__item_view(job, &x[1], dtype);
    x->view = qnnrt_lower__both(job, type, a, b, test ? QNNRT_DTYPE_BOOL8 : dtype);
    return 1;
}

/* Compute one operator of QNN. x: its operands; the first one becomes the result. Return 0 if it is
   not lowered. */
static int qnnrt_lower__item_op(qnnrt_lower__job *job, const struct qnnrt_lower__word *word,
                                const char *type, qnnrt_lower__item *x, qnnrt_dtype dtype)
{
    const qnnrt_ir_value *out = job->node->outputs[0];
    qnnrt_lower__view *a, *b;
    if (x->number && word->operands == 3) {
        *x = x->f < 0 || x->f > 0 ? x[1] : x[2];
    } else if (word->operands == 3) {
        a = qnnrt_lower__item_view(job, &x[1], dtype);
        b = qnnrt_lower__item_view(job, &x[2], dtype);
        x->view = qnnrt_lower__choice(job, qnnrt_lower__item_view(job, x, x->view.dtype), a, b,
                                      dtype, out->rank, out->dims);
    } else if (x->number && x[word->operands - 1].number) {
        return qnnrt_lower__item_number(word->name, x, !qnnrt_lower__is_float(dtype));
    } else if (word->operands == 1) {
        qnnrt_lower__item_unary(job, type, qnnrt_lower__item_view(job, x, dtype));
    } else {
        return qnnrt_lower__item_pair(job, word->name, type, x, dtype);
    }
    return 1;
}

/* Read an operand of the node, or of a word: x, y or a number. */
static void qnnrt_lower__item_read(qnnrt_lower__job *job, const char *word,
                                   const qnnrt_lower__item *given, qnnrt_lower__item *out)
{
    const qnnrt_ir_node *node = job->node;
    int64_t dims[QNNRT_LOWER__RANK] = {0};
    qnnrt_ir_attr number;
    uint32_t i;
    int input;
    if (given != NULL && (word[0] == 'x' || word[0] == 'y')) {
        *out = given[word[0] - 'x'];
        return;
    }
    input = qnnrt_ir_recipe_operand(node, word, &number);
    out->number = input >= 0 ? 0 : word[0] == '.' || (word[0] >= 'a' && word[0] <= 'c') ? 2 : 1;
    out->f = number.f;
    out->low = -HUGE_VAL;
    out->high = HUGE_VAL;
    if (input < 0) return;
    out->view = qnnrt_lower__view_of(job, node->inputs[input], 1);
    if (input == 0 || strncmp(node->op, "prelu", 5) != 0 || node->inputs[0]->rank < 3) return;
    dims[0] = node->inputs[input]->dims[0];              /* prelu: one for each channel */
    for (i = 1; i + 1 < node->inputs[0]->rank; ++i) dims[i] = 1;
    if (out->view.rank == 1) qnnrt_lower__view_dims(job, &out->view, i, dims);
}

/* Return the place of a type, see qnnrt_lower__words. */
static char qnnrt_lower__place(const qnnrt_lower__job *job, qnnrt_dtype dtype)
{
    const int half = dtype == QNNRT_DTYPE_F16;
    return dtype == QNNRT_DTYPE_BOOL8 ? 'b' : (half ? "RCH" : "rch")[job->lower->desc.target];
}

/* Compute words. given: the operands x and y of a word; NULL: the words are of the node. Return 0
   if a word is not lowered. */
static int qnnrt_lower__item_words(qnnrt_lower__job *job, const char *words,
                                   const qnnrt_lower__item *given, qnnrt_dtype dtype,
                                   qnnrt_lower__item *out)
{
    enum { POWERS = sizeof(qnnrt_lower__powers) / sizeof(qnnrt_lower__powers[0]) };
    qnnrt_lower__item stack[QNNRT_LOWER__DEEP];
    size_t top = 0, bytes, i;
    for (; *words != '\0'; words += words[bytes] == ' ' ? bytes + 1 : bytes) {
        const struct qnnrt_lower__word *word;
        qnnrt_dtype own = dtype;
        const char *to;
        int floats;
        bytes = strcspn(words, " ");
        word = qnnrt_lower__word_of(words, bytes, qnnrt_lower__place(job, own));
        if (word == NULL && own == QNNRT_DTYPE_BOOL8) {
            own = QNNRT_DTYPE_I32;
            word = qnnrt_lower__word_of(words, bytes, qnnrt_lower__place(job, own));
        }
        if (word == NULL) {
            if (top == QNNRT_LOWER__DEEP) return 0;
            qnnrt_lower__item_read(job, words, given, &stack[top++]);
            continue;
        }
        floats = qnnrt_lower__is_float(own);
        to = floats ? word->floats : word->whole;
        if (to == NULL || top < (size_t)word->operands) return 0;
        top -= (size_t)word->operands;
        for (i = 0; word->name[0] == 'p' && stack[top + 1].number && i < (floats ? POWERS : 3); ++i)
            if (!stack[top].number && stack[top + 1].f >= qnnrt_lower__powers[i].exponent &&
                stack[top + 1].f <= qnnrt_lower__powers[i].exponent)
                to = qnnrt_lower__powers[i].words;
        if (to[0] >= 'A' && to[0] <= 'Z' ? !qnnrt_lower__item_op(job, word, to, &stack[top], own)
            : to[0] != '\0' && !qnnrt_lower__item_words(job, to, &stack[top], own, &stack[top]))
            return 0;
        ++top;
    }
    *out = stack[0];
    return top == 1;
}

/* Let output 0 be what the words of the node compute. */
/* Return true if a tensor of one number has another type than the small integers beside it, so that
   PyTorch wraps the number. */
static int qnnrt_lower__wraps(const qnnrt_ir_node *node)
{
    size_t i, k;
    for (i = 0; i < node->input_count; ++i)
        for (k = 0; k < node->input_count; ++k) {
            const qnnrt_ir_value *x = node->inputs[i], *y = node->inputs[k];
            if (x != NULL && y != NULL && x->rank > 0 && y->rank == 0 && x->dtype != y->dtype &&
                qnnrt_ir_dtype_kind(x->dtype) == 1 && qnnrt_ir_dtype_bytes(x->dtype) < 4 &&
                qnnrt_ir_dtype_kind(y->dtype) == 1) return 1;
        }
    return 0;
}

static void qnnrt_lower__do_recipe(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const qnnrt_dtype made = qnnrt_lower__dtype(job, node->outputs[0]->dtype);
    const char place[2] = { qnnrt_lower__place(job, job->lower->compute), '\0' };
    const char *words = qnnrt_lower__words_of(node, place);
    qnnrt_dtype dtype = made;
    qnnrt_lower__item result;
    size_t i;
    for (i = 0; i < node->input_count && made == QNNRT_DTYPE_BOOL8; ++i) {
        if (node->inputs[i] == NULL || node->inputs[i]->dtype == QNNRT_DTYPE_BOOL8) continue;
        if (qnnrt_ir_dtype_kind(node->inputs[i]->dtype) == 2) dtype = job->lower->compute;
        else if (dtype == QNNRT_DTYPE_BOOL8) dtype = QNNRT_DTYPE_I32;
    }
    if (!qnnrt_lower__wraps(node) && qnnrt_lower__item_words(job, words, NULL, dtype, &result))
        qnnrt_lower__set_view(job, qnnrt_lower__item_view(job, &result, made));
    else
        qnnrt_lower__refuse(job->graph, "Compute it on the host.", "\"%.100s\" is not lowered%s",
                            words, qnnrt_lower__listed("__* bitwise_*", node->op) ? ", nor are "
                            "other operators on bits" : "");
}

/* glu: half of an axis times the sigmoid of the other half. */
static void qnnrt_lower__do_glu(qnnrt_lower__job *job)
{
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), gate;
    const uint32_t axis = qnnrt_lower__axis(job->node, "dim", x.rank, -1);
    const int64_t half = x.dims[axis] / 2;
    qnnrt_lower__settle(job, &x);
    gate = x;
    qnnrt_lower__cut(job, &x, axis, 0, half, 1);
    qnnrt_lower__cut(job, &gate, axis, half, half, 1);
    qnnrt_lower__view_unary(job, "Sigmoid", &gate);
    qnnrt_lower__view_with(job, "ElementWiseMultiply", &x, &gate);
    qnnrt_lower__set_view(job, &x);
}

/* =====================================================================================
   SEQUENCE                                                                    >>sequence
   Fourier transforms and recurrent layers.
   Needs: >>config >>arena >>tensor >>static >>operator >>layout >>align >>elementwise >>binary
          >>shape >>linear
   Knows nothing of: images
   ===================================================================================== */

/* Write the matrix of one transform: [to, parts of y, from, parts of x], where complex numbers have
   2 parts. mirror: the values of x say those of the other half. */
static void qnnrt_lower__fourier(double *m, int64_t n, int64_t from, int64_t in, int64_t to,
                                 int64_t out, double turn, int mirror, double scale)
{
    int64_t j, k;
    for (j = 0; j < to; ++j)
        for (k = 0; k < from && k < (mirror ? n / 2 + 1 : n); ++k) {
            const double angle = turn * (double)(j * k % n) / (double)n;
            const double size = mirror && k > 0 && 2 * k != n ? 2 * scale : scale;
            double *const re = m + j * out * from * in + k * in, *const im = re + from * in;
            re[0] = size * cos(angle);
            if (in == 2) re[1] = -size * sin(angle);
            if (out == 2) im[0] = size * sin(angle);
            if (out == 2 && in == 2) im[1] = size * cos(angle);
        }
}

/* qnnrt.fft: a product for each dimension. Its matrix is known. */
static void qnnrt_lower__do_fft(qnnrt_lower__job *job)
{
    const qnnrt_ir_node *node = job->node;
    const int inverse = qnnrt_ir_int(node, "inverse", 0) != 0;
    const int half = qnnrt_ir_int(node, "onesided", 0) != 0;
    const double turn = inverse ? 6.283185307179586476925 : -6.283185307179586476925;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0);
    const uint32_t last = x.rank - 1;
    int64_t axes[QNNRT_IR_RANK], length[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(node, "dim", axes);
    size_t i;
    qnnrt_ir_ints(node, "length", length);
    for (i = 0; i < count; ++i) {
        const size_t at = inverse ? i : count - 1 - i;
        const uint32_t axis = (uint32_t)axes[at];
        const int mirror = half && inverse && at == count - 1;
        const int64_t from = x.dims[axis], in = x.dims[last], out = mirror ? 1 : 2;
        const int64_t to = half && !inverse && at == count - 1 ? length[at] / 2 + 1 : length[at];
        int64_t rows[2], matrix[2];
        uint32_t order[QNNRT_LOWER__RANK];
        int32_t inputs[2];
        double *values;
        qnnrt_lower__identity(order);
        qnnrt_lower__axis_last(last, order, axis);
        matrix[0] = to * out;
        matrix[1] = rows[1] = from * in;
        rows[0] = (int64_t)qnnrt_lower__count(x.rank, x.dims) / rows[1];
        inputs[0] = qnnrt_lower__reshape(job, qnnrt_lower__stored(job, &x, order), 2, rows);
        values = matrix[0] * matrix[1] > QNNRT_LOWER__MOST_FOURIER ? NULL
                                       : qnnrt_lower__zeros(job, matrix[0], matrix[1]);
        if (values == NULL) {
            qnnrt_lower__refuse(job->graph, "Compute it on the host.", "a transform of %lld values "
                                "is a product with a matrix of %lld x %lld", (long long)length[at],
                                (long long)matrix[0], (long long)matrix[1]);
            return;
        }
        qnnrt_lower__fourier(values, length[at], from, in, to, out, turn, mirror, i == count - 1 ?
                             qnnrt_ir_float(node, "scale", 1) : 1);
        inputs[1] = qnnrt_lower__doubles(job, x.dtype, 2, matrix, values);
        rows[1] = matrix[0];
        x.tensor = qnnrt_lower__matmul(job, inputs[0], inputs[1], 1, 2, rows);
        x.value = NULL;
        x.dims[axis] = to;
        x.dims[last] = out;
        memcpy(x.order, order, sizeof(order));
    }
    qnnrt_lower__set(job, 0, x.tensor, x.order);
}

/* Cut columns out of a tensor [rows, columns]. */
static int32_t qnnrt_lower__columns(qnnrt_lower__job *job, int32_t x, int64_t first, int64_t count)
{
    qnnrt_lower__view view;
    int64_t dims[QNNRT_LOWER__RANK];
    if (x == QNNRT_LOWER__NONE) return x;
    view = qnnrt_lower__view_tensor(job, x, qnnrt_lower__dims(job, x, dims), dims);
    qnnrt_lower__cut(job, &view, 1, first, count, 1);
    return qnnrt_lower__plain(job, &view);
}

/* Compute one step of a layer: gates of x and of h, and state[2], h and c, which it replaces. */
static void qnnrt_lower__unroll(qnnrt_lower__job *job, int32_t a, int32_t b, int64_t n,
                              int32_t *state)
{
    const char *const op = job->node->op;
    int32_t part[4], all = qnnrt_lower__binary_op(job, "ElementWiseAdd", a, b), t;
    int i;
    if (op[0] == 'r') {
        state[0] = qnnrt_lower__op_like(job, op[4] == 't' ? "Tanh" : "Relu", all, NULL);
        return;
    }
    for (i = 0; i < (op[0] == 'l' ? 4 : 2); ++i)
        part[i] = qnnrt_lower__op_like(job, op[0] == 'l' && i == 2 ? "Tanh" : "Sigmoid",
                                       qnnrt_lower__columns(job, all, i * n, n), NULL);
    if (op[0] == 'l') {                                  /* in, forget, cell, out */
        t = qnnrt_lower__binary_op(job, "ElementWiseMultiply", part[0], part[2]);
        state[1] = qnnrt_lower__binary_op(job, "ElementWiseMultiply", part[1], state[1]);
        state[1] = qnnrt_lower__binary_op(job, "ElementWiseAdd", state[1], t);
        t = qnnrt_lower__op_like(job, "Tanh", state[1], NULL);
        state[0] = qnnrt_lower__binary_op(job, "ElementWiseMultiply", part[3], t);
        return;
    }
    t = qnnrt_lower__binary_op(job, "ElementWiseMultiply", part[0],    /* reset, update, new */
                               qnnrt_lower__columns(job, b, 2 * n, n));
    t = qnnrt_lower__binary_op(job, "ElementWiseAdd", qnnrt_lower__columns(job, a, 2 * n, n), t);
    t = qnnrt_lower__op_like(job, "Tanh", t, NULL);
    state[0] = qnnrt_lower__binary_op(job, "ElementWiseSubtract", state[0], t);
    state[0] = qnnrt_lower__binary_op(job, "ElementWiseMultiply", part[1], state[0]);
    state[0] = qnnrt_lower__binary_op(job, "ElementWiseAdd", t, state[0]);
}

/* Multiply rows by the transposed weight in input `w`; add the bias in input `bias`, 0: none. */
static int32_t qnnrt_lower__rows(qnnrt_lower__job *job, int32_t x, size_t w, size_t bias)
{
    int64_t dims[2];
    int32_t inputs[3];
    inputs[0] = x;
    inputs[1] = qnnrt_lower__vector(job, job->node->inputs[w]);
    if (bias != 0) inputs[2] = qnnrt_lower__vector(job, job->node->inputs[bias]);
    dims[0] = qnnrt_lower__at(job, x)->dims[0];
    dims[1] = job->node->inputs[w]->dims[0];
    return qnnrt_lower__op(job, "FullyConnected", inputs, bias != 0 ? 3 : 2,
                           qnnrt_lower__at(job, x)->dtype, 2, dims, NULL);
}

/* Join tensors [rows, columns] along an axis. */
static int32_t qnnrt_lower__join_all(qnnrt_lower__job *job, const int32_t *list, size_t count,
                                     uint32_t axis)
{
    qnnrt_lower__view *views = (qnnrt_lower__view *)qnnrt_lower__table(job, count, 1,
                                                                       sizeof(*views));
    qnnrt_lower__view out;
    size_t i;
    for (i = 0; i < count && views != NULL; ++i) {
        int64_t dims[QNNRT_LOWER__RANK];
        if (list[i] == QNNRT_LOWER__NONE) return QNNRT_LOWER__NONE;
        views[i] = qnnrt_lower__view_tensor(job, list[i], qnnrt_lower__dims(job, list[i], dims),
                                            dims);
    }
    if (views == NULL) return QNNRT_LOWER__NONE;
    if (count == 1) return list[0];
    out = qnnrt_lower__join(job, views, count, axis);
    return qnnrt_lower__plain(job, &out);
}

/* lstm, gru, rnn_tanh, rnn_relu: step by step. The gates of x are one product for all steps. */
static void qnnrt_lower__do_recurrent(qnnrt_lower__job *job)
{
    static const uint32_t swap[3] = {1, 0, 2};
    const qnnrt_ir_node *node = job->node;
    const int64_t gates = node->op[0] == 'l' ? 4 : node->op[0] == 'g' ? 3 : 1;
    const size_t states = gates == 4 ? 2 : 1;
    const size_t ways = qnnrt_ir_int(node, "bidirectional", 0) != 0 ? 2 : 1;
    const int64_t layers = qnnrt_ir_int(node, "num_layers", 1);
    const int biased = qnnrt_ir_int(node, "has_biases", 1) != 0;
    const size_t all = (size_t)layers * ways, per = (node->input_count - 1 - states) / all;
    const int swapped = qnnrt_ir_int(node, "batch_first", 0) != 0;
    qnnrt_lower__view x = qnnrt_lower__in(job, 0), s;
    const int64_t steps = x.dims[swapped], batch = x.dims[!swapped];
    int32_t now[2], *ends = (int32_t *)qnnrt_lower__table(job, all, 2, sizeof(*ends)), in;
    int32_t *made = (int32_t *)qnnrt_lower__table(job, (uint64_t)steps, ways, sizeof(*made));
    int64_t dims[3], t;
    size_t k, i;
    if (steps * (int64_t)all > QNNRT_LOWER__MOST_STEPS) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host, or in parts.", "%lld steps of %lu"
                            " layers, at most %d are written out", (long long)steps,
                            (unsigned long)all, (int)QNNRT_LOWER__MOST_STEPS);
        return;
    }
    if (ends == NULL || made == NULL) return;
    dims[0] = steps * batch;
    dims[1] = x.dims[2];
    in = qnnrt_lower__reshape(job, swapped ? qnnrt_lower__stored(job, &x, swap)
                                           : qnnrt_lower__plain(job, &x), 2, dims);
    for (k = 0; k < all; ++k) {
        const size_t at = 1 + states + k * per, way = k % ways;
        const int64_t width = node->inputs[at]->dims[0] / gates;
        const int projected = per % 2 != 0;
        int32_t rows = qnnrt_lower__rows(job, in, at, biased ? at + 2 : 0);
        if (rows == QNNRT_LOWER__NONE) return;
        for (i = 0; i < states; ++i) {                   /* row k of the states */
            s = qnnrt_lower__in(job, 1 + i);
            qnnrt_lower__settle(job, &s);
            qnnrt_lower__cut(job, &s, 0, (int64_t)k, 1, 1);
            dims[0] = batch;
            dims[1] = s.dims[2];
            now[i] = qnnrt_lower__reshape(job, qnnrt_lower__plain(job, &s), 2, dims);
        }
        for (t = 0; t < steps; ++t) {
            const int64_t step = way == 0 ? t : steps - 1 - t;
            qnnrt_lower__view cut;
            if (now[0] == QNNRT_LOWER__NONE) return;
            dims[0] = steps * batch;
            dims[1] = gates * width;
            cut = qnnrt_lower__view_tensor(job, rows, 2, dims);
            qnnrt_lower__cut(job, &cut, 0, step * batch, batch, 1);
            qnnrt_lower__unroll(job, qnnrt_lower__plain(job, &cut),
                              qnnrt_lower__rows(job, now[0], at + 1, biased ? at + 3 : 0), width,
                              now);
            if (projected) now[0] = qnnrt_lower__rows(job, now[0], at + per - 1, 0);
            made[(int64_t)way * steps + step] = now[0];
        }
        ends[k] = now[0];
        ends[all + k] = now[states - 1];
        made[way] = qnnrt_lower__join_all(job, made + (int64_t)way * steps, (size_t)steps, 0);
        if (way + 1 == ways) in = qnnrt_lower__join_all(job, made, ways, 1);
    }
    dims[0] = steps;
    dims[1] = batch;
    dims[2] = in != QNNRT_LOWER__NONE ? qnnrt_lower__at(job, in)->dims[1] : 1;
    s = qnnrt_lower__view_tensor(job, qnnrt_lower__reshape(job, in, 3, dims), 3, dims);
    if (swapped) qnnrt_lower__view_permute(job, &s, swap);
    qnnrt_lower__set(job, 0, s.tensor, s.order);
    for (i = 0; i < states; ++i)
        qnnrt_lower__set(job, 1 + i, qnnrt_lower__reshape(
            job, qnnrt_lower__join_all(job, ends + i * all, all, 0), 3, node->outputs[1 + i]->dims),
            NULL);
}

/* =====================================================================================
   TABLE                                                                          >>table
   The operators that can be lowered, each once.
   Needs: >>config >>arena >>tensor >>shape >>select >>recipe, and the functions that it names
   Knows nothing of: how they work
   ===================================================================================== */

/* X(function, operators of the graph, operators that they may become, what is refused). A name that
   ends in "*" stands for all operators that begin so; the first one that fits counts. */
#define QNNRT_LOWER__TABLE(X) \
    /* element by element */ \
    X(glu, "glu.default", "StridedSlice Sigmoid ElementWiseMultiply", "") \
    /* copies and casts */ \
    X(alias, "alias.default detach.default clone.default contiguous.default lift_fresh* to.* " \
      "_to_copy.default type_as.default", "Cast ElementWiseNotEqual", "") \
    X(dropout, "dropout.default feature_dropout.default", "", "training") \
    /* views and moves */ \
    X(view, "view.default reshape.default view_as.default reshape_as.default " \
      "flatten.using_ints unflatten.int unsqueeze.default squeeze.*", "Reshape", "") \
    X(permute, "permute.default transpose.int t.default numpy_T.default movedim.int " \
      "swapaxes.default mT.default", "Transpose", "") \
    X(slice, "slice.Tensor narrow.default select.int", "StridedSlice Reshape", "") \
    X(split, "split* chunk.default unbind.int", "StridedSlice Reshape", "") \
    X(cat, "cat.default stack.default", "Concat Reshape", "") \
    X(expand, "expand* copy.default fill.Tensor", "Tile Cast", "") \
    X(repeat, "repeat.default", "Tile", "") \
    X(interleave, "repeat_interleave.self_int", "Tile", "") \
    X(diff, "diff.default", "StridedSlice ElementWiseSubtract ElementWiseXor Concat", "") \
    /* over axes */ \
    X(reduce, "mean.* sum.* prod.* amax.default amin.default max.default min.default any.* " \
      "all.*", "an operator of that name, ElementWiseMultiply Cast ElementWiseNotEqual", "") \
    X(argmax, "argmax.default argmin.default", "Argmax Argmin", "") \
    X(extreme, "max.dim min.dim", "ReduceMax ReduceMin Argmax Argmin", "") \
    X(logsumexp, "logsumexp.default", "ReduceMax ElementWiseExp ReduceSum ElementWiseLog", "") \
    X(topk, "topk.default", "TopK", "") \
    X(cumulate, "cumsum.default cumprod.default", \
      "CumulativeSum, or MatMul; ElementWiseMultiply StridedSlice Concat", \
      "products of more than 64") \
    X(softmax, "softmax.int _softmax.default log_softmax.int _safe_softmax.default", \
      "Softmax LogSoftmax ElementWiseGreater ElementWiseMultiply", "") \
    /* matrices */ \
    X(linear, "linear.default", "FullyConnected", "") \
    X(matmul, "matmul.default mm.default bmm.default mv.default", "MatMul Tile", "") \
    X(addmm, "addmm.default baddbmm.default", \
      "FullyConnected MatMul ElementWiseMultiply ElementWiseAdd", "") \
    X(attention, "scaled_dot_product_attention.default", \
      "MatMul Softmax ElementWiseMultiply ElementWiseAdd Tile", "") \
    X(recurrent, "lstm.input gru.input rnn_tanh.input rnn_relu.input", \
      "FullyConnected Sigmoid Tanh Relu StridedSlice ElementWiseAdd ElementWiseSubtract " \
      "ElementWiseMultiply Concat", "many steps") \
    X(fft, "qnnrt.fft.default", "MatMul", "a long transform") \
    /* images */ \
    X(conv, "conv1d.* conv2d.* conv3d.*", \
      "Conv2d DepthWiseConv2d, of films Pad StridedSlice Concat ElementWiseAdd, too", \
      "with groups a film whose weight is computed") \
    X(deconv, "conv_transpose1d.default conv_transpose2d.input", "TransposeConv2d", \
      "on CPU a weight that is computed") \
    X(pool, "max_pool1d.default max_pool2d.default max_pool3d.default avg_pool*", \
      "PoolMax2d PoolAvg2d, or Pad StridedSlice ElementWiseMaximum, or MatMul", "") \
    X(upsample, "upsample_nearest2d.* upsample_bilinear2d.* upsample_* _upsample_*", \
      "ResizeNearestNeighbor ResizeBilinear, or MatMul", "") \
    X(grid, "grid_sampler*", "GridSample", "Ref, 3 dimensions, nearest, bicubic") \
    X(pixel_shuffle, "pixel_shuffle.default", "DepthToSpace, or Transpose", "") \
    X(blocks, "pixel_unshuffle.default channel_shuffle.default native_channel_shuffle.default", \
      "Transpose", "") \
    X(pad, "pad.default constant_pad_nd.default", "Pad, or Concat StridedSlice MatMul", "") \
    X(roll, "roll.default flip.default", "StridedSlice Concat MatMul", "many integers") \
    X(adaptive, "adaptive_avg_pool*", "ReduceMean PoolAvg2d MatMul", "") \
    X(adaptive_max, "adaptive_max_pool*", "StridedSlice ReduceMax Concat", "places") \
    /* normalizations */ \
    X(rms_norm, "q.rms_norm rms_norm.default", "RmsNorm, or its parts", "") \
    X(layer_norm, "q.layer_norm layer_norm.default", "LayerNorm", "") \
    X(group_norm, "group_norm.default", \
      "GroupNorm, or LayerNorm ElementWiseMultiply ElementWiseAdd", "") \
    X(instance_norm, "instance_norm.default", \
      "GroupNorm, or LayerNorm ElementWiseMultiply ElementWiseAdd", "") \
    X(vector_norm, "linalg_vector_norm.default", \
      "ElementWiseMultiply ReduceSum ElementWiseSquareRoot ElementWiseAbs ReduceMax " \
      "ElementWisePower", "order 0") \
    X(var, "var.* var_mean.* std.* std_mean.*", \
      "ReduceMean ElementWiseSubtract ElementWiseMultiply ElementWiseSquareRoot", "") \
    X(batch_norm, "batch_norm.default", "ElementWiseMultiply ElementWiseAdd", "training") \
    /* by index */ \
    X(embedding, "embedding.default index_select.default", "Gather", "") \
    X(scatter, "index_copy.default index_add.default scatter.* scatter_add.default " \
      "scatter_reduce.two", "ScatterNd ElementWiseAdd", "mean, amax, amin, without self") \
    X(gather, "gather.default", "GatherElements StridedSlice", "") \
    X(index, "index.Tensor", "Gather, and arithmetic of indices", "bools") \
    X(triangle, "tril.default triu.default", "ElementWiseSelect", "") \
    /* constants */ \
    X(constant, "full.default ones.default zeros.default arange.* empty* full_like.default " \
      "ones_like.default zeros_like.default new_* zero.default fill.Scalar " \
      "scalar_tensor.default", "", "") \
    /* all others on each element */ \
    X(recipe, "*", "what the words of qnnrt_ir_recipe() become", "operators without words, bits " \
      "of integers, shifts by a tensor; HTP: sin and cos of multiples of an input")

static const qnnrt_lower_rule qnnrt_lower__rules[] = {
#define QNNRT_LOWER_X(function, op, emits, limits) { op, emits, limits },
    QNNRT_LOWER__TABLE(QNNRT_LOWER_X)
#undef QNNRT_LOWER_X
};
typedef void (*qnnrt_lower__function)(qnnrt_lower__job *job);
static const qnnrt_lower__function qnnrt_lower__functions[] = {
#define QNNRT_LOWER_X(function, op, emits, limits) qnnrt_lower__do_##function,
    QNNRT_LOWER__TABLE(QNNRT_LOWER_X)
#undef QNNRT_LOWER_X
};
enum { QNNRT_LOWER__RULES = sizeof(qnnrt_lower__rules) / sizeof(qnnrt_lower__rules[0]) };

/* Return the function that lowers an operator, NULL for none. */
static qnnrt_lower__function qnnrt_lower__function_of(const qnnrt_ir_node *node)
{
    size_t i = 0;
    while (!qnnrt_lower__listed(qnnrt_lower__rules[i].op, node->op)) ++i;
    return i + 1 < QNNRT_LOWER__RULES || qnnrt_lower__words_of(node, "") != NULL
               ? qnnrt_lower__functions[i] : NULL;
}

/* Refuse an input without elements, which no tensor of QNN can be, except where a rule leaves it
   out or reads its dtype alone. Return 0 after a finding. */
static int qnnrt_lower__full(qnnrt_lower__job *job, qnnrt_lower__function function)
{
    const qnnrt_ir_node *node = job->node;
    size_t i;
    if (function == qnnrt_lower__do_cat || function == qnnrt_lower__do_constant ||
        function == qnnrt_lower__do_alias)
        return 1;
    for (i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == NULL || node->inputs[i]->count != 0) continue;
        qnnrt_lower__refuse(job->graph, "Compute it on the host.",
                            "input %lu has no elements", (unsigned long)i);
        return 0;
    }
    return 1;
}

/* =====================================================================================
   RANGE                                                                          >>range
   Which values of an input its readers take as an index.
   Needs: >>config >>tensor >>static >>align >>shape >>select >>table
   Knows nothing of: QNN operators
   ===================================================================================== */

/* Let a value have no values but low to high, and those that it can have already. */
static void qnnrt_lower__narrow(qnnrt_lower__job *job, const qnnrt_ir_value *value, int64_t low,
                                int64_t high)
{
    qnnrt_lower__record *record =
        value != NULL ? qnnrt_lower__record_of(job->lower, value) : NULL;
    if (record == NULL) return;
    if (!record->ranged || low > record->low) record->low = low;
    if (!record->ranged || high < record->high) record->high = high;
    record->ranged = 1;
}

/* Apply what a node takes to its inputs, or what the readers of its output take. */
static void qnnrt_lower__range_node(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const qnnrt_lower__function lower = qnnrt_lower__function_of(node);
    const qnnrt_ir_value *out = node->output_count > 0 ? node->outputs[0] : NULL;
    const qnnrt_ir_value *table = node->input_count > 0 ? node->inputs[0] : NULL;
    size_t i;
    if (lower == NULL || out == NULL || table == NULL || (out->users == 0 && !out->is_output))
        return;
    if (lower == qnnrt_lower__do_embedding || lower == qnnrt_lower__do_gather ||
        lower == qnnrt_lower__do_scatter) {
        const int rows = strcmp(node->op, "embedding.default") == 0;
        if (table->rank == 0) return;
        qnnrt_lower__narrow(job, node->inputs[1], 0, table->dims[rows ? 0 : qnnrt_lower__axis(
            node, "dim", table->rank, 0)] - 1);
    } else if (lower == qnnrt_lower__do_index) {
        for (i = 1; i < node->input_count && i <= table->rank; ++i)
            qnnrt_lower__narrow(job, node->inputs[i], -table->dims[i - 1], table->dims[i - 1] - 1);
    } else if (lower == qnnrt_lower__do_alias || lower == qnnrt_lower__do_view ||
               lower == qnnrt_lower__do_permute || lower == qnnrt_lower__do_expand ||
               lower == qnnrt_lower__do_repeat || lower == qnnrt_lower__do_interleave) {
        const qnnrt_lower__record *record = (const qnnrt_lower__record *)out->note;
        if (record == NULL || !record->ranged || out->count == 0 ||
            (out->dtype != QNNRT_DTYPE_I32 && out->dtype != QNNRT_DTYPE_I64)) return;
        qnnrt_lower__narrow(job, node->inputs[strncmp(node->op, "copy", 4) == 0], record->low,
                            record->high);
    }
}

/* Give the inputs of a graph their ranges. */
static void qnnrt_lower__range(qnnrt_lower__job *job)
{
    const qnnrt_ir *ir = job->graph->info.ir;
    size_t i;
    for (i = ir->node_count; i-- > 0;) qnnrt_lower__range_node(job, ir->nodes[i]);
    for (i = 0; i < ir->input_count; ++i)
        if (ir->inputs[i]->ranged == 1)          /* as the file states, so it is checked */
            qnnrt_lower__narrow(job, ir->inputs[i], ir->inputs[i]->low, ir->inputs[i]->high);
    for (i = 0; i < ir->input_count; ++i) {
        const qnnrt_lower__record *record = (const qnnrt_lower__record *)ir->inputs[i]->note;
        qnnrt_lower_tensor *tensor = &job->graph->tensors[job->graph->inputs[i]];
        if (tensor->kind != QNNRT_TENSOR_INPUT || tensor->dtype != QNNRT_DTYPE_I32 ||
            record == NULL || !record->ranged || record->low > record->high ||
            record->high < INT32_MIN || record->low > INT32_MAX) continue;
        tensor->low = record->low < INT32_MIN ? INT32_MIN : (int32_t)record->low;
        tensor->high = record->high > INT32_MAX ? INT32_MAX : (int32_t)record->high;
        tensor->has_range = tensor->low != INT32_MIN || tensor->high != INT32_MAX;
    }
}

/* =====================================================================================
   DIGITS                                                                        >>digits
   Values that need more digits than float16 has, in which HTP computes: integers that are computed
   as floats, such as buckets of positions, differences of cumulative sums, and angles of positions
   and times: inputs times numbers.
   Needs: >>config >>arena >>tensor >>static     Knows nothing of: QNN operators
   ===================================================================================== */

/* These only move values ... */
static const char qnnrt_lower__moves[] =
    "view.* reshape.* unsqueeze.* squeeze.* slice.* select.* expand.* permute.* transpose.* clone.*"
    " repeat.* unflatten.* flatten.* to.* _to_copy.*";
/* ... and these compute few digits of few digits. */
static const char qnnrt_lower__small[] =
    "mul.* div.* add.* sub.* rsub.* neg.* abs.* log.* log2.* exp.* sqrt.* minimum.* maximum.*"
    " clamp* where.* cat.* stack.* floor.* ceil.* round.* pow.* masked_fill.* type_as.*";

/* Say where a value comes from. */
static void qnnrt_lower__digits_from(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    qnnrt_lower__record *out = qnnrt_lower__record_of(job->lower, node->outputs[0]);
    const int moves = qnnrt_lower__listed(qnnrt_lower__moves, node->op);
    const int pairs = qnnrt_lower__listed("mul.* div.* add.* sub.*", node->op);
    const qnnrt_ir_value *one = NULL;            /* that is computed */
    size_t i, computed = 0;
    int angle = pairs || qnnrt_lower__listed("view.* reshape.* unsqueeze.* slice.* expand.* to.*"
                                             " _to_copy.* cat.* stack.*", node->op);
    if (out == NULL) return;
    out->digits = NULL;
    out->sums = strcmp(node->op, "cumsum.default") == 0 &&
                qnnrt_ir_dtype_kind(node->outputs[0]->dtype) == 2;
    out->whole = moves || qnnrt_lower__listed(qnnrt_lower__small, node->op);
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        const qnnrt_lower__record *in = x != NULL ? (const qnnrt_lower__record *)x->note : NULL;
        if (x == NULL || x->origin == QNNRT_IR_WEIGHT || x->origin == QNNRT_IR_CONSTANT) continue;
        ++computed;
        if (pairs && one != NULL && one != x) angle = 0;
        one = x;
        if (i == 0 && moves && in != NULL && x->origin == QNNRT_IR_NODE)
            out->sums |= in->sums;
        if (qnnrt_ir_dtype_kind(x->dtype) == 2 &&
            (x->origin != QNNRT_IR_NODE || in == NULL || !in->whole)) out->whole = 0;
    }
    out->whole = out->whole && computed > 0;
    if (one == NULL || !angle) angle = 0;
    else if (one->origin == QNNRT_IR_NODE)
        angle = one->note != NULL ? ((const qnnrt_lower__record *)one->note)->angle : 0;
    out->angle = angle != 0 && qnnrt_lower__listed("mul.* div.*", node->op) ? 2 : angle;
}

/* Say what the inputs of a node need: what its result needs, or what it makes of them. */
static void qnnrt_lower__digits_to(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const qnnrt_ir_value *out = node->outputs[0];
    qnnrt_lower__record *own = qnnrt_lower__record_of(job->lower, out), *in[2] = { NULL, NULL };
    const int floats = qnnrt_ir_dtype_kind(out->dtype) == 2;
    const char *why =
        own != NULL && floats && (qnnrt_lower__listed(qnnrt_lower__moves, node->op) ||
                                  qnnrt_lower__listed(qnnrt_lower__small, node->op)) ? own->digits
                                                                                     : NULL;
    size_t i;
    for (i = 0; i < 2 && i < node->input_count; ++i)
        if (node->inputs[i] != NULL && node->inputs[i]->origin == QNNRT_IR_NODE)
            in[i] = qnnrt_lower__record_of(job->lower, node->inputs[i]);
    if (own != NULL && floats && strncmp(node->op, "sub.", 4) == 0 && in[0] != NULL &&
        in[1] != NULL && in[0]->sums && in[1]->sums)
        why = own->digits = "it is a difference of cumulative sums";
    if (qnnrt_ir_dtype_kind(out->dtype) == 1 && in[0] != NULL && in[0]->whole &&
        qnnrt_ir_dtype_kind(node->inputs[0]->dtype) == 2 &&
        (strncmp(node->op, "to.", 3) == 0 || strncmp(node->op, "_to_copy.", 9) == 0))
        why = "integers are computed of it";
    for (i = 0; i < node->input_count && why != NULL; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        qnnrt_lower__record *record =
            x != NULL && x->origin == QNNRT_IR_NODE && qnnrt_ir_dtype_kind(x->dtype) == 2
                ? qnnrt_lower__record_of(job->lower, x) : NULL;
        if (record != NULL) record->digits = why;
    }
}

static void qnnrt_lower__digits(qnnrt_lower__job *job)
{
    const qnnrt_ir *ir = job->graph->info.ir;
    size_t i;
    if (job->lower->desc.target != QNNRT_LOWER_HTP) return;
    for (i = 0; i < ir->node_count; ++i)
        if (ir->nodes[i]->output_count > 0) qnnrt_lower__digits_from(job, ir->nodes[i]);
    for (i = ir->node_count; i-- > 0;)
        if (ir->nodes[i]->output_count > 0) qnnrt_lower__digits_to(job, ir->nodes[i]);
}

/* Refuse a node whose result needs more digits. Return 0 then. */
static int qnnrt_lower__has_digits(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const qnnrt_lower__record *out = (const qnnrt_lower__record *)node->outputs[0]->note;
    const qnnrt_lower__record *in = node->input_count > 0 && node->inputs[0] != NULL
                                        ? (const qnnrt_lower__record *)node->inputs[0]->note : NULL;
    if (job->lower->desc.target != QNNRT_LOWER_HTP) return 1;
    if (in != NULL && in->angle == 2 && node->inputs[0]->origin == QNNRT_IR_NODE &&
        qnnrt_lower__listed("sin.default cos.default", node->op)) {
        qnnrt_lower__refuse(job->graph, "Compute it on the host, or give the graph cos and sin.",
                            "angles that are multiples of an input can be large, and HTP is wrong"
                            " from about 100 on");
        return 0;
    }
    if (out == NULL || out->digits == NULL) return 1;
    qnnrt_lower__refuse(job->graph, "Compute it in float32: add cpu or host to --backends.",
                        "%s, for which float16, in which HTP computes, has too few digits",
                        out->digits);
    return 0;
}

/* =====================================================================================
   ROUND                                                                          >>round
   Quantized weights: their scales, their values, and what rounding changed.
   Needs: >>config >>arena >>tensor >>static     Knows nothing of: operators, libraries
   ===================================================================================== */

/* Elements with one scale are a group: an output channel, or a block of its inputs. In the source
   element e belongs to channel e / channel_step % channels, and to block
   e / input_step % inputs / block. */
struct qnnrt_lower__weight_only {
    qnnrt_lower__weight_only  *next;
    qnnrt_lower_weight_only    about;
    const qnnrt_lower__record *source;
    size_t                     number;           /* in info.weight_only */
    double                     factor;           /* that its operator multiplies its values with */
    int                        as_is;            /* 1: values and scales of the file's blocks */
    uint32_t                   count, channels, channel_step, inputs, input_step;
    uint32_t                   blocks;           /* of a channel */
    qnnrt_block_form           form;             /* 0: a scale per channel */
    float                     *scales;           /* [channels * blocks] */
    float                     *outer;            /* EXPANSION: [channels], else .scales */
    uint8_t                   *multipliers;      /* EXPANSION: [channels * blocks] */
};

enum { QNNRT_LOWER__CHUNK = 1 << 16, QNNRT_LOWER__CLIPS = 8 };

/* What is done with the elements of a weight, which are visited in its own order. */
typedef enum qnnrt_lower__visit_kind {
    QNNRT_LOWER__LARGEST,            /* scales: the largest magnitudes */
    QNNRT_LOWER__SUMS,               /* products and squares of integers for scale * clip / most */
    QNNRT_LOWER__INTEGERS            /* integers, rounded values, and what rounding changed */
} qnnrt_lower__visit_kind;

typedef struct qnnrt_lower__visitor {
    qnnrt_lower        *lower;
    const qnnrt_lower__weight_only *weight_only;
    float              *values;      /* [QNNRT_LOWER__CHUNK] */
    uint32_t            first, count;            /* that .values has, from the source */
    float               clip;
    double             *products, *squares;      /* [groups] */
    uint64_t            invalid;     /* values that are infinite, or no number */
    uint64_t            beyond;      /* values that float16 cannot hold */
    signed char        *integers;    /* of the elements from .first on, NULL: not wanted */
    double              signal, noise, worst;
} qnnrt_lower__visitor;

/* Convert some elements to float32. */
static qnnrt_result qnnrt_lower__round_read(qnnrt_lower__visitor *v, uint32_t first, uint32_t count,
                                            qnnrt_error *err)
{
    qnnrt_result result;
    uint32_t i;
    if (v->first == first && v->count == count) return QNNRT_OK;
    v->count = 0;
    result = qnnrt_weights_part(v->weight_only->source->weight, first, count, QNNRT_DTYPE_F32,
                                v->values, count * sizeof(float), NULL, err);
    if (result != QNNRT_OK) return result;
    for (i = 0; i < count && v->weight_only->factor != 1; ++i)
        v->values[i] = (float)(v->values[i] * v->weight_only->factor);
    v->first = first;
    v->count = count;
    return QNNRT_OK;
}

/* Return how many elements from e on belong to one group, and which one that is. */
static uint32_t qnnrt_lower__round_run(const qnnrt_lower__weight_only *s, uint32_t e,
                                       uint32_t *group)
{
    const uint32_t channel = e / s->channel_step % s->channels;
    uint32_t run = s->channel_step - e % s->channel_step;
    *group = channel;
    if (s->blocks > 1) {
        const uint32_t step = s->inputs / s->blocks * s->input_step, left = step - e % step;
        *group = channel * s->blocks + e / step % s->blocks;
        if (left < run) run = left;
    }
    return run;
}

/* Round to a code, halves away from 0. */
static int qnnrt_lower__round_code(float value, float scale, int most)
{
    const double ratio = (double)value / (double)scale;
    return !(ratio < most) ? most : !(ratio > -most) ? -most
           : (int)(ratio + (ratio < 0 ? -0.5 : 0.5));
}

/* Return the code of a value that is one times the scale, which may be negative or 0. */
static int qnnrt_lower__round_stored(float value, float scale)
{
    const double ratio = scale == 0 ? 0 : (double)value / (double)scale;
    return (int)(ratio + (ratio < 0 ? -0.5 : 0.5));
}

static int qnnrt_lower__round_most(const qnnrt_lower__weight_only *s)
{
    return s->about.bits == 4 ? 7 : 127;
}

/* Return true if scales are those with the least square error. */
static int qnnrt_lower__round_fit(const qnnrt_lower *lower, const qnnrt_lower__weight_only *s)
{
    return lower->desc.weight_method != (qnnrt_lower_method)0
               ? lower->desc.weight_method == QNNRT_LOWER_MSE : s->about.bits == 4;
}

/* Add up what a scale would give: products of values and integers, and their squares. No value is
   beyond 500 scales. Without branches, which a processor would guess wrong. */
static void qnnrt_lower__round_sums(const float *values, uint32_t count, float scale, int most,
                                    double *products, double *squares)
{
    const float inverse = 1 / scale;
    uint32_t first, i;
    for (first = 0; first < count; first += 1024) {      /* short sums: exact enough for 8 bits */
        const uint32_t end = count - first < 1024 ? count : first + 1024;
        float product[2] = {0, 0};
        uint32_t square = 0;
        for (i = first; i < end; ++i) {
            int32_t code = (int32_t)(values[i] * inverse + 512.5f) - 512;
            code = code > most ? most : code;
            code = code < -most ? -most : code;
            product[i & 1] += (float)code * values[i];
            square += (uint32_t)(code * code);
        }
        *products += (double)product[0] + product[1];
        *squares += square;
    }
}

/* Visit the values of a run, which belong to one group. */
static void qnnrt_lower__round_step(qnnrt_lower__visitor *v, qnnrt_lower__visit_kind kind,
                                    float *values, uint32_t count, uint32_t group)
{
    const qnnrt_lower__weight_only *s = v->weight_only;
    const int most = qnnrt_lower__round_most(s), half = v->lower->compute == QNNRT_DTYPE_F16;
    const float scale = s->scales[group];
    float largest = scale;
    uint32_t i;
    if (kind == QNNRT_LOWER__SUMS) {
        if (scale > 1e-35f)
            qnnrt_lower__round_sums(values, count, scale * v->clip / (float)most, most,
                                    &v->products[group], &v->squares[group]);
        return;
    }
    if (kind == QNNRT_LOWER__LARGEST) {
        for (i = 0; i < count; ++i) {
            const float size = fabsf(values[i]);
            if (!(size <= 3.4028234e38f)) v->invalid += 1;
            else if (half && size >= 65520.0f) v->beyond += 1;
            else if (size > largest) largest = size;
        }
        s->scales[group] = largest;
        return;
    }
    for (i = 0; i < count; ++i) {
        const int code = s->as_is ? qnnrt_lower__round_stored(values[i], scale)
                                  : qnnrt_lower__round_code(values[i], scale, most);
        const float rounded = (float)code * scale;
        const double wrong = fabs((double)values[i] - rounded);
        v->signal += (double)values[i] * values[i];
        v->noise += wrong * wrong;
        if (wrong > v->worst) v->worst = wrong;
        if (v->integers != NULL) v->integers[&values[i] - v->values] = (signed char)code;
        values[i] = rounded;
    }
}

/* Visit the elements from `first` up to, not including, `end`. */
static qnnrt_result qnnrt_lower__round_visit(qnnrt_lower__visitor *v, qnnrt_lower__visit_kind kind,
                                             uint32_t first, uint32_t end, qnnrt_error *err)
{
    while (first < end) {
        const uint32_t count = end - first < QNNRT_LOWER__CHUNK ? end - first
                                                                : (uint32_t)QNNRT_LOWER__CHUNK;
        const qnnrt_result result = qnnrt_lower__round_read(v, first, count, err);
        uint32_t i, run, group;
        if (result != QNNRT_OK) return result;
        for (i = 0; i < count; i += run) {
            run = qnnrt_lower__round_run(v->weight_only, first + i, &group);
            if (run > count - i) run = count - i;
            qnnrt_lower__round_step(v, kind, v->values + i, run, group);
        }
        if (kind == QNNRT_LOWER__INTEGERS) v->count = 0;    /* .values were replaced */
        first += count;
    }
    return QNNRT_OK;
}

/* Return a scale that is a normal number. */
static float qnnrt_lower__round_scale(double scale)
{
    return scale == 0 ? 1.0f : scale < 1.17549436e-38 ? 1.17549436e-38f : (float)scale;
}

/* Choose scales with the least square error. For integers c of values x the scale of least sum
   of (x - scale * c)^2 is sum(x * c) / sum(c^2), and it lowers that sum by sum(x * c)^2 / sum(c^2):
   the clip whose integers lower it most is taken. Groups are decided in runs of channels if these
   follow each other in the source, so that each is converted once. */
static qnnrt_result qnnrt_lower__round_clips(qnnrt_lower__visitor *v, double *sums,
                                             qnnrt_error *err)
{
    const qnnrt_lower__weight_only *s = v->weight_only;
    const uint32_t groups = s->channels * s->blocks, rows = s->count / s->channel_step;
    const int apart = s->channels == rows;
    double *gains = sums + 2 * (size_t)groups, *best = sums + 3 * (size_t)groups;
    uint32_t row = 0, step = rows, clip, g;
    qnnrt_result result = QNNRT_OK;
    if (apart) step = s->channel_step >= QNNRT_LOWER__CHUNK ? 1 : QNNRT_LOWER__CHUNK /
                                                                  s->channel_step;
    v->products = sums;
    v->squares = sums + groups;
    for (; row < rows && result == QNNRT_OK; row += step) {
        const uint32_t end = rows - row < step ? rows : row + step;
        const uint32_t from = apart ? row * s->blocks : 0, to = apart ? end * s->blocks : groups;
        for (clip = 0; clip < QNNRT_LOWER__CLIPS && result == QNNRT_OK; ++clip) {
            for (g = from; g < to; ++g) v->products[g] = v->squares[g] = 0;
            v->clip = 1 - 0.1f * (float)clip;
            result = qnnrt_lower__round_visit(v, QNNRT_LOWER__SUMS, row * s->channel_step,
                                              end * s->channel_step, err);
            for (g = from; g < to; ++g) {
                if (!(v->products[g] > 0 && v->squares[g] > 0)) continue;
                if (!(v->products[g] * v->products[g] / v->squares[g] > gains[g])) continue;
                gains[g] = v->products[g] * v->products[g] / v->squares[g];
                best[g] = v->products[g] / v->squares[g];
            }
        }
        for (g = from; g < to; ++g) s->scales[g] = qnnrt_lower__round_scale(best[g]);
    }
    return result;
}

/* Round the scales of blocks to multiples of a scale per channel. */
static void qnnrt_lower__round_multiples(qnnrt_lower__weight_only *s)
{
    uint32_t channel, b;
    for (channel = 0; channel < s->channels; ++channel) {
        float *scales = s->scales + (size_t)channel * s->blocks, largest = scales[0];
        for (b = 1; b < s->blocks; ++b) if (scales[b] > largest) largest = scales[b];
        s->outer[channel] = qnnrt_lower__round_scale((double)largest / 15);
        for (b = 0; b < s->blocks; ++b) {
            const double times = floor((double)scales[b] / s->outer[channel] + 0.5);
            const int near = times < 1 ? 1 : times > 15 ? 15 : (int)times;
            s->multipliers[(size_t)channel * s->blocks + b] = (uint8_t)near;
            scales[b] = (float)near * s->outer[channel];
        }
    }
}

/* Round the scales to float16, as libQnnHtp.so does beside float16, so that integers fit. */
static void qnnrt_lower__round_halves(qnnrt_lower__weight_only *s)
{
    uint32_t i;
    for (i = 0; i < s->channels * s->blocks; ++i) {
        qnnrt_weight one;
        uint16_t half;
        float scale;
        qnnrt_lower__as_weight(&one, QNNRT_DTYPE_F32, 1, &s->scales[i]);
        qnnrt_weights_convert(&one, QNNRT_DTYPE_F16, &half, sizeof(half), NULL, NULL);
        qnnrt_lower__as_weight(&one, QNNRT_DTYPE_F16, 1, &half);
        if (qnnrt_weights_convert(&one, QNNRT_DTYPE_F32, &scale, sizeof(scale), NULL, NULL) ==
                QNNRT_OK && scale > 0 && scale < 65504)
            s->scales[i] = scale;
    }
}

/* Take the scales of blocks as the file has them, if it has the blocks that are wanted: those of
   Q4_0, 32 integers of a row from -8 to 7. */
static void qnnrt_lower__round_blocks(qnnrt_lower__weight_only *s)
{
    enum { BYTES = 18 };                         /* of a block; the scale comes first */
    uint32_t channel, b;
    qnnrt_weight one;
    s->as_is = s->form == QNNRT_BLOCK_PLAIN && s->about.block == 32 && s->factor == 1 &&
               strcmp(s->source->weight->type, "Q4_0") == 0 && s->input_step == 1 &&
               s->channel_step == s->inputs && s->count == s->channels * s->inputs;
    for (channel = 0; channel < s->channels && s->as_is; ++channel) {
        uint64_t bytes = 0;
        const char *row = (const char *)qnnrt_weights_row(s->source->weight, channel, &bytes);
        s->as_is = row != NULL && bytes == s->blocks * (uint64_t)BYTES;
        for (b = 0; b < s->blocks && s->as_is; ++b) {
            qnnrt_lower__as_weight(&one, QNNRT_DTYPE_F16, 1, row + b * BYTES);
            qnnrt_weights_convert(&one, QNNRT_DTYPE_F32, &s->scales[channel * s->blocks + b],
                                  sizeof(float), NULL, NULL);
        }
    }
}

/* Compute the scales of a weight. Return 0 after a finding or without memory. */
static int qnnrt_lower__round_scales(qnnrt_lower__job *job, qnnrt_lower__weight_only *s)
{
    const uint32_t groups = s->channels * s->blocks;
    const int fit = qnnrt_lower__round_fit(job->lower, s);
    qnnrt_lower__visitor v;
    double *sums = NULL;
    qnnrt_result result = QNNRT_E_MEMORY;
    qnnrt_error err;
    uint32_t g;
    memset(&v, 0, sizeof(v));
    err.text[0] = '\0';
    v.lower = job->lower;
    v.weight_only = s;
    v.values = (float *)qnnrt_hooks_alloc(&job->lower->desc.hooks,
                                          QNNRT_LOWER__CHUNK, sizeof(float));
    s->scales = (float *)qnnrt_arena_get(&job->lower->arena, groups, sizeof(float));
    s->outer = s->scales;
    if (s->form == QNNRT_BLOCK_EXPANSION) {
        s->outer = (float *)qnnrt_arena_get(&job->lower->arena, s->channels, sizeof(float));
        s->multipliers = (uint8_t *)qnnrt_arena_get(&job->lower->arena, groups, 1);
    }
    if (fit)
        sums = (double *)qnnrt_hooks_alloc(&job->lower->desc.hooks,
                                           4 * (uint64_t)groups, sizeof(double));
    if (v.values == NULL || (fit && sums == NULL)) job->lower->arena.failed = QNNRT_E_MEMORY;
    if (!job->lower->arena.failed)
        result = qnnrt_lower__round_visit(&v, QNNRT_LOWER__LARGEST, 0, s->count, &err);
    if (result == QNNRT_OK && v.invalid + v.beyond > 0) {
        result = QNNRT_E_MISMATCH;
        snprintf(err.text, sizeof err.text, "weight \"%.300s\" has %llu values that are %s",
                 s->about.name, (unsigned long long)(v.invalid > 0 ? v.invalid : v.beyond),
                 v.invalid > 0 ? "infinite or not a number" : "too large for float16");
    }
    if (result == QNNRT_OK && fit) {
        memset(sums, 0, 4 * (size_t)groups * sizeof(double));
        result = qnnrt_lower__round_clips(&v, sums, &err);
    }
    if (result == QNNRT_OK && job->lower->desc.weight_method == (qnnrt_lower_method)0)
        qnnrt_lower__round_blocks(s);
    for (g = 0; g < groups && result == QNNRT_OK && !fit; ++g)
        s->scales[g] = qnnrt_lower__round_scale((double)s->scales[g] / qnnrt_lower__round_most(s));
    if (result == QNNRT_OK && s->form == QNNRT_BLOCK_EXPANSION) qnnrt_lower__round_multiples(s);
    else if (result == QNNRT_OK && !s->as_is && job->lower->compute == QNNRT_DTYPE_F16)
        qnnrt_lower__round_halves(s);
    if (s->source->file != NULL) qnnrt_weights_done(s->source->file, s->source->weight);
    qnnrt_hooks_free(&job->lower->desc.hooks, sums);
    qnnrt_hooks_free(&job->lower->desc.hooks, v.values);
    if (result != QNNRT_OK && !job->lower->arena.failed)
        qnnrt_lower__refuse(job->graph, "Check the checkpoint, or keep this weight in"
                            " floating point.", "%s", err.text);
    return result == QNNRT_OK;
}

/* Write integers (sfixed8) or rounded values (compute type, float32) in the order of the source,
   and note what rounding changed. */
static qnnrt_result qnnrt_lower__round_write(qnnrt_lower *lower, qnnrt_lower__weight_only *s,
                                             qnnrt_dtype dtype, char *data, qnnrt_error *err)
{
    const size_t size = qnnrt_lower__dtype_bytes(dtype);
    qnnrt_lower__visitor v;
    qnnrt_result result = QNNRT_OK;
    uint32_t first, count;
    memset(&v, 0, sizeof(v));
    v.lower = lower;
    v.weight_only = s;
    v.values = (float *)qnnrt_hooks_alloc(&lower->desc.hooks, QNNRT_LOWER__CHUNK, sizeof(float));
    if (v.values == NULL) return qnnrt_lower__fail_memory(err);
    for (first = 0; first < s->count && result == QNNRT_OK; first += count) {
        qnnrt_weight part;
        count = s->count - first < QNNRT_LOWER__CHUNK ? s->count - first
                                                      : (uint32_t)QNNRT_LOWER__CHUNK;
        v.integers = dtype == QNNRT_DTYPE_S8Q ? (signed char *)data + first : NULL;
        result = qnnrt_lower__round_visit(&v, QNNRT_LOWER__INTEGERS, first, first + count, err);
        if (result != QNNRT_OK || dtype == QNNRT_DTYPE_S8Q) continue;
        qnnrt_lower__as_weight(&part, QNNRT_DTYPE_F32, count, v.values);
        result = qnnrt_weights_convert(&part, dtype, data + first * size, count * size, NULL, err);
    }
    if (s->source->file != NULL) qnnrt_weights_done(s->source->file, s->source->weight);
    qnnrt_hooks_free(&lower->desc.hooks, v.values);
    if (result != QNNRT_OK) return result;
    s->about.measured = 1;
    /* dB: 10 * log10(ratio), which is 10 / ln(10) * log(ratio). */
    s->about.worst = v.worst;
    s->about.snr = v.noise > 0 ? 4.3429448190325182 * log(v.signal / v.noise) : HUGE_VAL;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_lower__round_values(qnnrt_lower *lower, const qnnrt_lower__weight_only *s,
                                              float *values, qnnrt_error *err)
{
    qnnrt_lower__weight_only copy = *s;
    const qnnrt_result result = qnnrt_lower__round_write(lower, &copy, QNNRT_DTYPE_F32,
                                                         (char *)values, err);
    uint32_t i;
    for (i = 0; i < s->count && result == QNNRT_OK && s->factor != 1; ++i)
        values[i] = (float)(values[i] / s->factor);
    return result;
}

/* Write the elements of a static tensor, quantized or not: the builder calls it. */
static qnnrt_result qnnrt_lower__round_load(qnnrt_lower *lower, const qnnrt_lower_tensor *tensor,
                                            const qnnrt_lower__body *body, void *data, size_t bytes,
                                            qnnrt_error *err)
{
    const size_t size = qnnrt_lower__dtype_bytes(tensor->dtype);
    qnnrt_result result;
    char *room = NULL;
    uint32_t i, moved = 0;
    if (body->weight_only == NULL) return qnnrt_lower__load(lower, tensor, body, data, bytes, err);
    if (bytes != tensor->bytes)
        return qnnrt_error_set(err, QNNRT_E_ARG, "tensor \"%.200s\" has %llu bytes, not %llu",
                               tensor->name, (unsigned long long)tensor->bytes,
                               (unsigned long long)bytes);
    for (i = 0; i < body->source_rank; ++i) moved |= (uint32_t)(body->order[i] != i);
    if (moved) {
        room = (char *)qnnrt_hooks_alloc(&lower->desc.hooks, 1, bytes);
        if (room == NULL) return qnnrt_lower__fail_memory(err);
    }
    result = qnnrt_lower__round_write(lower, body->weight_only, tensor->dtype,
                                      moved ? room : (char *)data, err);
    if (result == QNNRT_OK && moved)
        qnnrt_lower__permute_copy(room, (char *)data, size, body->source_rank, body->source_dims,
                                  body->order);
    qnnrt_hooks_free(&lower->desc.hooks, room);
    return result;
}

/* =====================================================================================
   WEIGHT ONLY                                                              >>weight_only
   Weights of 8 and 4 bits: which operators get them, and in which form.
   Needs: >>config >>arena >>tensor >>round     Knows nothing of: values, builders
   ===================================================================================== */

/* Operators whose input 1 can be quantized, the axes of its output channels and its inputs; -1 is
   the last axis. */
static const struct {
    const char *type;
    int8_t      channels, inputs;        /* inputs 0: they are not summed up */
} qnnrt_lower__weight_only_types[] = {
    { "FullyConnected", -2, -1 }, { "MatMul", -1, -2 }, { "Conv2d", -1, -2 },
    { "DepthWiseConv2d", -1, 0 },
};

/* Find the axis of the source that axis `at` of a tensor is. Return its step in the source, 0: it
   is none. */
static uint32_t qnnrt_lower__weight_only_axis(const qnnrt_lower_tensor *tensor,
                                              const qnnrt_lower__body *body, uint32_t at)
{
    uint64_t inner = 1, stride = 1, step = 1;
    uint32_t i, k;
    for (i = at + 1; i < tensor->rank; ++i) inner *= tensor->dims[i];
    if (tensor->dims[at] == 1) return (uint32_t)tensor->count;
    for (i = body->source_rank; i-- > 0; stride *= body->source_dims[body->order[i]]) {
        if (stride != inner || body->source_dims[body->order[i]] != tensor->dims[at]) continue;
        for (k = body->order[i] + 1; k < body->source_rank; ++k) step *= body->source_dims[k];
        return (uint32_t)step;
    }
    return 0;
}

/* Return why the library does not take the weight of an operator in the form of s, or NULL: the
   lines of qnnrt_quirks.h that do not apply to the weight as it is. */
static const char *qnnrt_lower__weight_only_refused(const qnnrt_lower__job *job,
                                                    const qnnrt_lower_op *op,
                                                    const qnnrt_lower__weight_only *s,
                                                    uint32_t axis)
{
    const qnnrt_lower *lower = job->lower;
    qnnrt_tensor_desc descs[4];
    const qnnrt_tensor_desc *inputs[3], *output = &descs[3];
    const int htp = lower->desc.target == QNNRT_LOWER_HTP;
    const qnnrt_quirk *known[2][2];
    const qnnrt_dtype dtype = qnnrt_lower__at(job, op->inputs[0])->dtype;
    qnnrt_tensor_desc plain;
    qnnrt_blocks blocks;
    qnnrt_quirk_node facts;
    size_t i;
    if (dtype == QNNRT_DTYPE_F32 && !(htp && lower->desc.no_ask))
        return "libraries take quantized weights beside float16, not beside float32";
    if (!qnnrt_lower__is_float(dtype) && s->blocks == 1 && strcmp(op->type, "MatMul") == 0)
        return "scales per channel would crash the library here";
    memset(&blocks, 0, sizeof(blocks));
    for (i = 0; i < 4; ++i) {
        const int32_t at = i == 3 ? op->outputs[0] : i < op->input_count ? op->inputs[i] : 0;
        const qnnrt_lower_tensor *from = qnnrt_lower__at(job, at);
        if (i < 3) inputs[i] = at != QNNRT_LOWER__NONE ? &descs[i] : NULL;
        qnnrt_lower__describe(from, &descs[i]);
    }
    plain = descs[1];
    descs[1].dtype = QNNRT_DTYPE_S8Q;
    blocks.form = s->form;
    blocks.axis = (int32_t)axis;
    if (s->blocks > 1) {
        descs[1].blocks = &blocks;
    } else {
        descs[1].quant.encoding = QNNRT_ENCODING_PER_AXIS;
        descs[1].quant.bitwidth = s->about.bits == 4 ? 4 : 0;
        descs[1].quant.axis = (int32_t)axis;
        descs[1].quant.count = s->channels;
    }
    facts.type = op->type;
    facts.inputs = inputs;
    facts.input_count = op->input_count < 3 ? op->input_count : 3;
    facts.outputs = &output;
    facts.output_count = 1;
    facts.params = op->params;
    facts.param_count = op->param_count;
    for (i = 0; i < 2; ++i) {
        if (i == 1) inputs[1] = &plain;
        known[i][0] = qnnrt_lower__quirk(lower, &facts, qnnrt_quirk_find);
        known[i][1] = qnnrt_lower__quirk(lower, &facts, qnnrt_quirk_refusal);
    }
    for (i = 0; i < 2; ++i) {
        const qnnrt_quirk *line = known[0][i];
        if (line == NULL || line == known[1][i] || line->what == QNNRT_QUIRK_VALUES) continue;
        /* What compose does not call would end the process. */
        if (!lower->desc.no_ask || (line->what == QNNRT_QUIRK_REFUSED && line->code == 0))
            return line->why;
    }
    return NULL;
}

static int qnnrt_lower__weight_only_same(const qnnrt_lower__weight_only *a,
                                         const qnnrt_lower__weight_only *b)
{
    return a->source->weight == b->source->weight && a->factor == b->factor &&
           a->about.bits == b->about.bits && a->about.emulated == b->about.emulated &&
           a->form == b->form && a->blocks == b->blocks && a->channels == b->channels &&
           a->channel_step == b->channel_step && a->input_step == b->input_step &&
           a->inputs == b->inputs && a->about.why == b->about.why &&
           strcmp(a->about.type, b->about.type) == 0;
}

/* Return the tensor of a weight in the form of s. It is made if there is none. */
static int32_t qnnrt_lower__weight_only_tensor(qnnrt_lower__job *job, int32_t from,
                                               qnnrt_lower__weight_only *s, const uint32_t axes[2])
{
    qnnrt_lower__graph *graph = job->graph;
    const qnnrt_dtype dtype = s->about.emulated ? job->lower->compute : QNNRT_DTYPE_S8Q;
    qnnrt_lower_tensor *tensor;
    qnnrt_lower__body *body;
    qnnrt_blocks *blocks;
    int32_t at;
    for (at = graph->bodies[from].weight_only_next; at != QNNRT_LOWER__NONE;
         at = graph->bodies[at].weight_only_next)
        if (graph->bodies[at].weight_only == s) return at;
    at = qnnrt_lower__tensor_as(job, QNNRT_TENSOR_STATIC, dtype, from);
    if (at == QNNRT_LOWER__NONE) return at;
    tensor = qnnrt_lower__at(job, at);
    body = &graph->bodies[at];
    *body = graph->bodies[from];
    body->root = at;
    body->weight_only = s;
    graph->bodies[from].weight_only_next = at;
    tensor->weight_only = s->number + 1;
    if (s->about.emulated) return at;
    if (s->form == (qnnrt_block_form)0) {
        tensor->quant.encoding = QNNRT_ENCODING_PER_AXIS;
        tensor->quant.bitwidth = s->about.bits == 4 ? 4 : 0;
        tensor->quant.axis = (int32_t)axes[0];
        tensor->quant.count = s->channels;
        tensor->quant.scales = s->scales;
        return at;
    }
    blocks = (qnnrt_blocks *)qnnrt_arena_get(&job->lower->arena, 1, sizeof(*blocks));
    if (blocks == NULL) return QNNRT_LOWER__NONE;
    blocks->form = s->form;
    blocks->axis = (int32_t)axes[0];
    blocks->block_axis = (int32_t)axes[1];
    blocks->block = s->about.block;
    blocks->scales = s->outer;
    blocks->multipliers = s->multipliers;
    tensor->blocks = blocks;
    return at;
}

/* Decide the form of the weight of an operator: s is filled, with .bits 0 and a reason if it stays
   as it is. axes: of the output channels and the inputs in the tensor */
static void qnnrt_lower__weight_only_form(const qnnrt_lower__job *job, const qnnrt_lower_op *op,
                                          size_t type, uint32_t bits, qnnrt_lower__weight_only *s,
                                          uint32_t axes[2])
{
    const qnnrt_lower_desc *desc = &job->lower->desc;
    const qnnrt_lower_tensor *tensor = qnnrt_lower__at(job, op->inputs[1]);
    const qnnrt_lower__body *body = &job->graph->bodies[op->inputs[1]];
    const qnnrt_weight *weight = body->source->weight;
    const int fixed = !qnnrt_lower__is_float(qnnrt_lower__at(job, op->inputs[0])->dtype);
    const int summed = qnnrt_lower__weight_only_types[type].inputs != 0;
    const char *why = "", *refused = NULL;
    size_t i;
    int exchanged = 0;
    memset(s, 0, sizeof(*s));
    for (i = 0; i < op->param_count; ++i)
        exchanged |= strcmp(op->params[i].name, "transpose_in1") == 0 && op->params[i].value != 0;
    axes[0] = (uint32_t)((int)tensor->rank - exchanged +
                         qnnrt_lower__weight_only_types[type].channels);
    axes[1] = (uint32_t)((int)tensor->rank + exchanged +
                         qnnrt_lower__weight_only_types[type].inputs);
    s->source = body->source;
    s->factor = body->scale;
    s->count = (uint32_t)tensor->count;
    s->channels = tensor->dims[axes[0]];
    s->channel_step = qnnrt_lower__weight_only_axis(tensor, body, axes[0]);
    s->inputs = s->blocks = s->input_step = 1;
    s->about.name = weight->name[0] != '\0' ? weight->name : tensor->name;
    s->about.type = op->type;
    s->about.weight = weight;
    s->about.rank = tensor->rank;
    memcpy(s->about.dims, tensor->dims, sizeof(s->about.dims));
    s->about.bits = bits;
    s->about.float_bytes = s->about.bytes =
        tensor->count * qnnrt_lower__dtype_bytes(job->lower->compute);
    s->about.kept = bits == 0;
    if (bits == 0) { s->about.why = "it is kept"; return; }
    if (!qnnrt_lower__is_float(weight->dtype) ||
        (weight->block == 0 &&
         weight->bytes != weight->count * qnnrt_ir_dtype_bytes(weight->dtype)))
        why = "the file does not have it as floats";
    else if (s->channel_step == 0)
        why = "its output channels are no axis of the weight in the file";
    if (why[0] != '\0') { s->about.bits = 0; s->about.why = why; return; }
    if (bits == 4 && desc->weight_block > 0) {
        const uint32_t inputs = summed ? tensor->dims[axes[1]] : 0;
        const uint32_t step = summed ? qnnrt_lower__weight_only_axis(tensor, body, axes[1]) : 0;
        if (!summed) why = "its inputs are not summed up, so it has no blocks";
        else if (step == 0) why = "its inputs are no axis of the weight in the file";
        else if (inputs % desc->weight_block != 0) why = "the block does not divide its inputs";
        else if (inputs != desc->weight_block) {
            s->form = fixed ? QNNRT_BLOCK_EXPANSION : QNNRT_BLOCK_PLAIN;
            s->inputs = inputs;
            s->input_step = step;
            s->blocks = inputs / desc->weight_block;
            s->about.block = desc->weight_block;
            refused = qnnrt_lower__weight_only_refused(job, op, s, axes[0]);
        }
        if (refused != NULL && !desc->weight_emulate) {
            why = refused;
            s->form = (qnnrt_block_form)0;
            s->inputs = s->input_step = s->blocks = 1;
            s->about.block = 0;
            refused = NULL;
        }
    }
    if (s->blocks == 1) refused = qnnrt_lower__weight_only_refused(job, op, s, axes[0]);
    if (refused != NULL) {
        why = refused;
        if (desc->weight_emulate) s->about.emulated = 1;
        else s->about.bits = 0;
    }
    s->about.why = why;
    if (s->about.bits != 0 && !s->about.emulated)
        s->about.bytes = (tensor->count * s->about.bits + 7) / 8 +
                         (s->form == QNNRT_BLOCK_EXPANSION ? (uint64_t)s->channels * (4 + s->blocks)
                                                           : (uint64_t)s->channels * s->blocks * 4);
}

/* Give the weight of an operator its form. */
static void qnnrt_lower__weight_only_op(qnnrt_lower__job *job, qnnrt_lower_op *op, size_t type,
                                        uint32_t bits)
{
    qnnrt_lower *lower = job->lower;
    qnnrt_lower__weight_only form, *s;
    uint32_t axes[2];
    int32_t *inputs, at;
    qnnrt_lower__weight_only_form(job, op, type, bits, &form, axes);
    for (s = lower->weight_only; s != NULL && !qnnrt_lower__weight_only_same(s, &form);)
        s = s->next;
    if (s == NULL) {
        s = (qnnrt_lower__weight_only *)qnnrt_lower__copy(lower, &form, sizeof(form));
        if (s == NULL || (s->about.bits != 0 && !qnnrt_lower__round_scales(job, s))) return;
        s->number = lower->weight_only_count;
        *lower->weight_only_last = s;
        lower->weight_only_last = &s->next;
        lower->weight_only_count += 1;
    }
    if (s->about.bits == 0) return;
    at = qnnrt_lower__weight_only_tensor(job, op->inputs[1], s, axes);
    inputs = (int32_t *)qnnrt_lower__copy(lower, op->inputs, op->input_count * sizeof(*inputs));
    if (at == QNNRT_LOWER__NONE || inputs == NULL) return;
    inputs[1] = at;
    op->inputs = inputs;
}

/* Quantize the weights of a lowered graph, where that is wanted. */
static void qnnrt_lower__weight_only_graph(qnnrt_lower__job *job)
{
    enum { TYPES = sizeof(qnnrt_lower__weight_only_types) /
                   sizeof(qnnrt_lower__weight_only_types[0]) };
    qnnrt_lower *lower = job->lower;
    qnnrt_lower__graph *graph = job->graph;
    const qnnrt_lower_desc *desc = &lower->desc;
    const qnnrt_lower__weight_only *s;
    const char *why = NULL;
    char *needed;
    size_t i, k, type, made = 0;
    if (desc->weight_bits == 0 && desc->weight_bits_of == NULL) return;
    needed = (char *)qnnrt_arena_get(&lower->arena, graph->tensor_count, 1);
    if (needed == NULL) return;
    for (i = 0; i < graph->tensor_count; ++i)
        needed[i] = graph->tensors[i].kind == QNNRT_TENSOR_OUTPUT;
    for (i = graph->op_count; i-- > 0;) {
        const qnnrt_lower_op *op = &graph->ops[i];
        int used = 0;
        for (k = 0; k < op->output_count; ++k) used |= needed[op->outputs[k]];
        for (k = 0; k < op->input_count && used; ++k) needed[op->inputs[k]] = 1;
    }
    for (i = 0; i < graph->op_count && !lower->arena.failed; ++i) {
        qnnrt_lower_op *op = &graph->ops[i];
        uint32_t bits = desc->weight_bits;
        for (type = 0; type < TYPES; ++type)
            if (op->package == NULL &&
                strcmp(op->type, qnnrt_lower__weight_only_types[type].type) == 0) break;
        if (type == TYPES || !needed[op->outputs[0]] ||
            qnnrt_lower__at(job, op->inputs[1])->kind != QNNRT_TENSOR_STATIC ||
            graph->bodies[op->inputs[1]].source == NULL)
            continue;
        if (desc->weight_bits_of != NULL)
            bits = desc->weight_bits_of(desc->weight_user,
                                        qnnrt_lower__at(job, op->inputs[1])->value, op->type, bits);
        graph->node = op->node;
        graph->failed = 0;
        if (bits != 0 && bits != 4 && bits != 8)
            qnnrt_lower__refuse(graph, NULL, "its weight is to have %lu bits, and can have 8"
                                " or 4", (unsigned long)bits);
        else
            qnnrt_lower__weight_only_op(job, op, type, bits);
    }
    graph->node = NULL;
    graph->failed = 0;
    for (s = lower->weight_only; s != NULL; s = s->next) {
        made += s->about.bits != 0;
        if (s->about.bits == 0 && why == NULL && !s->about.kept)
            why = s->about.why;
    }
    if (made == 0 && why != NULL && !desc->weight_optional)
        qnnrt_lower__refuse(graph, "Compute in float16 where "
                            "the library takes quantized weights, leave weight_bits out, or round "
                            "weights alone with weight_emulate.", "no weight can have %lu bits: %s",
                            (unsigned long)desc->weight_bits, why);
}

/* Return what is known about quantized weights as one list, NULL: none, or without memory. */
static const qnnrt_lower_weight_only *qnnrt_lower__weight_only_list(qnnrt_lower *lower)
{
    qnnrt_lower_weight_only *list;
    const qnnrt_lower__weight_only *s;
    size_t i = 0;
    if (lower->weight_only_count == 0) return NULL;
    list = (qnnrt_lower_weight_only *)qnnrt_arena_get(&lower->arena, lower->weight_only_count,
                                                      sizeof(*list));
    for (s = lower->weight_only; s != NULL && list != NULL; s = s->next) list[i++] = s->about;
    return list;
}

/* =====================================================================================
   CUSTOM                                                                        >>custom
   Operators of op packages, by the table of the caller.
   Needs: >>config >>arena >>params >>tensor >>operator >>layout
   Knows nothing of: ATen operators
   ===================================================================================== */

/* Return the row of the caller for an operator, or NULL. */
static const qnnrt_lower_custom *qnnrt_lower__custom_of(const qnnrt_lower *lower, const char *op)
{
    size_t i = 0;
    while (i < lower->desc.custom_count && strcmp(lower->desc.custom[i].op, op) != 0) ++i;
    return i < lower->desc.custom_count ? &lower->desc.custom[i] : NULL;
}

/* Describe a parameter of an operator of the caller. */
static void qnnrt_lower__custom_param(qnnrt_lower__job *job, qnnrt_lower__params *p,
                                      const qnnrt_lower_custom_param *from)
{
    enum { MOST = sizeof(p->numbers) / sizeof(p->numbers[0]) };
    const char *name = from->attr != NULL ? from->attr : from->name;
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(job->node, name);
    const int number = attr != NULL && (attr->kind == QNNRT_IR_INT || attr->kind == QNNRT_IR_BOOL ||
                                        attr->kind == QNNRT_IR_FLOAT);
    const int list = attr != NULL && attr->kind == QNNRT_IR_INTS && attr->count > 0 &&
                     attr->count <= MOST - p->used &&
                     (from->dtype == QNNRT_DTYPE_I32 || from->dtype == QNNRT_DTYPE_U32);
    const int absent = attr == NULL || attr->kind == QNNRT_IR_NULL;
    if (number)
        qnnrt_lower__scalar(p, from->name, from->dtype, from->dtype == QNNRT_DTYPE_F32
                            ? (double)(float)attr->f : attr->f);
    else if (list)
        qnnrt_lower__numbers(p, from->name, from->dtype, attr->ints, (uint32_t)attr->count, 0);
    else if (absent && from->optional)
        qnnrt_lower__scalar(p, from->name, from->dtype, from->value);
    else
        qnnrt_lower__refuse(job->graph, "Correct the table of operators.", absent
                            ? "the argument \"%.100s\" is missing, which parameter \"%.100s\" needs"
                            : "the argument \"%.100s\" is not what parameter \"%.100s\" takes",
                            name, from->name);
}

/* Lower a node to an operator of the caller. Its values have the order of the graph. */
static void qnnrt_lower__custom(qnnrt_lower__job *job, const qnnrt_lower_custom *custom)
{
    const qnnrt_ir_node *node = job->node;
    const size_t count = custom->inputs != NULL ? custom->input_count : node->input_count;
    int32_t inputs[QNNRT_LOWER__MOST_INPUTS], outputs[QNNRT_LOWER__MOST_INPUTS];
    qnnrt_lower__params p = qnnrt_lower__params_none();
    qnnrt_lower_op *op;
    size_t i;
    if (count > QNNRT_LOWER__MOST_INPUTS || node->output_count > QNNRT_LOWER__MOST_INPUTS ||
        node->output_count == 0 || custom->param_count > sizeof(p.list) / sizeof(p.list[0])) {
        qnnrt_lower__refuse(job->graph, NULL, "it has no outputs, or too many inputs,"
                            " outputs or parameters");
        return;
    }
    for (i = 0; i < count; ++i) {
        const size_t at = custom->inputs != NULL ? custom->inputs[i] : i;
        qnnrt_lower__view view;
        if (at >= node->input_count) {
            qnnrt_lower__refuse(job->graph, "Correct the table of operators.",
                                "it has %lu inputs, and input %lu of %s is number %lu",
                                (unsigned long)node->input_count, (unsigned long)i, custom->type,
                                (unsigned long)at);
            return;
        }
        inputs[i] = QNNRT_LOWER__NONE;
        if (node->inputs[at] == NULL) continue;
        view = qnnrt_lower__in(job, at);
        inputs[i] = qnnrt_lower__plain(job, &view);
    }
    for (i = 0; i < custom->param_count; ++i)
        qnnrt_lower__custom_param(job, &p, &custom->params[i]);
    if (job->graph->failed) return;
    for (i = 0; i < node->output_count; ++i) {
        const qnnrt_ir_value *out = node->outputs[i];
        outputs[i] = qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER,
                                         qnnrt_lower__dtype(job, out->dtype), out->rank, out->dims);
        if (outputs[i] == QNNRT_LOWER__NONE) return;
    }
    op = qnnrt_lower__add(job, custom->type, inputs, count, outputs, node->output_count, &p);
    if (op == NULL) return;
    op->package = strcmp(custom->package, "qti.aisw") != 0 ? custom->package : NULL;
    for (i = 0; i < node->output_count; ++i) qnnrt_lower__set(job, i, outputs[i], NULL);
}

/* =====================================================================================
   GRAPH                                                                          >>graph
   A graph of the IR, node by node; its inputs and outputs.
   Needs: >>config >>arena >>tensor >>static >>operator >>layout >>table >>digits >>custom
   Knows nothing of: operators, builders
   ===================================================================================== */

/* Return 1 for an input that becomes a tensor of the graph. */
static int qnnrt_lower__is_updateable(const qnnrt_lower *lower, const qnnrt_ir_value *value)
{
    return lower->desc.updateable != NULL && qnnrt_lower__is_float(value->dtype) &&
           lower->desc.updateable(lower->desc.updateable_user, value->name);
}

/* Return the type that an app sees of input or output number `index`. */
static qnnrt_dtype qnnrt_lower__outer(const qnnrt_lower__job *job, const qnnrt_ir_value *value,
                                      int output, size_t index)
{
    const qnnrt_lower_desc *desc = &job->lower->desc;
    qnnrt_dtype dtype = (qnnrt_dtype)0;
    if (!qnnrt_lower__is_float(value->dtype)) return qnnrt_lower__dtype(job, value->dtype);
    if (!output && qnnrt_lower__is_updateable(job->lower, value)) return job->lower->compute;
    if (desc->io != NULL)
        dtype = desc->io(desc->io_user, job->graph->info.ir, value, output, index);
    if (dtype != (qnnrt_dtype)0) return dtype;
    return desc->native_io ? job->lower->compute : QNNRT_DTYPE_F32;
}

static void qnnrt_lower__add_inputs(qnnrt_lower__job *job)
{
    const qnnrt_ir *ir = job->graph->info.ir;
    size_t i;
    for (i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *value = ir->inputs[i];
        qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, value);
        int32_t t;
        if (value->users == 0 || record == NULL) continue;
        job->graph->failed = 0;
        t = qnnrt_lower__tensor(job, QNNRT_TENSOR_INPUT,
                                qnnrt_lower__outer(job, value, 0, i), value->rank, value->dims);
        if (t == QNNRT_LOWER__NONE) continue;
        job->graph->inputs[i] = t;
        qnnrt_lower__at(job, t)->name = value->name;
        qnnrt_lower__at(job, t)->value = value;
        qnnrt_lower__identity(record->order);
        record->tensor = qnnrt_lower__cast(job, t, qnnrt_lower__dtype(job, value->dtype));
        if (record->tensor != QNNRT_LOWER__NONE)
            qnnrt_lower__at(job, record->tensor)->name = value->name;
    }
}

/* Return a tensor of its own, with the type `outer`, that an app reads a value from. */
static int32_t qnnrt_lower__add_output(qnnrt_lower__job *job, const qnnrt_ir_value *value,
                                       const char *name, qnnrt_dtype outer)
{
    const qnnrt_lower__view view = qnnrt_lower__view_of(job, value, 0);
    int32_t t = qnnrt_lower__plain(job, &view), out;
    if (t != QNNRT_LOWER__NONE && qnnrt_lower__at(job, t)->kind == QNNRT_TENSOR_STATIC &&
        qnnrt_lower__at(job, t)->dtype != outer && job->graph->bodies[t].source != NULL)
        t = qnnrt_lower__cast(job, t, outer);
    else if (t != QNNRT_LOWER__NONE && qnnrt_lower__at(job, t)->dtype != outer)
        t = qnnrt_lower__cast(job, t, outer);
    if (t == QNNRT_LOWER__NONE) return t;
    if (qnnrt_lower__at(job, t)->kind != QNNRT_TENSOR_INNER) {   /* an app needs a copy */
        out = qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER, outer, value->rank, value->dims);
        if (out == QNNRT_LOWER__NONE ||
            qnnrt_lower__add(job, "Reshape", &t, 1, &out, 1, NULL) == NULL)
            return QNNRT_LOWER__NONE;
        t = out;
    }
    qnnrt_lower__at(job, t)->kind = QNNRT_TENSOR_OUTPUT;
    qnnrt_lower__at(job, t)->name = name;
    qnnrt_lower__at(job, t)->value = value;
    return t;
}

/* Let the app read every value that has a tensor of its own: one that another value has already is
   left out. */
static void qnnrt_lower__watch(qnnrt_lower__job *job)
{
    const qnnrt_ir *ir = job->graph->info.ir;
    size_t i, k;
    for (i = 0; i < ir->node_count && !job->lower->arena.failed; ++i)
        for (k = 0; k < ir->nodes[i]->output_count; ++k) {
            const qnnrt_ir_value *value = ir->nodes[i]->outputs[k];
            const qnnrt_lower__record *record = (const qnnrt_lower__record *)value->note;
            if (record == NULL || record->tensor == QNNRT_LOWER__NONE || value->is_output ||
                qnnrt_lower__at(job, record->tensor)->kind != QNNRT_TENSOR_INNER ||
                qnnrt_lower__at(job, record->tensor)->value != value)
                continue;
            job->graph->failed = 0;
            qnnrt_lower__add_output(job, value, value->name,
                                    qnnrt_lower__outer(job, value, 1, SIZE_MAX));
        }
}

/* Operators whose integers libraries compute in floats, up to what these hold exactly. */
static const struct {
    const char *op;                  /* a name, or the part before "." */
    unsigned    libraries;           /* bits of targets */
    int         compute;             /* 1: in the type of floats; 0: in float32 */
} qnnrt_lower__in_floats[] = {
    { "sum", 1u << QNNRT_LOWER_HTP, 0 }, { "cumsum", 1u << QNNRT_LOWER_HTP, 0 },
    { "prod", 1u << QNNRT_LOWER_HTP, 0 }, { "cumprod", 1u << QNNRT_LOWER_HTP, 0 },
    { "argmax", 1u << QNNRT_LOWER_HTP, 0 }, { "argmin", 1u << QNNRT_LOWER_HTP, 0 },
    { "amax", 1u << QNNRT_LOWER_HTP, 0 }, { "amin", 1u << QNNRT_LOWER_HTP, 0 },
    { "max.default", 1u << QNNRT_LOWER_HTP, 0 }, { "min.default", 1u << QNNRT_LOWER_HTP, 0 },
    { "max.dim", 1u << QNNRT_LOWER_HTP, 0 }, { "min.dim", 1u << QNNRT_LOWER_HTP, 0 },
    { "remainder", 1u << QNNRT_LOWER_CPU, 0 }, { "floor_divide", 1u << QNNRT_LOWER_CPU, 0 },
    { "div.Tensor_mode", 1u << QNNRT_LOWER_CPU, 0 },
    { "pow", 7, 1 }, { "matmul", 7, 1 }, { "mm", 7, 1 }, { "bmm", 7, 1 }, { "mv", 7, 1 },
    { "addmm", 7, 1 }, { "baddbmm", 7, 1 },
};

/* Return the largest integer up to which a library computes a node as PyTorch does. */
static int64_t qnnrt_lower__exact(const qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const double e = qnnrt_ir_float(node, "exponent", 0);
    size_t i, length;
    if (strcmp(node->op, "pow.Tensor_Scalar") == 0 && (e == 1 || e == 2 || e == 3))
        return INT64_MAX;                        /* products of integers */
    for (i = 0; i < sizeof(qnnrt_lower__in_floats) / sizeof(qnnrt_lower__in_floats[0]); ++i) {
        length = strlen(qnnrt_lower__in_floats[i].op);
        if (strncmp(node->op, qnnrt_lower__in_floats[i].op, length) != 0 ||
            (node->op[length] != '\0' && node->op[length] != '.') ||
            (qnnrt_lower__in_floats[i].libraries >> job->lower->desc.target & 1) == 0) continue;
        return qnnrt_lower__in_floats[i].compute && job->lower->compute == QNNRT_DTYPE_F16
                   ? 2048 : 16777216;
    }
    return INT64_MAX;
}

/* Refuse a node if a value that it reads or makes can be an integer that a library, which computes
   in int32, does not hold: see qnnrt_ir_pass_ranges(). Return 0 then. */
static int qnnrt_lower__holds(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const int htp = job->lower->desc.target == QNNRT_LOWER_HTP;
    const int64_t exact = qnnrt_lower__exact(job, node);
    size_t i;
    for (i = 0; i < node->input_count + node->output_count; ++i) {
        const int out = i >= node->input_count;
        const qnnrt_ir_value *value = out ? node->outputs[i - node->input_count] : node->inputs[i];
        int64_t low = INT32_MIN, high = INT32_MAX;
        const char *what = "int32";
        if (value == NULL || !value->ranged || qnnrt_ir_dtype_kind(value->dtype) != 1 ||
            (out && value->users == 0 && !value->is_output)) continue;
        if (value->dtype != QNNRT_DTYPE_I64) {
            if (!out && exact == INT64_MAX) continue;
            what = qnnrt_ir_dtype_name(value->dtype);
            if (value->dtype == QNNRT_DTYPE_I32 && !htp) { low = INT64_MIN; high = INT64_MAX; }
            if (value->dtype == QNNRT_DTYPE_I16) { low = INT16_MIN; high = INT16_MAX; }
            if (value->dtype == QNNRT_DTYPE_I8) { low = INT8_MIN; high = INT8_MAX; }
            if (value->dtype == QNNRT_DTYPE_U8) { low = 0; high = UINT8_MAX; }
        }
        if (exact < high) { low = low < -exact ? -exact : low; high = exact; what = "a float"; }
        if (value->low >= low && value->high <= high) continue;
        qnnrt_lower__refuse(job->graph, "State the ranges of integer inputs in qnnrt.export(), or "
                            "add host to --backends: it computes in 64 bits.",
                            "\"%.200s\" can be from %lld to %lld, and %s, in which the library "
                            "computes, holds %lld to %lld", value->name, (long long)value->low,
                            (long long)value->high, what, (long long)low, (long long)high);
        return 0;
    }
    return 1;
}

/* Lower one node. After a finding its outputs get tensors that nothing computes, so that later
   nodes can be checked. */
static void qnnrt_lower__node(qnnrt_lower__job *job, const qnnrt_ir_node *node)
{
    const qnnrt_lower_custom *custom = qnnrt_lower__custom_of(job->lower, node->op);
    const qnnrt_lower__function function = qnnrt_lower__function_of(node);
    const qnnrt_ir_value *large = NULL;
    size_t i;
    int empty = 0, full = 0;
    job->node = job->graph->node = node;
    job->graph->failed = 0;
    for (i = 0; i < node->output_count; ++i) {
        const qnnrt_ir_value *out = node->outputs[i];
        if (out->count != 0) full = 1;
        else if (out->users != 0 || out->is_output) empty = 1;
    }
    if (empty && !full) return;                  /* joined with others, or refused there */
    for (i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != NULL && node->inputs[i]->count > INT32_MAX) large = node->inputs[i];
    for (i = 0; i < node->output_count; ++i)
        if (node->outputs[i]->count > INT32_MAX) large = node->outputs[i];
    if (large != NULL)
        qnnrt_lower__refuse(job->graph, NULL, "\"%.200s\" has %llu elements, at most 2147483647 "
                            "are lowered", large->name, (unsigned long long)large->count);
    else if (custom != NULL)
        qnnrt_lower__custom(job, custom);
    else if (function == NULL)
        qnnrt_lower__refuse(job->graph, "Compute it on the host, or change the model.",
                            "there is no rule to lower this operator");
    else if (qnnrt_lower__holds(job, node) && qnnrt_lower__has_digits(job, node) &&
             qnnrt_lower__full(job, function))
        function(job);
    qnnrt_arena_free(&job->lower->scratch);
    for (i = 0; i < node->output_count; ++i) {
        const qnnrt_ir_value *out = node->outputs[i];
        const qnnrt_lower__record *record = qnnrt_lower__record_of(job->lower, out);
        if (record == NULL || record->tensor != QNNRT_LOWER__NONE || out->count == 0 ||
            (out->users == 0 && !out->is_output))
            continue;
        if (!job->lower->arena.failed)
            qnnrt_lower__refuse(job->graph, NULL, "output %u was not lowered", (unsigned)i);
        qnnrt_lower__set(job, i, qnnrt_lower__tensor(job, QNNRT_TENSOR_INNER,
                                                     qnnrt_lower__dtype(job, out->dtype),
                                                     out->rank, out->dims), NULL);
    }
}

/* Return true if an input or output of the graph has the name of tensor `at`, which is neither. */
static int qnnrt_lower__taken(const qnnrt_lower__graph *graph, size_t at)
{
    size_t i;
    if (graph->tensors[at].kind == QNNRT_TENSOR_INPUT ||
        graph->tensors[at].kind == QNNRT_TENSOR_OUTPUT)
        return 0;
    for (i = 1; i < graph->tensor_count; ++i)
        if ((graph->tensors[i].kind == QNNRT_TENSOR_INPUT ||
             graph->tensors[i].kind == QNNRT_TENSOR_OUTPUT) &&
            strcmp(graph->tensors[i].name, graph->tensors[at].name) == 0)
            return 1;
    return 0;
}

/* Mark the tensors whose number ends the name of an input or output: "x.5" marks tensor 5. */
static char *qnnrt_lower__clashes(qnnrt_lower *lower, const qnnrt_lower__graph *graph)
{
    char *clash = (char *)qnnrt_arena_get(&lower->arena, graph->tensor_count, 1);
    size_t i;
    for (i = 1; i < graph->tensor_count && clash != NULL; ++i) {
        const qnnrt_lower_tensor *tensor = &graph->tensors[i];
        const char *dot = strrchr(tensor->name, '.');
        unsigned long number;
        if (dot == NULL || (tensor->kind != QNNRT_TENSOR_INPUT &&
                            tensor->kind != QNNRT_TENSOR_OUTPUT))
            continue;
        for (number = 0, ++dot; *dot >= '0' && *dot <= '9' && number < graph->tensor_count; ++dot)
            number = 10 * number + (unsigned long)(*dot - '0');
        if (*dot == '\0' && number < graph->tensor_count) clash[number] = 1;
    }
    return clash;
}

/* Mark what the outputs need, count readers, and give all that is used names of its own, except
   tensors before `named`, which have theirs. */
static void qnnrt_lower__mark(qnnrt_lower *lower, qnnrt_lower__graph *graph, size_t named)
{
    const char *clash = qnnrt_lower__clashes(lower, graph);
    size_t i, k;
    graph->info.used_ops = 0;
    graph->info.static_bytes = 0;
    for (i = 0; i < graph->tensor_count; ++i) {
        graph->tensors[i].used = graph->tensors[i].kind == QNNRT_TENSOR_OUTPUT;
        graph->tensors[i].readers = 0;
    }
    for (i = graph->op_count; i-- > 0;) {
        qnnrt_lower_op *op = &graph->ops[i];
        for (k = 0; k < op->output_count; ++k) op->used |= graph->tensors[op->outputs[k]].used;
        if (!op->used) continue;
        op->name = qnnrt_lower__text(lower, "%.200s.%s.%lu", op->node != NULL ? op->node->name
                                                                              : "border", op->type,
                                     (unsigned long)i);
        graph->info.used_ops += 1;
        for (k = 0; k < op->output_count; ++k) graph->tensors[op->outputs[k]].used = 1;
        for (k = 0; k < op->input_count; ++k) {
            graph->tensors[op->inputs[k]].used = 1;
            graph->tensors[op->inputs[k]].readers += 1;
        }
    }
    for (i = 0; i < graph->info.ir->input_count; ++i)
        if (!graph->tensors[graph->inputs[i]].used) graph->inputs[i] = QNNRT_LOWER__NONE;
    for (i = 1; i < graph->tensor_count; ++i) {
        qnnrt_lower_tensor *tensor = &graph->tensors[i];
        if (!tensor->used) continue;
        if (tensor->kind == QNNRT_TENSOR_STATIC) graph->info.static_bytes += tensor->bytes;
        if (tensor->kind == QNNRT_TENSOR_INPUT || tensor->kind == QNNRT_TENSOR_OUTPUT || i < named)
            continue;
        tensor->name = qnnrt_lower__text(lower, "%.200s.%lu", tensor->name, (unsigned long)i);
        while (clash != NULL && clash[i] && !lower->arena.failed && qnnrt_lower__taken(graph, i))
            tensor->name = qnnrt_lower__text(lower, "%s_", tensor->name);
    }
}

/* Forget what belongs to one graph in the records of values: another graph has its own tensors. */
static void qnnrt_lower__forget(const qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_lower__record *record = (qnnrt_lower__record *)ir->values[i]->note;
        if (record == NULL) continue;
        record->tensor = record->statics = QNNRT_LOWER__NONE;
        record->narrow = record->ranged = 0;
    }
}

/* Let the app read every float tensor that an operator computes. */
static void qnnrt_lower__watch_all(qnnrt_lower__graph *graph)
{
    size_t i;
    for (i = 1; i < graph->tensor_count; ++i) {
        qnnrt_lower_tensor *tensor = &graph->tensors[i];
        if (tensor->used && tensor->kind == QNNRT_TENSOR_INNER && tensor->op >= 0 &&
            qnnrt_lower__is_float(tensor->dtype))
            tensor->kind = QNNRT_TENSOR_OUTPUT;
    }
}

/* Make an error of the findings from `first` on. */
static qnnrt_result qnnrt_lower__findings(const qnnrt_lower *lower, size_t first,
                                          const char *what, const char *name, qnnrt_error *err)
{
    const size_t count = lower->finding_count - first;
    size_t i;
    if (err == NULL) return QNNRT_E_UNSUPPORTED;
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "graph \"%.200s\": %lu %s", name,
                    (unsigned long)count, what);
    qnnrt_error_hint(err, QNNRT_OK, "%s", lower->findings[first].hint);
    for (i = first; i < lower->finding_count && strlen(err->text) + 200 < sizeof err->text; ++i)
        qnnrt_error_add(err, "\n  %s", lower->findings[i].text);
    return QNNRT_E_UNSUPPORTED;
}

/* =====================================================================================
   ENCODE                                                                        >>encode
   Encodings of ranges, and quantized static tensors.
   Needs: >>config >>arena >>tensor >>static     Knows nothing of: operators, builders
   ===================================================================================== */

/* Tensors that have one encoding, and what it has to cover. */
typedef struct qnnrt_lower__group {
    double   low, high;                  /* of all tensors, if .known */
    double   under;                      /* masked values stay so far below */
    float    scale;                      /* 0: not yet encoded */
    int32_t  offset;
    uint32_t bits;
    int      known, masked, symmetric;
    int      exact;                      /* 1: an encoding has the scale; 2: two that differ have */
    int      told;                       /* 1: a finding says that it is not known */
} qnnrt_lower__group;

/* A quantized static tensor. */
typedef struct qnnrt_lower__coded {
    struct qnnrt_lower__coded *next;
    int32_t                    from, tensor;
    qnnrt_dtype                dtype;
    qnnrt_quant                quant;
} qnnrt_lower__coded;

/* What graphs are quantized with. */
typedef struct qnnrt_lower__quantizer {
    qnnrt_lower         *lower;
    qnnrt_lower__graph  *graph;          /* in work */
    qnnrt_builder       *builder;        /* to ask the library */
    size_t               trials;         /* tensors in it */
    size_t               total;          /* tensors of all graphs */
    int32_t             *roots;          /* [total]: of their groups */
    qnnrt_lower__group  *groups;         /* [total], of roots */
    char                *hidden;         /* [total], 1: its reader's range counts, not its own */
    const qnnrt_lower_encoding **given;  /* [total] */
    char                *met;            /* [encoding_count], 1: there is such a tensor; 2: the
                                            graph had it before the passes */
    /* of the graph in work, by its tensors before: */
    size_t               count;
    qnnrt_dtype         *was;            /* [count] */
    int32_t             *plain, *quantized, *bytes;      /* [count]: the same value as floats,
                                            quantized, quantized to 8 bits; 0: not made */
    int32_t             *alias;          /* [count]: of which it is a float Cast, 0: of none */
    qnnrt_lower__coded  *coded;
} qnnrt_lower__quantizer;

/* Return what functions that add to the graph in work need. */
static qnnrt_lower__job qnnrt_lower__job_of(const qnnrt_lower__quantizer *q)
{
    const qnnrt_lower__job job = { q->lower, q->graph, q->graph->node };
    return job;
}

static size_t qnnrt_lower__root(const qnnrt_lower__quantizer *q, size_t at)
{
    while ((size_t)q->roots[at] != at) at = (size_t)(q->roots[at] = q->roots[q->roots[at]]);
    return at;
}

static qnnrt_lower__group *qnnrt_lower__group_of(const qnnrt_lower__quantizer *q, int32_t tensor)
{
    return &q->groups[qnnrt_lower__root(q, q->graph->base + (size_t)tensor)];
}

/* Let a group cover a range, too. */
static void qnnrt_lower__cover(qnnrt_lower__group *group, double low, double high)
{
    if (!group->known || low < group->low) group->low = low;
    if (!group->known || high > group->high) group->high = high;
    group->known = 1;
}

/* Choose scale and offset of unsigned values q, real = (q + offset) * scale, so that 0 is exact
   and low to high are covered. symmetric: as many steps below 0 as above. A range of less than 1e-6
   is made that wide. */
static void qnnrt_lower__encode(double low, double high, uint32_t bits, int symmetric,
                                float *scale, int32_t *offset)
{
    const double most = bits == 8 ? 255 : 65535, middle = (most + 1) / 2, least = 1e-6;
    double width;
    if (low > 0) low = 0;
    if (high < 0) high = 0;
    if (symmetric) {
        const double half = -low > high ? -low : high;
        *scale = (float)((half > least ? half : least) / (middle - 1));
        *offset = (int32_t)-middle;
        return;
    }
    width = high - low > least ? high - low : least;
    *scale = (float)(width / most);
    *offset = (int32_t)-floor(-low / width * most + 0.5);
}

/* Encode a group, unless that is done. */
static void qnnrt_lower__encode_group(const qnnrt_lower__quantizer *q, qnnrt_lower__group *group)
{
    double margin;
    if (group->bits == 0) group->bits = q->lower->desc.act_bits;
    if (group->scale > 0) return;
    margin = group->bits == 8 ? 12 : 32;         /* Softmax: exp(-margin) is 0 then */
    qnnrt_lower__encode(group->low - (group->masked ? margin + group->under : 0), group->high,
                        group->bits, group->symmetric && group->bits == 16, &group->scale,
                        &group->offset);
}

static qnnrt_dtype qnnrt_lower__code_dtype(uint32_t bits)
{
    return bits == 8 ? QNNRT_DTYPE_U8Q : QNNRT_DTYPE_U16Q;
}

static qnnrt_quant qnnrt_lower__per_tensor(float scale, int32_t offset)
{
    qnnrt_quant quant;
    memset(&quant, 0, sizeof(quant));
    quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    quant.scale = scale;
    quant.offset = offset;
    return quant;
}

static int qnnrt_lower__quant_same(const qnnrt_quant *a, const qnnrt_quant *b)
{
    return a->encoding == b->encoding && a->bitwidth == b->bitwidth && a->count == b->count &&
           (a->encoding == QNNRT_ENCODING_PER_AXIS
                ? memcmp(a->scales, b->scales, a->count * sizeof(*a->scales)) == 0
                : memcmp(&a->scale, &b->scale, sizeof(a->scale)) == 0 && a->offset == b->offset);
}

/* Return the elements of a static tensor of floats, clamped to those of float16; NULL after a
   finding. The caller frees them with qnnrt_hooks_free(). */
static float *qnnrt_lower__floats(const qnnrt_lower__quantizer *q, int32_t from)
{
    const qnnrt_lower_tensor *tensor = &q->graph->tensors[from];
    const size_t bytes = (size_t)tensor->count * sizeof(float);
    float *values = (float *)qnnrt_hooks_alloc(&q->lower->desc.hooks, 1, bytes + 1);
    uint64_t i, bad = 0;
    qnnrt_error err;
    if (values == NULL) {
        q->lower->arena.failed = QNNRT_E_MEMORY;
        return NULL;
    }
    err.text[0] = '\0';
    if (qnnrt_lower__load_floats(q->lower, tensor, &q->graph->bodies[from], values, &err) ==
        QNNRT_OK) {
        for (i = 0; i < tensor->count; ++i) {
            if (isnan(values[i])) ++bad;
            else if (values[i] > 65504.0f) values[i] = 65504.0f;
            else if (values[i] < -65504.0f) values[i] = -65504.0f;
        }
        if (bad == 0) return values;
        snprintf(err.text, sizeof err.text, "tensor \"%.200s\" has %llu values that are NaN",
                 tensor->name, (unsigned long long)bad);
    }
    qnnrt_hooks_free(&q->lower->desc.hooks, values);
    qnnrt_lower__refuse(q->graph, "Repair the weights.", "%s", err.text);
    return NULL;
}

/* Find the range of the elements of a static tensor. masked: is not NULL: values of masks do not
   count; receives whether there are any. Return 0 after a finding. */
static int qnnrt_lower__static_range(const qnnrt_lower__quantizer *q, int32_t from, double *low,
                                     double *high, int *masked)
{
    float *values = qnnrt_lower__floats(q, from);
    uint64_t i;
    int any = 0;
    if (values == NULL) return 0;
    *low = *high = 0;
    if (masked != NULL) *masked = 0;
    for (i = 0; i < q->graph->tensors[from].count; ++i) {
        const double value = (double)values[i];
        if (masked != NULL && value <= QNNRT_LOWER_MASKED) { *masked = 1; continue; }
        if (!any || value < *low) *low = value;
        if (!any || value > *high) *high = value;
        any = 1;
    }
    qnnrt_hooks_free(&q->lower->desc.hooks, values);
    return 1;
}

/* Return a static tensor with the elements of `from`, quantized. The same one is made once. */
static int32_t qnnrt_lower__coded_of(qnnrt_lower__quantizer *q, int32_t from, qnnrt_dtype dtype,
                                     const qnnrt_quant *quant)
{
    qnnrt_lower__job job = qnnrt_lower__job_of(q);
    qnnrt_lower__coded *coded;
    qnnrt_lower__body *body;
    qnnrt_lower_tensor *tensor;
    int32_t at;
    for (coded = q->coded; coded != NULL; coded = coded->next)
        if (coded->from == from && coded->dtype == dtype &&
            qnnrt_lower__quant_same(&coded->quant, quant))
            return coded->tensor;
    at = qnnrt_lower__tensor_as(&job, QNNRT_TENSOR_STATIC, dtype, from);
    coded = (qnnrt_lower__coded *)qnnrt_arena_get(&q->lower->arena, 1, sizeof(*coded));
    if (at == QNNRT_LOWER__NONE || coded == NULL) return QNNRT_LOWER__NONE;
    tensor = &q->graph->tensors[at];
    body = &q->graph->bodies[at];
    tensor->quant = *quant;
    *body = q->graph->bodies[from];
    body->root = at;
    body->next = QNNRT_LOWER__NONE;
    if (body->source == NULL) {                  /* made here: coded at once */
        float *values = qnnrt_lower__floats(q, from);
        void *data = qnnrt_arena_get(&q->lower->arena, tensor->bytes, 1);
        if (values != NULL && data != NULL) qnnrt_lower__write_codes(tensor, values, data);
        qnnrt_hooks_free(&q->lower->desc.hooks, values);
        body->data = data;
    }
    coded->from = from;
    coded->tensor = at;
    coded->dtype = dtype;
    coded->quant = *quant;
    coded->next = q->coded;
    q->coded = coded;
    return at;
}

/* =====================================================================================
   PROPAGATE                                                                  >>propagate
   Which tensors have one encoding, and what it has to cover.
   Needs: >>config >>arena >>tensor >>static >>encode     Knows nothing of: builders
   ===================================================================================== */

/* Operators that move values: float inputs and outputs have one encoding. */
static const char qnnrt_lower__movers[] =
    "Reshape Transpose ExpandDims Squeeze Concat Pack UnPack Split StridedSlice Gather"
    " GatherElements GatherNd ScatterNd ScatterElements Pad PoolMax2d Tile ElementWiseSelect"
    " TopK DepthToSpace SpaceToDepth ChannelShuffle ResizeNearestNeighbor Cast";
/* Inputs are compared: as integers, if they have one encoding. */
static const char qnnrt_lower__comparers[] =
    "ElementWiseEqual ElementWiseNotEqual ElementWiseLess ElementWiseLessEqual ElementWiseGreater"
    " ElementWiseGreaterEqual";

static int qnnrt_lower__is_propagated(const qnnrt_lower__quantizer *q, int32_t tensor)
{
    return tensor != QNNRT_LOWER__NONE &&
           q->graph->tensors[tensor].kind != QNNRT_TENSOR_STATIC &&
           qnnrt_lower__is_float(q->graph->tensors[tensor].dtype);
}

static void qnnrt_lower__unite(qnnrt_lower__quantizer *q, size_t a, size_t b)
{
    const size_t from = qnnrt_lower__root(q, a), to = qnnrt_lower__root(q, b);
    q->roots[from > to ? from : to] = (int32_t)(from > to ? to : from);
}

/* Join the tensors of an operator that have one encoding. */
static void qnnrt_lower__join_op(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op)
{
    const size_t base = q->graph->base;
    const int mover = qnnrt_lower__listed(qnnrt_lower__movers, op->type);
    const int clips = strcmp(op->type, "Relu") == 0 || strcmp(op->type, "ReluMinMax") == 0;
    int32_t first = QNNRT_LOWER__NONE;
    size_t i;
    if (clips) {                                 /* what it clips needs no steps */
        const qnnrt_lower_tensor *x = &q->graph->tensors[op->inputs[0]];
        if (qnnrt_lower__is_propagated(q, op->inputs[0]) && x->readers == 1 && x->op >= 0 &&
            x->kind == QNNRT_TENSOR_INNER &&
            (q->given[base + (size_t)op->inputs[0]] == NULL ||
             !(q->given[base + (size_t)op->inputs[0]]->scale > 0))) {
            q->hidden[base + (size_t)op->inputs[0]] = 1;
            qnnrt_lower__unite(q, base + (size_t)op->inputs[0], base + (size_t)op->outputs[0]);
        }
    }
    if (!mover && !qnnrt_lower__listed(qnnrt_lower__comparers, op->type)) return;
    for (i = 0; i < op->input_count + op->output_count; ++i) {
        const int32_t t = i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
        if (!qnnrt_lower__is_propagated(q, t)) continue;
        if (i >= op->input_count && mover && q->given[base + (size_t)t] != NULL &&
            q->given[base + (size_t)t]->apart) continue;
        if (first != QNNRT_LOWER__NONE)
            qnnrt_lower__unite(q, base + (size_t)first, base + (size_t)t);
        first = t;
    }
}

/* Let the group of a tensor cover a range, unless its encoding was given. */
static void qnnrt_lower__cover_more(const qnnrt_lower__quantizer *q, int32_t tensor, double low,
                                    double high, int masked)
{
    qnnrt_lower__group *group = qnnrt_lower__group_of(q, tensor);
    if (group->exact) return;
    qnnrt_lower__cover(group, low, high);
    group->masked |= masked;
}

/* Let groups cover what operators say about their results, and the statics that they move. Return
   0 after a finding. */
static int qnnrt_lower__cover_op(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op)
{
    size_t i;
    q->graph->node = op->node;
    q->graph->failed = 0;
    if (strcmp(op->type, "Softmax") == 0 || strcmp(op->type, "Sigmoid") == 0)
        qnnrt_lower__cover_more(q, op->outputs[0], 0, 1, 0);
    if (strcmp(op->type, "MatMul") == 0 && qnnrt_lower__is_propagated(q, op->inputs[1]))
        qnnrt_lower__group_of(q, op->inputs[1])->symmetric = 1;
    if (qnnrt_lower__listed(qnnrt_lower__movers, op->type) ||
        qnnrt_lower__listed(qnnrt_lower__comparers, op->type))
        for (i = 0; i < op->input_count; ++i) {
            const qnnrt_lower_tensor *tensor = &q->graph->tensors[op->inputs[i]];
            int32_t other = qnnrt_lower__is_propagated(q, op->outputs[0]) ? op->outputs[0]
                            : op->input_count > 1 ? op->inputs[i == 0] : QNNRT_LOWER__NONE;
            double low, high;
            int masked;
            if (op->inputs[i] == QNNRT_LOWER__NONE || tensor->kind != QNNRT_TENSOR_STATIC ||
                !qnnrt_lower__is_float(tensor->dtype) || !qnnrt_lower__is_propagated(q, other))
                continue;
            if (!qnnrt_lower__static_range(q, op->inputs[i], &low, &high, &masked)) return 0;
            qnnrt_lower__cover_more(q, other, low, high, masked);
        }
    return 1;
}

/* Let masks be so far below that what is added to them stays there. */
static void qnnrt_lower__cover_masks(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op)
{
    size_t i;
    if (strcmp(op->type, "ElementWiseAdd") != 0) return;
    for (i = 0; i < 2; ++i) {
        qnnrt_lower__group *mask, *other;
        if (!qnnrt_lower__is_propagated(q, op->inputs[i]) ||
            !qnnrt_lower__is_propagated(q, op->inputs[!i]))
            continue;
        mask = qnnrt_lower__group_of(q, op->inputs[i]);
        other = qnnrt_lower__group_of(q, op->inputs[!i]);
        if (mask->masked && other->known && other->high - other->low > mask->under)
            mask->under = other->high - other->low;
    }
}

/* Return true if an encoding is meant for a tensor of the graph in work. */
static int qnnrt_lower__is_meant(const qnnrt_lower__quantizer *q, const qnnrt_lower_encoding *e,
                                 size_t tensor)
{
    const qnnrt_lower_tensor *t = &q->graph->tensors[tensor];
    if (e->graph != NULL && strcmp(e->graph, q->graph->info.name) != 0) return 0;
    if (strcmp(e->name, t->name) == 0) return 1;
    return t->value != NULL && (strcmp(e->name, t->value->name) == 0 ||
                                (t->value->key != NULL && strcmp(e->name, t->value->key) == 0));
}

static uint32_t qnnrt_lower__hash_text(const char *text)
{
    return qnnrt_lower__hash_bytes(2166136261u, text, strlen(text)) % QNNRT_LOWER__HASH;
}

/* Give each tensor of the graph in work its encoding. heads: of lists of encodings by hash, as
   numbers from 1; next: [encoding_count]. */
static void qnnrt_lower__give(qnnrt_lower__quantizer *q, const size_t *heads, const size_t *next)
{
    const qnnrt_lower_desc *desc = &q->lower->desc;
    const qnnrt_ir *ir = q->graph->info.ir;
    size_t t, i, k;
    for (t = 1; t < q->graph->tensor_count; ++t) {
        const qnnrt_lower_tensor *tensor = &q->graph->tensors[t];
        const qnnrt_lower_encoding **given = &q->given[q->graph->base + t];
        const char *names[3];
        names[0] = tensor->name;
        names[1] = tensor->value != NULL ? tensor->value->name : NULL;
        names[2] = tensor->value != NULL ? tensor->value->key : NULL;
        for (k = 0; k < 3; ++k) {
            if (names[k] == NULL || (k > 0 && strcmp(names[k], names[0]) == 0)) continue;
            for (i = heads[qnnrt_lower__hash_text(names[k])]; i != 0; i = next[i - 1]) {
                const qnnrt_lower_encoding *e = &desc->encodings[i - 1];
                if (strcmp(e->name, names[k]) != 0 || !qnnrt_lower__is_meant(q, e, t)) continue;
                q->met[i - 1] = 1;
                if (e->bits == 32 && tensor->kind == QNNRT_TENSOR_STATIC) continue;
                if (*given == NULL || (e->scale > 0) > ((*given)->scale > 0) ||
                    ((e->scale > 0) == ((*given)->scale > 0) && e > *given))
                    *given = e;
            }
        }
    }
    for (i = 0; i < ir->value_count; ++i) {      /* values that have the tensor of another one */
        const qnnrt_ir_value *value = ir->values[i];
        const qnnrt_lower__record *record = (const qnnrt_lower__record *)value->note;
        const int there = record != NULL && record->tensor != QNNRT_LOWER__NONE;
        for (t = 0; t < 2; ++t) {
            const char *name = t == 0 ? value->name : value->key;
            if (name == NULL || (t == 1 && strcmp(name, value->name) == 0)) continue;
            for (k = heads[qnnrt_lower__hash_text(name)]; k != 0; k = next[k - 1]) {
                const qnnrt_lower_encoding *e = &desc->encodings[k - 1];
                if (strcmp(e->name, name) != 0 ||
                    (e->graph != NULL && strcmp(e->graph, q->graph->info.name) != 0))
                    continue;
                if (q->met[k - 1] != 1) q->met[k - 1] = there ? 1 : 2;
                if (there && q->given[q->graph->base + (size_t)record->tensor] == NULL &&
                    (e->bits != 32 ||
                     q->graph->tensors[record->tensor].kind != QNNRT_TENSOR_STATIC))
                    q->given[q->graph->base + (size_t)record->tensor] = e;
            }
        }
    }
}

/* Let groups cover what was given for their tensors. One that is for weights alone is a finding. */
static void qnnrt_lower__cover_given(qnnrt_lower__quantizer *q)
{
    size_t t;
    for (t = 1; t < q->graph->tensor_count; ++t) {
        const qnnrt_lower_encoding *e = q->given[q->graph->base + t];
        qnnrt_lower__group *group;
        double low, high;
        if (e == NULL || !qnnrt_lower__is_propagated(q, (int32_t)t)) continue;
        group = qnnrt_lower__group_of(q, (int32_t)t);
        if (e->count > 0 || e->bits == 4 || e->bits == 32) {
            q->graph->failed = 0;
            qnnrt_lower__refuse(q->graph, "Give one scale, for 8 or 16 bits.",
                                "the encoding of \"%.200s\" has %lu bits and %lu scales: that is"
                                " for weights, and an operator computes this tensor", e->name,
                                (unsigned long)e->bits, (unsigned long)e->count);
            continue;
        }
        if (!(e->scale > 0)) {
            if (e->bits > group->bits && !group->exact) group->bits = e->bits;
            if (q->hidden[q->graph->base + t] || group->exact) continue;
            qnnrt_lower__cover(group, e->low, e->high);
            group->masked |= e->masked;
            continue;
        }
        group->bits = e->bits != 0 ? e->bits : q->lower->desc.act_bits;
        low = (double)e->scale * e->offset;
        high = (double)e->scale * (e->offset + (group->bits == 8 ? 255.0 : 65535.0));
        if (!group->exact) group->known = group->masked = 0;     /* instead of ranges */
        qnnrt_lower__cover(group, low, high);
        if (group->exact && (e->offset != group->offset ||
                             memcmp(&e->scale, &group->scale, sizeof(e->scale)) != 0))
            group->exact = 2;
        if (group->exact == 2) { group->scale = 0; continue; }
        group->exact = 1;
        group->scale = e->scale;
        group->offset = e->offset;
    }
}

/* Number the tensors of all graphs, and join those that have one encoding. Return 0 without
   memory. */
static int qnnrt_lower__begin(qnnrt_lower__quantizer *q)
{
    qnnrt_lower *lower = q->lower;
    const qnnrt_lower_desc *desc = &lower->desc;
    size_t *heads = (size_t *)qnnrt_arena_get(&lower->arena, QNNRT_LOWER__HASH, sizeof(*heads));
    size_t *next = (size_t *)qnnrt_arena_get(&lower->arena, desc->encoding_count, sizeof(*next));
    size_t i;
    for (q->graph = lower->first; q->graph != NULL; q->graph = q->graph->next) {
        q->graph->base = q->total;
        q->total += q->graph->tensor_count;
    }
    if (q->total > INT32_MAX) lower->arena.failed = QNNRT_E_MEMORY;
    q->roots = (int32_t *)qnnrt_arena_get(&lower->arena, q->total, sizeof(*q->roots));
    q->groups = (qnnrt_lower__group *)qnnrt_arena_get(&lower->arena, q->total, sizeof(*q->groups));
    q->hidden = (char *)qnnrt_arena_get(&lower->arena, q->total, 1);
    q->given = (const qnnrt_lower_encoding **)qnnrt_arena_get(&lower->arena,
                                                              q->total, sizeof(*q->given));
    q->met = (char *)qnnrt_arena_get(&lower->arena, desc->encoding_count, 1);
    if (lower->arena.failed) return 0;
    for (i = 0; i < q->total; ++i) q->roots[i] = (int32_t)i;
    for (i = 0; i < desc->encoding_count; ++i) {
        size_t *head = &heads[qnnrt_lower__hash_text(desc->encodings[i].name)];
        next[i] = *head;
        *head = i + 1;
    }
    for (q->graph = lower->first; q->graph != NULL; q->graph = q->graph->next) {
        qnnrt_lower__give(q, heads, next);
        for (i = 0; i < q->graph->op_count; ++i)
            if (q->graph->ops[i].used) qnnrt_lower__join_op(q, &q->graph->ops[i]);
    }
    return 1;
}

/* Join what has to be the same. Return QNNRT_OK, or an error that names what is not there. */
static qnnrt_result qnnrt_lower__join_same(qnnrt_lower__quantizer *q, qnnrt_error *err)
{
    const qnnrt_lower_desc *desc = &q->lower->desc;
    size_t i, k, first;
    for (i = 0; i < desc->same_count; ++i) {
        int there[2] = {0, 0}, any = 0;
        first = 0;
        for (q->graph = q->lower->first; q->graph != NULL; q->graph = q->graph->next)
            for (k = 1; k < q->graph->tensor_count; ++k) {
                const qnnrt_lower_tensor *tensor = &q->graph->tensors[k];
                int end;
                if (!tensor->used || !qnnrt_lower__is_propagated(q, (int32_t)k) ||
                    (tensor->kind != QNNRT_TENSOR_INPUT && tensor->kind != QNNRT_TENSOR_OUTPUT))
                    continue;
                for (end = 0; end < 2; ++end) {
                    if (strcmp(tensor->name, desc->same[i].names[end]) != 0 ||
                        (desc->same[i].graphs[end] != NULL &&
                         strcmp(desc->same[i].graphs[end], q->graph->info.name) != 0))
                        continue;
                    there[end] = 1;
                    if (any) qnnrt_lower__unite(q, first, q->graph->base + k);
                    else first = q->graph->base + k;
                    any = 1;
                }
            }
        if (there[0] && there[1]) continue;
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "\"%.200s\" and \"%.200s\" shall have one "
                        "encoding, but no graph has a float input or output \"%.200s\"",
                        desc->same[i].names[0], desc->same[i].names[1],
                        desc->same[i].names[there[0]]);
        return QNNRT_E_NOT_FOUND;
    }
    return QNNRT_OK;
}

/* Check that encodings can be used. */
static qnnrt_result qnnrt_lower__check_given(const qnnrt_lower *lower, qnnrt_error *err)
{
    const qnnrt_lower_desc *desc = &lower->desc;
    size_t i, k, bad = 0;
    char first[400] = "";
    for (i = 0; i < desc->encoding_count; ++i) {
        const qnnrt_lower_encoding *e = &desc->encodings[i];
        const uint32_t bits = e->bits != 0 ? e->bits : desc->act_bits;
        const char *why = NULL;
        if (e->name == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_quantize: encoding %lu has no "
                                   "name", (unsigned long)i);
        if (bits == 32) {
            if (e->name[0] == '\0') why = "it has no name";
        } else if (bits != 4 && bits != 8 && bits != 16) why = "its bits are not 4, 8, 16 or 32";
        else if (!(e->scale >= 0) || isinf(e->scale)) why = "its scale is not a positive number";
        else if (e->scale > 0 && (e->offset > 0 || e->offset <= -(int32_t)(1u << bits)))
            why = "its offset is out of range";
        else if (e->count > 0 && e->scales == NULL) why = "it has no scales";
        for (k = 0; k < e->count && why == NULL && bits != 32; ++k)
            if (!(e->scales[k] > 0) || isinf(e->scales[k]))
                why = "a scale is not a positive number";
        if (why == NULL && !(e->scale > 0) && e->count == 0 && bits != 32) {
            if (isnan(e->low) || isnan(e->high)) why = "its range is NaN";
            else if (isinf(e->low) || isinf(e->high)) why = "its range is infinite";
            else if (e->low > e->high) why = "its range is empty";
        }
        if (why != NULL && bad++ == 0)
            snprintf(first, sizeof first, "\"%.300s\": %s", e->name, why);
    }
    if (bad == 0) return QNNRT_OK;
    qnnrt_text_clean(first);
    return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%lu encoding%s cannot be used; the first is %s",
                           (unsigned long)bad, bad == 1 ? "" : "s", first);
}

/* Count the changes that make one text another, up to 100 characters of each. */
static size_t qnnrt_lower__distance(const char *a, const char *b)
{
    size_t row[101], i, k, diagonal, m = strlen(a), n = strlen(b);
    if (m > 100) m = 100;
    if (n > 100) n = 100;
    for (k = 0; k <= n; ++k) row[k] = k;
    for (i = 1; i <= m; ++i) {
        diagonal = row[0];
        row[0] = i;
        for (k = 1; k <= n; ++k) {
            size_t least = diagonal + (a[i - 1] != b[k - 1]);
            if (row[k] + 1 < least) least = row[k] + 1;
            if (row[k - 1] + 1 < least) least = row[k - 1] + 1;
            diagonal = row[k];
            row[k] = least;
        }
    }
    return row[n];
}

/* Return 1 for the name of a tensor that the lowering made, VALUE.NUMBER, where VALUE is of a
   graph: another library or other options have other ones. */
static int qnnrt_lower__made_name(const qnnrt_lower *lower, const char *name)
{
    const char *dot = strrchr(name, '.');
    const qnnrt_lower__graph *graph;
    size_t k;
    if (dot == NULL || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0') return 0;
    for (graph = lower->first; graph != NULL; graph = graph->next)
        for (k = 0; k < graph->info.ir->value_count; ++k) {
            const char *value = graph->info.ir->values[k]->name;
            if (strlen(value) == (size_t)(dot - name) && strncmp(value, name, strlen(value)) == 0)
                return 1;
        }
    return 0;
}

/* List the encodings whose tensors were folded. */
static qnnrt_result qnnrt_lower__unused(const qnnrt_lower__quantizer *q, qnnrt_error *err)
{
    qnnrt_lower *lower = q->lower;
    const qnnrt_lower_desc *desc = &lower->desc;
    size_t i, count = 0;
    const char **names = (const char **)qnnrt_arena_get(&lower->arena, desc->encoding_count + 1,
                                                        sizeof(*names));
    if (names == NULL) return qnnrt_lower__fail_memory(err);
    for (i = 0; i < desc->encoding_count; ++i)
        if (q->met[i] == 2 && (desc->encodings[i].scale > 0 || desc->encodings[i].count > 0))
            names[count++] = qnnrt_lower__text(lower, "%s", desc->encodings[i].name);
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    lower->info.folded = names;
    lower->info.folded_count = count;
    return QNNRT_OK;
}

/* Make an error of encodings without a tensor, with the names that are most like theirs. */
static qnnrt_result qnnrt_lower__unmet(qnnrt_lower__quantizer *q, qnnrt_error *err)
{
    const qnnrt_lower_desc *desc = &q->lower->desc;
    size_t i, k, count = 0;
    qnnrt_error_clear(err);
    for (i = 0; i < desc->encoding_count; ++i) {
        const char *best = NULL;
        size_t least = SIZE_MAX;
        if (q->met[i]) continue;
        if (qnnrt_lower__made_name(q->lower, desc->encodings[i].name)) { q->met[i] = 2; continue; }
        if (++count > 5) continue;
        for (q->graph = q->lower->first; q->graph != NULL; q->graph = q->graph->next)
            for (k = 0; k < q->graph->info.ir->value_count; ++k) {
                const qnnrt_ir_value *value = q->graph->info.ir->values[k];
                const char *name = value->key != NULL ? value->key : value->name;
                const size_t distance = qnnrt_lower__distance(desc->encodings[i].name, name);
                if (distance < least) { least = distance; best = name; }
            }
        qnnrt_error_add(err, "\n  \"%.150s\"%s%.150s%s", desc->encodings[i].name,
                        best != NULL ? " (closest: \"" : "", best != NULL ? best : "",
                        best != NULL ? "\")" : "");
    }
    if (count == 0) return qnnrt_lower__unused(q, err);
    if (count > 5) qnnrt_error_add(err, "\n  ...");
    qnnrt_error_about(err, QNNRT_E_NOT_FOUND, "%lu encoding%s of tensors that no graph has:",
                      (unsigned long)count, count == 1 ? " is" : "s are");
    qnnrt_error_hint(err, QNNRT_OK, "Use the names of the graph's values or weights.");
    return QNNRT_E_NOT_FOUND;
}

/* =====================================================================================
   FORMS                                                                          >>forms
   How the inputs and outputs of a quantized operator are encoded, so that the library takes it.
   Needs: >>config >>arena >>tensor >>round >>weight_only >>encode >>propagate
   Knows nothing of: ATen operators
   ===================================================================================== */

/* How the inputs of an operator are encoded, a letter for each; the first form that the library
   takes is used.
       a  as activations, of the bits of the result      w  int8 or less, for each output channel
       c  as an activation of 8 bits, symmetric          W  int8, one scale
       8  8 bits, one scale                              b  int32, in steps of the products
       i  int32, one scale                               o  as an activation, of its own bits */
typedef struct qnnrt_lower__form {
    const char *type;
    int32_t     axis;                            /* of the weight's output channels */
    const char *forms[4];
} qnnrt_lower__form;

static const qnnrt_lower__form qnnrt_lower__forms[] = {
    { "FullyConnected", 0, { "awb", "aWb", NULL, NULL } },
    { "Conv2d", 3, { "awb", "aWb", NULL, NULL } },
    { "DepthWiseConv2d", 3, { "awb", "aWb", NULL, NULL } },
    { "TransposeConv2d", 3, { "awb", "aWb", NULL, NULL } },
    { "MatMul", 0, { "aoa", "aaa", "aca", NULL } },
    { "LayerNorm", 0, { "a8i", "a88", NULL, NULL } },
    { "RmsNorm", 0, { "aaa", "a88", NULL, NULL } },
    { "", 0, { "aaaaaaaa", NULL, NULL, NULL } },
};

/* What an input of a quantized operator is. */
typedef struct qnnrt_lower__end {
    int32_t     tensor;                          /* STATIC: quantized, else before */
    qnnrt_dtype dtype;
    qnnrt_quant quant;
} qnnrt_lower__end;

/* Return the encoding of a tensor with so many bits; scale 0 after a finding: no range is known. */
static qnnrt_quant qnnrt_lower__quant_of(qnnrt_lower__quantizer *q, int32_t tensor, uint32_t bits,
                                         int symmetric)
{
    qnnrt_lower__group *group = qnnrt_lower__group_of(q, tensor);
    const qnnrt_ir_value *value = q->graph->tensors[tensor].value;
    float scale = 0;
    int32_t offset = 0;
    if (!group->known) {
        q->graph->failed = group->told;
        qnnrt_lower__refuse(q->graph, "Calibrate the graph, or give an encoding for this tensor.",
                            "missing scale: tensor \"%.200s\" has no range and no encoding",
                            value != NULL ? value->name : q->graph->tensors[tensor].name);
        group->told = 1;
        return qnnrt_lower__per_tensor(0, 0);
    }
    qnnrt_lower__encode_group(q, group);
    if (bits == group->bits && !symmetric)
        return qnnrt_lower__per_tensor(group->scale, group->offset);
    qnnrt_lower__encode((double)group->scale * group->offset, (double)group->scale *
                        (group->offset + (group->bits == 8 ? 255.0 : 65535.0)), bits, symmetric,
                        &scale, &offset);
    return qnnrt_lower__per_tensor(scale, offset);
}

/* Return the bits of a quantized tensor. */
static uint32_t qnnrt_lower__bits_of(const qnnrt_lower__quantizer *q, int32_t tensor)
{
    const qnnrt_lower__group *group = qnnrt_lower__group_of(q, tensor);
    return group->bits != 0 ? group->bits : q->lower->desc.act_bits;
}

static int qnnrt_lower__was_float(const qnnrt_lower__quantizer *q, int32_t tensor)
{
    return tensor != QNNRT_LOWER__NONE && qnnrt_lower__is_float(q->was[tensor]);
}

/* Return the bits of the weight of an operator: 0: it stays as floats. */
static uint32_t qnnrt_lower__weight_bits(const qnnrt_lower__quantizer *q, const qnnrt_lower_op *op)
{
    const qnnrt_lower_desc *desc = &q->lower->desc;
    const uint32_t bits = desc->weight_bits != 0 ? desc->weight_bits : 8;
    const qnnrt_lower_encoding *e = q->given[q->graph->base + (size_t)op->inputs[1]];
    if (e != NULL && e->bits != 0) return e->bits;
    if (desc->weight_bits_of == NULL || q->graph->tensors[op->inputs[1]].value == NULL) return bits;
    return desc->weight_bits_of(desc->weight_user, q->graph->tensors[op->inputs[1]].value, op->type,
                                bits);
}

/* Compute the scales of a weight, one for each channel. Return NULL after a finding. */
static float *qnnrt_lower__weigh_scales(qnnrt_lower__quantizer *q, int32_t from, int32_t axis,
                                        uint32_t channels, uint32_t bits)
{
    const qnnrt_lower_tensor *tensor = &q->graph->tensors[from];
    const qnnrt_lower__body *body = &q->graph->bodies[from];
    const double most = (double)((1u << (bits - 1)) - 1);
    float *scales, *values;
    uint64_t inner = 1, i;
    uint32_t k;
    if (body->source != NULL && (bits == 4 || bits == 8)) {
        qnnrt_lower__weight_only form;
        qnnrt_lower__job job = qnnrt_lower__job_of(q);
        memset(&form, 0, sizeof(form));
        form.source = body->source;
        form.factor = body->scale;
        form.count = (uint32_t)tensor->count;
        form.channels = channels;
        form.channel_step = channels == 1 ? form.count
                            : qnnrt_lower__weight_only_axis(tensor, body, (uint32_t)axis);
        form.inputs = form.blocks = form.input_step = 1;
        form.about.name = tensor->name;
        form.about.bits = bits;
        if (form.channel_step != 0 && qnnrt_lower__is_float(body->source->weight->dtype))
            return qnnrt_lower__round_scales(&job, &form) ? form.scales : NULL;
    }
    scales = (float *)qnnrt_arena_get(&q->lower->arena, channels, sizeof(*scales));
    values = qnnrt_lower__floats(q, from);
    if (scales == NULL || values == NULL) {
        qnnrt_hooks_free(&q->lower->desc.hooks, values);
        return NULL;
    }
    for (k = (uint32_t)axis + 1; k < tensor->rank; ++k) inner *= tensor->dims[k];
    for (i = 0; i < tensor->count; ++i) {
        const double value = fabs((double)values[i]) / most;
        const uint64_t at = channels > 1 ? i / inner % channels : 0;
        if (value > (double)scales[at]) scales[at] = (float)value;
    }
    for (k = 0; k < channels; ++k) scales[k] = qnnrt_lower__round_scale((double)scales[k]);
    qnnrt_hooks_free(&q->lower->desc.hooks, values);
    return scales;
}

/* Find the encoding of a weight with a scale for each output channel (channels: their number, else
   1), and with `bias` so that int32 holds it in steps of step * scale. Return 0 after a finding. */
static int qnnrt_lower__weigh(qnnrt_lower__quantizer *q, int32_t from, int32_t axis,
                              uint32_t channels, int32_t bias, float step, uint32_t bits,
                              qnnrt_quant *quant)
{
    const qnnrt_lower_encoding *e = q->given[q->graph->base + (size_t)from];
    float *scales = qnnrt_lower__weigh_scales(q, from, axis, channels, bits), *terms = NULL;
    float largest = 0;
    uint64_t i;
    uint32_t k;
    memset(quant, 0, sizeof(*quant));
    if (scales == NULL) return 0;
    if (bias != QNNRT_LOWER__NONE && (terms = qnnrt_lower__floats(q, bias)) == NULL) return 0;
    for (k = 0; k < channels; ++k)
        if (scales[k] > largest && scales[k] != 1.0f) largest = scales[k];
    for (k = 0; k < channels; ++k)               /* those of empty channels: none is far off */
        if (scales[k] == 1.0f || scales[k] < largest * 1e-6f)
            scales[k] = largest > 0 ? scales[k] == 1.0f ? largest : largest * 1e-6f : 1.0f;
    if (e != NULL && e->count > 1 && channels > 1 && e->count != channels) {
        qnnrt_hooks_free(&q->lower->desc.hooks, terms);
        qnnrt_lower__refuse(q->graph, "Give a scale for each output channel, or one for"
                            " all.", "the encoding of weight \"%.200s\" has %lu scales, and the"
                            " weight has %lu output channels", e->name, (unsigned long)e->count,
                            (unsigned long)channels);
        return 0;
    }
    if (e != NULL && e->scale > 0 && e->offset != 0) {
        const int32_t half = bits <= 16 ? (int32_t)(1u << (bits - 1)) : 0;
        if (e->offset != -half && e->offset != 1 - half) {
            qnnrt_hooks_free(&q->lower->desc.hooks, terms);
            qnnrt_lower__refuse(q->graph, "Quantize weights symmetrically.", "the"
                                " encoding of weight \"%.200s\" has offset %ld, expected %ld",
                                e->name, (long)e->offset, -(long)half);
            return 0;
        }
    }
    if (e != NULL && (e->scale > 0 || e->count > 0))
        for (k = 0; k < channels; ++k) {
            uint32_t c;
            scales[k] = e->count == channels ? e->scales[k]
                        : e->count > 0       ? e->scales[0] : e->scale;
            for (c = 0; c < e->count && e->count != channels; ++c)       /* one scale for all */
                if (e->scales[c] > scales[k]) scales[k] = e->scales[c];
        }
    for (i = 0; terms != NULL && step > 0 && i < q->graph->tensors[bias].count; ++i) {
        const double least = fabs((double)terms[i]) / ((double)step * 1073741824.0);
        const uint64_t at = channels > 1 ? i % channels : 0;
        if ((double)scales[at] < least) scales[at] = (float)least;
    }
    qnnrt_hooks_free(&q->lower->desc.hooks, terms);
    quant->encoding = channels > 1 ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_PER_TENSOR;
    quant->bitwidth = bits < 8 ? bits : 0;
    quant->axis = axis;
    quant->count = channels > 1 ? channels : 0;
    quant->scales = channels > 1 ? scales : NULL;
    quant->scale = channels > 1 ? 0 : scales[0];
    return 1;
}

/* Find the encoding of a bias: steps of the products, or its own if it belongs to no weight. */
static void qnnrt_lower__bias(qnnrt_lower__quantizer *q, const qnnrt_lower__end *x,
                              const qnnrt_lower__end *w, qnnrt_quant *quant)
{
    float *scales;
    uint32_t i;
    *quant = w->quant;
    quant->bitwidth = 0;
    quant->axis = 0;
    quant->scale = x->quant.scale * w->quant.scale;
    if (w->quant.encoding != QNNRT_ENCODING_PER_AXIS) return;
    scales = (float *)qnnrt_arena_get(&q->lower->arena, w->quant.count, sizeof(*scales));
    for (i = 0; scales != NULL && i < w->quant.count; ++i)
        scales[i] = x->quant.scale * w->quant.scales[i];
    quant->scales = scales;
}

/* Find the encoding of a static input that is neither a weight nor a bias, with so many bits.
   Return 0 after a finding. */
static int qnnrt_lower__constant(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op, size_t input,
                                 uint32_t bits, qnnrt_quant *quant)
{
    const int32_t from = op->inputs[input];
    const qnnrt_lower_encoding *e = q->given[q->graph->base + (size_t)from];
    const int add = strcmp(op->type, "ElementWiseAdd") == 0;
    const int moved = qnnrt_lower__listed(qnnrt_lower__movers, op->type) ||
                      qnnrt_lower__listed(qnnrt_lower__comparers, op->type);
    double low, high;
    float scale;
    int32_t offset;
    int masked = 0;
    if (moved) {
        const int32_t other = qnnrt_lower__was_float(q, op->outputs[0]) ? op->outputs[0]
                              : op->inputs[input == 0];
        if (q->graph->tensors[other].kind != QNNRT_TENSOR_STATIC) {
            *quant = qnnrt_lower__quant_of(q, other, bits, 0);
            return quant->scale > 0;
        }
    }
    if (e != NULL && e->scale > 0 && (e->bits == 0 || e->bits == bits)) {
        *quant = qnnrt_lower__per_tensor(e->scale, e->offset);
        return 1;
    }
    if (!qnnrt_lower__static_range(q, from, &low, &high, add ? &masked : NULL)) return 0;
    if (masked) {
        const qnnrt_lower__group *other = NULL;
        if (q->graph->tensors[op->inputs[!input]].kind != QNNRT_TENSOR_STATIC)
            other = qnnrt_lower__group_of(q, op->inputs[!input]);
        low -= bits == 8 ? 12 : 32;
        if (other != NULL && other->known) low -= other->high - other->low;
    }
    qnnrt_lower__encode(low, high, bits, strcmp(op->type, "MatMul") == 0 && bits == 16, &scale,
                        &offset);
    *quant = qnnrt_lower__per_tensor(scale, offset);
    return 1;
}

/* Never called: the library is only asked. */
static qnnrt_result qnnrt_lower__no_load(void *user, void *data, size_t bytes, qnnrt_error *err)
{
    (void)user;
    (void)data;
    (void)bytes;
    return qnnrt_error_set(err, QNNRT_E_STATE, "the builder of qnnrt_lower_quantize() is for "
                           "questions alone");
}

/* Describe one end of an operator to the builder that asks. */
static qnnrt_tensor qnnrt_lower__trial(qnnrt_lower__quantizer *q, const qnnrt_lower__end *end,
                                       qnnrt_tensor_desc *desc)
{
    const qnnrt_lower_tensor *tensor = &q->graph->tensors[end->tensor];
    char name[32];
    qnnrt_tensor handle;
    snprintf(name, sizeof name, "%lu", (unsigned long)++q->trials);
    qnnrt_lower__describe(tensor, desc);
    desc->name = name;
    if (desc->kind != QNNRT_TENSOR_STATIC) desc->kind = QNNRT_TENSOR_INNER;
    desc->dtype = end->dtype;
    desc->quant = end->quant;
    desc->blocks = NULL;
    if (desc->kind == QNNRT_TENSOR_STATIC) desc->load = qnnrt_lower__no_load;
    handle = qnnrt_builder_tensor(q->builder, desc);
    desc->name = tensor->name;
    return handle;
}

/* Return the line of a refusal that says most: what the library logged, else the first one. */
static const char *qnnrt_lower__reason(qnnrt_lower *lower, const char *text)
{
    static const char mark[] = "the library logged first, an error: ";
    const char *at = strstr(text, mark);
    const char *line = at != NULL ? at + sizeof(mark) - 1 : text;
    return qnnrt_lower__text(lower, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Ask the library and the table of known errors about a quantized operator. Return why not, or
   NULL. */
static const char *qnnrt_lower__ask_codes(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op,
                                          const qnnrt_lower__end *inputs,
                                          const qnnrt_lower__end *outputs)
{
    const size_t most = QNNRT_LOWER__MOST_INPUTS;
    qnnrt_tensor_desc *descs;
    const qnnrt_tensor_desc *in[QNNRT_LOWER__MOST_INPUTS], *out[QNNRT_LOWER__MOST_INPUTS];
    qnnrt_tensor handles[2 * QNNRT_LOWER__MOST_INPUTS];
    const char *why = NULL;
    const qnnrt_quirk *known;
    qnnrt_quirk_node facts;
    qnnrt_node_desc node;
    qnnrt_error err;
    size_t i;
    if (op->input_count > most || op->output_count > most) return "it has too many inputs";
    descs = (qnnrt_tensor_desc *)qnnrt_hooks_alloc(&q->lower->desc.hooks, 2 * most, sizeof(*descs));
    if (descs == NULL) {
        q->lower->arena.failed = QNNRT_E_MEMORY;
        return "out of memory";
    }
    for (i = 0; i < op->input_count; ++i) {
        in[i] = inputs[i].tensor != QNNRT_LOWER__NONE ? &descs[i] : NULL;
        handles[i] = in[i] != NULL ? qnnrt_lower__trial(q, &inputs[i], &descs[i])
                                   : QNNRT_NO_TENSOR;
    }
    for (i = 0; i < op->output_count; ++i) {
        out[i] = &descs[most + i];
        handles[most + i] = qnnrt_lower__trial(q, &outputs[i], &descs[most + i]);
    }
    facts.type = op->type;
    facts.inputs = in;
    facts.input_count = op->input_count;
    facts.outputs = out;
    facts.output_count = op->output_count;
    facts.params = op->params;
    facts.param_count = op->param_count;
    known = qnnrt_lower__quirk(q->lower, &facts, qnnrt_quirk_find);
    memset(&node, 0, sizeof(node));
    node.name = op->name;
    node.type = op->type;
    node.inputs = handles;
    node.input_count = op->input_count;
    node.outputs = &handles[most];
    node.output_count = op->output_count;
    node.params = op->params;
    node.param_count = op->param_count;
    if (known != NULL && known->what != QNNRT_QUIRK_VALUES) why = known->why;
    else if (qnnrt_builder_supports(q->builder, &node, &err) != QNNRT_OK)
        why = qnnrt_lower__reason(q->lower, err.text);
    qnnrt_hooks_free(&q->lower->desc.hooks, descs);
    return why;
}

/* Find out how the inputs and outputs of an operator are encoded in one form. Return 0 after a
   finding. */
static int qnnrt_lower__ends(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op, int32_t axis,
                             const char *form, uint32_t bits, qnnrt_lower__end *inputs,
                             qnnrt_lower__end *outputs)
{
    const int moves = qnnrt_lower__listed(qnnrt_lower__movers, op->type) &&
                      qnnrt_lower__was_float(q, op->outputs[0]);
    const size_t letters = strlen(form);
    size_t i;
    for (i = 0; i < op->input_count + op->output_count; ++i) {
        const int out = i >= op->input_count;
        qnnrt_lower__end *end = out ? &outputs[i - op->input_count] : &inputs[i];
        const int32_t t = out ? op->outputs[i - op->input_count] : op->inputs[i];
        const qnnrt_lower_tensor *tensor = &q->graph->tensors[t];
        const int statics = tensor->kind == QNNRT_TENSOR_STATIC;
        const char letter = out || i >= letters || (statics && form[i] == 'o') ? 'a' : form[i];
        const uint32_t own = letter == '8' || letter == 'c' ? 8 : out || letter == 'o'
                                 ? qnnrt_lower__bits_of(q, t) : bits;
        memset(end, 0, sizeof(*end));
        end->tensor = t;
        end->dtype = tensor->dtype;
        end->quant = tensor->quant;
        if (!qnnrt_lower__was_float(q, t)) continue;
        end->dtype = qnnrt_lower__code_dtype(own);
        if (!statics) {
            const int32_t as = moves ? op->outputs[0] : t;     /* another one, if that is .apart */
            end->quant = qnnrt_lower__quant_of(q, as, own, letter == 'c' && bits == 16);
            if (!(end->quant.scale > 0)) return 0;
        } else if (letter == 'w' || letter == 'W' ||
                   (letter != 'a' && strcmp(op->type, "MatMul") == 0)) {
            const int32_t bias = op->input_count > 2 && letters > 2 && form[2] == 'b'
                                     ? op->inputs[2] : QNNRT_LOWER__NONE;
            end->dtype = QNNRT_DTYPE_S8Q;
            if (!qnnrt_lower__weigh(q, t, axis, letter == 'w' ? tensor->dims[axis] : 1, bias,
                                    inputs[0].quant.scale,
                                    letter == 'W' ? 8 : qnnrt_lower__weight_bits(q, op),
                                    &end->quant))
                return 0;
        } else if (letter == 'b') {
            end->dtype = QNNRT_DTYPE_S32Q;
            qnnrt_lower__bias(q, &inputs[0], &inputs[1], &end->quant);
        } else if (letter == 'i') {
            double low, high;
            end->dtype = QNNRT_DTYPE_S32Q;
            if (!qnnrt_lower__static_range(q, t, &low, &high, NULL)) return 0;
            if (-low > high) high = -low;
            end->quant = qnnrt_lower__per_tensor((float)((high > 1e-6 ? high : 1e-6) /
                                                         1073741824.0), 0);
        } else if (!qnnrt_lower__constant(q, op, i, own, &end->quant)) {
            return 0;
        }
        if (!statics) continue;
        end->tensor = qnnrt_lower__coded_of(q, t, end->dtype, &end->quant);
        if (end->tensor == QNNRT_LOWER__NONE) return 0;
    }
    return 1;
}

/* =====================================================================================
   QUANT                                                                          >>quant
   Graphs written anew, with quantized operators. One that the library refuses computes in floats,
   between Dequantize and Quantize.
   Needs: >>config >>params >>tensor >>operator >>graph >>encode >>propagate >>forms
   Knows nothing of: ATen operators, where to cut
   ===================================================================================== */

/* Return a new tensor with the dims of another one. */
static int32_t qnnrt_lower__twin(const qnnrt_lower__quantizer *q, int32_t of, qnnrt_dtype dtype)
{
    qnnrt_lower__job job = qnnrt_lower__job_of(q);
    return qnnrt_lower__tensor_as(&job, QNNRT_TENSOR_INNER, dtype, of);
}

/* Make a tensor a quantized one. */
static void qnnrt_lower__make_codes(const qnnrt_lower__quantizer *q, int32_t at, qnnrt_dtype dtype,
                                    const qnnrt_quant *quant)
{
    qnnrt_lower_tensor *tensor = &q->graph->tensors[at];
    tensor->dtype = dtype;
    tensor->bytes = tensor->count * qnnrt_lower__dtype_bytes(dtype);
    tensor->quant = *quant;
}

/* Add an operator with one input and one output. */
static void qnnrt_lower__convert_op(const qnnrt_lower__quantizer *q, const char *type, int32_t from,
                                    int32_t to)
{
    qnnrt_lower__job job = qnnrt_lower__job_of(q);
    if (from != QNNRT_LOWER__NONE && to != QNNRT_LOWER__NONE)
        qnnrt_lower__add(&job, type, &from, 1, &to, 1, NULL);
}

/* Return true if an app reads and writes it quantized. */
static int qnnrt_lower__is_native(const qnnrt_lower__quantizer *q)
{
    return q->lower->desc.native_io && q->lower->desc.io == NULL;
}

/* Return a tensor as floats, as it was before. */
static int32_t qnnrt_lower__plain_of(qnnrt_lower__quantizer *q, int32_t t)
{
    int32_t from;
    if (!qnnrt_lower__was_float(q, t) || q->graph->tensors[t].kind == QNNRT_TENSOR_STATIC) return t;
    if (q->plain[t] != QNNRT_LOWER__NONE) return q->plain[t];
    for (from = t; q->quantized[from] == QNNRT_LOWER__NONE && q->plain[from] == QNNRT_LOWER__NONE &&
                   q->alias[from] != QNNRT_LOWER__NONE;)
        from = q->alias[from];
    q->plain[t] = q->quantized[t] == t ? qnnrt_lower__twin(q, t, q->was[t]) : t;
    if (q->plain[from] != QNNRT_LOWER__NONE && from != t)
        qnnrt_lower__convert_op(q, "Cast", q->plain[from], q->plain[t]);
    else qnnrt_lower__convert_op(q, "Dequantize", q->quantized[from], q->plain[t]);
    return q->plain[t];
}

/* Return a tensor quantized to so many bits. */
static int32_t qnnrt_lower__round_of(qnnrt_lower__quantizer *q, int32_t t, const qnnrt_quant *quant,
                                     uint32_t bits)
{
    const qnnrt_dtype dtype = qnnrt_lower__code_dtype(bits);
    int32_t from = t, at;
    while (q->alias[from] != QNNRT_LOWER__NONE && q->quantized[from] == QNNRT_LOWER__NONE)
        from = q->alias[from];
    if (q->quantized[from] == QNNRT_LOWER__NONE) {
        qnnrt_quant own = qnnrt_lower__quant_of(q, from, qnnrt_lower__bits_of(q, from), 0);
        q->quantized[from] = at = qnnrt_lower__twin(q, from, qnnrt_lower__code_dtype(
                                                   qnnrt_lower__bits_of(q, from)));
        if (at == QNNRT_LOWER__NONE) return at;
        qnnrt_lower__make_codes(q, at, q->graph->tensors[at].dtype, &own);
        qnnrt_lower__convert_op(q, "Quantize", q->plain[from], at);
    }
    at = q->quantized[from];
    if (q->graph->tensors[at].dtype == dtype &&
        qnnrt_lower__quant_same(&q->graph->tensors[at].quant, quant))
        return at;
    if (q->bytes[from] != QNNRT_LOWER__NONE && q->graph->tensors[q->bytes[from]].dtype == dtype &&
        qnnrt_lower__quant_same(&q->graph->tensors[q->bytes[from]].quant, quant))
        return q->bytes[from];
    q->bytes[from] = qnnrt_lower__twin(q, from, dtype);
    if (q->bytes[from] == QNNRT_LOWER__NONE) return QNNRT_LOWER__NONE;
    qnnrt_lower__make_codes(q, q->bytes[from], dtype, quant);
    qnnrt_lower__convert_op(q, "Convert", at, q->bytes[from]);
    return q->bytes[from];
}

/* Add an operator with the parameters of another one. */
static qnnrt_lower_op *qnnrt_lower__add_as(const qnnrt_lower__quantizer *q,
                                           const qnnrt_lower_op *op, const int32_t *in,
                                           const int32_t *out)
{
    qnnrt_lower__params params = qnnrt_lower__params_none();
    qnnrt_lower__job job = qnnrt_lower__job_of(q);
    params.count = op->param_count;
    memcpy(params.list, op->params, op->param_count * sizeof(*op->params));
    return qnnrt_lower__add(&job, op->type, in, op->input_count, out, op->output_count, &params);
}

/* Add a quantized operator, if the library takes it in one of its forms. Return 0 if it does not,
   or after a finding; *why then says why not. */
static int qnnrt_lower__quant_op(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op,
                                 const char **why)
{
    const qnnrt_lower__form *form = qnnrt_lower__forms;
    qnnrt_lower__end inputs[QNNRT_LOWER__MOST_INPUTS], outputs[QNNRT_LOWER__MOST_INPUTS];
    int32_t in[QNNRT_LOWER__MOST_INPUTS], out[QNNRT_LOWER__MOST_INPUTS];
    uint32_t bits = 0;
    size_t i, k;
    *why = NULL;
    for (i = op->output_count; i-- > 0;)
        if (qnnrt_lower__was_float(q, op->outputs[i]))
            bits = qnnrt_lower__bits_of(q, op->outputs[i]);
    for (i = op->input_count; i-- > 0 && bits == 0;)
        if (qnnrt_lower__was_float(q, op->inputs[i]))
            bits = qnnrt_lower__bits_of(q, op->inputs[i]);
    while (form->type[0] != '\0' && strcmp(form->type, op->type) != 0) ++form;
    if (form->forms[0][1] == 'w' && op->input_count > 1 &&
        q->graph->tensors[op->inputs[1]].kind == QNNRT_TENSOR_STATIC &&
        qnnrt_lower__weight_bits(q, op) == 0) {
        *why = "its weight is kept in floating point";
        return 0;
    }
    for (k = 0; form->forms[k] != NULL; ++k) {
        if (!qnnrt_lower__ends(q, op, form->axis, form->forms[k], bits, inputs, outputs)) return 0;
        *why = qnnrt_lower__ask_codes(q, op, inputs, outputs);
        if (*why == NULL) break;
    }
    if (*why != NULL) return 0;
    for (i = 0; i < op->input_count; ++i) {
        in[i] = inputs[i].tensor;
        if (qnnrt_lower__was_float(q, op->inputs[i]) &&
            q->graph->tensors[op->inputs[i]].kind != QNNRT_TENSOR_STATIC)
            in[i] = qnnrt_lower__round_of(q, op->inputs[i], &inputs[i].quant,
                                          inputs[i].dtype == QNNRT_DTYPE_U8Q ? 8 : 16);
    }
    for (i = 0; i < op->output_count; ++i) {
        const int32_t t = op->outputs[i];
        const int outer = q->graph->tensors[t].kind == QNNRT_TENSOR_OUTPUT;
        out[i] = t;
        if (!qnnrt_lower__was_float(q, t)) continue;
        if (outer && !qnnrt_lower__is_native(q)) out[i] = qnnrt_lower__twin(q, t, outputs[i].dtype);
        if (out[i] == QNNRT_LOWER__NONE) return 0;
        qnnrt_lower__make_codes(q, out[i], outputs[i].dtype, &outputs[i].quant);
        q->quantized[t] = out[i];
    }
    qnnrt_lower__add_as(q, op, in, out);
    for (i = 0; i < op->output_count; ++i) {     /* an app reads floats */
        const int32_t t = op->outputs[i];
        if (out[i] == t) continue;
        qnnrt_lower__convert_op(q, "Dequantize", out[i], t);
        q->plain[t] = t;
    }
    return 1;
}

/* Add an operator that computes in floats. */
static void qnnrt_lower__float_op(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op,
                                  const char *why)
{
    int32_t in[QNNRT_LOWER__MOST_INPUTS], out[QNNRT_LOWER__MOST_INPUTS];
    qnnrt_lower_op *made;
    size_t i;
    for (i = 0; i < op->input_count; ++i) in[i] = qnnrt_lower__plain_of(q, op->inputs[i]);
    for (i = 0; i < op->output_count; ++i) {
        const int32_t t = op->outputs[i];
        out[i] = t;
        if (!qnnrt_lower__was_float(q, t)) continue;
        if (qnnrt_lower__is_native(q) && q->graph->tensors[t].kind == QNNRT_TENSOR_OUTPUT)
            out[i] = qnnrt_lower__twin(q, t, q->was[t]);
        q->plain[t] = out[i];
    }
    made = qnnrt_lower__add_as(q, op, in, out);
    if (made != NULL) made->in_float = why;
    for (i = 0; i < op->output_count; ++i) {     /* an app reads it quantized */
        const int32_t t = op->outputs[i];
        if (out[i] == t || out[i] == QNNRT_LOWER__NONE) continue;
        {
            const uint32_t bits = qnnrt_lower__bits_of(q, t);
            const qnnrt_quant quant = qnnrt_lower__quant_of(q, t, bits, 0);
            qnnrt_lower__make_codes(q, t, qnnrt_lower__code_dtype(bits), &quant);
            qnnrt_lower__convert_op(q, "Quantize", out[i], t);
            q->quantized[t] = t;
        }
    }
}

/* Write an operator anew. */
static void qnnrt_lower__rewrite_op(qnnrt_lower__quantizer *q, const qnnrt_lower_op *op)
{
    const int cast = strcmp(op->type, "Cast") == 0;
    const char *why = NULL;
    int floats = 0;
    size_t i;
    q->graph->node = op->node;
    q->graph->failed = 0;
    for (i = 0; i < op->input_count; ++i) floats |= qnnrt_lower__was_float(q, op->inputs[i]);
    for (i = 0; i < op->output_count; ++i) floats |= qnnrt_lower__was_float(q, op->outputs[i]);
    if (cast && qnnrt_lower__was_float(q, op->inputs[0]) &&
        qnnrt_lower__was_float(q, op->outputs[0]) &&
        q->graph->tensors[op->inputs[0]].kind != QNNRT_TENSOR_STATIC) {
        q->alias[op->outputs[0]] = op->inputs[0];
        if (q->graph->tensors[op->outputs[0]].kind == QNNRT_TENSOR_OUTPUT)
            qnnrt_lower__plain_of(q, op->outputs[0]);
        return;
    }
    if (floats && !cast && qnnrt_lower__quant_op(q, op, &why)) return;
    if (q->lower->arena.failed) return;
    qnnrt_lower__float_op(q, op, !floats ? NULL : cast ? "quantized values are not cast" : why);
}

/* Write a graph anew. */
static void qnnrt_lower__rewrite(qnnrt_lower__quantizer *q)
{
    qnnrt_lower *lower = q->lower;
    qnnrt_lower__graph *graph = q->graph;
    const qnnrt_lower_op *ops = graph->ops;
    const size_t op_count = graph->op_count, count = graph->tensor_count;
    qnnrt_graph_desc desc = lower->desc.graph;
    size_t i;
    q->count = count;
    q->was = (qnnrt_dtype *)qnnrt_arena_get(&lower->arena, count, sizeof(*q->was));
    q->plain = (int32_t *)qnnrt_arena_get(&lower->arena, count, sizeof(*q->plain));
    q->quantized = (int32_t *)qnnrt_arena_get(&lower->arena, count, sizeof(*q->quantized));
    q->bytes = (int32_t *)qnnrt_arena_get(&lower->arena, count, sizeof(*q->bytes));
    q->alias = (int32_t *)qnnrt_arena_get(&lower->arena, count, sizeof(*q->alias));
    q->coded = NULL;
    if (lower->arena.failed) return;
    desc.name = graph->info.name;
    qnnrt_builder_graph(q->builder, &desc);
    for (i = 1; i < count; ++i) {
        q->was[i] = graph->tensors[i].dtype;
        if (!graph->tensors[i].used || graph->tensors[i].kind != QNNRT_TENSOR_INPUT ||
            !qnnrt_lower__is_float(q->was[i]))
            continue;
        if (qnnrt_lower__is_native(q)) {
            const uint32_t bits = qnnrt_lower__bits_of(q, (int32_t)i);
            qnnrt_quant quant;
            graph->node = NULL;
            graph->failed = 0;
            quant = qnnrt_lower__quant_of(q, (int32_t)i, bits, 0);
            qnnrt_lower__make_codes(q, (int32_t)i, qnnrt_lower__code_dtype(bits), &quant);
            q->quantized[i] = (int32_t)i;
        } else {
            q->plain[i] = (int32_t)i;
        }
    }
    graph->ops = NULL;
    graph->op_next = NULL;
    graph->op_count = graph->op_room = 0;
    for (i = 0; i < op_count && !lower->arena.failed; ++i)
        if (ops[i].used) qnnrt_lower__rewrite_op(q, &ops[i]);
    if (lower->arena.failed) return;
    memset(graph->op_hash, 0, QNNRT_LOWER__HASH * sizeof(*graph->op_hash));
    qnnrt_lower__mark(lower, graph, count);
}

/* Quantize all graphs. */
static qnnrt_result qnnrt_lower__quantize(qnnrt_lower *lower, qnnrt_builder *scratch,
                                          qnnrt_error *err)
{
    const size_t first = lower->finding_count;
    qnnrt_lower__quantizer q;
    qnnrt_result result;
    size_t i;
    memset(&q, 0, sizeof(q));
    q.lower = lower;
    q.builder = scratch;
    result = qnnrt_lower__check_given(lower, err);
    if (result != QNNRT_OK) return result;
    if (!qnnrt_lower__begin(&q)) return qnnrt_lower__fail_memory(err);
    result = qnnrt_lower__unmet(&q, err);
    if (result == QNNRT_OK) result = qnnrt_lower__join_same(&q, err);
    if (result != QNNRT_OK) return result;
    for (q.graph = lower->first; q.graph != NULL; q.graph = q.graph->next)
        qnnrt_lower__cover_given(&q);
    for (q.graph = lower->first; q.graph != NULL; q.graph = q.graph->next)
        for (i = 0; i < q.graph->op_count; ++i)
            if (q.graph->ops[i].used) qnnrt_lower__cover_op(&q, &q.graph->ops[i]);
    for (q.graph = lower->first; q.graph != NULL; q.graph = q.graph->next)
        for (i = 0; i < q.graph->op_count; ++i)
            if (q.graph->ops[i].used) qnnrt_lower__cover_masks(&q, &q.graph->ops[i]);
    qnnrt_builder_context(scratch, &lower->desc.context);
    for (q.graph = lower->first; q.graph != NULL && lower->finding_count == first;
         q.graph = q.graph->next)
        qnnrt_lower__rewrite(&q);
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    lower->quantized = 1;
    if (lower->finding_count != first) {
        qnnrt_lower__findings(lower, first, "tensors cannot be quantized:",
                              lower->first->info.name, err);
        if (err != NULL) err->code = QNNRT_E_NOT_FOUND;
        return QNNRT_E_NOT_FOUND;
    }
    return qnnrt_lower__builder_error(scratch, err);
}

/* =====================================================================================
   CUT                                                                              >>cut
   Graphs in several contexts: each operator gets the number of one. Weights that several graphs
   read are in the same context for all of them.
   Needs: >>config >>arena >>tensor >>operator     Knows nothing of: builders, values
   ===================================================================================== */

/* Return the bytes of static tensors that an operator reads and that no earlier one did. */
static uint64_t qnnrt_lower__cut_bytes(const qnnrt_lower__graph *graph, const qnnrt_lower_op *op,
                                       char *seen)
{
    uint64_t bytes = 0;
    size_t k;
    for (k = 0; k < op->input_count; ++k) {
        const qnnrt_lower_tensor *tensor = &graph->tensors[op->inputs[k]];
        if (tensor->kind != QNNRT_TENSOR_STATIC || seen[op->inputs[k]]) continue;
        seen[op->inputs[k]] = 1;
        bytes += tensor->bytes;
    }
    return bytes;
}

/* Choose after which operators the first graph is cut: near equal shares of the bytes of weights,
   where the fewest bytes are on their way. ends[count - 1] receives positions. */
static void qnnrt_lower__cut_places(qnnrt_lower *lower, const qnnrt_lower__graph *graph,
                                    uint32_t count, size_t *ends)
{
    char *seen = (char *)qnnrt_arena_get(&lower->arena, graph->tensor_count, 1);
    uint64_t *sum = (uint64_t *)qnnrt_arena_get(&lower->arena, graph->op_count, sizeof(*sum));
    int64_t *live = (int64_t *)qnnrt_arena_get(&lower->arena, graph->op_count + 1, sizeof(*live));
    size_t *last = (size_t *)qnnrt_arena_get(&lower->arena, graph->tensor_count, sizeof(*last));
    uint64_t total = 0;
    size_t i, k, at = 0;
    uint32_t part;
    if (lower->arena.failed) return;
    for (i = 0; i < graph->op_count; ++i) {
        const qnnrt_lower_op *op = &graph->ops[i];
        if (op->used) total += qnnrt_lower__cut_bytes(graph, op, seen);
        sum[i] = total;
        for (k = 0; k < op->input_count && op->used; ++k) last[op->inputs[k]] = i;
    }
    for (i = 1; i < graph->tensor_count; ++i)                /* bytes that cross each position */
        if (graph->tensors[i].used && graph->tensors[i].op >= 0 &&
            last[i] > (size_t)graph->tensors[i].op) {
            live[graph->tensors[i].op] += (int64_t)graph->tensors[i].bytes;
            live[last[i]] -= (int64_t)graph->tensors[i].bytes;
        }
    for (i = 1; i < graph->op_count; ++i) live[i] += live[i - 1];
    for (part = 1; part < count; ++part) {
        const uint64_t share = total / count, want = share * part;
        size_t best = graph->op_count;
        for (i = at; i + 1 < graph->op_count; ++i) {
            if (!graph->ops[i].used || sum[i] + share / 5 < want) continue;
            if (best != graph->op_count && sum[i] > want + share / 5) break;
            if (live[i] > 0 && (best == graph->op_count || live[i] < live[best])) best = i;
        }
        ends[part - 1] = best;
        if (best < graph->op_count) at = best + 1;
    }
}

/* Remember in which context the first graph reads a weight; a later graph reads it there, unless
   that is too early. Return the context of the operator. */
static uint32_t qnnrt_lower__cut_weight(qnnrt_lower *lower, const qnnrt_weight *weight,
                                        uint32_t context, int first)
{
    const size_t hash = ((size_t)(uintptr_t)weight / sizeof(*weight)) % QNNRT_LOWER__HASH;
    qnnrt_lower__home *home;
    if (lower->homes == NULL)
        lower->homes = (qnnrt_lower__home **)qnnrt_arena_get(&lower->arena, QNNRT_LOWER__HASH,
                                                             sizeof(*lower->homes));
    if (lower->homes == NULL) return context;
    for (home = lower->homes[hash]; home != NULL && home->weight != weight; home = home->next) {}
    if (home != NULL) return !first && home->context > context ? home->context : context;
    home = (qnnrt_lower__home *)qnnrt_arena_get(&lower->arena, 1, sizeof(*home));
    if (home == NULL) return context;
    home->weight = weight;
    home->context = context;
    home->next = lower->homes[hash];
    lower->homes[hash] = home;
    return context;
}

/* Mark contexts of a graph that read nothing of the one before: a pipeline needs an edge there.
   filled: is set for contexts that have operators. */
static void qnnrt_lower__cut_check(const qnnrt_lower__graph *graph, uint32_t count, char *apart,
                                   char *filled)
{
    uint32_t context, before = 0;
    size_t i, k;
    for (context = 0; context < count; ++context) {
        int there = 0, joined = 0;
        for (i = 0; i < graph->op_count; ++i) {
            const qnnrt_lower_op *op = &graph->ops[i];
            if (!op->used || op->context != context) continue;
            there = 1;
            for (k = 0; k < op->input_count; ++k)
                joined |= graph->tensors[op->inputs[k]].op >= 0 &&
                          graph->tensors[op->inputs[k]].context == before;
        }
        if (!there) continue;
        filled[context] = 1;
        if (context > before && !joined) apart[context] = 1;
        before = context;
    }
}

/* Join contexts that are apart with the one before, and number the others again. */
static void qnnrt_lower__cut_join(qnnrt_lower *lower, const char *apart)
{
    uint32_t *now = (uint32_t *)qnnrt_arena_get(&lower->arena, lower->info.contexts, sizeof(*now));
    qnnrt_lower__graph *graph;
    uint32_t i;
    size_t k;
    if (now == NULL) return;
    for (i = 1; i < lower->info.contexts; ++i) now[i] = now[i - 1] + (uint32_t)!apart[i];
    lower->info.contexts = now[lower->info.contexts - 1] + 1;
    for (graph = lower->first; graph != NULL; graph = graph->next) {
        for (k = 0; k < graph->op_count; ++k)
            graph->ops[k].context = now[graph->ops[k].context];
        for (k = 0; k < graph->tensor_count; ++k) {
            graph->tensors[k].context = now[graph->tensors[k].context];
            graph->tensors[k].last = now[graph->tensors[k].last];
        }
    }
}

/* Copy outputs that a later context reads: in a pipeline they would be edges, not outputs. */
static void qnnrt_lower__cut_outputs(qnnrt_lower *lower, qnnrt_lower__graph *graph)
{
    const qnnrt_ir *ir = graph->info.ir;
    qnnrt_lower__job job;
    size_t i;
    job.lower = lower;
    job.graph = graph;
    job.node = graph->node = NULL;
    for (i = 0; i < ir->output_count && !lower->arena.failed; ++i) {
        const int32_t from = graph->outputs[i];
        qnnrt_lower_tensor *tensor = &graph->tensors[from];
        qnnrt_lower_op *op;
        int32_t to;
        if (from == QNNRT_LOWER__NONE || tensor->last <= tensor->context) continue;
        to = qnnrt_lower__tensor_as(&job, QNNRT_TENSOR_OUTPUT, tensor->dtype, from);
        op = to != QNNRT_LOWER__NONE
                 ? qnnrt_lower__add(&job, "Reshape", &from, 1, &to, 1, NULL) : NULL;
        if (op == NULL) return;
        tensor = &graph->tensors[from];                  /* the array may have moved */
        op->used = graph->tensors[to].used = 1;
        op->context = graph->tensors[to].context = graph->tensors[to].last = tensor->context;
        tensor->kind = QNNRT_TENSOR_INNER;
        tensor->name = qnnrt_lower__text(lower, "%.200s.%ld", tensor->name, (long)from);
        graph->outputs[i] = to;
        graph->info.used_ops += 1;
    }
}

/* Let operators that depend on inputs of the graph alone, and read no weight, belong to the first
   context that reads their result, so that fewer tensors cross. */
static void qnnrt_lower__cut_late(qnnrt_lower *lower, qnnrt_lower__graph *graph)
{
    char *fixed = (char *)qnnrt_arena_get(&lower->arena, graph->op_count, 1);
    uint32_t *first = (uint32_t *)qnnrt_arena_get(&lower->arena,
                                                  graph->tensor_count, sizeof(*first));
    size_t i, k;
    if (lower->arena.failed) return;
    memset(first, 0xFF, graph->tensor_count * sizeof(*first));
    for (i = 0; i < graph->op_count; ++i) {
        const qnnrt_lower_op *op = &graph->ops[i];
        for (k = 0; k < op->input_count; ++k) {
            const qnnrt_lower_tensor *tensor = &graph->tensors[op->inputs[k]];
            if (tensor->kind == QNNRT_TENSOR_STATIC && graph->bodies[op->inputs[k]].source != NULL)
                fixed[i] = 1;
            if (tensor->op >= 0 && fixed[tensor->op]) fixed[i] = 1;
        }
        for (k = 0; k < op->output_count; ++k)
            if (graph->tensors[op->outputs[k]].kind == QNNRT_TENSOR_OUTPUT) fixed[i] = 1;
    }
    for (i = graph->op_count; i-- > 0;) {
        qnnrt_lower_op *op = &graph->ops[i];
        uint32_t context = UINT32_MAX;
        if (!op->used) continue;
        for (k = 0; k < op->output_count; ++k)
            if (first[op->outputs[k]] < context) context = first[op->outputs[k]];
        if (!fixed[i] && context != UINT32_MAX && context > op->context) op->context = context;
        for (k = 0; k < op->input_count; ++k)
            if (op->context < first[op->inputs[k]]) first[op->inputs[k]] = op->context;
    }
}

/* Give all operators of each graph the context that it was put into. */
static void qnnrt_lower__cut_placed(qnnrt_lower *lower)
{
    qnnrt_lower__graph *graph;
    size_t i;
    lower->info.contexts = 1;
    for (graph = lower->first; graph != NULL; graph = graph->next) {
        const uint32_t context = graph->place != 0 ? graph->place - 1 : 0;
        if (context >= lower->info.contexts) lower->info.contexts = context + 1;
        for (i = 0; i < graph->op_count; ++i) graph->ops[i].context = context;
        for (i = 0; i < graph->tensor_count; ++i)
            graph->tensors[i].context = graph->tensors[i].last = context;
    }
}

/* Number the contexts of all operators, and of the tensors that they write. */
static void qnnrt_lower__cut_all(qnnrt_lower *lower, uint32_t count)
{
    size_t *ends = (size_t *)qnnrt_arena_get(&lower->arena, count, sizeof(*ends));
    qnnrt_lower__graph *graph;
    size_t i, k;
    if (lower->arena.failed) return;
    if (lower->place != 0) {
        qnnrt_lower__cut_placed(lower);
        return;
    }
    if (count > 1) qnnrt_lower__cut_places(lower, lower->first, count, ends);
    lower->info.contexts = 1;
    for (graph = lower->first; graph != NULL; graph = graph->next)
        for (i = 0; i < graph->op_count; ++i) {
            qnnrt_lower_op *op = &graph->ops[i];
            uint32_t context = 0, at = 0;
            if (!op->used) continue;
            while (graph == lower->first && at + 1 < count && i > ends[at]) ++at;
            context = at;
            for (k = 0; k < op->input_count; ++k) {          /* after all that it reads */
                const qnnrt_lower_tensor *tensor = &graph->tensors[op->inputs[k]];
                qnnrt_lower__record *record = tensor->value != NULL
                    ? (qnnrt_lower__record *)tensor->value->note : NULL;
                if (tensor->context > context) context = tensor->context;
                if (tensor->kind != QNNRT_TENSOR_STATIC || record == NULL ||
                    record->weight == NULL || record->weight == &record->own)
                    continue;
                context = qnnrt_lower__cut_weight(lower, record->weight, context,
                                                  graph == lower->first);
            }
            op->context = context;
            if (context >= lower->info.contexts) lower->info.contexts = context + 1;
            for (k = 0; k < op->output_count; ++k)
                graph->tensors[op->outputs[k]].context = context;
        }
    for (graph = lower->first; graph != NULL && lower->info.contexts > 1; graph = graph->next)
        qnnrt_lower__cut_late(lower, graph);
    for (graph = lower->first; graph != NULL; graph = graph->next)
        for (i = 0; i < graph->op_count; ++i) {
            const qnnrt_lower_op *op = &graph->ops[i];
            for (k = 0; k < op->output_count && op->used; ++k)
                graph->tensors[op->outputs[k]].context = op->context;
            for (k = 0; k < op->input_count && op->used; ++k) {
                qnnrt_lower_tensor *tensor = &graph->tensors[op->inputs[k]];
                if (tensor->last < op->context) tensor->last = op->context;
            }
        }
    for (graph = lower->first; graph != NULL && lower->info.contexts > 1; graph = graph->next)
        qnnrt_lower__cut_outputs(lower, graph);
    for (;;) {
        char *apart = (char *)qnnrt_arena_get(&lower->arena, lower->info.contexts, 1);
        char *filled = (char *)qnnrt_arena_get(&lower->arena, lower->info.contexts, 1);
        const uint32_t was = lower->info.contexts;
        if (lower->arena.failed) return;
        for (graph = lower->first; graph != NULL; graph = graph->next)
            qnnrt_lower__cut_check(graph, was, apart, filled);
        for (i = 0; i < was && was > 1; ++i) if (!filled[i]) apart[i > 0 ? i : 1] = 1;
        qnnrt_lower__cut_join(lower, apart);
        if (lower->arena.failed || lower->info.contexts == was) return;
    }
}

/* =====================================================================================
   EMIT                                                                            >>emit
   Lowered graphs in a builder.
   Needs: >>config >>arena >>tensor >>round >>graph
   Knows nothing of: the IR's operators, where to cut
   ===================================================================================== */

/* The builder asks for the elements of a static tensor. */
typedef struct qnnrt_lower__demand {
    qnnrt_lower *lower;
    qnnrt_lower__graph *graph;
    int32_t tensor;
} qnnrt_lower__demand;

static qnnrt_result qnnrt_lower__on_load(void *user, void *data, size_t bytes, qnnrt_error *err)
{
    const qnnrt_lower__demand *demand = (const qnnrt_lower__demand *)user;
    return qnnrt_lower__round_load(demand->lower, &demand->graph->tensors[demand->tensor],
                                   &demand->graph->bodies[demand->tensor], data, bytes, err);
}

/* Write the elements of a tensor that is 0 until it is updated. */
static qnnrt_result qnnrt_lower__on_zero(void *user, void *data, size_t bytes, qnnrt_error *err)
{
    (void)user;
    (void)err;
    memset(data, 0, bytes);
    return QNNRT_OK;
}

/* A graph while it is added to a context: what stands for its tensors there. */
typedef struct qnnrt_lower__part {
    qnnrt_lower        *lower;
    qnnrt_lower__graph *graph;
    qnnrt_builder      *builder;
    uint32_t            context;
    qnnrt_tensor       *handles;     /* [tensor_count] */
    qnnrt_tensor_desc  *descs;       /* [tensor_count] */
} qnnrt_lower__part;

/* Add a tensor to the builder's graph, unless it is there. */
static void qnnrt_lower__emit_tensor(qnnrt_lower__part *part, int32_t at)
{
    const qnnrt_lower_tensor *tensor = &part->graph->tensors[at];
    const qnnrt_lower__body *body = &part->graph->bodies[at];
    qnnrt_tensor_desc *desc = &part->descs[at];
    if (at == QNNRT_LOWER__NONE || part->handles[at] != QNNRT_NO_TENSOR) return;
    qnnrt_lower__describe(tensor, desc);
    if (tensor->op >= 0 && tensor->context != part->context) desc->kind = QNNRT_TENSOR_INPUT;
    else if (tensor->kind == QNNRT_TENSOR_INNER && tensor->last > part->context)
        desc->kind = QNNRT_TENSOR_OUTPUT;                    /* a later context reads it */
    if (tensor->kind == QNNRT_TENSOR_INPUT && tensor->value != NULL &&
        qnnrt_lower__is_updateable(part->lower, tensor->value)) {
        desc->kind = QNNRT_TENSOR_UPDATEABLE;
        desc->bytes = (size_t)tensor->bytes;
        desc->load = qnnrt_lower__on_zero;
    }
    if (tensor->kind == QNNRT_TENSOR_STATIC) {
        desc->bytes = (size_t)tensor->bytes;
        desc->data = body->data;
        desc->borrow = body->data != NULL;
    }
    if (tensor->kind == QNNRT_TENSOR_STATIC && body->data == NULL) {
        qnnrt_lower__demand *demand =
            (qnnrt_lower__demand *)qnnrt_arena_get(&part->lower->arena, 1, sizeof(*demand));
        if (demand == NULL) return;
        demand->lower = part->lower;
        demand->graph = part->graph;
        demand->tensor = at;
        desc->load = qnnrt_lower__on_load;
        desc->load_user = demand;
    }
    part->handles[at] = qnnrt_builder_tensor(part->builder, desc);
}

/* Ask the library and the table of known errors about an operator; add a finding if one refuses.
   ask 0: only whether it is known to end the process. */
static void qnnrt_lower__ask(const qnnrt_lower__part *part, const qnnrt_lower_op *op,
                             const qnnrt_node_desc *node, int ask)
{
    const qnnrt_tensor_desc *inputs[QNNRT_LOWER__MOST_INPUTS], *output;
    const qnnrt_quirk *known = NULL;
    qnnrt_quirk_node facts;
    qnnrt_error err;
    size_t i;
    for (i = 0; i < op->input_count; ++i)
        inputs[i] = op->inputs[i] != QNNRT_LOWER__NONE ? &part->descs[op->inputs[i]] : NULL;
    output = &part->descs[op->outputs[0]];
    facts.type = op->type;
    facts.inputs = inputs;
    facts.input_count = op->input_count;
    facts.outputs = &output;
    facts.output_count = 1;
    facts.params = op->params;
    facts.param_count = op->param_count;
    part->graph->node = op->node;
    part->graph->failed = 0;
    if (op->package == NULL)
        known = qnnrt_lower__quirk(part->lower, &facts, qnnrt_quirk_crash);
    if (known != NULL) {
        qnnrt_lower__refuse(part->graph, known->instead,
                            "%s is known to end the process here: %s", op->type, known->why);
        return;
    }
    if (!ask) return;
    if (op->package == NULL)
        known = qnnrt_lower__quirk(part->lower, &facts, qnnrt_quirk_find);
    if (known != NULL && known->what != QNNRT_QUIRK_VALUES)
        qnnrt_lower__refuse(part->graph, known->instead,
                            "%s is known to be wrong here: %s", op->type, known->why);
    else if (qnnrt_builder_supports(part->builder, node, &err) == QNNRT_E_UNSUPPORTED)
        qnnrt_lower__refuse(part->graph, err.hint[0] != '\0'
                            ? qnnrt_lower__text(part->lower, "%s", err.hint) : NULL, "%s",
                            err.text);
}

/* Add the part of a graph that belongs to a context; ask: no nodes. */
static void qnnrt_lower__emit_part(qnnrt_lower *lower, qnnrt_lower__graph *graph, uint32_t context,
                                   qnnrt_builder *builder, int ask)
{
    qnnrt_lower__part part;
    qnnrt_graph_desc desc = lower->desc.graph;
    char *reads;                         /* [tensor_count]: an operator of this context reads it */
    size_t i, k, count = 0;
    desc.exact_activations = !lower->quantized && !lower->desc.fast_activations;
    for (i = 0; i < graph->op_count; ++i)
        count += graph->ops[i].used && graph->ops[i].context == context;
    if (count == 0) return;
    reads = (char *)qnnrt_arena_get(&lower->arena, graph->tensor_count, 1);
    part.lower = lower;
    part.graph = graph;
    part.builder = builder;
    part.context = context;
    part.handles = (qnnrt_tensor *)qnnrt_arena_get(&lower->arena, graph->tensor_count,
                                                   sizeof(*part.handles));
    part.descs = (qnnrt_tensor_desc *)qnnrt_arena_get(&lower->arena, graph->tensor_count,
                                                      sizeof(*part.descs));
    if (lower->arena.failed) return;
    desc.name = graph->info.name;
    qnnrt_builder_graph(builder, &desc);
    /* Inputs and outputs in the order of the graph, then what crosses, then the others. */
    for (i = 0; i < graph->op_count; ++i)
        for (k = 0; k < graph->ops[i].input_count; ++k)
            if (graph->ops[i].used && graph->ops[i].context == context)
                reads[graph->ops[i].inputs[k]] = 1;
    for (i = 0; i < graph->info.ir->input_count; ++i)
        if (reads[graph->inputs[i]]) qnnrt_lower__emit_tensor(&part, graph->inputs[i]);
    for (i = 0; i < graph->info.ir->output_count; ++i)
        if (graph->tensors[graph->outputs[i]].context == context)
            qnnrt_lower__emit_tensor(&part, graph->outputs[i]);
    for (i = 0; i < graph->op_count && !lower->arena.failed; ++i) {
        const qnnrt_lower_op *op = &graph->ops[i];
        qnnrt_tensor inputs[QNNRT_LOWER__MOST_INPUTS], outputs[QNNRT_LOWER__MOST_INPUTS];
        qnnrt_node_desc node;
        if (!op->used || op->context != context) continue;
        for (k = 0; k < op->input_count; ++k) {
            qnnrt_lower__emit_tensor(&part, op->inputs[k]);
            inputs[k] = part.handles[op->inputs[k]];
        }
        for (k = 0; k < op->output_count; ++k) {
            qnnrt_lower__emit_tensor(&part, op->outputs[k]);
            outputs[k] = part.handles[op->outputs[k]];
        }
        memset(&node, 0, sizeof(node));
        node.name = op->name;
        node.package = op->package;
        node.type = op->type;
        node.inputs = inputs;
        node.input_count = op->input_count;
        node.outputs = outputs;
        node.output_count = op->output_count;
        node.params = op->params;
        node.param_count = op->param_count;
        qnnrt_lower__ask(&part, op, &node, ask || !lower->desc.no_ask);
        if (!ask) qnnrt_builder_node(builder, &node);
    }
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Public functions.
   Needs: >>config >>arena >>tensor >>static >>table >>range >>digits >>round >>weight_only >>graph
          >>quant >>cut >>emit
   Knows nothing of: operators
   ===================================================================================== */

QNNRT_LOWER_API qnnrt_lower_target qnnrt_lower_target_of(const qnnrt_backend_info *backend)
{
    if (backend == NULL) return QNNRT_LOWER_REF;
    return backend->id == 6 ? QNNRT_LOWER_HTP : backend->id == 3 ? QNNRT_LOWER_CPU
                                                                  : QNNRT_LOWER_REF;
}

/* Check a description. */
static qnnrt_result qnnrt_lower__check_desc(const qnnrt_lower_desc *d, qnnrt_error *err)
{
    const char *why = NULL;
    size_t i;
    if ((d->hooks.alloc == NULL) != (d->hooks.free == NULL)) why = "hooks need alloc and free";
    else if (d->compute != (qnnrt_dtype)0 && d->compute != QNNRT_DTYPE_F16 &&
             d->compute != QNNRT_DTYPE_F32) why = "compute is neither float16 nor float32";
    else if ((d->encodings == NULL && d->encoding_count > 0) ||
             (d->same == NULL && d->same_count > 0) || (d->custom == NULL && d->custom_count > 0))
        why = "encodings, same or custom is NULL, and its count is not 0";
    if (why != NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: %s", why);
    for (i = 0; i < d->same_count; ++i)
        if (d->same[i].names[0] == NULL || d->same[i].names[1] == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: pair %lu of same has no "
                                   "two names", (unsigned long)i);
    for (i = 0; i < d->custom_count; ++i) {
        const qnnrt_lower_custom *row = &d->custom[i];
        size_t k;
        if (row->op == NULL || row->package == NULL || row->type == NULL ||
            (row->params == NULL && row->param_count > 0))
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: operator %lu of custom "
                                   "has no op, package, type or params", (unsigned long)i);
        for (k = 0; k < row->param_count; ++k)
            if (row->params[k].name == NULL)
                return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: a parameter of "
                                       "\"%.200s\" has no name", row->type);
    }
    if (d->weight_bits != 0 && d->weight_bits != 8 && d->weight_bits != 4)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: weight_bits is %lu, not 0, 8 "
                               "or 4", (unsigned long)d->weight_bits);
    if (d->act_bits != 0 && d->act_bits != 8 && d->act_bits != 16)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: act_bits is %lu, not 0, 8 or "
                               "16", (unsigned long)d->act_bits);
    if (d->act_bits != 0 && (d->weight_block != 0 || d->weight_emulate))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: %s is for float activations, "
                               "and act_bits is %lu", d->weight_block != 0 ? "weight_block" :
                               "weight_emulate", (unsigned long)d->act_bits);
    if (d->act_bits != 0 && d->target == QNNRT_LOWER_CPU) {
        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "libQnnCpu.so cannot be trusted with quantized "
                        "activations: results are wrong from the second execution on, and it "
                        "crashes when it opens a binary with a quantized Conv2d");
        qnnrt_error_hint(err, QNNRT_OK, "Compile for the CPU with float activations.");
        return QNNRT_E_UNSUPPORTED;
    }
    if ((unsigned)d->target > (unsigned)QNNRT_LOWER_HTP)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: target is %d",
                               (int)d->target);
    return QNNRT_OK;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_create(const qnnrt_lower_desc *desc, qnnrt_lower **out,
                                                qnnrt_error *err)
{
    qnnrt_lower_desc none;
    const qnnrt_lower_desc *d = desc != NULL ? desc : &none;
    qnnrt_lower *lower;
    qnnrt_result result;
    memset(&none, 0, sizeof(none));
    if (out == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_create: out is NULL");
    *out = NULL;
    result = qnnrt_lower__check_desc(d, err);
    if (result != QNNRT_OK) return result;
    lower = (qnnrt_lower *)qnnrt_hooks_alloc(&d->hooks, 1, sizeof(*lower));
    if (lower == NULL) return qnnrt_lower__fail_memory(err);
    lower->desc = *d;
    lower->arena.hooks = lower->scratch.hooks = d->hooks;
    lower->arena.chunk = 65536;
    lower->desc.context.name = lower->desc.graph.name = NULL;
    lower->compute = d->compute != (qnnrt_dtype)0 ? d->compute
                     : d->target == QNNRT_LOWER_HTP ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
    if (lower->desc.positions == 0) lower->desc.positions = 4096;
    lower->last = &lower->first;
    lower->weight_only_last = &lower->weight_only;
    if (d->build_id != NULL) {
        lower->desc.build_id = (const char *)qnnrt_lower__copy(lower, d->build_id,
                                                               strlen(d->build_id) + 1);
        if (lower->arena.failed) {
            qnnrt_lower_free(lower);
            return qnnrt_lower__fail_memory(err);
        }
    }
    *out = lower;
    return qnnrt_error_clear(err);
}

QNNRT_LOWER_API void qnnrt_lower_free(qnnrt_lower *lower)
{
    qnnrt_hooks hooks;
    if (lower == NULL) return;
    qnnrt_arena_free(&lower->arena);
    qnnrt_arena_free(&lower->scratch);
    hooks = lower->desc.hooks;
    qnnrt_hooks_free(&hooks, lower);
}

/* Return true if the dims of a weight in a file are those of the graph. */
static int qnnrt_lower__weight_fits(const qnnrt_weight *weight, const qnnrt_ir_value *value)
{
    uint32_t i;
    if (weight->rank != value->rank) return 0;
    for (i = 0; i < value->rank && weight->dims[i] == (uint64_t)value->dims[i]; ++i) {}
    return i == value->rank;
}

/* Return true for the frequencies of rotary embeddings. */
static int qnnrt_lower__is_frequencies(const qnnrt_ir_value *value)
{
    const size_t length = strlen(value->key);
    return value->rank == 1 && length >= 8 && strcmp(value->key + length - 8, "inv_freq") == 0 &&
           value->dtype == QNNRT_DTYPE_F32;
}

/* Compute the frequencies of rotary embeddings: base ^ (-2 i / D) for D / 2 values. */
static int qnnrt_lower__frequencies(qnnrt_lower *lower, qnnrt_ir_value *value,
                                    qnnrt_lower__record *record)
{
    float *data;
    uint64_t i;
    if (lower->desc.rope_base <= 0 || !qnnrt_lower__is_frequencies(value)) return 0;
    data = (float *)qnnrt_arena_get(&lower->arena, value->count, sizeof(float));
    if (data == NULL) return 1;
    for (i = 0; i < value->count; ++i)
        data[i] = (float)pow(lower->desc.rope_base, -(double)i / (double)value->count);
    qnnrt_lower__as_weight(&record->own, QNNRT_DTYPE_F32, value->count, data);
    record->own.name = value->name;
    record->weight = &record->own;
    value->data = data;
    return 1;
}

/* Copy frequencies out of the file, for the pass that makes tables of them. */
static void qnnrt_lower__take_frequencies(qnnrt_lower *lower, qnnrt_ir_value *value,
                                          const qnnrt_weight *weight)
{
    const size_t bytes = (size_t)value->count * sizeof(float);
    void *data = qnnrt_arena_get(&lower->arena, value->count, sizeof(float));
    if (data != NULL &&
        qnnrt_weights_convert(weight, QNNRT_DTYPE_F32, data, bytes, NULL, NULL) == QNNRT_OK)
        value->data = data;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_weights(qnnrt_lower *lower, qnnrt_ir *ir,
                                                 const qnnrt_weights *weights, qnnrt_error *err)
{
    size_t i, missing = 0, wrong = 0, angles = 0, more = 0;
    qnnrt_error_clear(err);
    if (lower == NULL || ir == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_weights: lower or ir is NULL");
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        qnnrt_lower__record *record;
        const qnnrt_weight *weight;
        if (value->origin != QNNRT_IR_WEIGHT || value->users == 0 || value->count == 0 ||
            value->data != NULL)
            continue;
        record = qnnrt_lower__record_of(lower, value);
        if (record == NULL) return qnnrt_lower__fail_memory(err);
        weight = weights != NULL ? qnnrt_weights_match(weights, value->key) : NULL;
        if (weight != NULL && qnnrt_lower__weight_fits(weight, value)) {
            record->weight = weight;
            record->file = weights;
            if (qnnrt_lower__is_frequencies(value))
                qnnrt_lower__take_frequencies(lower, value, weight);
            continue;
        }
        if (weight == NULL && qnnrt_lower__frequencies(lower, value, record)) continue;
        missing += weight == NULL;
        wrong += weight != NULL;
        angles += weight == NULL && strlen(value->key) >= 8 &&
                  strcmp(value->key + strlen(value->key) - 8, "inv_freq") == 0;
        if (err == NULL || strlen(err->text) > 1300) { more += 1; continue; }
        qnnrt_error_add(err, "\n  \"%.200s\" ", value->key);
        if (weight != NULL) {
            int64_t dims[QNNRT_LOWER__RANK];
            uint32_t k;
            for (k = 0; k < weight->rank; ++k) dims[k] = (int64_t)weight->dims[k];
            qnnrt_error_add(err, "is ");
            qnnrt_lower__add_shape(err, weight->rank, dims);
            qnnrt_error_add(err, ", expected ");
        }
        qnnrt_lower__add_shape(err, value->rank, value->dims);
        if (weight == NULL) qnnrt_error_add(err, " is missing");
    }
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    if (missing + wrong == 0) return qnnrt_error_clear(err);
    if (more != 0) qnnrt_error_add(err, "\n  and %lu more", (unsigned long)more);
    qnnrt_error_about(err, missing != 0 ? QNNRT_E_NOT_FOUND : QNNRT_E_MISMATCH,
                      "%lu weights of the graph are missing, %lu have another shape:",
                      (unsigned long)missing, (unsigned long)wrong);
    qnnrt_error_hint(err, QNNRT_OK, "%s", missing == angles && wrong == 0 ? "Export the model with "
                     "qnnrt.export(), which stores every buffer; or, if config.json has no "
                     "rope_scaling, give its rope_theta (rope_base, --rope_base)."
                     : "Export the model with qnnrt.export(), which stores all weights and "
                     "buffers, or give the checkpoint of this export.");
    return missing != 0 ? QNNRT_E_NOT_FOUND : QNNRT_E_MISMATCH;
}

QNNRT_LOWER_API const qnnrt_weight *qnnrt_lower_weight_of(const qnnrt_ir_value *value)
{
    return value != NULL && value->note != NULL
           ? ((const qnnrt_lower__record *)value->note)->weight : NULL;
}

/* Let passes read the weights where the file has them, if it has them in the type of the graph. */
static void qnnrt_lower__lend(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        const qnnrt_lower__record *record = (const qnnrt_lower__record *)value->note;
        if (value->origin == QNNRT_IR_WEIGHT && value->data == NULL && record != NULL &&
            record->weight != NULL && record->weight->dtype == value->dtype &&
            record->weight->block == 0 && record->weight->heads == 0 &&
            (uintptr_t)record->weight->data % qnnrt_ir_dtype_bytes(value->dtype) == 0)
            value->data = record->weight->data;
    }
}

/* Weights that are normalized must be computed here, so that they are lent in any type: converted
   to that of the graph. Many values may be one weight: all copies may have as many bytes as folding
   may make by default. */
static qnnrt_result qnnrt_lower__lend_copies(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &lower->desc.hooks;
    size_t left = (size_t)1 << 30;
    size_t i, k;
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; strcmp(ir->nodes[i]->op, "_weight_norm.default") == 0 && k < 2; ++k) {
            qnnrt_ir_value *value = ir->nodes[i]->inputs[k];
            const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
            const size_t size = qnnrt_ir_dtype_bytes(value->dtype);
            size_t bytes;
            qnnrt_lower__lent *lent;
            if (value->origin != QNNRT_IR_WEIGHT || value->data != NULL || weight == NULL ||
                size == 0 || value->count > left / size) continue;
            bytes = (size_t)value->count * size;
            left -= bytes;
            lent = (qnnrt_lower__lent *)(hooks->alloc != NULL    /* as it is: it may be large */
                                         ? hooks->alloc(hooks->alloc_user, sizeof(*lent) + bytes)
                                         : malloc(sizeof(*lent) + bytes));
            if (lent == NULL) return qnnrt_lower__fail_memory(err);
            lent->next = lower->lent;
            lent->value = value;
            lower->lent = lent;
            if (qnnrt_weights_convert(weight, value->dtype, lent + 1, bytes, NULL, NULL) ==
                QNNRT_OK) value->data = lent + 1;
        }
    return QNNRT_OK;
}

/* Take them back: what is left is read from the file when the library asks for it. */
static void qnnrt_lower__take_back(qnnrt_lower *lower, qnnrt_ir *ir)
{
    size_t i;
    while (lower->lent != NULL) {
        qnnrt_lower__lent *lent = lower->lent;
        lower->lent = lent->next;
        if (lent->value->origin == QNNRT_IR_WEIGHT) lent->value->data = NULL;
        qnnrt_hooks_free(&lower->desc.hooks, lent);
    }
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        const qnnrt_lower__record *record = (const qnnrt_lower__record *)value->note;
        if (value->origin == QNNRT_IR_WEIGHT && record != NULL && record->weight != NULL &&
            value->data == record->weight->data)
            value->data = NULL;
    }
}

/* Make tables of angles, which are not rounded to bfloat16 first. */
static qnnrt_result qnnrt_lower__rope(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err)
{
    size_t i, k;
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; strcmp(ir->nodes[i]->op, "rope") == 0 && k < ir->nodes[i]->output_count; ++k)
            ir->nodes[i]->outputs[k]->dtype = QNNRT_DTYPE_F32;
    return qnnrt_ir_pass_rope_table(ir, lower->desc.positions, err);
}

static qnnrt_result qnnrt_lower__fold(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err)
{
    qnnrt_result result = qnnrt_ir_fold(ir, 0, NULL, err);
    (void)lower;
    return result == QNNRT_OK ? qnnrt_ir_fold_weights(ir, 0, 0, NULL, err) : result;
}

/* The passes in their order. */
typedef struct qnnrt_lower__pass {
    const char *name;
    qnnrt_result (*run)(qnnrt_ir *ir, qnnrt_error *err);
    qnnrt_result (*own)(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err);
    unsigned targets;                /* bits of those that want it */
    int folds;                       /* 1: it computes new data from weights */
} qnnrt_lower__pass;

static const qnnrt_lower__pass qnnrt_lower__passes[] = {
    { "inplace", qnnrt_ir_pass_inplace, NULL, 7, 0 },
    { "noops", qnnrt_ir_pass_noops, NULL, 7, 0 },
    { "rope_table", NULL, qnnrt_lower__rope, 7, 1 },           /* HTP has no cos of large angles */
    { "fold", NULL, qnnrt_lower__fold, 7, 1 },
    { "noops", qnnrt_ir_pass_noops, NULL, 7, 0 },
    { "native", qnnrt_ir_pass_native, NULL, 7, 0 },
    { "bn_fold", qnnrt_ir_pass_bn_fold, NULL, 7, 1 },
    /* Squares overflow in float16, which an operator avoids; the CPU library's is another one. */
    { "rms_norm", qnnrt_ir_pass_rms_norm, NULL, 1u << QNNRT_LOWER_REF | 1u << QNNRT_LOWER_HTP, 0 },
    { "layer_norm", qnnrt_ir_pass_layer_norm, NULL, 7, 0 },
    { "gelu", qnnrt_ir_pass_gelu, NULL, 7, 0 },
    { "silu", qnnrt_ir_pass_silu, NULL, 7, 0 },
    { "attention", qnnrt_ir_pass_attention, NULL, 7, 0 },
    { "gqa", qnnrt_ir_pass_gqa, NULL, 7, 0 },
    { "linear", qnnrt_ir_pass_linear, NULL, 7, 0 },
    { "matmul_transpose", qnnrt_ir_pass_matmul_transpose, NULL, 7, 0 },
    { "dead", qnnrt_ir_pass_dead, NULL, 7, 0 },
    { "ranges", qnnrt_ir_pass_ranges, NULL, 7, 0 },
};

/* Check the weights that a pass has folded: those which had readers before. */
static qnnrt_result qnnrt_lower__folded(const qnnrt_ir *ir, const char *before, size_t count,
                                        qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        const qnnrt_weight *weight = qnnrt_lower_weight_of(ir->values[i]);
        if (before[i] && ir->values[i]->users == 0 && weight != NULL)
            result = qnnrt_lower_check_weight(weight, err);
    }
    return result;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_passes(qnnrt_lower *lower, qnnrt_ir *ir, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    char *read;                      /* [ir->value_count] 1: a weight that has readers */
    size_t i, k, most;
    if (lower == NULL || ir == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_passes: lower or ir is NULL");
    most = ir->value_count;          /* weights were there before any pass */
    read = (char *)qnnrt_hooks_alloc(&lower->desc.hooks, 1, most + 1);
    if (read == NULL) return qnnrt_lower__fail_memory(err);
    qnnrt_lower__lend(ir);
    result = qnnrt_lower__lend_copies(lower, ir, err);
    for (i = 0; i < sizeof(qnnrt_lower__passes) / sizeof(qnnrt_lower__passes[0]); ++i) {
        const qnnrt_lower__pass *pass = &qnnrt_lower__passes[i];
        const size_t count = ir->value_count < most ? ir->value_count : most;
        if (result != QNNRT_OK || !(pass->targets >> lower->desc.target & 1)) continue;
        for (k = 0; k < count && pass->folds; ++k)
            read[k] = ir->values[k]->origin == QNNRT_IR_WEIGHT && ir->values[k]->users > 0;
        result = pass->run != NULL ? pass->run(ir, err) : pass->own(lower, ir, err);
        if (result == QNNRT_OK && pass->folds) result = qnnrt_lower__folded(ir, read, count, err);
        if (result == QNNRT_OK && lower->desc.passed != NULL)
            lower->desc.passed(lower->desc.passed_user, pass->name, ir);
    }
    qnnrt_lower__take_back(lower, ir);
    qnnrt_hooks_free(&lower->desc.hooks, read);
    return result;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_graph(qnnrt_lower *lower, const qnnrt_ir *ir,
                                               const char *name, qnnrt_error *err)
{
    qnnrt_lower__graph *graph;
    qnnrt_lower__job job;
    size_t i, first;
    if (lower == NULL || ir == NULL || name == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_graph: an argument is NULL");
    first = lower->finding_count;
    graph = (qnnrt_lower__graph *)qnnrt_arena_get(&lower->arena, 1, sizeof(*graph));
    if (graph == NULL) return qnnrt_lower__fail_memory(err);
    graph->lower = lower;
    graph->info.name = qnnrt_lower__text(lower, "%s", name);
    graph->info.ir = ir;
    graph->place = lower->place;
    graph->op_hash = (int32_t *)qnnrt_arena_get(&lower->arena, QNNRT_LOWER__HASH, sizeof(int32_t));
    graph->data_hash = (int32_t *)qnnrt_arena_get(&lower->arena,
                                                  QNNRT_LOWER__HASH, sizeof(int32_t));
    graph->inputs = (int32_t *)qnnrt_arena_get(&lower->arena, ir->input_count, sizeof(int32_t));
    graph->outputs = (int32_t *)qnnrt_arena_get(&lower->arena, ir->output_count, sizeof(int32_t));
    job.lower = lower;
    job.graph = graph;
    job.node = NULL;
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    qnnrt_lower__forget(ir);
    qnnrt_lower__tensor(&job, QNNRT_TENSOR_INNER, lower->compute, 0, NULL);      /* number 0 */
    qnnrt_lower__add_inputs(&job);
    qnnrt_lower__digits(&job);
    for (i = 0; i < ir->node_count && !lower->arena.failed; ++i)
        qnnrt_lower__node(&job, ir->nodes[i]);
    job.node = graph->node = NULL;
    graph->failed = 0;
    for (i = 0; i < ir->output_count && !lower->arena.failed; ++i) {
        size_t k = 0;
        while (k < i && ir->outputs[k] != ir->outputs[i]) ++k;
        if (ir->outputs[i]->count != 0)
            graph->outputs[i] = qnnrt_lower__add_output(&job, ir->outputs[i],
                k == i && ir->outputs[i]->origin != QNNRT_IR_INPUT ? ir->outputs[i]->name
                : qnnrt_lower__text(lower, "%.200s.%lu", ir->outputs[i]->name, (unsigned long)i),
                qnnrt_lower__outer(&job, ir->outputs[i], 1, i));
    }
    if (lower->desc.watch == 1 && !lower->arena.failed) qnnrt_lower__watch(&job);
    if (lower->desc.act_bits == 0 && !lower->arena.failed) qnnrt_lower__weight_only_graph(&job);
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    qnnrt_lower__mark(lower, graph, 0);
    if (lower->desc.watch > 1) qnnrt_lower__watch_all(graph);
    qnnrt_lower__range(&job);
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    *lower->last = graph;
    lower->last = &graph->next;
    lower->graph_count += 1;
    graph->refused = lower->finding_count - first;
    if (lower->finding_count == first) return qnnrt_error_clear(err);
    return qnnrt_lower__findings(lower, first, "nodes cannot be lowered:", name, err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_place(qnnrt_lower *lower, uint32_t context,
                                               qnnrt_error *err)
{
    if (lower == NULL || context >= 65535)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_place: lower is NULL, or context %u "
                               "is too large", (unsigned)context);
    lower->place = context + 1;
    return qnnrt_error_clear(err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_encode(qnnrt_lower *lower,
                                                const qnnrt_lower_encoding *encodings, size_t count,
                                                qnnrt_error *err)
{
    if (lower == NULL || (encodings == NULL && count > 0) || lower->quantized)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_encode: lower or encodings is NULL, "
                               "or the graphs are quantized already");
    lower->desc.encodings = encodings;
    lower->desc.encoding_count = count;
    return qnnrt_error_clear(err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_quantize(qnnrt_lower *lower, qnnrt_builder *scratch,
                                                  qnnrt_error *err)
{
    const qnnrt_lower__graph *graph;
    if (lower == NULL || scratch == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_quantize: lower or scratch is NULL");
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    if (lower->desc.act_bits == 0) return qnnrt_error_clear(err);
    if (lower->first == NULL || lower->quantized)
        return qnnrt_error_set(err, QNNRT_E_ARG, lower->quantized ? "qnnrt_lower_quantize: the "
                               "graphs are quantized already" : "qnnrt_lower_quantize: no graph "
                               "was lowered");
    for (graph = lower->first; graph != NULL; graph = graph->next)
        if (graph->refused != 0)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_quantize: graph \"%.200s\" has "
                                   "nodes that cannot be lowered", graph->info.name);
    return qnnrt_lower__quantize(lower, scratch, err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_emit(qnnrt_lower *lower, qnnrt_builder *builder,
                                              qnnrt_error *err)
{
    qnnrt_lower__graph *graph;
    size_t first;
    uint32_t context;
    if (lower == NULL || builder == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_emit: lower or builder is NULL");
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    if (lower->first == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_emit: no graph was lowered");
    if (lower->desc.act_bits != 0 && !lower->quantized)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_emit: call qnnrt_lower_quantize() "
                               "first");
    for (graph = lower->first; graph != NULL; graph = graph->next)
        if (graph->refused != 0)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_emit: graph \"%.200s\" has nodes "
                                   "that cannot be lowered", graph->info.name);
    first = lower->finding_count;
    qnnrt_lower__cut_all(lower, lower->desc.contexts != 0 ? lower->desc.contexts : 1);
    for (context = 0; context < lower->info.contexts; ++context) {
        qnnrt_builder_context(builder, &lower->desc.context);
        for (graph = lower->first; graph != NULL && !lower->arena.failed; graph = graph->next)
            qnnrt_lower__emit_part(lower, graph, context, builder, 0);
    }
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    if (lower->finding_count != first)
        return qnnrt_lower__findings(lower, first, "operators are refused:",
                                     lower->first->info.name, err);
    return qnnrt_lower__builder_error(builder, err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_ask(qnnrt_lower *lower, qnnrt_builder *builder,
                                             qnnrt_error *err)
{
    qnnrt_lower__graph *graph;
    if (lower == NULL || builder == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_ask: lower or builder is NULL");
    qnnrt_builder_context(builder, &lower->desc.context);
    for (graph = lower->first; graph != NULL && !lower->arena.failed; graph = graph->next)
        qnnrt_lower__emit_part(lower, graph, 0, builder, 1);
    if (lower->arena.failed) return qnnrt_lower__fail_memory(err);
    return qnnrt_lower__builder_error(builder, err);
}

QNNRT_LOWER_API const qnnrt_ir_node *qnnrt_lower_node_of(const qnnrt_lower *lower,
                                                         const char *graph, const char *op)
{
    const qnnrt_lower__graph *g;
    size_t i;
    if (lower == NULL || graph == NULL || op == NULL) return NULL;
    for (g = lower->first; g != NULL; g = g->next)
        for (i = 0; i < g->op_count && strcmp(g->info.name, graph) == 0; ++i)
            if (g->ops[i].used && strcmp(g->ops[i].name, op) == 0) return g->ops[i].node;
    return NULL;
}

QNNRT_LOWER_API const qnnrt_lower_info *qnnrt_lower_get_info(qnnrt_lower *lower)
{
    const qnnrt_lower__graph *graph;
    size_t i = 0;
    if (lower == NULL) return NULL;
    lower->graphs = (qnnrt_lower_graph_info *)qnnrt_arena_get(&lower->arena, lower->graph_count,
                                                              sizeof(*lower->graphs));
    for (graph = lower->first; graph != NULL && lower->graphs != NULL; graph = graph->next) {
        qnnrt_lower_graph_info *info = &lower->graphs[i++];
        *info = graph->info;
        info->tensors = graph->tensors;
        info->tensor_count = graph->tensor_count;
        info->ops = graph->ops;
        info->op_count = graph->op_count;
        info->inputs = graph->inputs;
        info->outputs = graph->outputs;
    }
    lower->info.graphs = lower->graphs;
    lower->info.graph_count = lower->graphs != NULL ? lower->graph_count : 0;
    lower->info.findings = lower->findings;
    lower->info.finding_count = lower->finding_count;
    lower->info.flushed = lower->loss.flushed;
    lower->info.clamped = lower->clamped;
    lower->info.weight_only = qnnrt_lower__weight_only_list(lower);
    lower->info.weight_only_count = lower->info.weight_only != NULL ? lower->weight_only_count : 0;
    return &lower->info;
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_weight_only_values(qnnrt_lower *lower, size_t number,
                                                            float *values, qnnrt_error *err)
{
    const qnnrt_lower__weight_only *s;
    if (lower == NULL || values == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_weight_only_values: lower or values"
                               " is NULL");
    for (s = lower->weight_only; s != NULL && number > 0; s = s->next) --number;
    if (s == NULL || s->about.bits == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_weight_only_values: this weight does"
                               " not exist, or is not quantized");
    return qnnrt_lower__round_values(lower, s, values, err);
}

QNNRT_LOWER_API qnnrt_result qnnrt_lower_static_data(qnnrt_lower *lower, size_t graph,
                                                     size_t tensor, void *data, size_t bytes,
                                                     qnnrt_error *err)
{
    const qnnrt_lower__graph *at = lower != NULL ? lower->first : NULL;
    while (at != NULL && graph > 0) { at = at->next; --graph; }
    if (at == NULL || data == NULL || tensor >= at->tensor_count ||
        at->tensors[tensor].kind != QNNRT_TENSOR_STATIC)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_lower_static_data: an argument is NULL, or "
                               "this is no static tensor");
    return qnnrt_lower__round_load(lower, &at->tensors[tensor], &at->bodies[tensor], data, bytes,
                                   err);
}

QNNRT_LOWER_API const qnnrt_lower_rule *qnnrt_lower_rule_get(size_t index)
{
    return index < QNNRT_LOWER__RULES ? &qnnrt_lower__rules[index] : NULL;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LOWER__IMPL_ONCE */
#endif /* QNNRT_LOWER_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Needs QNNRT_IR_PASSES_IMPLEMENTATION.
           API: qnnrt_lower_small is qnnrt_lower_weight_only, qnnrt_lower_small_values()
           qnnrt_lower_weight_only_values(), info.smalls and .small_count are .weight_only and
           .weight_only_count, qnnrt_lower_tensor.small is .weight_only.
           Added  qnnrt_lower_encode(), qnnrt_lower_encoding.apart, qnnrt_lower_graph_info.no_nan,
           qnnrt_lower_desc.fast_activations. qnnrt_lower_rule.op is a list of names.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
