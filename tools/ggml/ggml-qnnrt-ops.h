/* ggml-qnnrt-ops.h - part of qnnrt v0.5.0 - ggml's operators in words of QNN

   ggml-qnnrt.cpp cuts a ggml graph into segments. It describes each segment with a qg_graph: node
   by node, in the order of the ggml graph; finish() writes it into a qnnrt_builder. What the graph
   reads from outside and what leaves it are lists of slots, in the order of the builder.
   Some nodes are computed here, on the host: qg_on_host() says which, qg_host() computes one.

   Segments  Where qg_from_memory() is true and a node of the segment computes that source, the
             segment ends before the node. A segment of one node that qg_supports() accepts can
             always be described.
   Errors    functions return false and explain; std::bad_alloc may leave each of them, because the
             entry points of ggml-qnnrt.cpp catch it
   Needs: qnnrt_builder.h, qnnrt_quirks.h, ggml.h
   Knows nothing of: buffers, devices, caches */
#ifndef GGML_QNNRT_OPS_H
#define GGML_QNNRT_OPS_H

#include "qnnrt.h"
#include "tools/qnnrt_builder.h"
#include "ggml.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

/* Libraries, by qnnrt_backend_info.id. All others are taken for libQnnRef.so. */
enum { QG_CPU = 3, QG_HTP = 6 };

/* What the device decided. */
struct qg_options {
    bool half = false;        /* compute in FLOAT_16, else in FLOAT_32 */
    bool statics = false;     /* weights become static tensors of the graph, else inputs */
    bool blocks = false;      /* q4_0 weights as codes with a scale per block; with half, statics */
    bool set_rows = true;     /* SET_ROWS, on the host */
    /* The library, by qnnrt_backend_info, for its list of wrong operators. */
    uint32_t    backend = 0;             /* .id: QG_HTP, QG_CPU, others */
    std::string release;                 /* .build_id */
    /* The identity of a weight: not 0 if the data of the tensor is that of a model's weight and
       stays as it is while this number is valid. 0: the data may change between two graphs. */
    uint64_t (*weight)(const ggml_tensor *t) = nullptr;
    /* A hash of a weight's type and data, for qnnrt_tensor_desc.identity. NULL: not needed. */
    uint64_t (*content)(const ggml_tensor *t) = nullptr;
};

/* Where an input takes its data from, for source `src` of node `node` of the segment. */
enum qg_bind {
    QG_DIRECT,                /* from the memory of the source, as it is */
    QG_COPY,                  /* from here on: qg_fill() writes it. Its elements without gaps */
    QG_TO_F32,                /* the same, as float32 */
    QG_ROPE_COS, QG_ROPE_SIN  /* angles that belong to the positions */
};

struct qg_input {
    int          node, src;
    qg_bind      how;
    qnnrt_tensor t;
    size_t       bytes;
};

struct qg_output {
    int          node;
    qg_bind      how;         /* QG_DIRECT, or QG_TO_F32: qg_drain() converts it to ggml's type */
    qnnrt_tensor t;
    size_t       bytes;
};

/* A tensor of the graph that is described, with the dims that QNN knows, outermost first. */
struct qg_value {
    int                   t = -1;
    qnnrt_dtype           dtype = QNNRT_DTYPE_F32;
    std::vector<uint32_t> dims;
};

/* A parameter of a QNN node: a scalar, or a list of 32-bit integers with dims. */
struct qg_param {
    const char           *name;
    qnnrt_dtype           dtype;
    double                value;
    std::vector<uint32_t> list, dims;
};

/* Describes one graph. The builder must outlive it, and it must outlive the builder's finish: it
   holds the data of constants, and converts weights. */
class qg_graph {
public:
    /* error and norm: sums of squares of what FLOAT_16 changes, and of the values; beyond: values
       that it cannot hold. Known when the library got the weight. */
    struct weight_data {
        const ggml_tensor *t;
        qnnrt_dtype        dtype;
        double             error, norm;
        uint64_t           beyond;
    };

    /* ask: finish() asks about each node, qnnrt_builder_supports(), and adds none */
    qg_graph(qnnrt_builder *builder, const qg_options &options, bool ask)
        : builder_(builder), options_(options), ask_(ask) {}

    /* Describe node `n`, which is node `index` of the segment. `leaves`: somebody reads it outside.
       After the first failure every call fails. */
    bool node(const ggml_tensor *n, int index, bool leaves);

    /* Write the graph into the builder, and fill inputs and outputs. */
    bool finish();

    const std::string      &why() const { return why_; }
    size_t                  qnn_nodes() const { return qnn_nodes_; }
    const std::deque<weight_data> &weights() const { return weights_; }
    std::vector<qg_input>   inputs;
    std::vector<qg_output>  outputs;             /* by node: later ones may lie over earlier ones */

    /* For the functions of the table. They throw refused. */
    using dims = std::vector<uint32_t>;
    using params = std::vector<qg_param>;
    struct refused { std::string why; };

    const qg_options &options() const { return options_; }
    bool        on(const char *family) const;             /* "Htp", "Cpu" */
    qnnrt_dtype compute() const { return options_.half ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32; }
    qg_value    get(const ggml_tensor *n, int src);       /* as it is: [ne3, ne2, ne1, ne0] */
    qg_value    real(const ggml_tensor *n, int src);      /* in the type of compute() */
    qg_value    angles(const ggml_tensor *n, bool sine);  /* of ROPE: [1, positions, 1, pairs] */
    qg_value    blocks(const ggml_tensor *n, int src);    /* q4_0 as [rows, columns] */
    bool        is_static(const ggml_tensor *t) const;
    bool        known_wrong(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                            const dims &d, const params &p, std::string *why) const;
    qg_value    op(const char *type, const std::vector<qg_value> &in, const dims &d,
                   const params &p = {}, qnnrt_dtype dtype = QNNRT_DTYPE_UNDEFINED);
    qg_value    constant(const dims &d, const std::vector<float> &values);
    qg_value    integers(const dims &d, const std::vector<int32_t> &values);
    qg_value    scalar(double value) { return constant({ 1 }, { (float)value }); }
    qg_value    reshape(const qg_value &v, const dims &d);
    qg_value    cast(const qg_value &v, qnnrt_dtype dtype);
    qg_value    transpose(const qg_value &v, const dims &order);
    qg_value    slice(const qg_value &v, const dims &begin, const dims &size,
                      const dims &step = {});
    qg_value    repeat(const qg_value &v, const dims &d);
    qg_value    concat(const std::vector<qg_value> &v, uint32_t axis);
    qg_value    unary(const char *type, const qg_value &a, const params &p = {});
    qg_value    binary(const char *type, const qg_value &a, const qg_value &b);
    qg_value    add(const qg_value &a, const qg_value &b) { return binary("ElementWiseAdd", a, b); }
    qg_value    mul(const qg_value &a, const qg_value &b)
    {
        return binary("ElementWiseMultiply", a, b);
    }
    qg_value    scaled(const qg_value &a, double by) { return mul(a, scalar(by)); }

private:
    struct tensor {
        qnnrt_tensor_kind kind;
        qnnrt_dtype       dtype;
        dims              d;
        const void       *data;
        size_t            bytes;
        weight_data      *weight;
        qnnrt_blocks     *blocks;
        qnnrt_tensor      id;
        bool              live;
    };
    struct operation {
        const char      *type;
        std::vector<int> in;
        int              out;
        params           p;
        bool             live;
    };
    struct block_data {
        qnnrt_blocks        b;
        std::vector<float>  scales;
        std::vector<int8_t> codes;
    };
    struct leaving { int node; qg_value v; qnnrt_dtype want; qg_bind how; };

    qg_value tensor_of(qnnrt_tensor_kind kind, qnnrt_dtype dtype, const dims &d,
                       const void *data = nullptr, size_t bytes = 0);
    qg_value input(const std::string &key, int src, qg_bind how, qnnrt_dtype dtype, const dims &d);
    qg_value outside(const ggml_tensor *n, int src);
    qg_value view(const qg_value &base, const ggml_tensor *t);
    qg_value stored(const void *data, size_t bytes, qnnrt_dtype dtype, const dims &d);
    void     describe(const tensor &t, qnnrt_tensor_desc *desc) const;
    void     leave(const leaving &l);
    void     give(tensor &t);
    void     emit();

    qnnrt_builder *builder_;
    qg_options     options_;
    bool           ask_;
    int            index_ = 0;
    size_t         qnn_nodes_ = 0;
    std::string    why_;
    std::vector<tensor>    tensors_;
    std::vector<operation> operations_;
    std::vector<leaving>   leaving_;
    std::vector<qg_input>  inputs_;              /* all that were asked for; .t is an index */
    std::unordered_map<const ggml_tensor *, qg_value> values_;
    std::unordered_map<std::string, qg_value>         same_;     /* operations and inputs by key */
    std::deque<std::vector<char>> constants_;
    std::deque<weight_data>       weights_;
    std::deque<block_data>        blocks_;
};

/* Return whether the library computes this node: it describes the node as a graph of its own and
   asks the library about each part. Not cached. why receives the reason of a refusal. */
bool qg_supports(const ggml_tensor *n, const qg_options &options, qnnrt_backend *backend,
                 std::string *why);

/* Return whether the node only names memory: views, and nodes without elements. */
bool qg_is_view(const ggml_tensor *n);

/* Return whether source `src` of the node must be in memory before the graph of the node runs:
   the host reads it, or it is a view that QNN cannot cut out. */
bool qg_from_memory(const ggml_tensor *n, int src);

/* Return whether this node is computed on the host, in place of the library. */
bool qg_on_host(const ggml_tensor *n);

/* Compute such a node. All its sources and itself are host memory. False: why says which value of
   the data does not fit. */
bool qg_host(const ggml_tensor *n, std::string *why);

/* Write the data of an input that is not QG_DIRECT: input.bytes bytes, aligned to 4. */
void qg_fill(const qg_input &input, const ggml_tensor *n, void *to);

/* Write the memory of a node from an output that is not QG_DIRECT. */
void qg_drain(const qg_output &output, const ggml_tensor *n, const void *from);

/* Names of ggml's operators that this file was compiled with, for the check at load. */
struct qg_op_name { int op; const char *name; };
extern const qg_op_name qg_op_names[];
extern const size_t     qg_op_name_count;

#endif /* GGML_QNNRT_OPS_H */
