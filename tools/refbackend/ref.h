/* ref.h - what the files of libQnnRef.so share, except operators

   Layers; each one calls only those below it:

     interface.c   the two provider objects; every slot: begin, call, end
     execute.c     graph calls of the interface, execute
     system.c      metadata of a binary
     backend.c     logs, backend, device, power, properties, messages
     context.c     contexts: create, save, load
     mem.c         registered memory
     profile.c     events of one call
     binary.c      a model to bytes and back
     model.c       graphs and tensors without handles: checks, order, memory plan
     shape.c       dims and absent inputs of one execute
     tensor.c      one tensor: encoding, bytes
     ledger.c      handles of all objects, the lock, memory
     log.c         lines to the callbacks of logs
     trace.c faults.c slots.c    the floor
     ops.c ops_*.c ref_op.c      operators (ref_op.h): know nothing of this file

   Handles are numbers, never addresses, and none is used twice. One lock, ref_lock(),
   guards everything that is shared; execute releases it while it computes. */
#ifndef REF_H
#define REF_H

#include <pthread.h>
#include <stdio.h>
#include "qnn_abi.h"
#include "ref_op.h"

#define REF_PROVIDER   "REF_QNNRT"
#define REF_BUILD      "v0.1.0"
#define REF_PACKAGE    "qti.aisw"        /* the vendor's name of the built-in operators */
enum { REF_BACKEND_ID = 0x524546 };      /* "REF"; the vendor's numbers are 0 to 16 */
enum { REF_NONE = -1 };
enum { REF_NAME_MOST = 4096 };           /* most bytes of a name */
enum { REF_ALIGN = 64 };                 /* alignment of every block of tensor data */
/* Round up to the next multiple of REF_ALIGN. */
static inline uint64_t ref_rounded(uint64_t bytes)
{
    return (bytes + REF_ALIGN - 1) / REF_ALIGN * REF_ALIGN;
}

typedef struct ref_log ref_log;

/* ---- ledger.c -------------------------------------------------------------------------------- */

typedef enum ref_kind {
    REF_LOG = 1, REF_BACKEND, REF_DEVICE, REF_CONTEXT, REF_GRAPH, REF_MEM, REF_PROFILE,
    REF_SYSTEM, REF_POWER, REF_KINDS
} ref_kind;

/* Every object with a handle begins with this. */
typedef struct ref_object {
    ref_kind kind;
    /* Counts objects of its kind from 1: "context 2" in logs and traces. */
    uint32_t number;
    uint32_t index;                      /* place in the table */
    int      dead;                       /* 1: dead after a "subsystem restart" */
    uint64_t handle;
    ref_log *log;                        /* which gets the lines of calls for it; NULL: all */
} ref_object;

typedef struct ref_call ref_call;

void  ref_lock(void);
void  ref_unlock(void);
void *ref_alloc(size_t bytes);                       /* returns zeroed memory, and counts */
void *ref_grow(void *block, size_t old_bytes, size_t bytes);
void  ref_free(void *block);
uint64_t ref_allocations(uint64_t *bytes);           /* how many, and of how many bytes, so far */

const char *ref_kind_name(ref_kind kind);
/* Add an object of the call with a new handle. Return 0 when there is no memory. */
int   ref_ledger_add(ref_call *call, ref_object *object, ref_kind kind, q_handle *out);
/* Allocate a zeroed object and add it. When memory runs out, let the call fail and return NULL. */
void *ref_ledger_make(ref_call *call, ref_kind kind, size_t bytes, q_handle *out);
/* Remove an object, and free it. */
void  ref_ledger_drop(ref_object *object);
/* Take a log from all objects that use it. */
void  ref_ledger_mute(const ref_log *log);
/* Return the object of a handle; the first one of a call decides which log gets its lines. NULL:
   the call has failed with this code, and a log line says why. */
void *ref_ledger_get(ref_call *call, ref_kind kind, const void *handle, q_code code);
/* Do the same for the argument of a free function: objects that a restart killed are allowed. */
void *ref_ledger_get_dead(ref_call *call, ref_kind kind, const void *handle, q_code code);
/* Write "context 2" for a handle, "?" for one that is not alive. */
void  ref_ledger_name(const void *handle, char *text, size_t bytes);
/* Return the n-th living object of a kind, or NULL. */
void *ref_ledger_at(ref_kind kind, size_t n);
/* Record a call that is allowed and works, but is wrong, for the report. */
void  ref_ledger_misuse(ref_call *call, const char *format, ...);
void  ref_ledger_restart(void);
/* Write what is alive and what was misused; "" when there is nothing to report. */
size_t ref_ledger_report(char *text, size_t bytes);

/* ---- trace.c --------------------------------------------------------------------------------- */

/* Faults that the rules demand for a call. */
typedef struct ref_wish {
    q_code   code;                       /* result of the call; 0: no fault */
    int      null, overwrite, restart, no_slot;
    uint32_t delay_ms;
    uint32_t slower;                     /* percent */
} ref_wish;

/* One call of a slot. */
struct ref_call {
    const char *name;
    q_code      code;
    ref_log    *log;                     /* log for lines of the call; NULL: all logs */
    ref_wish    wish;
    uint64_t    begun;                   /* with wish.slower: when, in ns */
    char        arguments[400], made[40];/* for the trace; made: object that the call makes */
};

void ref_trace_line(const ref_call *call);
int  ref_trace_wanted(void);
void ref_trace_set(int on);
void ref_trace_clear(void);
size_t ref_trace_text(char *text, size_t bytes);

/* Fail the call: write a line at ERROR level, keep the code, return it. */
q_code ref_fail(ref_call *call, q_code code, const char *format, ...);

/* ---- log.c ----------------------------------------------------------------------------------- */

struct ref_log {
    ref_object     head;
    ref_log       *next;                 /* of all logs */
    q_log_callback callback;
    uint32_t       level;
};

void ref_log_write(ref_call *call, uint32_t level, const char *format, ...);
/* Enter a log into the list of those that receive lines, or take it out. */
void ref_log_join(ref_log *log);
void ref_log_leave(ref_log *log);
/* Send lines that are hard to handle from another thread, now: to one callback, or to all. */
void ref_log_hostile(q_log_callback callback);
void ref_log_hostile_all(void);
uint64_t ref_now_ns(void);

/* ---- faults.c -------------------------------------------------------------------------------- */

enum { REF_LIE_GRAPHS = 1, REF_LIE_INPUTS, REF_LIE_NAME };

typedef struct ref_faults {
    q_version   core, backend, system;
    const char *build, *name;
    uint32_t    backend_id;
    int         providers, system_providers;         /* 0, 1, 2; REF_NONE: one, with a NULL list */
    uint32_t    info, graph_info, tensor;            /* struct versions of metadata */
    /* REF_LIE_...: absurd numbers, NULL instead of pointers */
    int         counts, pointers;
    int         keep_binary, log_thread, log_late;
    uint64_t    spill_fill;                          /* of every graph in metadata; 0: not HTP's */
} ref_faults;

extern ref_faults ref_fault;             /* read it under the lock */

/* Replace all rules. Return 0 when a word is not known: why names it, and the rules stay
   unchanged. */
int  ref_faults_set(const char *text, char *why, size_t bytes);
/* Read QNNREF_FAULTS if its value has changed. Return 0 when it is not valid. */
int  ref_faults_environment(void);
uint64_t ref_faults_serial(void);        /* number of the current rules; 0: none were set yet */
void ref_faults_ask(int slot, uint64_t nth, ref_wish *wish);
uint64_t ref_faults_count(int slot);     /* count a call of the slot */

/* ---- tensor.c -------------------------------------------------------------------------------- */

/* The vendor's encoding as given; the arrays are owned. */
typedef struct ref_encoding {
    uint32_t  definition, encoding, bits;
    int32_t   axis;
    uint32_t  count;                     /* number of scales and offsets */
    float    *scales;
    int32_t  *offsets;                   /* NULL: all 0 */
    uint32_t  blocks, storage;           /* BLOCKWISE_EXPANSION */
    uint16_t *block_scales;              /* [count * blocks] */
    uint32_t  sizes[REF_RANK];           /* BLOCK */
} ref_encoding;

/* Write the reason and return the code. */
q_code ref_refused(ref_why *why, q_code code, const char *format, ...);

typedef struct ref_model ref_model;

typedef struct ref_value {
    ref_tensor   view;                   /* what operators receive */
    uint32_t     id, type, format;
    ref_encoding encoding;
    int          datum;                  /* STATIC: index in the model's data, else REF_NONE */
    uint64_t     bytes;                  /* size with the dims in .most */
    uint32_t     dynamic;                /* bit i: each execute sets view.dims[i], up to most[i] */
    uint32_t     most[REF_RANK];         /* its dims when it was made */
    int          writer;                 /* step that writes it, REF_NONE: none */
    int          last;                   /* position in the order of its last reader or writer */
    uint64_t     offset;                 /* offset in the arena of its graph */
    /* Memory in place of the caller's, when that cannot be used; for UPDATEABLE_STATIC the data
       that replaced that of the model, or NULL. */
    void        *staging;
    /* During an execute: the caller's memory, NULL for an optional tensor that was left out. */
    void        *caller;
    uint64_t     room;                   /* bytes of the caller's memory */
    int          shared;                 /* 1: an output in memory of an input */
    uint64_t     seen;                   /* number of the execute that bound it */
} ref_value;

/* The description of a tensor, from a caller's struct or from a file; arrays are borrowed. */
typedef struct ref_made {
    const char     *name;
    uint32_t        type, format, dtype, rank, dynamic;
    const uint32_t *dims;
    ref_encoding    encoding;
    const void     *data;                /* STATIC, from a caller */
    int             stays;               /* data is read where it is, see Q_MEM_IN_PLACE */
    /* STATIC, from a file: index in the model's data, else REF_NONE */
    int             datum;
    uint64_t        bytes;
} ref_made;

/* Memory that lives as long as its owner. */
typedef struct ref_arena { struct ref_block *blocks; } ref_arena;
void *ref_arena_alloc(ref_arena *arena, size_t bytes);
char *ref_arena_text(ref_arena *arena, const char *text);
void  ref_arena_free(ref_arena *arena);

int  ref_type_is_app(uint32_t type);
int  ref_type_is_input(uint32_t type);
int  ref_type_is_output(uint32_t type);
int  ref_type_is_optional(uint32_t type);
int  ref_type_is_static(uint32_t type);
/* Read the vendor's struct. Arrays of the encoding are copied into the arena. */
q_code ref_made_from(const q_tensor *from, ref_arena *arena, ref_made *made, ref_why *why);
/* Check and fill a tensor, except its data and id. */
q_code ref_value_fill(const ref_made *made, ref_arena *arena, ref_value *value, ref_why *why);
/* Return 1 if static data has scales per block, and values of 4 bits. */
int  ref_value_has_nibbles(const ref_value *value);
/* Check these values; data has the bytes of the value. */
q_code ref_value_check_nibbles(const ref_value *value, const void *data, ref_why *why);
/* Return 1 if static data has values of less than 8 bits, which operators read extended. */
int  ref_value_narrow(const ref_value *value);
/* Copy static data to out as operators read it. */
void ref_value_extend(const ref_value *value, const void *data, void *out);
/* Fill a vendor struct from a value; it borrows from the value, and arena holds its arrays. Return
   0 when there is no memory. */
int  ref_value_tell(const ref_value *value, uint32_t version, ref_arena *arena, q_tensor *out);

/* ---- model.c --------------------------------------------------------------------------------- */

typedef struct ref_argument {            /* a parameter of a step */
    const char *name;
    uint32_t    dtype;                   /* type of a scalar */
    uint64_t    bits;                    /* the 8 bytes of a scalar, as given */
    int         value;                   /* index of a tensor's value, else REF_NONE */
} ref_argument;

typedef struct ref_step {
    ref_node      view;
    /* What is executed: view, but with halves as the weight where a Cast to float32 is folded. */
    ref_node      run;
    int           folded;                /* 1: such a Cast, which is not executed */
    const char   *package;
    int          *in, *out;              /* indices of values, REF_NONE: absent */
    ref_argument *arguments;
    uint64_t      ns;                    /* time in the last profiled run */
} ref_step;

typedef struct ref_names { const char **table; size_t room, used; } ref_names;

typedef struct ref_body {                /* a graph without its handle */
    ref_model      *model;
    const char     *name;
    ref_value     **values;              /* by ascending id */
    ref_step      **steps;
    int             value_count, step_count;
    ref_names       value_names, step_names;
    int            *order;               /* [step_count], once finalized */
    uint64_t        arena_bytes, scratch_bytes;
    unsigned char  *arena;               /* intermediate tensors, then scratch */
    ref_value     **bound;               /* [input_count + output_count] used by one execute */
    int             input_count, output_count;
    int             flexible;            /* 1: it has a dynamic or an optional tensor */
    uint32_t        priority;
    int             finalized;
    uint64_t        executes;
    pthread_mutex_t lock;                /* held while it computes */
} ref_body;

typedef struct ref_datum {
    uint64_t    hash, bytes;
    const void *data;
    int         nibbles_are_right;       /* 1: checked, see ref_value_check_nibbles() */
} ref_datum;

struct ref_model {
    ref_arena   arena;
    ref_body  **bodies;
    int         body_count;
    ref_names   body_names;
    ref_datum  *data;
    int         data_count;
    uint32_t    next_id;
    /* what the file states that it was read from */
    char        build[64];
    q_version   core, backend;
    uint64_t    file_bytes;
};

ref_model *ref_model_new(void);
void ref_model_free(ref_model *model);
ref_body *ref_model_graph(ref_model *model, const char *name, ref_why *why, q_code *code);
ref_body *ref_model_find(const ref_model *model, const char *name);
uint64_t ref_hash(const void *data, uint64_t bytes);
/* Add data of static tensors; borrow: 1 makes no copy. Return REF_NONE when there is no memory. */
int  ref_model_datum(ref_model *model, const void *data, uint64_t bytes, uint64_t hash, int borrow);

/* Add a tensor with its data; its id is the model's next. */
q_code ref_body_tensor(ref_body *body, const ref_made *made, ref_value **out, ref_why *why);
/* Find the tensor with this id. Return REF_NONE or NULL when there is none. */
int  ref_body_index(const ref_body *body, uint32_t id);
ref_value *ref_body_value(const ref_body *body, uint32_t id);
/* Add a node whose values are indices of the body. */
typedef struct ref_plan_step {
    const char   *name, *package, *type;
    const int    *in, *out;
    ref_argument *arguments;
    uint32_t      in_count, out_count, argument_count;
} ref_plan_step;
q_code ref_body_node(ref_body *body, const ref_plan_step *step, ref_why *why);
q_code ref_body_finalize(ref_body *body, ref_why *why);
uint64_t ref_plan_steps(void);           /* of searches for places in arenas, so far */
/* Replace the data of an UPDATEABLE_STATIC tensor. Refused data changes nothing. */
q_code ref_body_update(ref_body *body, ref_value *value, const void *data, ref_why *why);
/* Read a scalar's value. Return 0 when a scalar cannot have its type. */
int ref_scalar(uint32_t dtype, uint64_t bits, double *value);

/* ---- shape.c --------------------------------------------------------------------------------- */

/* Check that a step that passed its operator's check can be computed with fewer elements and
   without its optional inputs. */
int ref_shape_check(const ref_body *body, ref_step *step, ref_why *why);
/* Return all tensors to the dims that they were made with, and all optional inputs to their
   nodes. */
void ref_shape_reset(ref_body *body);
/* Find the dims of everything that is computed from inputs whose dims are set, and take absent
   inputs from their nodes. */
q_code ref_shape_settle(ref_body *body, ref_why *why);

/* ---- binary.c -------------------------------------------------------------------------------- */

/* Write a model and return its size; out NULL: only return the size. */
uint64_t ref_binary_write(const ref_model *model, unsigned char *out);
enum { REF_BINARY_TELL, REF_BINARY_RUN };
/* Read a model to describe it, or to run it. Return NULL when the bytes are not valid: why says
   how, and *code is the result for contextCreateFromBinary. */
ref_model *ref_binary_read(const void *data, uint64_t bytes, int use, ref_why *why, q_code *code);

/* ---- objects of the interface ---------------------------------------------------------------- */

typedef struct ref_backend { ref_object head; } ref_backend;
typedef struct ref_device  { ref_object head; } ref_device;

typedef struct ref_context {
    ref_object   head;
    ref_backend *backend;
    ref_device  *device;
    ref_model   *model;
    int          from_binary;
    int          executing;              /* calls that are computing in it */
    /* First context of its spill-fill group, or itself; NULL: no group. */
    struct ref_context *group;
    uint64_t     group_bytes;            /* of the group's memory, in its first */
    /* fault keep_binary: the caller's bytes, read at execute */
    const void  *kept;
    uint64_t     kept_bytes, kept_hash;
} ref_context;

typedef struct ref_graph {
    ref_object   head;
    ref_context *context;
    ref_body    *body;
} ref_graph;

typedef struct ref_mem {
    ref_object   head;
    struct ref_mem *next;                /* of all registrations */
    ref_context *context;
    uint32_t     dtype, rank, dims[REF_RANK];
    uint64_t     inode, device, offset, bytes;
    unsigned char *map;                  /* registrations of one file share it */
    uint64_t     map_bytes;
    unsigned char *data;
} ref_mem;

typedef struct ref_event {
    uint32_t    type, unit;
    uint64_t    value;
    int         parent;                  /* REF_NONE: top level */
    char       *name;
} ref_event;

typedef struct ref_profile {
    ref_object   head;
    ref_backend *backend;
    uint32_t     level;
    ref_event   *events;
    uint64_t    *ids;                    /* [room] all lists of ids that callers have received */
    int          count, room;
} ref_profile;

/* backend.c */
q_code ref_log_create(ref_call *call, q_log_callback callback, uint32_t level, q_handle *out);
q_code ref_log_level(ref_call *call, q_handle log, uint32_t level);
q_code ref_log_free(ref_call *call, q_handle log);
q_code ref_property(ref_call *call, uint32_t key);
q_code ref_backend_create(ref_call *call, q_handle log, const q_config **configs, q_handle *out);
q_code ref_backend_config(ref_call *call, q_handle backend, const q_config **configs);
q_code ref_backend_package(ref_call *call, q_handle backend, const char *path, const char *name);
q_code ref_backend_operations(ref_call *call, q_handle backend, uint32_t *count,
                              const q_op_name **out);
q_code ref_backend_free(ref_call *call, q_handle backend);
q_code ref_device_info(ref_call *call, q_handle log, const q_platform_info **out);
q_code ref_device_info_of(ref_call *call, q_handle device, const q_platform_info **out);
q_code ref_device_info_free(ref_call *call, q_handle log, const q_platform_info *info);
q_code ref_device_create(ref_call *call, q_handle log, const q_config **configs, q_handle *out);
q_code ref_device_config(ref_call *call, q_handle device, const q_config **configs);
q_code ref_device_free(ref_call *call, q_handle device);
q_code ref_signal_none(ref_call *call, q_handle signal);     /* refuses every handle except NULL */
q_code ref_error_message(ref_call *call, q_code code, const char **out);
q_code ref_power_create(ref_call *call, uint32_t device, uint32_t core, uint32_t *id);
q_code ref_power_destroy(ref_call *call, uint32_t id);
q_code ref_power_set(ref_call *call, uint32_t id, const q_power_config **configs);
q_code ref_power_memory(ref_call *call, uint32_t device, uint32_t core,
                        const q_memory_config **configs);
q_platform_info *ref_platform(void);

/* context.c */
int    ref_priority_known(uint32_t priority);
q_code ref_context_create(ref_call *call, q_handle backend, q_handle device,
                          const q_config **configs, q_handle *out);
q_code ref_context_config(ref_call *call, q_handle context, const q_config **configs);
q_code ref_context_size(ref_call *call, q_handle context, uint64_t *bytes);
q_code ref_context_binary(ref_call *call, q_handle context, void *data, uint64_t bytes,
                          uint64_t *written);
q_code ref_context_load(ref_call *call, q_handle backend, q_handle device, const q_config **configs,
                        const void *data, uint64_t bytes, q_handle *out, q_handle profile);
q_code ref_context_check(ref_call *call, q_handle backend, const void *data, uint64_t bytes);
q_code ref_context_free(ref_call *call, q_handle context, q_handle profile);
void   ref_context_drop(ref_context *context);
/* Fault keep_binary: return 1 when the caller's bytes are still mapped and unchanged. */
int    ref_context_kept(const ref_context *context);

/* execute.c */
uint64_t ref_copies(void);               /* of tensors that could not be used in place, so far */
uint64_t ref_place_steps(void);          /* of sorting the caller's memory, so far */
q_code ref_backend_validate(ref_call *call, q_handle backend, const q_op *op);
q_code ref_graph_create(ref_call *call, q_handle context, const char *name,
                        const q_config **configs, q_handle *out);
q_code ref_graph_config(ref_call *call, q_handle graph, const q_config **configs);
q_code ref_graph_node(ref_call *call, q_handle graph, const q_op *op);
q_code ref_graph_finalize(ref_call *call, q_handle graph, q_handle profile, q_handle signal);
q_code ref_graph_retrieve(ref_call *call, q_handle context, const char *name, q_handle *out);
q_code ref_graph_tensor(ref_call *call, q_handle graph, q_tensor *tensor);
q_code ref_graph_update(ref_call *call, q_handle graph, const q_tensor **tensors, uint64_t count);
q_code ref_graph_execute(ref_call *call, q_handle graph, const q_tensor *inputs,
                         uint32_t input_count, q_tensor *outputs, uint32_t output_count,
                         q_handle profile, q_handle signal);

/* mem.c */
q_code ref_mem_register(ref_call *call, q_handle context, const q_mem_descriptor *descriptors,
                        uint32_t count, q_handle *out);
q_code ref_mem_deregister(ref_call *call, const q_handle *handles, uint32_t count);
void   ref_mem_drop(ref_mem *mem);

/* profile.c */
q_code ref_profile_create(ref_call *call, q_handle backend, uint32_t level, q_handle *out);
q_code ref_profile_config(ref_call *call, q_handle profile, const q_config **configs);
q_code ref_profile_events(ref_call *call, q_handle profile, const uint64_t **ids, uint32_t *count);
q_code ref_profile_sub(ref_call *call, uint64_t event, const uint64_t **ids, uint32_t *count);
q_code ref_profile_data(ref_call *call, uint64_t event, q_event *out);
q_code ref_profile_extended(ref_call *call, uint64_t event, q_extended_event *out);
q_code ref_profile_free(ref_call *call, q_handle profile);
void   ref_profile_drop(ref_profile *profile);
/* Look up a profile. A NULL handle is valid: *out is NULL. backend: the profile must belong to
   it. */
q_code ref_profile_get(ref_call *call, q_handle handle, const ref_backend *backend,
                       ref_profile **out);
void   ref_profile_clear(ref_profile *profile);
/* Add the time since `began`, at the top level. */
void   ref_profile_time(ref_profile *profile, uint32_t type, uint64_t began, const char *name);
/* Add an event. Return its index, or REF_NONE when there is no memory. profile NULL: do nothing. */
int    ref_profile_add(ref_profile *profile, int parent, uint32_t type, uint32_t unit,
                       uint64_t value, const char *name);

/* system.c */
q_code ref_system_create(ref_call *call, q_handle *out);
q_code ref_system_info(ref_call *call, q_handle system, const void *data, uint64_t bytes,
                       const q_binary_info **out);
q_code ref_system_free(ref_call *call, q_handle system);

#endif
