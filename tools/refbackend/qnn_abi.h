/* qnn_abi.h - the vendor's binary interface as libQnnRef.so implements it

   Written from the notes on the binary interface (core API 2.23 to 2.40, where no struct changed
   its size), and not from qnnrt.h: the second declaration exists so that tests fail where the two
   disagree. Facts only: names, numbers, orders, offsets; every offset that is used is asserted.

   Target: LP64, little-endian.
   Knows nothing of: libQnnRef.so itself */
#ifndef REF_QNN_ABI_H
#define REF_QNN_ABI_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t q_code;                 /* the low 16 bits are the code, 0 is success */
typedef void    *q_handle;
typedef void   (*q_slot)(void);

enum { Q_CORE_SLOTS = 72, Q_SYSTEM_SLOTS = 27 };
enum { Q_UNDEFINED = 0x7FFFFFFF };       /* the "not given" value of nearly every vendor enum */

/* Codes, by group. */
enum {
    Q_OK = 0,
    Q_NOT_SUPPORTED = 1000, Q_MEMORY = 1002, Q_ARGUMENT = 1004, Q_NOT_PERMITTED = 1005,
    Q_DEVICE_LOST = 1011, Q_GENERAL = 1100,
    Q_UNKNOWN_KEY = 2000,
    Q_OP_REFUSED = 3110,
    Q_BACKEND_CANNOT_INITIALIZE = 4000, Q_BACKEND_ARGUMENT = 4004, Q_BACKEND_NO_PACKAGE = 4005,
    Q_BACKEND_HANDLE = 4011, Q_BACKEND_CONFIG = 4012,
    Q_CONTEXT_ARGUMENT = 5000, Q_CONTEXT_HANDLE = 5002, Q_CONTEXT_NOT_FINALIZED = 5003,
    Q_CONTEXT_FROM_BINARY = 5005, Q_CONTEXT_GET_BINARY = 5007, Q_CONTEXT_CONFIG = 5010,
    Q_GRAPH_ARGUMENT = 6000, Q_GRAPH_HANDLE = 6001, Q_GRAPH_MISSING = 6002, Q_GRAPH_NAME = 6003,
    Q_GRAPH_TENSOR = 6004, Q_GRAPH_OP = 6005, Q_GRAPH_FINALIZE = 6022, Q_GRAPH_NOT_FINALIZED = 6023,
    Q_GRAPH_FINALIZED = 6024, Q_GRAPH_SHAPE = 6036,
    Q_TENSOR_HANDLE = 7001, Q_TENSOR_MISSING = 7002, Q_TENSOR_EXISTS = 7003, Q_TENSOR_PARAM = 7004,
        Q_TENSOR_UNSUPPORTED = 7005,
    Q_TENSOR_UPDATE = 7007,
    Q_MEM_ARGUMENT = 8000, Q_MEM_HANDLE = 8001, Q_MEM_REGISTERED = 8002, Q_MEM_MAPPING = 8003,
    Q_MEM_SHAPE = 8004, Q_MEM_TYPE = 8005,
    Q_SIGNAL_IN_USE = 9000, Q_SIGNAL_HANDLE = 9003,
    Q_ERROR_ARGUMENT = 10000, Q_ERROR_HANDLE = 10001,
    Q_LOG_ARGUMENT = 11003, Q_LOG_HANDLE = 11004,
    Q_PROFILE_HANDLE = 12000, Q_PROFILE_IN_USE = 12001,
    Q_POWER_POINTER = 13000, Q_POWER_INPUT = 13001, Q_POWER_CONFIG = 13002,
    Q_DEVICE_HANDLE = 14000, Q_DEVICE_CONFIG = 14001, Q_DEVICE_IN_USE = 14003,
    Q_SYSTEM_HANDLE = 30000, Q_SYSTEM_ARGUMENT = 30001, Q_SYSTEM_MALFORMED = 30010
};

enum { Q_LOG_ERROR = 1, Q_LOG_WARN, Q_LOG_INFO, Q_LOG_VERBOSE, Q_LOG_DEBUG };
enum { Q_APP_WRITE, Q_APP_READ, Q_APP_READWRITE, Q_NATIVE, Q_STATIC, Q_NULL,
       Q_UPDATEABLE_STATIC = 6, Q_OPTIONAL_APP_WRITE = 11, Q_OPTIONAL_APP_READ = 12 };
enum { Q_MEM_RAW, Q_MEM_MEMHANDLE,
       Q_MEM_IN_PLACE = 0x524546 };      /* this library only: static data that stays as it is until
                                            the context is freed, and is read where it is */
enum { Q_PRIORITY_NORMAL = 100 };
/* Only scalars have it; ref_op.h has the other data types. */
enum { Q_F64 = 0x0264 };
enum { Q_ENC_SCALE_OFFSET, Q_ENC_AXIS, Q_ENC_BW, Q_ENC_BW_AXIS, Q_ENC_BLOCK, Q_ENC_EXPANSION };
enum { Q_PARAM_SCALAR, Q_PARAM_TENSOR };
enum { Q_MEM_TYPE_ION = 1, Q_MEM_TYPE_CUSTOM, Q_MEM_TYPE_DMA_BUF };
enum { Q_HTP_MEM_SHARED_BUFFER = 1 };
enum { Q_UNIT_MICROSEC = 1, Q_UNIT_CYCLES = 3, Q_UNIT_COUNT = 4 };

typedef struct q_version { uint32_t major, minor, patch; } q_version;
typedef struct q_versions { q_version core, backend; } q_versions;

typedef void (*q_log_callback)(const char *format, uint32_t level, uint64_t time, va_list args);

typedef struct q_scale_offset { float scale; int32_t offset; } q_scale_offset;

typedef struct q_expansion {             /* BLOCKWISE_EXPANSION */
    int32_t         axis;
    q_scale_offset *pairs;               /* [dims[axis]] */
    uint32_t        blocks, bits, storage;   /* storage 0: bytes, 1: 16-bit words */
    union { uint8_t *w8; uint16_t *w16; } scales;    /* [dims[axis] * blocks] */
} q_expansion;

typedef struct q_quant {
    uint32_t definition;                 /* 1: there is an encoding */
    uint32_t encoding;
    union {
        q_scale_offset one;                                                           /* 0 */
        struct { int32_t axis; uint32_t count; q_scale_offset *pairs; } axis;         /* 1 */
        struct { uint32_t bits; float scale; int32_t offset; } bw;                    /* 2 */
        struct { uint32_t bits; int32_t axis; uint32_t count; float *scales;
                 int32_t *offsets; } bw_axis;                                         /* 3 */
        struct { uint32_t *sizes; q_scale_offset *pairs; } block;                     /* 4 */
        q_expansion *expansion;                                                       /* 5 */
        unsigned char raw[32];
    } u;
} q_quant;

typedef struct q_buffer { void *data; uint32_t bytes; } q_buffer;

typedef struct q_tensor {
    uint32_t version;                    /* 1: the struct ends before dynamic, 2: all of it */
    struct {
        uint32_t    id;
        const char *name;
        uint32_t    type, format, dtype;
        q_quant     quant;
        uint32_t    rank;
        uint32_t   *dims;
        uint32_t    mem_type;
        union { q_buffer buffer; q_handle mem; } u;
        uint8_t    *dynamic;             /* version 2 begins here */
        uint32_t    sparse_type, sparse_elements, sparse_dims;
        uint8_t     is_produced;
    } v;
} q_tensor;

typedef struct q_scalar {
    uint32_t dtype;
    union { float f32; double f64; uint64_t u64; int64_t i64; uint32_t u32; int32_t i32;
            uint16_t u16; int16_t i16; uint8_t u8; int8_t i8; const char *text; } u;
} q_scalar;

typedef struct q_param {
    uint32_t    kind;
    const char *name;
    union { q_scalar scalar; q_tensor tensor; } u;
} q_param;

typedef struct q_op {                    /* passed by value */
    uint32_t version;
    struct {
        const char *name, *package, *type;
        uint32_t    param_count;
        q_param    *params;
        uint32_t    input_count;
        q_tensor   *inputs;
        uint32_t    output_count;
        q_tensor   *outputs;
    } v1;
} q_op;

typedef struct q_op_name { const char *package, *name, *target; } q_op_name;

/* A config of a backend, context, graph, device, profile or signal: an option and 8 bytes. */
typedef struct q_config {
    uint32_t option;
    union { void *custom; uint32_t word; uint64_t wide; uint8_t flag; const char *text;
            struct { uint32_t first, second; } pair; } u;
} q_config;

enum { Q_HTP_BACKEND_ID = 6 };
/* What the option 0 of a context's config points to on HTP: QnnHtpContext_CustomConfig_t. */
enum { Q_HTP_MULTI_CONTEXTS = 2 };       /* spill-fill memory for a group of contexts */
typedef struct q_htp_config {
    uint32_t option;
    struct { void *first; uint64_t bytes; } group;   /* first NULL: this context begins a group */
} q_htp_config;

typedef struct q_mem_htp {               /* what a CUSTOM descriptor points to */
    uint32_t type;
    uint64_t bytes;                      /* size of the whole buffer */
    struct { int32_t fd; uint64_t offset; } shared;
} q_mem_htp;

typedef struct q_mem_descriptor {
    struct { uint32_t rank; uint32_t *dims; const char *config; } shape;
    uint32_t dtype, type;
    union { int32_t ion_fd; q_mem_htp *custom; struct { int32_t fd; void *data; } dma; } u;
} q_mem_descriptor;

typedef struct q_event { uint32_t type, unit; uint64_t value; const char *name; } q_event;
typedef struct q_extended_event {
    uint32_t version;
    struct { uint32_t type, unit;
             union { q_scalar value; unsigned char raw[24]; } u;
             uint64_t time; const char *name; } v1;
} q_extended_event;

typedef struct q_core_info {
    uint32_t version;
    struct { uint32_t id, type; void *extension; } v1;
} q_core_info;
typedef struct q_device_info {
    uint32_t version;
    struct { uint32_t id, type, core_count; q_core_info *cores; void *extension; } v1;
} q_device_info;
typedef struct q_platform_info {
    uint32_t version;
    struct { uint32_t count; q_device_info *devices; } v1;
} q_platform_info;

/* The perf infrastructure of HTP: deviceGetInfrastructure returns a pointer to it. */
enum { Q_POWER_DCVS_V3 = 1, Q_POWER_RPC_LATENCY, Q_POWER_RPC_POLLING, Q_POWER_HMX_TIMEOUT,
       Q_POWER_HMX_V2,
       Q_POWER_ADAPTIVE_POLLING, Q_POWER_DDR, Q_POWER_CENG, Q_POWER_DCVS_V3_EXP, Q_POWER_CENG_EXP };
enum { Q_POWER_POLLING_MOST = 9999 };
typedef struct q_power_config { uint32_t option, words[16]; } q_power_config;
typedef struct q_memory_config { uint32_t option, grow_bytes; } q_memory_config;
typedef struct q_infrastructure {
    uint32_t type;
    q_code (*power_create)(uint32_t device, uint32_t core, uint32_t *id);
    q_code (*power_destroy)(uint32_t id);
    q_code (*power_set)(uint32_t id, const q_power_config **configs);
    q_code (*memory_set)(uint32_t device, uint32_t core, const q_memory_config **configs);
} q_infrastructure;

typedef struct q_graph_info {
    uint32_t version;                    /* 1, 2, 3: each appends to the one before */
    struct {
        const char *name;
        uint32_t    input_count;
        q_tensor   *inputs;
        uint32_t    output_count;
        q_tensor   *outputs;
        uint32_t    updateable_count;    /* version 2 begins here */
        q_tensor   *updateable;
        uint32_t    blob_bytes;          /* version 3 begins here */
        void       *blob;
        uint32_t    first_op, last_op;
    } v;
} q_graph_info;

typedef struct q_binary_info {
    uint32_t version;
    union {
        struct {                         /* 1; version 2 appends platform */
            uint32_t backend_id; const char *build_id; q_version core, backend; const char *soc;
            q_version hw_version, blob_version; uint32_t hw_bytes; void *hw; uint64_t blob_bytes;
            uint32_t tensor_count; q_tensor *tensors; uint32_t graph_count; q_graph_info *graphs;
            q_platform_info *platform;
        } v1;
        struct {                         /* 3: a layout of its own, which differs after soc */
            uint32_t backend_id; const char *build_id; q_version core, backend; const char *soc;
            q_version blob_version; uint64_t blob_bytes;
            uint32_t tensor_count; q_tensor *tensors; uint32_t graph_count; q_graph_info *graphs;
            q_platform_info *platform; uint32_t metadata_bytes; void *metadata; uint32_t soc_model;
        } v3;
    } u;
} q_binary_info;

typedef struct q_notify_status { q_code error; } q_notify_status;
typedef struct q_context_buffer {
    uint32_t version;
    struct { uint32_t mem_type; struct { void *data; uint64_t bytes; } buffer; } v1;
} q_context_buffer;

typedef struct q_core_provider {
    uint32_t    backend_id;
    const char *name;
    q_versions  api;
    q_slot      slots[Q_CORE_SLOTS];
} q_core_provider;

typedef struct q_system_provider {
    uint32_t    backend_id;
    const char *name;
    q_version   api;
    q_slot      slots[Q_SYSTEM_SLOTS];
} q_system_provider;

#define Q_ASSERT(name, cond) typedef char q_assert_##name[(cond) ? 1 : -1]
Q_ASSERT(pointer,         sizeof(void *) == 8);
Q_ASSERT(expansion,       sizeof(q_expansion) == 40);
Q_ASSERT(expansion_8,     offsetof(q_expansion, scales) == 32);
Q_ASSERT(quant,           sizeof(q_quant) == 40);
Q_ASSERT(quant_u,         offsetof(q_quant, u) == 8);
Q_ASSERT(quant_pairs,     offsetof(q_quant, u.axis.pairs) == 16);
Q_ASSERT(quant_offsets,   offsetof(q_quant, u.bw_axis.offsets) == 32);
Q_ASSERT(tensor,          sizeof(q_tensor) == 144);
Q_ASSERT(tensor_id,       offsetof(q_tensor, v.id) == 8);
Q_ASSERT(tensor_name,     offsetof(q_tensor, v.name) == 16);
Q_ASSERT(tensor_type,     offsetof(q_tensor, v.type) == 24);
Q_ASSERT(tensor_dtype,    offsetof(q_tensor, v.dtype) == 32);
Q_ASSERT(tensor_quant,    offsetof(q_tensor, v.quant) == 40);
Q_ASSERT(tensor_rank,     offsetof(q_tensor, v.rank) == 80);
Q_ASSERT(tensor_dims,     offsetof(q_tensor, v.dims) == 88);
Q_ASSERT(tensor_mem,      offsetof(q_tensor, v.mem_type) == 96);
Q_ASSERT(tensor_data,     offsetof(q_tensor, v.u.buffer.data) == 104);
Q_ASSERT(tensor_bytes,    offsetof(q_tensor, v.u.buffer.bytes) == 112);
Q_ASSERT(tensor_dynamic,  offsetof(q_tensor, v.dynamic) == 120);
Q_ASSERT(tensor_sparse,   offsetof(q_tensor, v.sparse_type) == 128);
Q_ASSERT(tensor_produced, offsetof(q_tensor, v.is_produced) == 140);
Q_ASSERT(scalar,          sizeof(q_scalar) == 16 && offsetof(q_scalar, u) == 8);
Q_ASSERT(param,           sizeof(q_param) == 160 && offsetof(q_param, u) == 16);
Q_ASSERT(op,              sizeof(q_op) == 80);
Q_ASSERT(op_type,         offsetof(q_op, v1.type) == 24);
Q_ASSERT(op_params,       offsetof(q_op, v1.params) == 40);
Q_ASSERT(op_outputs,      offsetof(q_op, v1.outputs) == 72);
Q_ASSERT(config,          sizeof(q_config) == 16 && offsetof(q_config, u) == 8);
Q_ASSERT(htp_config,      sizeof(q_htp_config) == 24 && offsetof(q_htp_config, group.bytes) == 16);
Q_ASSERT(mem_htp,         sizeof(q_mem_htp) == 32 && offsetof(q_mem_htp, shared.offset) == 24);
Q_ASSERT(mem,             sizeof(q_mem_descriptor) == 48 && offsetof(q_mem_descriptor, u) == 32);
Q_ASSERT(mem_type,        offsetof(q_mem_descriptor, type) == 28);
Q_ASSERT(event,           sizeof(q_event) == 24);
Q_ASSERT(extended,        sizeof(q_extended_event) == 56 && offsetof(q_extended_event, v1.u) == 16);
Q_ASSERT(extended_name,   offsetof(q_extended_event, v1.name) == 48);
Q_ASSERT(device_info,     sizeof(q_device_info) == 40 && sizeof(q_core_info) == 24);
Q_ASSERT(platform,        sizeof(q_platform_info) == 24);
Q_ASSERT(power,           sizeof(q_power_config) == 68 && sizeof(q_memory_config) == 8);
Q_ASSERT(infrastructure,  sizeof(q_infrastructure) == 40);
Q_ASSERT(graph_info,      sizeof(q_graph_info) == 88);
Q_ASSERT(graph_upd,       offsetof(q_graph_info, v.updateable_count) == 48);
Q_ASSERT(graph_blob,      offsetof(q_graph_info, v.blob_bytes) == 64);
Q_ASSERT(graph_last,      offsetof(q_graph_info, v.last_op) == 84);
Q_ASSERT(info,            sizeof(q_binary_info) == 144);
Q_ASSERT(info_hw,         offsetof(q_binary_info, u.v1.hw) == 88);
Q_ASSERT(info_graphs1,    offsetof(q_binary_info, u.v1.graphs) == 128);
Q_ASSERT(info_platform2,  offsetof(q_binary_info, u.v1.platform) == 136);
Q_ASSERT(info_blob3,      offsetof(q_binary_info, u.v3.blob_bytes) == 72);
Q_ASSERT(info_graphs3,    offsetof(q_binary_info, u.v3.graphs) == 104);
Q_ASSERT(info_soc3,       offsetof(q_binary_info, u.v3.soc_model) == 136);
Q_ASSERT(context_buffer,  sizeof(q_context_buffer) == 32);
Q_ASSERT(core,            sizeof(q_core_provider) == 616 && offsetof(q_core_provider, slots) == 40);
Q_ASSERT(system,          sizeof(q_system_provider) == 248 && offsetof(q_system_provider,
                                                                       slots) == 32);

#endif
