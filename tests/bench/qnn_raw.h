/* qnn_raw.h - the vendor's interface as a program without qnnrt would declare it

   For comparison only: the bench measures qnnrt against it, and its empty backend implements it.
   Written from the ABI notes and not from qnnrt.h. 64-bit only.                              */
#ifndef QNN_RAW_H
#define QNN_RAW_H

#include <stddef.h>
#include <stdint.h>

enum { RAW_UNDEFINED = 0x7FFFFFFF };      /* "not given" of every vendor enum */
enum { RAW_INPUT = 0, RAW_OUTPUT = 1 };   /* types of tensors                 */
enum { RAW_F32 = 0x0232 };
enum { RAW_CORE_SLOTS = 72, RAW_SYSTEM_SLOTS = 27 };

typedef uint64_t raw_code;                /* 0 is success */
typedef void    *raw_handle;
typedef void   (*raw_slot)(void);

typedef struct raw_version { uint32_t major, minor, patch; } raw_version;

typedef struct raw_tensor {
    uint32_t version;                     /* 1, or 2: with what follows data_size */
    struct {
        uint32_t        id;
        const char     *name;
        uint32_t        type, format, dtype;
        struct { uint32_t defined, encoding; uint64_t payload[4]; } quant;
        uint32_t        rank;
        const uint32_t *dims;
        uint32_t        mem_type;
        void           *data;
        uint32_t        data_size;
        const uint8_t  *dynamic;
        uint32_t        sparse[3];
        uint8_t         produced;
    } v;
} raw_tensor;

typedef struct raw_graph_info {
    uint32_t version;                     /* 1, 2 or 3: the stride is that of 3 */
    struct {
        const char *name;
        uint32_t    input_count;
        raw_tensor *inputs;
        uint32_t    output_count;
        raw_tensor *outputs;
        uint64_t    rest[5];
    } v;
} raw_graph_info;

typedef struct raw_binary_info {
    uint32_t version;                     /* 3; other versions have the graphs in another place */
    struct {
        uint32_t        backend_id;
        const char     *build_id;
        raw_version     core, backend;
        const char     *soc;
        raw_version     blob;
        uint64_t        blob_bytes;
        uint32_t        context_tensor_count;
        raw_tensor     *context_tensors;
        uint32_t        graph_count;
        raw_graph_info *graphs;
        void           *platform;
        uint32_t        metadata_bytes;
        void           *metadata;
        uint32_t        soc_model;
    } v;
} raw_binary_info;

typedef struct raw_op {                   /* passed by value */
    uint32_t version;
    struct {
        const char *name, *package, *type;
        uint32_t    param_count;
        void       *params;
        uint32_t    input_count;
        raw_tensor *inputs;
        uint32_t    output_count;
        raw_tensor *outputs;
    } v;
} raw_op;

typedef struct raw_provider {
    uint32_t    id;
    const char *name;
    raw_version core, backend;
    raw_slot    slots[RAW_CORE_SLOTS];
} raw_provider;

typedef struct raw_system_provider {
    uint32_t    id;
    const char *name;
    raw_version version;
    raw_slot    slots[RAW_SYSTEM_SLOTS];
} raw_system_provider;

typedef raw_code (*raw_get_providers)(const raw_provider ***list, uint32_t *count);

/* Slots of the core table. */
enum {
    RAW_PROPERTY = 0, RAW_BACKEND_CREATE = 1, RAW_BACKEND_BUILD_ID = 4, RAW_BACKEND_REGISTER = 5,
    RAW_BACKEND_VALIDATE = 7, RAW_BACKEND_FREE = 8, RAW_CONTEXT_CREATE = 9, RAW_CONTEXT_BINARY_SIZE = 11,
    RAW_CONTEXT_BINARY = 12, RAW_CONTEXT_FROM_BINARY = 13, RAW_CONTEXT_FREE = 14, RAW_GRAPH_CREATE = 15,
    RAW_GRAPH_ADD_NODE = 18, RAW_GRAPH_FINALIZE = 19, RAW_GRAPH_RETRIEVE = 20, RAW_GRAPH_EXECUTE = 21,
    RAW_GRAPH_TENSOR = 24, RAW_LOG_CREATE = 25, RAW_LOG_FREE = 27, RAW_PROFILE_CREATE = 28,
    RAW_PROFILE_EVENTS = 30, RAW_PROFILE_EVENT = 32, RAW_PROFILE_FREE = 34, RAW_MEM_REGISTER = 35, RAW_DEVICE_INFRASTRUCTURE = 39, RAW_DEVICE_CREATE = 40,
    RAW_DEVICE_FREE = 43, RAW_SIGNAL_CREATE = 44, RAW_ERROR_MESSAGE = 48, RAW_TENSOR_UPDATE = 57
};
/* Slots of the system table. */
enum { RAW_SYSTEM_CREATE = 0, RAW_SYSTEM_BINARY_INFO = 1, RAW_SYSTEM_FREE = 3 };

typedef raw_code (*raw_backend_create)(raw_handle log, const void **config, raw_handle *out);
typedef raw_code (*raw_backend_build_id)(const char **out);
typedef raw_code (*raw_free)(raw_handle handle);
typedef raw_code (*raw_log_create)(void *callback, uint32_t level, raw_handle *out);
typedef raw_code (*raw_device_create)(raw_handle log, const void **config, raw_handle *out);
typedef raw_code (*raw_context_create)(raw_handle backend, raw_handle device, const void **config, raw_handle *out);
typedef raw_code (*raw_context_binary_size)(raw_handle context, uint64_t *bytes);
typedef raw_code (*raw_context_binary)(raw_handle context, void *data, uint64_t bytes, uint64_t *written);
typedef raw_code (*raw_context_from_binary)(raw_handle backend, raw_handle device, const void **config, const void *data,
                                            uint64_t bytes, raw_handle *out, raw_handle profile);
typedef raw_code (*raw_context_free)(raw_handle context, raw_handle profile);
typedef raw_code (*raw_graph_create)(raw_handle context, const char *name, const void **config, raw_handle *out);
typedef raw_code (*raw_graph_tensor)(raw_handle graph, raw_tensor *tensor);
typedef raw_code (*raw_graph_add_node)(raw_handle graph, raw_op op);
typedef raw_code (*raw_graph_finalize)(raw_handle graph, raw_handle profile, raw_handle signal);
typedef raw_code (*raw_graph_retrieve)(raw_handle context, const char *name, raw_handle *out);
typedef raw_code (*raw_graph_execute)(raw_handle graph, const raw_tensor *inputs, uint32_t input_count, raw_tensor *outputs,
                                      uint32_t output_count, raw_handle profile, raw_handle signal);

typedef raw_code (*raw_property)(uint32_t key);
typedef raw_code (*raw_backend_register)(raw_handle backend, const char *path, const char *provider, const char *target);
typedef raw_code (*raw_backend_validate)(raw_handle backend, raw_op op);
typedef raw_code (*raw_profile_create)(raw_handle backend, uint32_t level, raw_handle *out);
typedef raw_code (*raw_profile_events)(raw_handle profile, const uint64_t **events, uint32_t *count);
typedef raw_code (*raw_profile_event)(uint64_t event, void *data);
typedef raw_code (*raw_mem_register)(raw_handle context, const void *descriptors, uint32_t count, raw_handle *out);
typedef raw_code (*raw_device_infrastructure)(void **out);
typedef raw_code (*raw_signal_create)(raw_handle backend, const void **config, raw_handle *out);
typedef raw_code (*raw_error_message)(raw_code code, const char **out);
typedef raw_code (*raw_system_get_providers)(const raw_system_provider ***list, uint32_t *count);
typedef raw_code (*raw_system_create)(raw_handle *out);
typedef raw_code (*raw_system_binary_info)(raw_handle context, void *data, uint64_t bytes, const void **info, uint64_t *size);
typedef raw_code (*raw_tensor_update)(raw_handle graph, const raw_tensor **tensors, uint64_t count);

typedef char raw_tensor_is_144[sizeof(raw_tensor) == 144 ? 1 : -1];
typedef char raw_data_is_at_104[offsetof(raw_tensor, v.data) == 104 ? 1 : -1];
typedef char raw_graph_info_is_88[sizeof(raw_graph_info) == 88 ? 1 : -1];
typedef char raw_binary_info_is_144[sizeof(raw_binary_info) == 144 ? 1 : -1];
typedef char raw_graphs_are_at_104[offsetof(raw_binary_info, v.graphs) == 104 ? 1 : -1];
typedef char raw_op_is_80[sizeof(raw_op) == 80 ? 1 : -1];
typedef char raw_slots_are_at_40[offsetof(raw_provider, slots) == 40 ? 1 : -1];

#endif /* QNN_RAW_H */
