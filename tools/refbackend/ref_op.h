/* ref_op.h - what an operator of libQnnRef.so is, and what it works with

   An operator is three functions over plain views of tensors: check() tells whether a node is
   valid, and the reason when it is not; scratch() tells how much memory run() needs; run()
   computes. It knows nothing of handles, contexts, vendor structs and files. One file per family
   (ops_*.c) exports one table, and ops.c joins the tables. ref_op.c has the checks that all
   operators share, and converts values between storage and float.

   Meaning  that of the operator's documentation, not of one library. tools/qnnrt_quirks.h lists the
            known differences of the genuine libraries
   Numbers  real = (code + offset) * scale. Quantized operators compute in float32 over real values
            and round once, at the end: to nearest, halves away from zero, saturated. int32 is
            computed in int32 (overflow wraps). float16 is computed in float32 and rounded once,
            halves to even */
#ifndef REF_OP_H
#define REF_OP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { REF_RANK = 8 };

enum {                                   /* vendor: Qnn_DataType_t */
    REF_I8 = 0x0008, REF_I16 = 0x0016, REF_I32 = 0x0032, REF_I64 = 0x0064,
    REF_U8 = 0x0108, REF_U16 = 0x0116, REF_U32 = 0x0132, REF_U64 = 0x0164,
    REF_F16 = 0x0216, REF_F32 = 0x0232,
    REF_S8Q = 0x0308, REF_S16Q = 0x0316, REF_S32Q = 0x0332,
    REF_U8Q = 0x0408, REF_U16Q = 0x0416, REF_U32Q = 0x0432,
    REF_BOOL = 0x0508
};

/* How stored integers become real numbers. scales and offsets have one element (PER_TENSOR), one
   per index of axis (PER_AXIS), or one per channel and block (BLOCKS: element e of axis block_axis
   belongs to block e / block; index = channel * (dims[block_axis] / block) + block number). Every
   vendor encoding is converted to one of these when the tensor is made; values of less than 8 bits
   are sign-extended at the same time. */
typedef enum { REF_QUANT_NONE = 0, REF_QUANT_PER_TENSOR, REF_QUANT_PER_AXIS,
               REF_QUANT_BLOCKS } ref_quant_form;

typedef struct ref_quant {
    ref_quant_form form;
    uint32_t       axis, block_axis, block;
    uint32_t       count;                /* number of scales */
    const float   *scales;
    const int32_t *offsets;              /* NULL: all 0 */
    int            any_sign;             /* 1: scales of static data may be negative and 0, as in
                                            BLOCK; 0: all are above 0 */
} ref_quant;

typedef struct ref_tensor {
    const char *name;
    uint32_t    dtype;
    uint32_t    rank, dims[REF_RANK];    /* rank 1 to 8, all dims > 0 */
    uint64_t    count;                   /* elements */
    ref_quant   quant;
    /* 1: STATIC, so check() may read INT_32 and UINT_32 data, by ref_whole_at() alone: a validation
       checks the caller's bytes where they lie, aligned or not. */
    int         fixed;
    void       *data;                    /* packed row-major, aligned for its type; set in run() */
    int         unseen;                  /* 1: STATIC, but check() gets no data; no parameter */
} ref_tensor;

/* Return element i of a tensor of INT_32 or UINT_32. */
static inline int64_t ref_whole_at(const ref_tensor *tensor, uint64_t i)
{
    uint32_t bits;
    memcpy(&bits, (const char *)tensor->data + i * sizeof(bits), sizeof(bits));
    return tensor->dtype == REF_I32 ? (int64_t)(int32_t)bits : (int64_t)bits;
}

typedef struct ref_param {
    const char       *name;
    uint32_t          dtype;             /* type of a scalar */
    double            value;             /* value of a scalar: exact for every 32-bit type */
    const ref_tensor *tensor;            /* the tensor, always .fixed; NULL: a scalar */
} ref_param;

typedef struct ref_op ref_op;

typedef struct ref_node {
    const char        *name;
    const ref_op      *op;
    const ref_tensor **in;               /* [in_count], NULL: an optional one that is absent */
    const ref_tensor **out;              /* [out_count]; run() writes their data */
    const ref_param   *params;
    uint32_t           in_count, out_count, param_count;
} ref_node;

/* The reason why a node is refused, for the person who built it. */
typedef struct ref_why { char text[512]; } ref_why;
/* Write the reason and return 0. */
int ref_refuse(ref_why *why, const char *format, ...);

/* A parameter as the operator declares it; check_common() checks name, kind and type before
   check(). */
enum { REF_REQUIRED = 1, REF_TENSOR = 2 };
typedef struct ref_param_spec {
    const char *name;
    uint32_t    dtype;                   /* 0: any type */
    int         flags;
} ref_param_spec;

/* One bit per type that an operator accepts as its first input. */
enum {
    REF_T_F32 = 1, REF_T_F16 = 2, REF_T_U8Q = 4, REF_T_U16Q = 8, REF_T_S8Q = 16, REF_T_S16Q = 32,
        REF_T_I32 = 64,
    REF_T_BOOL = 128, REF_T_U32 = 256, REF_T_U8 = 512,
    REF_T_FLOAT = REF_T_F32 | REF_T_F16,
    REF_T_QUANT = REF_T_U8Q | REF_T_U16Q | REF_T_S8Q | REF_T_S16Q,
    REF_T_REAL = REF_T_FLOAT | REF_T_QUANT
};
uint32_t ref_type_bit(uint32_t dtype);   /* returns 0 for other types */

struct ref_op {
    const char           *type;          /* "MatMul" */
    uint32_t              types;         /* REF_T_... of input 0; 0: check() checks its type */
    uint8_t               in_least, in_most, out_least, out_most;     /* 255: any number */
    const ref_param_spec *params;        /* ends with name NULL; NULL: none */
    /* Return 1 when the node is valid. run() then stays within bounds and succeeds with any data,
       except for indices that are known only at run time, which it checks itself. Return 0
       otherwise: why says what is wrong, expected and found. */
    int    (*check)(const ref_node *node, ref_why *why);
    size_t (*scratch)(const ref_node *node);     /* bytes for run(); NULL: none */
    /* Return 1 when done, 0 when the data is not valid, such as an index past the end; why names
       it. */
    int    (*run)(const ref_node *node, void *scratch, ref_why *why);
};

/* Tables of the families; each ends with type NULL. */
extern const ref_op ref_ops_binary[], ref_ops_unary[], ref_ops_activation[], ref_ops_linear[],
    ref_ops_conv[], ref_ops_pool[], ref_ops_norm[], ref_ops_reduce[], ref_ops_shape[],
    ref_ops_index[], ref_ops_cast[];

const ref_op *ref_op_find(const char *type);
/* Returns NULL after the last. */
const ref_op *ref_op_get(size_t index);
/* Check what all operators share: counts, parameter names and types, encodings of quantized
   tensors, the type of input 0; then call the operator's check(). */
int ref_op_check(const ref_node *node, ref_why *why);

const ref_param *ref_param_find(const ref_node *node, const char *name);
double ref_param_value(const ref_node *node, const char *name, double otherwise);
/* Return element i of a UINT_32 or INT_32 tensor parameter. */
int64_t ref_param_at(const ref_param *param, uint64_t i);

/* Convert elements [first, first + count) to real numbers, and back, with every form of encoding.
   BOOL is 0 and 1; integers keep their value (float32 holds 24 bits: integer operators read the
   data itself). */
void ref_load(const ref_tensor *tensor, uint64_t first, uint64_t count, float *values);
void ref_store(const ref_tensor *tensor, uint64_t first, uint64_t count, const float *values);

/* Read and write elements of integer types and BOOL; UINT_64 keeps its bits, and integers that are
   too wide lose their upper ones. */
void ref_load_integers(const ref_tensor *t, uint64_t first, uint64_t count, int64_t *values);
void ref_store_integers(const ref_tensor *t, uint64_t first, uint64_t count, const int64_t *values);

size_t   ref_type_bytes(uint32_t dtype);                              /* 0: unknown */
const char *ref_type_name(uint32_t dtype);                            /* "UFIXED_POINT_8" */
int      ref_is_quantized(uint32_t dtype);
int      ref_same_shape(const ref_tensor *a, const ref_tensor *b);
int      ref_same_encoding(const ref_tensor *a, const ref_tensor *b); /* dtype and quant */
/* Write "[1, 32, 128]" to text and return text. */
enum { REF_SHAPE_TEXT = 120 };
const char *ref_shape_text(const ref_tensor *tensor, char text[REF_SHAPE_TEXT]);
/* Check that out has this dtype or shape, as most operators need. */
int ref_expect_shape(const ref_tensor *tensor, const char *what, uint32_t rank,
                     const uint32_t *dims, ref_why *why);
int ref_expect_type(const ref_tensor *tensor, const char *what, uint32_t dtype, ref_why *why);
int ref_expect_like(const ref_tensor *tensor, const char *what, const ref_tensor *as, ref_why *why);
int ref_expect_index_type(const ref_tensor *indices, const char *what, ref_why *why);
int ref_expect_axis(double axis, uint32_t rank, ref_why *why);
/* Read the parameter "axis" (default: the last), or "axes" as bits. Return 0 if it is not valid. */
int ref_axis_read(const ref_node *node, uint32_t *axis, ref_why *why);
int ref_axes_read(const ref_node *node, uint32_t *bits, ref_why *why);
/* Return the number of elements per index of the dimensions before axis. */
uint64_t ref_row_of(const ref_tensor *t, uint32_t axis);
/* For operators that move elements: check that each tensor has one scale, and that both have the
   same encoding where stored integers are copied. */
int ref_expect_per_tensor(const ref_tensor *tensor, const char *what, ref_why *why);
int ref_expect_same_encoding(const ref_tensor *tensor, const char *what, const ref_tensor *as,
                             const char *as_what, ref_why *why);

/* Convert elements of from to elements of to, which has the same dtype: copy bytes when the
   encodings are equal, otherwise convert through chunk. from and to may be the same memory. */
enum { REF_CHUNK = 1024 };
size_t ref_chunk_scratch(const ref_node *node);  /* scratch() of operators that need one chunk */
void ref_move(const ref_tensor *to, uint64_t to_first, const ref_tensor *from, uint64_t from_first,
              uint64_t count, float chunk[REF_CHUNK]);

/* Convert each element of input 0 to a real number, compute, and convert it to output 0; compute
   NULL: only convert. chunk: of ref_chunk_scratch(). Return 1. compute() works on whole lanes,
   which compilers turn into vectors: a chunk ends with a whole one. */
enum { REF_LANES = 16 };
#define REF_EACH(expression)                                                                       \
    for (uint64_t i = 0; i < count; i += REF_LANES)                                                \
        for (int lane = 0; lane < REF_LANES; ++lane) {                                             \
            const float x = v[i + (uint64_t)lane];                                                 \
            v[i + (uint64_t)lane] = (expression);                                                  \
        }
typedef void (*ref_compute)(const ref_node *node, uint32_t operation, float *v, uint64_t count);
int ref_each(const ref_node *node, uint32_t operation, ref_compute compute, float *chunk);

float    ref_f16_to_f32(uint16_t half);
uint16_t ref_f32_to_f16(float value);            /* halves to even, overflow to inf */
void     ref_f16_load(const uint16_t *halves, uint64_t count, float *values);

/* On x86-64 a function that is REF_AVX2 may use wider registers; call it only if ref_wide. The
   processor is asked once, when the library is loaded: each question takes microseconds in a
   virtual machine. Tests set ref_wide to 0 for what other processors compute. */
#if defined(__x86_64__) && defined(__GNUC__)
#define REF_AVX2 __attribute__((target("avx2,f16c")))
extern int ref_wide;
#endif

#endif
