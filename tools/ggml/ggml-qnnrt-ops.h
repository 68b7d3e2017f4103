/* ggml-qnnrt-ops.h - part of qnnrt v0.4.0 - ggml's operators in words of QNN

   ggml-qnnrt.cpp cuts a ggml graph into segments. It describes each segment with a qg_graph: node
   by node, in the order of the ggml graph, into a qnnrt_builder. What the graph reads from outside
   and what leaves it are lists of slots, in the order in which they were added to the builder.
   Some nodes are computed here, on the host: qg_on_host() says which, qg_host() computes one.

   Errors  functions return false and explain; std::bad_alloc may leave each of them, because the
           entry points of ggml-qnnrt.cpp catch it
   Needs: qnnrt.h with QNNRT_COMPOSE, ggml.h     Knows nothing of: buffers, devices, caches */
#ifndef GGML_QNNRT_OPS_H
#define GGML_QNNRT_OPS_H

#ifndef QNNRT_COMPOSE
#define QNNRT_COMPOSE
#endif
#include "qnnrt.h"
#include "ggml.h"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

/* What the device decided. */
struct qg_options {
    bool half = false;        /* compute in FLOAT_16, else in FLOAT_32 */
    bool statics = false;     /* weights become static tensors of the graph, else inputs */
    bool blocks = false;      /* q4_0 weights as codes with block scales; needs half, statics */
    bool set_rows = true;     /* SET_ROWS, on the host */
    /* The identity of a weight: not 0 if the data of the tensor is that of a model's weight and
       stays as it is while this number is valid. 0: the data may change between two graphs. */
    uint64_t (*weight)(const ggml_tensor *t) = nullptr;
};

/* Where an input takes its data from, for source `src` of node `node` of the segment. */
enum qg_bind {
    QG_DIRECT,                /* from the memory of the source, as it is */
    QG_BASE,                  /* from the memory of the source's view_src, as it is */
    QG_TO_F32,                /* from here on: qg_fill() writes it before each execution */
    QG_ROPE_COS, QG_ROPE_SIN
};

struct qg_input {
    int          node, src;
    qg_bind      how;
    qnnrt_tensor t;
    size_t       bytes;
};

struct qg_output {
    int          node;
    qnnrt_tensor t;
    size_t       bytes;
};

/* A tensor of the graph that is described, with the dims that QNN knows, outermost first. */
struct qg_value {
    qnnrt_tensor          t = -1;
    qnnrt_dtype           dtype = QNNRT_DTYPE_F32;
    std::vector<uint32_t> dims;
};

/* Describes one graph. The builder must outlive it, and it must outlive the builder's finish: it
   holds the data of constants. */
class qg_graph {
public:
    /* ask: each node is first asked for, qnnrt_builder_supports() */
    qg_graph(qnnrt_builder *builder, const qg_options &options, bool ask)
        : builder_(builder), options_(options), ask_(ask) {}

    /* Describe node `n`, which is node `index` of the segment. `leaves`: somebody reads it outside.
       After the first failure every call fails. */
    bool node(const ggml_tensor *n, int index, bool leaves);

    const std::string      &why() const { return why_; }
    size_t                  qnn_nodes() const { return qnn_nodes_; }
    std::vector<qg_input>   inputs;
    std::vector<qg_output>  outputs;

    /* For the functions of the table. */
    using dims = std::vector<uint32_t>;
    using params = std::vector<qnnrt_param_desc>;
    struct weight_data { const ggml_tensor *t; qnnrt_dtype dtype; };

    bool        ok() const { return why_.empty(); }
    qg_value    fail(const char *why);
    qnnrt_dtype compute() const { return options_.half ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32; }
    qg_value    get(const ggml_tensor *n, int src);       /* as it is: [ne3, ne2, ne1, ne0] */
    qg_value    real(const ggml_tensor *n, int src);      /* in the type of compute() */
    qg_value    op(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                   const dims &d, const params &p = {});
    qg_value    last(const char *type, const std::vector<qg_value> &in, qnnrt_dtype dtype,
                     const dims &d, const params &p, const ggml_tensor *n);
    qg_value    constant(const dims &d, const std::vector<float> &values);
    qg_value    reshape(const qg_value &v, const dims &d);
    qg_value    cast(const qg_value &v, qnnrt_dtype dtype);
    qg_value    transpose(const qg_value &v, const dims &order);
    qg_value    slice(const qg_value &v, const dims &begin, const dims &size);
    qg_value    repeat(const qg_value &v, const dims &d);
    const qg_options &options() const { return options_; }

private:
    qg_value tensor(qnnrt_tensor_kind kind, qnnrt_dtype dtype, const dims &d,
                    qnnrt_tensor_desc desc = {});
    qg_value input(const ggml_tensor *t, int src, qg_bind how, qnnrt_dtype dtype, const dims &d,
                   size_t bytes);
    qg_value weight(const ggml_tensor *t);
    qg_value outside(const ggml_tensor *t, int src);
    qg_value view(const qg_value &base, const ggml_tensor *t, size_t offset);
    bool     add(const char *type, const std::vector<qg_value> &in, const qg_value &out,
                 const params &p);

    qnnrt_builder *builder_;
    qg_options     options_;
    bool           ask_, leaves_ = false;
    int            index_ = 0, serial_ = 0;
    size_t         qnn_nodes_ = 0;
    std::string    why_;
    std::unordered_map<const ggml_tensor *, qg_value> values_;
    std::map<std::pair<const void *, int>, qg_value>  outside_;
    std::deque<std::vector<char>> constants_;
    std::deque<weight_data>       weights_;
};

/* Return whether the library computes this node: it describes the node as a graph of its own and
   asks the library about each part. Not cached. why receives the reason of a refusal. */
bool qg_supports(const ggml_tensor *n, const qg_options &options, qnnrt_backend *backend,
                 std::string *why);

/* Return whether the node only names memory: views, and nodes without elements. */
bool qg_is_view(const ggml_tensor *n);

/* Return whether this node is computed on the host, in place of the library. */
bool qg_on_host(const ggml_tensor *n);

/* Compute such a node. All its sources and itself are host memory. False, and why: values that the
   node cannot be computed with, such as a row that does not exist. */
bool qg_host(const ggml_tensor *n, std::string *why);

/* Write the `bytes` bytes of an input that is neither QG_DIRECT nor QG_BASE. */
void qg_fill(const qg_input &input, const ggml_tensor *n, void *to);

/* Names of ggml's operators that this file was compiled with, for the check at load. */
struct qg_op_name { int op; const char *name; };
extern const qg_op_name qg_op_names[];
extern const size_t     qg_op_name_count;

#endif /* GGML_QNNRT_OPS_H */
