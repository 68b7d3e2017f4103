/* qnnrt_llm.h - v0.1.0 - run language models on qnnrt.h: roles, KV cache, masks, decoding, sampling

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_llm.h"
       #define QNNRT_LLM_IMPLEMENTATION
       #include "qnnrt_llm.h"
   qnnrt.h and qnnrt_json.h lie beside this file or are found by the compiler. Link with -ldl.

       qnnrt *model; qnnrt_llm *llm; qnnrt_llm_session *session; qnnrt_llm_cache *cache;
       qnnrt_llm_desc desc = {0};
       desc.folder = "model_dir";                        // for qnnrt.json and genie_config.json
       if (qnnrt_open("model_dir", NULL, &model, &err) != QNNRT_OK ||
           qnnrt_llm_open(model, &desc, &llm, &err) != QNNRT_OK ||
           qnnrt_llm_session_create(&llm, 1, NULL, &session, &err) != QNNRT_OK) {
           puts(err.text); return 1;
       }
       cache = qnnrt_llm_cache_get(session, 0, 0);
       batch.tokens = prompt; batch.count = prompt_count;          // any length, done in chunks
       while (qnnrt_llm_decode(cache, &batch) == QNNRT_OK) {
           next = qnnrt_llm_argmax(cache, batch.count - 1);         // after the last token
           if (qnnrt_llm_is_eos(llm, next)) break;
           use(next);
           batch.tokens = &next; batch.count = 1;
       }
       qnnrt_llm_session_destroy(session); qnnrt_llm_close(llm); qnnrt_close(model);

   Uses     the public names of qnnrt.h and libc; no libm
   Trust    Files may be hostile: their names, JSON, and saved states. The caller is trusted
   Memory   one allocator hook. Decoding and sampling allocate nothing
   Threads  None are created. A qnnrt_llm is read by any thread; a session with all its caches
            belongs to one thread at a time
   Globals  None but constant tables. No output, no abort

   WORDS
       step          here: one call of a model's graphs, all shards, on some tokens
       AR            tokens that a graph takes per call: 1 to decode, 32 or 128 for prompts
       context       most tokens that can take part in one step: cells + AR, told by the mask's width
       cell          room for the key and value of one token in all layers and heads
       cache         cells with their memory and what is in them. Each belongs to one model of a
                     session; a model may have several
       sequence      a numbered text, 0 to 63, in a cache. A cell may belong to several sequences:
                     a common prompt is stored once
       position      of a token in its text, from 0: what turns queries and keys (RoPE)
       role          what a tensor is for
       smart mask    cells stay where they are; new ones are copied to a free place, the mask says
                     which count
       shift pointer the tensors move along the cells instead: where the layout allows, new rows are
                     computed in their place and never copied. Takes more memory

   MANUAL: the declarations below, in the order in which they are used. Section numbers of formats
   refer to this file.
*/
#ifndef QNNRT_LLM_H
#define QNNRT_LLM_H

#include "qnnrt.h"

#ifndef QNNRT_LLM_API
#define QNNRT_LLM_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- roles -- */

/* X(NAME, text, layer) layer: 1 when it is one of a layer. The texts are those of role tables. */
#define QNNRT_LLM_ROLES(X) \
    X(UNKNOWN,     "unknown",     0) \
    X(TOKENS,      "tokens",      0)   /* in  [.., AR] ids                                      */ \
    X(POSITIONS,   "positions",   0)   /* in  [.., AR] integers                                 */ \
    X(ROPE_COS,    "rope_cos",    0)   /* in or edge [.., AR, n], n: head_dim / 2 or head_dim   */ \
    X(ROPE_SIN,    "rope_sin",    0) \
    X(MASK,        "mask",        0)   /* in  [.., AR, context]                                 */ \
    X(WINDOW_MASK, "window_mask", 0)   /* in  the same, of layers with a sliding window         */ \
    X(KEY_IN,      "key_in",      1)   /* in  rows of cells, see qnnrt_llm_cache_layout         */ \
    X(VALUE_IN,    "value_in",    1) \
    X(KEY_OUT,     "key_out",     1)   /* out of the new tokens, or of the whole context        */ \
    X(VALUE_OUT,   "value_out",   1) \
    X(HIDDEN,      "hidden",      0)   /* out of a shard and in of the next [.., AR, width]     */ \
    X(LOGITS,      "logits",      0)   /* out [.., AR, vocabulary]                              */ \
    X(UNUSED,      "unused",      0)   /* an output that nobody needs                           */

typedef enum qnnrt_llm_role {
#define QNNRT_LLM_X(name, text, layer) QNNRT_LLM_ROLE_##name,
    QNNRT_LLM_ROLES(QNNRT_LLM_X)
#undef QNNRT_LLM_X
    QNNRT_LLM_ROLE_COUNT
} qnnrt_llm_role;

/* "tokens", "key_in", ...; "unknown" for any other number. */
QNNRT_LLM_API const char *qnnrt_llm_role_name(qnnrt_llm_role role);

/* One line of a role table. */
typedef struct qnnrt_llm_role_desc {
    const char    *tensor;        /* its name, or "<context>/<name>" where shards use one name for
                                     different things; the same in all graphs */
    qnnrt_llm_role role;
    uint32_t       layer;         /* of keys and values, from 0 */
    uint32_t       head;          /* of caches that are one tensor per head (default 0) */
} qnnrt_llm_role_desc;

/* How positions turn queries and keys, where the graphs take cos and sin from the caller. */
typedef enum qnnrt_llm_rope_scaling {
    QNNRT_LLM_ROPE_PLAIN = 0,     /* angle(position, i) = position * theta ^ (-i / n), n angles */
    QNNRT_LLM_ROPE_LINEAR,        /* ... / factor */
    QNNRT_LLM_ROPE_LLAMA3         /* long waves divided by factor, short ones not, between the two
                                     smoothly: Llama 3.1's config "rope_type": "llama3" */
} qnnrt_llm_rope_scaling;

typedef struct qnnrt_llm_rope {
    double                 theta;              /* (default 0: of the files, else 10000) */
    qnnrt_llm_rope_scaling scaling;
    double                 factor;             /* LINEAR, LLAMA3 (default 0: 1; LLAMA3: 8) */
    double                 low_frequency;      /* LLAMA3 (default 0: 1) */
    double                 high_frequency;     /* LLAMA3 (default 0: 4) */
    uint32_t               original_context;   /* LLAMA3 (default 0: 8192) */
} qnnrt_llm_rope;

typedef struct qnnrt_llm_desc {
    const char                *folder;         /* its qnnrt.json and genie_config.json are read, when
                                                  they are there (default NULL: none is) */
    const char                *config;         /* text of a qnnrt.json, instead of the folder's */
    size_t                     config_bytes;
    const qnnrt_llm_role_desc *roles;          /* goes before those of qnnrt.json, and both before
                                                  any name or shape */
    size_t                     role_count;
    const char *const         *pipelines;      /* names of those to be used (default NULL: all of
                                                  the model) */
    size_t                     pipeline_count;
    qnnrt_llm_rope             rope;           /* a theta given here goes before that of files, with
                                                  all of this struct */
    const int32_t             *eos;            /* tokens that end a text (default NULL: of files) */
    size_t                     eos_count;
    int32_t                    bos;            /* (default 0: of files), else the token + 1 */
    uint32_t                   window;         /* of WINDOW_MASK: tokens that each one sees, with
                                                  itself (default 0: of files) */
    float                      masked;         /* what the mask adds where nobody may look (default
                                                  0: the lowest code of a quantized mask; -10000 of
                                                  a float one) */
    qnnrt_hooks                hooks;          /* alloc and free are used */
} qnnrt_llm_desc;

typedef struct qnnrt_llm_tensor_info {
    const qnnrt_tensor_info *tensor;
    uint32_t                 step;             /* of the pipeline: the shard */
    int                      output;
    qnnrt_llm_role           role;
    uint32_t                 layer, head;
    const char              *reason;           /* "role table", "named past_key_<l>_in", ... */
} qnnrt_llm_tensor_info;

typedef struct qnnrt_llm_graph_info {          /* one pipeline: a graph of every shard */
    const char                  *name;
    uint32_t                     ar, context;  /* cells that it reads: context - ar */
    size_t                       tensor_count;
    const qnnrt_llm_tensor_info *tensors;      /* shard by shard, inputs before outputs */
} qnnrt_llm_graph_info;

typedef struct qnnrt_llm_info {
    uint32_t                    ar;            /* most tokens per step: of the largest graph */
    uint32_t                    context;       /* most tokens in one step, of any graph */
    uint32_t                    cells;         /* most that a cache keeps: the largest context - ar */
    uint32_t                    layers;        /* that have keys and values here */
    uint32_t                    heads;         /* of keys and values, in a layer */
    uint32_t                    key_dim, value_dim;   /* of a head; of layer 0 where they differ */
    uint32_t                    vocabulary;    /* 0: these graphs give no logits */
    const qnnrt_tensor_info    *logits;        /* of the first graph, NULL: none */
    qnnrt_dtype                 cache_dtype;   /* UNDEFINED: no cache */
    const char                 *layout;        /* words: "one tensor per layer, keys transposed" */
    qnnrt_llm_rope              rope;          /* as used; theta 0: the graphs take no cos and sin */
    const char                 *rope_source;   /* "the caller", "genie_config.json", "qnnrt.json",
                                                  "the default" */
    const int32_t              *eos;
    size_t                      eos_count;
    int32_t                     bos;           /* -1: none */
    uint32_t                    window;        /* 0: none */
    uint64_t                    fingerprint;   /* of the model, for saved states */
    size_t                      graph_count;
    const qnnrt_llm_graph_info *graphs;        /* by ar, then context, ascending */
} qnnrt_llm_info;

typedef struct qnnrt_llm qnnrt_llm;

/* Find out what each tensor of a model is for, and wire its shards accordingly.

   Every tensor gets its role from the first of these that knows it: the caller's table; the object
   "llm" of qnnrt.json; the names that exporters give (Qualcomm's hub and Genie, ExecuTorch, mllm,
   ONNX Runtime); shapes of prefill and decode graph together, when only one candidate is left.
   Nothing is guessed: what remains unknown among the inputs, or has two candidates, is an error
   that lists them. A part of a model (one shard) can be opened to look at; running needs all of it.

       "llm": { "roles": { "output_1": "key_out 0", "2/output_7": "value_out 11 3" },
                "rope": { "theta": 500000, "scaling": "llama3", "factor": 8, "low_frequency": 1,
                          "high_frequency": 4, "original_context": 8192 },
                "bos": 1, "eos": [2, 3], "window": 4096 }

   model    must outlive it; opened with desc.inspect too
   desc     NULL for the default; may live on the stack, all is copied

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (no such pipeline or tensor; a role that is missing);
            QNNRT_E_MISMATCH (ambiguous, or graphs that disagree: of one cache, of a cut between
            shards, of types); QNNRT_E_FORMAT (JSON); QNNRT_E_UNSUPPORTED (a layout that this
            version cannot run); QNNRT_E_IO, QNNRT_E_LIMIT, QNNRT_E_MEMORY, QNNRT_E_ARG
   Frees    qnnrt_llm_close(): QNNRT_E_BUSY while a session uses it. NULL is fine */
QNNRT_LLM_API qnnrt_result qnnrt_llm_open(qnnrt *model, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                          qnnrt_error *err);
QNNRT_LLM_API qnnrt_result qnnrt_llm_close(qnnrt_llm *llm);

/* Facts, valid until qnnrt_llm_close(). */
QNNRT_LLM_API const qnnrt_llm_info *qnnrt_llm_get_info(const qnnrt_llm *llm);

/* Whether a token ends a text. */
QNNRT_LLM_API int qnnrt_llm_is_eos(const qnnrt_llm *llm, int32_t token);

/* Tell in words what was found, line by line without newlines: the model, every tensor of every
   graph with its role and why, the cuts. */
QNNRT_LLM_API void qnnrt_llm_describe(const qnnrt_llm *llm, void (*line)(void *user, const char *text),
                                      void *user);

/* ----------------------------------------------------------------------------------- session -- */

typedef enum qnnrt_llm_kv {
    QNNRT_LLM_SMART_MASK = 0,
    QNNRT_LLM_SHIFT_POINTER
} qnnrt_llm_kv;

typedef struct qnnrt_llm_session_desc {
    size_t        caches;          /* of each model (default 0: 1) */
    qnnrt_llm_kv  kv;
    uint32_t      positions;       /* a text may have (default 0: the model's context) */
    uint64_t    (*clock_ns)(void *user);   /* monotonic, for qnnrt_llm_times (default NULL: none) */
    void         *clock_user;
} qnnrt_llm_session_desc;

typedef struct qnnrt_llm_session qnnrt_llm_session;
typedef struct qnnrt_llm_cache   qnnrt_llm_cache;

/* Make models ready to run: one memory for the graphs of all of them, and their caches. Steps of a
   session run one after the other, so all graphs share scratch.

   models   [model_count]: a target and its drafts, say; all on one backend. They must outlive it
   desc     NULL for the default

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (a model without tokens, logits, mask or positions: the
            text says which); QNNRT_E_UNSUPPORTED (shift pointer with a layout that moves nothing
            along); what qnnrt_plan_create(), qnnrt_mem_create() and qnnrt_run_create() answer
   Frees    qnnrt_llm_session_destroy(); NULL is fine */
QNNRT_LLM_API qnnrt_result qnnrt_llm_session_create(qnnrt_llm *const *models, size_t model_count,
                                                    const qnnrt_llm_session_desc *desc,
                                                    qnnrt_llm_session **out, qnnrt_error *err);
QNNRT_LLM_API void qnnrt_llm_session_destroy(qnnrt_llm_session *session);

typedef struct qnnrt_llm_session_info {
    uint64_t arena_bytes;          /* of everything that graphs read and write, caches included */
    uint64_t naive_bytes;          /* one buffer for every tensor */
    uint64_t cache_bytes;          /* of one cache of the first model */
    uint64_t steps, executes;      /* so far; executes: of graphs, one per shard */
    uint64_t exec_ns, host_ns;     /* time inside and outside of qnnrt_exec(), with a clock */
} qnnrt_llm_session_info;
QNNRT_LLM_API qnnrt_llm_session_info qnnrt_llm_session_get_info(const qnnrt_llm_session *session);

/* Cache `index` of model `model` of a session; NULL when there is none such. */
QNNRT_LLM_API qnnrt_llm_cache *qnnrt_llm_cache_get(qnnrt_llm_session *session, size_t model,
                                                   size_t index);

/* Code and text of the last call on this cache that failed; never NULL. */
QNNRT_LLM_API const qnnrt_error *qnnrt_llm_error(const qnnrt_llm_cache *cache);

/* -------------------------------------------------------------------------------------- step -- */

enum { QNNRT_LLM_SEQUENCES = 64 };     /* in one cache */

/* Tokens to be computed. {0} with tokens and count continues sequence 0. */
typedef struct qnnrt_llm_batch {
    const int32_t       *tokens;       /* [count] */
    size_t               count;
    uint32_t             sequence;     /* that all of them continue */
    const uint64_t      *sequences;    /* [count] or for each token those that it belongs to, bit s
                                          for sequence s (default NULL: .sequence) */
    const int32_t       *positions;    /* [count] (default NULL: each behind what its sequences
                                          hold, and behind its parent) */
    const int32_t       *parents;      /* [count] a tree of drafts: the token of this batch that
                                          each one follows, -1: what the cache holds (default NULL:
                                          it follows all earlier ones of its sequences) */
    const unsigned char *wanted;       /* [count] not 0: logits are wanted (default NULL: of the last
                                          only). Ignored without .logits and .codes */
    float               *logits;       /* [wanted][vocabulary] receives them, or NULL */
    void                *codes;        /* the same as stored, or NULL */
} qnnrt_llm_batch;

/* Compute a batch of any length, in chunks, and keep its tokens in the cache. Either all of it
   happens or none: after a failure the cache is what it was.

   Returns  QNNRT_OK; QNNRT_E_ARG (empty, a token out of range, a sequence, position or parent that
            cannot be); QNNRT_E_LIMIT (the context is full: the text has the numbers);
            QNNRT_E_BACKEND and what else qnnrt_exec() answers. Text: qnnrt_llm_error()
   Cost     one pipeline execution per chunk, of the graph that fits best, and the copying of new
            keys and values. When the graph changes, the cells in use are moved between strides */
QNNRT_LLM_API qnnrt_result qnnrt_llm_decode(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch);

/* The first half of it, for drafts: compute at most qnnrt_llm_info.ar tokens and keep none. The
   cache does not change. Also for the very last token of a full context. */
QNNRT_LLM_API qnnrt_result qnnrt_llm_eval(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch);

/* The second half: keep some tokens of the batch that qnnrt_llm_eval() computed last in this
   session, once.

   rows     [count] ascending indices into that batch (NULL: the first `count`)
   Returns  QNNRT_OK; QNNRT_E_STATE (nothing to be kept: no eval, or another step since);
            QNNRT_E_ARG; QNNRT_E_LIMIT (no cells left) */
QNNRT_LLM_API qnnrt_result qnnrt_llm_accept(qnnrt_llm_cache *cache, const uint32_t *rows,
                                            size_t count);

/* What the model says about what follows token `row` of the last batch, valid until the next step
   of the session. After a batch of several chunks only rows of the last chunk can be asked for
   (use batch.wanted for others).

   codes    as stored, qnnrt_llm_info.logits tells the type; NULL when there are none
   logits   as numbers, values [vocabulary]
   argmax   the most probable token; the lowest of equals; -1 when there are no logits */
QNNRT_LLM_API const void *qnnrt_llm_codes(qnnrt_llm_cache *cache, size_t row);
QNNRT_LLM_API qnnrt_result qnnrt_llm_logits(qnnrt_llm_cache *cache, size_t row, float *values);
QNNRT_LLM_API int32_t qnnrt_llm_argmax(qnnrt_llm_cache *cache, size_t row);

/* ------------------------------------------------------------------------------------- cache -- */

typedef struct qnnrt_llm_cache_info {
    uint32_t cells, used;          /* all there are, and those in use */
    uint32_t end;                  /* one behind the last in use: what a graph has to read */
} qnnrt_llm_cache_info;
QNNRT_LLM_API qnnrt_llm_cache_info qnnrt_llm_cache_get_info(const qnnrt_llm_cache *cache);

/* Sequences, with llama.cpp's meaning. A range is [begin, end) of positions; a negative begin is 0,
   a negative end is infinity. sequence -1: every one.

   clear     forget everything (a new text). The memory stays as it is: nobody looks at it
   remove    take cells out of a sequence: rewind, truncate, or a hole in the middle. Cells that
             belong to none are free
   copy      cells of `from` belong to `to` as well; nothing is copied
   keep      all sequences but this one are removed
   shift     add delta to positions;  divide: divide them. QNNRT_E_UNSUPPORTED for keys that were
             stored turned by their position (RoPE), which no model here leaves out, unless nothing
             would change
   first, last   the lowest and the highest position of a sequence, -1: it is empty

   Returns   QNNRT_OK, QNNRT_E_ARG (a sequence that cannot be), QNNRT_E_UNSUPPORTED */
QNNRT_LLM_API void         qnnrt_llm_clear(qnnrt_llm_cache *cache);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_remove(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_copy(qnnrt_llm_cache *cache, int from, int to,
                                                   int32_t begin, int32_t end);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_keep(qnnrt_llm_cache *cache, int sequence);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_shift(qnnrt_llm_cache *cache, int sequence,
                                                    int32_t begin, int32_t end, int32_t delta);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_divide(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end, int32_t divisor);
QNNRT_LLM_API int32_t      qnnrt_llm_sequence_first(const qnnrt_llm_cache *cache, int sequence);
QNNRT_LLM_API int32_t      qnnrt_llm_sequence_last(const qnnrt_llm_cache *cache, int sequence);

/* Copy all cells of another cache of the same model. */
QNNRT_LLM_API qnnrt_result qnnrt_llm_cache_copy(qnnrt_llm_cache *to, const qnnrt_llm_cache *from);

/* Save what is in a cache, and bring it back: in this process or another one, with the other way of
   keeping cells, after other graphs. A checksum covers all of it; a state of another model is
   refused by its fingerprint, and any refusal leaves the cache as it was.

   bytes     how much qnnrt_llm_state_save() will write now
   Returns   QNNRT_OK; QNNRT_E_ARG (too little room); QNNRT_E_FORMAT (damaged, cut short, or no
             state); QNNRT_E_MISMATCH (of another model); QNNRT_E_LIMIT (more cells than there are) */
QNNRT_LLM_API size_t       qnnrt_llm_state_bytes(const qnnrt_llm_cache *cache);
QNNRT_LLM_API qnnrt_result qnnrt_llm_state_save(qnnrt_llm_cache *cache, void *data, size_t capacity,
                                                size_t *bytes);
QNNRT_LLM_API qnnrt_result qnnrt_llm_state_restore(qnnrt_llm_cache *cache, const void *data,
                                                   size_t bytes);

/* ---------------------------------------------------------------------------------- sampling -- */

/* {0} is greedy. The order: repetition penalty, temperature, top-k, top-p, min-p, draw. */
typedef struct qnnrt_llm_sampler_desc {
    float    temperature;          /* (default 0: greedy, the most probable token) */
    uint32_t top_k;                /* so many most probable ones (default 0: all) */
    float    top_p;                /* the fewest whose probability adds up to it (default 0: 1) */
    float    min_p;                /* at least so probable, relative to the first (default 0: any) */
    float    repetition_penalty;   /* (default 0: 1, none) logits of recent tokens are divided by it
                                      when positive, multiplied when negative */
    uint32_t repetition_last;      /* how many tokens are recent (default 0: 64) */
    uint64_t seed;
    qnnrt_hooks hooks;             /* alloc and free are used */
} qnnrt_llm_sampler_desc;

typedef struct qnnrt_llm_sampler qnnrt_llm_sampler;

/* Make a sampler for logits of this type, encoding and vocabulary: qnnrt_llm_info.logits. It works
   on codes in integers, so the same seed gives the same tokens on every machine.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (a type of logits); QNNRT_E_ARG (the text says which);
            QNNRT_E_MEMORY
   Frees    qnnrt_llm_sampler_destroy(); NULL is fine */
QNNRT_LLM_API qnnrt_result qnnrt_llm_sampler_create(const qnnrt_tensor_info *logits,
                                                    const qnnrt_llm_sampler_desc *desc,
                                                    qnnrt_llm_sampler **out, qnnrt_error *err);
QNNRT_LLM_API void qnnrt_llm_sampler_destroy(qnnrt_llm_sampler *sampler);

/* Draw a token by one row of logits as stored (qnnrt_llm_codes()); -1 for NULL. */
QNNRT_LLM_API int32_t qnnrt_llm_sample(qnnrt_llm_sampler *sampler, const void *codes);

/* Tell the sampler what became part of the text, for the repetition penalty. */
QNNRT_LLM_API void qnnrt_llm_sampler_accept(qnnrt_llm_sampler *sampler, int32_t token);

/* Back to the seed, and nothing recent. */
QNNRT_LLM_API void qnnrt_llm_sampler_reset(qnnrt_llm_sampler *sampler);

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_LLM_H */

#ifdef QNNRT_LLM_IMPLEMENTATION
#ifndef QNNRT_LLM__IMPL_ONCE
#define QNNRT_LLM__IMPL_ONCE

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Errors and memory: what every room needs.
   Needs: nothing     Knows nothing of: language models
   ===================================================================================== */

/* Write an error's code and text; both may be cut, neither is lost. err may be NULL. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static qnnrt_result qnnrt_llm__fail(qnnrt_error *err, qnnrt_result code, const char *format, ...)
{
    va_list args;
    if (err == NULL) return code;
    err->code = code;
    err->vendor_code = 0;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

static qnnrt_result qnnrt_llm__fail_memory(qnnrt_error *err, const char *what)
{
    return qnnrt_llm__fail(err, QNNRT_E_MEMORY, "no memory for %s", what);
}

static void qnnrt_llm__error_clear(qnnrt_error *err)
{
    if (err == NULL) return;
    err->code = QNNRT_OK;
    err->vendor_code = 0;
    err->text[0] = '\0';
}

/* Zeroed memory of the hooks, or of malloc() where they have none; NULL when count * size does not
   fit. */
static void *qnnrt_llm__alloc(const qnnrt_hooks *hooks, uint64_t count, size_t size)
{
    void *data;
    uint64_t bytes;
    if (size != 0 && count > (uint64_t)SIZE_MAX / 2 / size) return NULL;
    bytes = count * size;
    if (bytes == 0) bytes = 1;
    data = hooks->alloc != NULL ? hooks->alloc(hooks->alloc_user, (size_t)bytes)
                                : malloc((size_t)bytes);
    if (data != NULL) memset(data, 0, (size_t)bytes);
    return data;
}

static void qnnrt_llm__free(const qnnrt_hooks *hooks, void *data)
{
    if (data == NULL) return;
    if (hooks->free != NULL) hooks->free(hooks->alloc_user, data);
    else free(data);
}

/* =====================================================================================
   SHAPE                                                                          >>shape
   What is known about a language model: the result of >>roles, the basis of all below.
   Needs: >>config     Knows nothing of: names, memory of caches, steps
   ===================================================================================== */

/* One tensor of keys or values, as all graphs of the model have it. It holds [outer][cells][inner]
   elements: of a cell there are `outer` pieces of `inner` elements each.

       keys   [heads, 1, head_dim, cells]      outer = heads * head_dim, inner = 1
       values [heads, 1, cells, head_dim]      outer = heads, inner = head_dim
       keys   [1, head_dim, cells], one head   outer = head_dim, inner = 1                     */
typedef struct qnnrt_llm__kv {
    qnnrt_llm_role role;                /* KEY_IN or VALUE_IN */
    uint32_t       layer, head;         /* head: of a cache per head, else 0 */
    uint32_t       outer, inner;
    uint32_t       element;             /* bytes of one element */
    const qnnrt_tensor_info *tensor;    /* of the first graph: type and encoding are those of all */
} qnnrt_llm__kv;

/* Where a graph has it. */
typedef struct qnnrt_llm__ends {
    qnnrt_slot in;                      /* [outer][graph.cells][inner]; NO_SLOT: ar == context, and
                                           the graph reads no cache */
    qnnrt_slot out;                     /* [outer][out_cells][inner] */
    uint32_t   out_cells;               /* ar, or context: the whole cache comes out */
    uint32_t   out_first;               /* cell of `out` with the first new token: 0, or
                                           out_cells - ar */
} qnnrt_llm__ends;

typedef struct qnnrt_llm__slots {       /* several when shards name one thing differently */
    qnnrt_slot *slots;
    size_t      count;
} qnnrt_llm__slots;

typedef struct qnnrt_llm__graph {
    const qnnrt_pipeline *pipeline;
    qnnrt_pipeline       *made;         /* NULL: it belongs to the model */
    const char           *name;
    uint32_t              ar, context, cells;   /* cells = context - ar */
    qnnrt_llm__slots      inputs[QNNRT_LLM_ROLE_COUNT];   /* TOKENS, POSITIONS, ROPE_COS, ROPE_SIN,
                                                             MASK, WINDOW_MASK: from the caller */
    qnnrt_slot            logits;       /* NO_SLOT: none */
    qnnrt_llm__ends      *kv;           /* [llm.kv_count] */
} qnnrt_llm__graph;

struct qnnrt_llm {
    qnnrt_hooks       hooks;
    qnnrt            *model;
    qnnrt_llm_info    info;
    qnnrt_llm__graph *graphs;           /* [info.graph_count], as info.graphs */
    qnnrt_llm__kv    *kv;               /* [kv_count] by layer, keys before values, head */
    size_t            kv_count;
    float             masked;           /* desc.masked, 0: by type */
    void             *blocks;           /* list of what was allocated for it, see >>roles */
    uint32_t          sessions;         /* that use it */
};

/* =====================================================================================
   MATHEMATICS                                                                    >>math
   Sine, cosine, exponential and logarithm, the same on every machine; no libm.
   Needs: nothing     Knows nothing of: models
   ===================================================================================== */

/* A compiler may fuse a product and the addition behind it into one operation, which rounds once
   instead of twice. So that no bit depends on that, every product here that something is added to
   is exact, or is divided first.                                                                 */

/* pi / 2 in three pieces of at most 29 bits, and log(2) in two of 31: times a number of 23 bits
   they are exact. */
#define QNNRT_LLM__HALF_PI_1 1.570796325802803
#define QNNRT_LLM__HALF_PI_2 9.920935739593517e-10
#define QNNRT_LLM__HALF_PI_3 5.721188722588272e-18
#define QNNRT_LLM__LOG_2_1   0.6931471801362932
#define QNNRT_LLM__LOG_2_2   4.2365213637554633e-10

/* sin(x + quarters * pi / 2), |x| up to 1e7. The error is below 1e-15. */
static double qnnrt_llm__math_turn(double x, int64_t quarters)
{
    /* The nearest multiple of pi / 2 by eighths of a turn: x * (4 / pi) cut towards 0, halved. */
    const int64_t eighths = (int64_t)(x * 1.2732395447351628);
    const int64_t nearest = (eighths + (eighths < 0 ? -1 : 1)) / 2;
    const double k = (double)nearest;
    const double r = x - k * QNNRT_LLM__HALF_PI_1 - k * QNNRT_LLM__HALF_PI_2
                       - k * QNNRT_LLM__HALF_PI_3;
    const double square = r * r;
    const int64_t quarter = (nearest + quarters) & 3;
    double sum = 1.0;
    /* The power series from its far end, |r| < 0.79: the first term left out is below 1e-17. */
    if ((quarter & 1) != 0) {
        for (int n = 16; n > 0; n -= 2) sum = 1.0 - square * sum / (double)(n * (n - 1));
    } else {
        for (int n = 17; n > 1; n -= 2) sum = 1.0 - square * sum / (double)(n * (n - 1));
        sum *= r;
    }
    return quarter >= 2 ? -sum : sum;
}

static double qnnrt_llm__math_sin(double x) { return qnnrt_llm__math_turn(x, 0); }
static double qnnrt_llm__math_cos(double x) { return qnnrt_llm__math_turn(x, 1); }

/* e ^ x with a relative error below 1e-15; x is cut to -700 ... 700. */
static double qnnrt_llm__math_exp(double x)
{
    double k, r, power, sum = 1.0;
    int64_t n;
    uint64_t bits;
    x = x < -700.0 ? -700.0 : x > 700.0 ? 700.0 : x;
    n = (int64_t)(x * 1.4426950408889634);
    k = (double)n;
    r = x - k * QNNRT_LLM__LOG_2_1 - k * QNNRT_LLM__LOG_2_2;
    for (int i = 20; i > 1; --i) sum = 1.0 + r * sum / (double)i;
    sum = 1.0 + (r + r) * sum / 2.0;
    bits = (uint64_t)(n + 1023) << 52;      /* 2 ^ n */
    memcpy(&power, &bits, sizeof power);
    return power * sum;
}

/* The natural logarithm of a normal number above 0. */
static double qnnrt_llm__math_log(double x)
{
    double m, s, square, sum = 1.0, k;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    k = (double)((int64_t)(bits >> 52) - 1023);
    bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m /= 2.0;
        k += 1.0;
    }
    /* log(m) = 2 * (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172 */
    s = (m - 1.0) / (m + 1.0);
    square = s * s;
    for (int n = 23; n > 1; n -= 2) sum = 1.0 + square * sum * (double)(n - 2) / (double)n;
    s = (m - 1.0) * sum / ((m + 1.0) / 2.0);
    return (s + k * QNNRT_LLM__LOG_2_2) + k * QNNRT_LLM__LOG_2_1;
}

/* =====================================================================================
   ROTARY POSITIONS                                                               >>rope
   Tables of cos and sin by position, in the codes of the tensors that take them.
   Needs: >>config >>math     Knows nothing of: graphs, caches
   ===================================================================================== */

/* Angles are exact enough up to here, see >>math. */
#define QNNRT_LLM__ROPE_ANGLE 1e7

/* What a position is multiplied with, for angle i of n. */
static double qnnrt_llm__rope_frequency(const qnnrt_llm_rope *rope, uint32_t i, uint32_t n)
{
    const double f = qnnrt_llm__math_exp(-(double)i / (double)n * qnnrt_llm__math_log(rope->theta));
    double turns, smooth, width;
    if (rope->scaling == QNNRT_LLM_ROPE_PLAIN) return f;
    if (rope->scaling == QNNRT_LLM_ROPE_LINEAR) return f / rope->factor;
    /* How often it turns within the context that the model was trained with first. */
    turns = (double)rope->original_context * f / 6.283185307179586;
    if (turns >= rope->high_frequency) return f;
    if (turns <= rope->low_frequency) return f / rope->factor;
    width  = rope->high_frequency - rope->low_frequency;
    smooth = turns - rope->low_frequency;
    return f * (width - smooth) / width / rope->factor + f * smooth / width;
}

/* The struct with its defaults, when all of it makes sense. */
static qnnrt_result qnnrt_llm__rope_resolve(qnnrt_llm_rope *rope, qnnrt_error *err)
{
    const int llama3 = rope->scaling == QNNRT_LLM_ROPE_LLAMA3;
    if (rope->theta == 0) rope->theta = 10000.0;
    if (rope->factor == 0) rope->factor = llama3 ? 8.0 : 1.0;
    if (rope->low_frequency == 0) rope->low_frequency = 1.0;
    if (rope->high_frequency == 0) rope->high_frequency = 4.0;
    if (rope->original_context == 0) rope->original_context = 8192;
    /* Written so that a NaN is refused too. */
    if ((int)rope->scaling < 0 || (int)rope->scaling > (int)QNNRT_LLM_ROPE_LLAMA3)
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "rope.scaling is %d, which is none",
                               (int)rope->scaling);
    if (!(rope->theta >= 1.0 && rope->theta <= 1e30))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "rope.theta is %g, expected 1 to 1e30",
                               rope->theta);
    if (rope->scaling != QNNRT_LLM_ROPE_PLAIN && !(rope->factor >= 1e-6 && rope->factor <= 1e6))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "rope.factor is %g, expected 1e-6 to 1e6",
                               rope->factor);
    if (llama3 && !(rope->low_frequency > 0 && rope->high_frequency > rope->low_frequency &&
                    rope->high_frequency <= 1e30))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "rope.low_frequency is %g and rope.high_frequency "
                               "%g: expected 0 < low < high", rope->low_frequency,
                               rope->high_frequency);
    return QNNRT_OK;
}

/* Rows of cos (sine: sin) for positions 0 ... positions - 1, as `tensor` stores them: nearest codes.

   width     values of a row: the tensor's last dimension
   angles    that differ: width, or width / 2 and the row holds them twice, one half behind the other
   out       receives [positions][width] elements, for qnnrt_llm__free()

   Returns   QNNRT_OK; QNNRT_E_ARG (rope, figures that cannot be); QNNRT_E_LIMIT (angles so large
             that they are no longer exact); QNNRT_E_UNSUPPORTED (how the tensor stores values);
             QNNRT_E_MEMORY */
static qnnrt_result qnnrt_llm__rope_table(const qnnrt_hooks *hooks, const qnnrt_llm_rope *desc,
                                          const qnnrt_tensor_info *tensor, uint32_t width,
                                          uint32_t angles, int sine, uint32_t positions,
                                          void **out, qnnrt_error *err)
{
    qnnrt_llm_rope rope = *desc;
    qnnrt_tensor_info piece = *tensor;
    uint32_t dims[2], rows, done;
    uint64_t element;
    double *frequencies = NULL;
    float *values = NULL;
    unsigned char *table = NULL;
    qnnrt_result result = qnnrt_llm__rope_resolve(&rope, err);

    *out = NULL;
    if (result != QNNRT_OK) return result;
    if (angles == 0 || positions == 0 || (width != angles && width != (uint64_t)angles * 2))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "tensor \"%s\": %u positions of %u values and %u "
                               "angles: expected as many angles as values, or half as many",
                               tensor->name, positions, width, angles);
    element = tensor->count != 0 ? tensor->bytes / tensor->count : 0;
    if (element == 0 || element > 8 || tensor->bytes != element * tensor->count ||
        (tensor->quant.encoding != QNNRT_ENCODING_NONE &&
         tensor->quant.encoding != QNNRT_ENCODING_PER_TENSOR))
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": cos and sin as %s in this "
                               "encoding are not supported", tensor->name,
                               qnnrt_dtype_name(tensor->dtype));

    /* A few thousand values at a time go through floats. */
    rows = width < 4096 ? 4096 / width : 1;
    if (rows > positions) rows = positions;
    frequencies = (double *)qnnrt_llm__alloc(hooks, angles, sizeof *frequencies);
    values = (float *)qnnrt_llm__alloc(hooks, (uint64_t)rows * width, sizeof *values);
    table = (unsigned char *)qnnrt_llm__alloc(hooks, (uint64_t)positions * width, (size_t)element);
    if (frequencies == NULL || values == NULL || table == NULL) {
        result = qnnrt_llm__fail_memory(err, "a table of cos and sin");
        goto done;
    }
    for (uint32_t i = 0; i < angles; ++i) {
        frequencies[i] = qnnrt_llm__rope_frequency(&rope, i, angles);
        if (frequencies[i] * (double)(positions - 1) > QNNRT_LLM__ROPE_ANGLE) {
            result = qnnrt_llm__fail(err, QNNRT_E_LIMIT, "tensor \"%s\": position %u turns by more "
                                     "than %g", tensor->name, positions - 1, QNNRT_LLM__ROPE_ANGLE);
            goto done;
        }
    }
    piece.rank = 2;
    piece.dims = dims;
    piece.dynamic_dims = NULL;
    dims[1] = width;
    for (done = 0; done < positions; done += rows) {
        if (rows > positions - done) rows = positions - done;
        for (uint32_t row = 0; row < rows; ++row) {
            float *to = values + (size_t)row * width;
            for (uint32_t i = 0; i < angles; ++i) {
                const double angle = (double)(done + row) * frequencies[i];
                to[i] = (float)(sine ? qnnrt_llm__math_sin(angle) : qnnrt_llm__math_cos(angle));
            }
            if (width != angles) memcpy(to + angles, to, sizeof *to * angles);
        }
        dims[0] = rows;
        piece.count = (uint64_t)rows * width;
        piece.bytes = piece.count * element;
        result = qnnrt_encode_f32(&piece, values, table + (size_t)done * width * (size_t)element);
        if (result != QNNRT_OK) {
            qnnrt_llm__fail(err, result, "tensor \"%s\": cos and sin cannot be stored as %s",
                            tensor->name, qnnrt_dtype_name(tensor->dtype));
            goto done;
        }
    }
    *out = table;
    table = NULL;
done:
    qnnrt_llm__free(hooks, table);
    qnnrt_llm__free(hooks, values);
    qnnrt_llm__free(hooks, frequencies);
    return result;
}

/* =====================================================================================
   SETTINGS                                                                   >>settings
   qnnrt.json and genie_config.json: role table, RoPE, bos and eos, window.
   Needs: >>config >>shape     Knows nothing of: graphs, tensors
   ===================================================================================== */

/* =====================================================================================
   NAMES                                                                         >>names
   What exporters call the tensors of a language model: patterns, and arithmetic on them.
   Needs: >>config     Knows nothing of: shapes, JSON
   ===================================================================================== */

/* =====================================================================================
   ROLES                                                                         >>roles
   Gives every tensor its role, and the model its figures.
   Needs: >>config >>shape >>settings >>names     Knows nothing of: memory of caches, steps
   ===================================================================================== */

/* =====================================================================================
   DESCRIBE                                                                   >>describe
   Tells it in words.
   Needs: >>shape     Knows nothing of: how it was found out
   ===================================================================================== */

/* =====================================================================================
   CELLS                                                                         >>cells
   Which cells are used, by whom, at which position. Sequences.
   Needs: >>config     Knows nothing of: tensors, memory of keys and values
   ===================================================================================== */

typedef struct qnnrt_llm__cells {
    uint32_t  count;                    /* all there are */
    uint32_t  used;                     /* those with a sequence */
    uint32_t  end;                      /* one behind the last in use */
    int32_t  *positions;                /* [count] */
    uint64_t *sequences;                /* [count] bit s: sequence s; 0: free */
    uint32_t  members[QNNRT_LLM_SEQUENCES];   /* cells of each sequence */
    int32_t   last[QNNRT_LLM_SEQUENCES];      /* its highest position, -1: empty */
} qnnrt_llm__cells;

/* Sequences are 0 to 63 and cells below count, everywhere here: whoever calls has looked. What is in
   the struct is exact after every call. */

static void qnnrt_llm__cells_clear(qnnrt_llm__cells *cells)
{
    int s;
    memset(cells->sequences, 0, (size_t)cells->count * sizeof(*cells->sequences));
    cells->used = cells->end = 0;
    for (s = 0; s < QNNRT_LLM_SEQUENCES; ++s) {
        cells->members[s] = 0;
        cells->last[s] = -1;
    }
}

static void qnnrt_llm__cells_free(qnnrt_llm__cells *cells, const qnnrt_hooks *hooks)
{
    qnnrt_llm__free(hooks, cells->positions);
    qnnrt_llm__free(hooks, cells->sequences);
    memset(cells, 0, sizeof(*cells));
}

/* All free; 0 when there is no memory, and then there is nothing to be freed. */
static int qnnrt_llm__cells_make(qnnrt_llm__cells *cells, const qnnrt_hooks *hooks, uint32_t count)
{
    memset(cells, 0, sizeof(*cells));
    cells->positions = (int32_t *)qnnrt_llm__alloc(hooks, count, sizeof(*cells->positions));
    cells->sequences = (uint64_t *)qnnrt_llm__alloc(hooks, count, sizeof(*cells->sequences));
    if (cells->positions == NULL || cells->sequences == NULL) {
        qnnrt_llm__cells_free(cells, hooks);
        return 0;
    }
    cells->count = count;
    qnnrt_llm__cells_clear(cells);
    return 1;
}

/* The n lowest free cells, ascending; 0 when there are too few. */
static int qnnrt_llm__cells_find(const qnnrt_llm__cells *cells, uint32_t n, uint32_t *out)
{
    uint32_t cell = 0, found = 0;
    if (n > cells->count - cells->used) return 0;
    if (cells->used == cells->end) cell = cells->end;          /* no holes */
    for (; found < n; ++cell)
        if (cell >= cells->end || cells->sequences[cell] == 0) out[found++] = cell;
    return 1;
}

/* The sequences in bits gain a cell at this position. */
static void qnnrt_llm__cells_join(qnnrt_llm__cells *cells, uint64_t bits, int32_t position)
{
    int s;
    for (s = 0; bits != 0; ++s, bits >>= 1) {
        if ((bits & 1) == 0) continue;
        ++cells->members[s];
        if (cells->last[s] < position) cells->last[s] = position;
    }
}

/* A free cell takes a token. position >= 0, sequences not 0. */
static void qnnrt_llm__cells_set(qnnrt_llm__cells *cells, uint32_t cell, int32_t position,
                                 uint64_t sequences)
{
    cells->positions[cell] = position;
    cells->sequences[cell] = sequences;
    ++cells->used;
    if (cells->end <= cell) cells->end = cell + 1;
    qnnrt_llm__cells_join(cells, sequences, position);
}

/* The sequences in bits lose a cell. Returns those that lose their last position with it: for
   _settle(), which must follow. */
static uint64_t qnnrt_llm__cells_leave(qnnrt_llm__cells *cells, uint32_t cell, uint64_t bits)
{
    uint64_t stale = 0;
    int s;
    bits &= cells->sequences[cell];
    if (bits == 0) return 0;
    cells->sequences[cell] &= ~bits;
    if (cells->sequences[cell] == 0) --cells->used;
    for (s = 0; bits != 0; ++s, bits >>= 1) {
        if ((bits & 1) == 0) continue;
        --cells->members[s];
        if (cells->last[s] == cells->positions[cell]) stale |= (uint64_t)1 << s;
    }
    return stale;
}

/* After changes: find the end, and the last positions of the sequences in stale, anew. */
static void qnnrt_llm__cells_settle(qnnrt_llm__cells *cells, uint64_t stale)
{
    uint64_t bits;
    uint32_t cell;
    int s;
    while (cells->end > 0 && cells->sequences[cells->end - 1] == 0) --cells->end;
    if (stale == 0) return;
    for (s = 0; s < QNNRT_LLM_SEQUENCES; ++s)
        if ((stale >> s & 1) != 0) cells->last[s] = -1;
    for (cell = 0; cell < cells->end; ++cell)
        for (s = 0, bits = cells->sequences[cell] & stale; bits != 0; ++s, bits >>= 1)
            if ((bits & 1) != 0 && cells->last[s] < cells->positions[cell])
                cells->last[s] = cells->positions[cell];
}

/* Free one cell, whoever it belongs to. */
static void qnnrt_llm__cells_unset(qnnrt_llm__cells *cells, uint32_t cell)
{
    qnnrt_llm__cells_settle(cells, qnnrt_llm__cells_leave(cells, cell, ~(uint64_t)0));
}

/* Whether a cell in use belongs to one of the sequences in bits and lies in [begin, end), where
   negative numbers mean 0 and infinity: unlike llama.cpp's largest number, infinity is behind every
   position. */
static int qnnrt_llm__cells_within(const qnnrt_llm__cells *cells, uint32_t cell, uint64_t bits,
                                   int32_t begin, int32_t end)
{
    int32_t position = cells->positions[cell];
    return (cells->sequences[cell] & bits) != 0 && position >= begin &&
           (end < 0 || position < end);
}

/* sequence -1: every one. */
static void qnnrt_llm__cells_remove(qnnrt_llm__cells *cells, int sequence, int32_t begin,
                                    int32_t end)
{
    uint64_t bits = sequence < 0 ? ~(uint64_t)0 : (uint64_t)1 << sequence, stale = 0;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        if (qnnrt_llm__cells_within(cells, cell, bits, begin, end))
            stale |= qnnrt_llm__cells_leave(cells, cell, bits);
    qnnrt_llm__cells_settle(cells, stale);
}

static void qnnrt_llm__cells_copy(qnnrt_llm__cells *cells, int from, int to, int32_t begin,
                                  int32_t end)
{
    uint64_t bits = (uint64_t)1 << from, more = (uint64_t)1 << to;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell) {
        if ((cells->sequences[cell] & more) != 0) continue;
        if (!qnnrt_llm__cells_within(cells, cell, bits, begin, end)) continue;
        cells->sequences[cell] |= more;
        qnnrt_llm__cells_join(cells, more, cells->positions[cell]);
    }
}

static void qnnrt_llm__cells_keep(qnnrt_llm__cells *cells, int sequence)
{
    uint64_t others = ~((uint64_t)1 << sequence), stale = 0;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        stale |= qnnrt_llm__cells_leave(cells, cell, others);
    qnnrt_llm__cells_settle(cells, stale);
}

/* Add delta to positions. A cell has one, so all sequences that share it move; one that would come
   before 0 is free afterwards.

   turned   keys were stored turned by their position, and nobody turns them back
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (turned, and something would change); QNNRT_E_ARG (a
            position would be too large). Then nothing has changed */
static qnnrt_result qnnrt_llm__cells_shift(qnnrt_llm__cells *cells, int sequence, int32_t begin,
                                           int32_t end, int32_t delta, int turned)
{
    uint64_t bits = (uint64_t)1 << sequence, stale = 0;
    uint32_t cell;
    if (delta == 0) return QNNRT_OK;
    for (cell = 0; cell < cells->end; ++cell) {
        if (!qnnrt_llm__cells_within(cells, cell, bits, begin, end)) continue;
        if (turned) return QNNRT_E_UNSUPPORTED;
        if (delta > 0 && cells->positions[cell] > INT32_MAX - delta) return QNNRT_E_ARG;
    }
    for (cell = 0; cell < cells->end; ++cell) {
        if (!qnnrt_llm__cells_within(cells, cell, bits, begin, end)) continue;
        stale |= cells->sequences[cell];
        if (cells->positions[cell] + delta >= 0) cells->positions[cell] += delta;
        else (void)qnnrt_llm__cells_leave(cells, cell, ~(uint64_t)0);
    }
    qnnrt_llm__cells_settle(cells, stale);
    return QNNRT_OK;
}

/* Divide positions, likewise. QNNRT_E_ARG: a divisor below 1. */
static qnnrt_result qnnrt_llm__cells_divide(qnnrt_llm__cells *cells, int sequence, int32_t begin,
                                            int32_t end, int32_t divisor, int turned)
{
    uint64_t bits = (uint64_t)1 << sequence, stale = 0;
    uint32_t cell;
    if (divisor < 1) return QNNRT_E_ARG;
    if (divisor == 1) return QNNRT_OK;
    for (cell = 0; cell < cells->end; ++cell) {
        if (!qnnrt_llm__cells_within(cells, cell, bits, begin, end)) continue;
        if (cells->positions[cell] == 0) continue;
        if (turned) return QNNRT_E_UNSUPPORTED;
        stale |= cells->sequences[cell];
        cells->positions[cell] /= divisor;
    }
    qnnrt_llm__cells_settle(cells, stale);
    return QNNRT_OK;
}

/* The lowest position of a sequence, and the highest; -1: it is empty. */
static int32_t qnnrt_llm__cells_first(const qnnrt_llm__cells *cells, int sequence)
{
    int32_t first = -1;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        if ((cells->sequences[cell] >> sequence & 1) != 0 &&
            (first < 0 || cells->positions[cell] < first))
            first = cells->positions[cell];
    return first;
}

static int32_t qnnrt_llm__cells_last(const qnnrt_llm__cells *cells, int sequence)
{
    return cells->last[sequence];
}

/* =====================================================================================
   ROWS                                                                           >>rows
   The memory of keys and values: copying new ones in, moving, changing strides.
   Needs: >>config >>shape     Knows nothing of: sequences, graphs
   ===================================================================================== */

/* The memory of one cache. Piece o of cell c of tensor k begins at element

       ((lead + o) * stride + c) * inner

   of range k. With smart mask (lead 0) a graph reads the range from its beginning; with shift pointer
   (lead 1) its tensor begins `moved` cells behind that, wherever the window is, so that cell c is in
   column c - moved + stride of it: cells keep their addresses while the window moves.            */
typedef struct qnnrt_llm__store {
    const qnnrt_llm__kv *kv;            /* [kv_count] */
    size_t               kv_count;
    unsigned char       *data;
    uint64_t            *ranges;        /* [kv_count] offset of each tensor's range in data */
    uint32_t             stride;        /* cells in a row, as they lie now: of the graph that ran */
    uint32_t             lead;
} qnnrt_llm__store;

/* a * b, 0 when it is more than memory can have. */
static uint64_t qnnrt_llm__rows_times(uint64_t a, uint64_t b)
{
    return b != 0 && a > (uint64_t)SIZE_MAX / 2 / b ? 0 : a * b;
}

/* Bytes of one tensor's range: rows of the most cells, and behind them the cells that a step
   computes in place. 0: there is no such memory. */
static uint64_t qnnrt_llm__rows_bytes(const qnnrt_llm__kv *kv, uint32_t cells_most,
                                      uint32_t ar_most, uint32_t lead)
{
    uint64_t cells = qnnrt_llm__rows_times((uint64_t)lead + kv->outer, cells_most);
    uint64_t piece = qnnrt_llm__rows_times(kv->inner, kv->element);
    if (cells == 0 || kv->outer == 0) return 0;
    return qnnrt_llm__rows_times(cells + ar_most, piece);
}

/* Bytes of one cell in one row. */
static size_t qnnrt_llm__rows_piece(const qnnrt_llm__kv *kv)
{
    return (size_t)kv->inner * kv->element;
}

static unsigned char *qnnrt_llm__rows_at(const qnnrt_llm__store *store, size_t k, uint32_t row,
                                         uint32_t cell)
{
    size_t cells = ((size_t)store->lead + row) * store->stride + cell;
    return store->data + (size_t)store->ranges[k] + cells * qnnrt_llm__rows_piece(&store->kv[k]);
}

/* Copy count pieces that begin some bytes apart. Of the sizes that keys have, each is one load and
   one store: a decoding step lives on this loop. */
static void qnnrt_llm__rows_spread(unsigned char *to, size_t to_step, const unsigned char *from,
                                   size_t from_step, size_t bytes, size_t count)
{
    size_t i;
    switch (bytes) {
    case 1:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) *to = *from;
        break;
    case 2:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 2);
        break;
    case 4:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 4);
        break;
    default:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, bytes);
        break;
    }
}

/* Cells cell .. cell + count - 1 of tensor k take what cells from .. of [outer][out_cells][inner]
   have; and the other way round. */
static void qnnrt_llm__rows_put(const qnnrt_llm__store *store, size_t k, const void *out,
                                uint32_t out_cells, uint32_t from, uint32_t cell, uint32_t count)
{
    const qnnrt_llm__kv *kv = &store->kv[k];
    const size_t piece = qnnrt_llm__rows_piece(kv);
    qnnrt_llm__rows_spread(qnnrt_llm__rows_at(store, k, 0, cell), store->stride * piece,
                           (const unsigned char *)out + from * piece, out_cells * piece,
                           count * piece, kv->outer);
}

static void qnnrt_llm__rows_get(const qnnrt_llm__store *store, size_t k, void *out,
                                uint32_t out_cells, uint32_t from, uint32_t cell, uint32_t count)
{
    const qnnrt_llm__kv *kv = &store->kv[k];
    const size_t piece = qnnrt_llm__rows_piece(kv);
    qnnrt_llm__rows_spread((unsigned char *)out + from * piece, out_cells * piece,
                           qnnrt_llm__rows_at(store, k, 0, cell), store->stride * piece,
                           count * piece, kv->outer);
}

/* Change the stride of all tensors, in place. Cells below end move with it; end is at most either
   stride. A row ends before the next one begins, with both strides: the nearest to where all move
   goes first. */
static void qnnrt_llm__rows_arrange(qnnrt_llm__store *store, uint32_t stride, uint32_t end)
{
    qnnrt_llm__store then = *store;
    uint32_t i, row;
    size_t k;
    then.stride = stride;
    for (k = 0; k < store->kv_count && end > 0 && stride != store->stride; ++k) {
        const uint32_t outer = store->kv[k].outer;
        const size_t bytes = end * qnnrt_llm__rows_piece(&store->kv[k]);
        for (i = 0; i < outer; ++i) {
            row = stride < store->stride ? i : outer - 1 - i;
            if (row + store->lead == 0) continue;              /* begins where it began */
            memmove(qnnrt_llm__rows_at(&then, k, row, 0), qnnrt_llm__rows_at(store, k, row, 0),
                    bytes);
        }
    }
    store->stride = stride;
}

/* Cells from .. from + count - 1 of all tensors move to `to`; the two may overlap. */
static void qnnrt_llm__rows_move(const qnnrt_llm__store *store, uint32_t from, uint32_t to,
                                 uint32_t count)
{
    uint32_t row;
    size_t k;
    if (from == to || count == 0) return;
    for (k = 0; k < store->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &store->kv[k];
        const size_t piece = qnnrt_llm__rows_piece(kv), step = store->stride * piece;
        if (count == 1)
            qnnrt_llm__rows_spread(qnnrt_llm__rows_at(store, k, 0, to), step,
                                   qnnrt_llm__rows_at(store, k, 0, from), step, piece, kv->outer);
        else
            for (row = 0; row < kv->outer; ++row)
                memmove(qnnrt_llm__rows_at(store, k, row, to),
                        qnnrt_llm__rows_at(store, k, row, from), count * piece);
    }
}

/* Cells below end of all tensors become those of another store of the same model, whatever the
   strides and leads of both. */
static void qnnrt_llm__rows_copy(const qnnrt_llm__store *to, const qnnrt_llm__store *from,
                                 uint32_t end)
{
    size_t k;
    for (k = 0; k < to->kv_count && end > 0; ++k) {
        const size_t piece = qnnrt_llm__rows_piece(&to->kv[k]);
        qnnrt_llm__rows_spread(qnnrt_llm__rows_at(to, k, 0, 0), to->stride * piece,
                               qnnrt_llm__rows_at(from, k, 0, 0), from->stride * piece,
                               end * piece, to->kv[k].outer);
    }
}

/* Fill `bytes` of tensor k's range, a multiple of its element, with one element. */
static void qnnrt_llm__rows_fill(const qnnrt_llm__store *store, size_t k, uint64_t bytes,
                                 const void *zero)
{
    unsigned char *data = store->data + (size_t)store->ranges[k];
    size_t size = (size_t)bytes, done = store->kv[k].element;
    if (size == 0) return;
    memcpy(data, zero, done);
    for (; done < size; done *= 2)
        memcpy(data + done, data, done < size - done ? done : size - done);
}

/* =====================================================================================
   STATE                                                                         >>state
   A cache as bytes, and back.
   Needs: >>config >>shape >>cells >>rows     Knows nothing of: graphs
   ===================================================================================== */

/* All numbers little-endian.

       0  8   "qnnrt-kv"
       8  4   version, 1
      12  4   n: cells in use
      16  8   fingerprint of the model
      24  8   bytes of all this, the checksum included
      32  4   zero
      36  4   t: tensors of keys and values
      40  12t of each: outer, inner, bytes of an element
          4n  of each cell, in the order in which they lie: position, >= 0
          8n  sequences, bit s for sequence s, at least one
              of each tensor: [outer][n][inner] elements
          8   checksum of everything before it

   Neither holes nor strides are in it. The checksum is FNV-1a's step on words of 8 bytes, with a
   larger factor and the upper half folded into the lower; four of them run side by side, each on
   every fourth word (zeros behind the end), and are joined, with the length, by the same step.
   Each step is one to one: damage within one word never goes unnoticed.                       */
enum { QNNRT_LLM__STATE_HEAD = 40, QNNRT_LLM__STATE_TENSOR = 12, QNNRT_LLM__STATE_CELL = 12,
       QNNRT_LLM__STATE_SUM = 8, QNNRT_LLM__STATE_VERSION = 1 };

static const char qnnrt_llm__state_magic[8] = { 'q', 'n', 'n', 'r', 't', '-', 'k', 'v' };

static void qnnrt_llm__state_put(unsigned char *at, uint64_t value, int bytes)
{
    int i;
    for (i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t qnnrt_llm__state_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t qnnrt_llm__state_u64(const unsigned char *at)
{
    return qnnrt_llm__state_u32(at) | (uint64_t)qnnrt_llm__state_u32(at + 4) << 32;
}

static uint64_t qnnrt_llm__state_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

static uint64_t qnnrt_llm__state_sum(const unsigned char *data, size_t bytes)
{
    uint64_t a = UINT64_C(0xCBF29CE484222325), b = a + 1, c = a + 2, d = a + 3;
    unsigned char tail[32];
    size_t left;
    for (left = bytes; left >= sizeof(tail); left -= sizeof(tail), data += sizeof(tail)) {
        a = qnnrt_llm__state_mix(a, qnnrt_llm__state_u64(data));
        b = qnnrt_llm__state_mix(b, qnnrt_llm__state_u64(data + 8));
        c = qnnrt_llm__state_mix(c, qnnrt_llm__state_u64(data + 16));
        d = qnnrt_llm__state_mix(d, qnnrt_llm__state_u64(data + 24));
    }
    memset(tail, 0, sizeof(tail));
    if (left > 0) memcpy(tail, data, left);
    a = qnnrt_llm__state_mix(a, qnnrt_llm__state_u64(tail));
    b = qnnrt_llm__state_mix(b, qnnrt_llm__state_u64(tail + 8));
    c = qnnrt_llm__state_mix(c, qnnrt_llm__state_u64(tail + 16));
    d = qnnrt_llm__state_mix(d, qnnrt_llm__state_u64(tail + 24));
    a = qnnrt_llm__state_mix(a, bytes);
    a = qnnrt_llm__state_mix(a, b);
    a = qnnrt_llm__state_mix(a, c);
    return qnnrt_llm__state_mix(a, d);
}

/* Bytes of a state with so many cells; 0 when no memory holds them. */
static size_t qnnrt_llm__state_size(const qnnrt_llm__store *store, uint32_t cells)
{
    const uint64_t most = (uint64_t)SIZE_MAX / 2;
    uint64_t size = (uint64_t)cells * QNNRT_LLM__STATE_CELL +
                    QNNRT_LLM__STATE_HEAD + QNNRT_LLM__STATE_SUM;
    size_t k;
    for (k = 0; k < store->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &store->kv[k];
        uint64_t piece = qnnrt_llm__rows_times(kv->inner, kv->element);
        uint64_t all = qnnrt_llm__rows_times((uint64_t)kv->outer * cells, piece);
        if (all == 0 && cells != 0) return 0;
        if (size > most - QNNRT_LLM__STATE_TENSOR || all > most - QNNRT_LLM__STATE_TENSOR - size)
            return 0;
        size += QNNRT_LLM__STATE_TENSOR + all;
    }
    return size > most ? 0 : (size_t)size;
}

/* What a state of this cache takes now. */
static size_t qnnrt_llm__state_bytes(const qnnrt_llm__cells *cells, const qnnrt_llm__store *store)
{
    return qnnrt_llm__state_size(store, cells->used);
}

/* Save it into data, which has room for qnnrt_llm__state_bytes(). */
static void qnnrt_llm__state_save(const qnnrt_llm__cells *cells, const qnnrt_llm__store *store,
                                  uint64_t fingerprint, void *data)
{
    unsigned char *head = (unsigned char *)data, *at = head + QNNRT_LLM__STATE_HEAD;
    const size_t bytes = qnnrt_llm__state_size(store, cells->used);
    const uint32_t n = cells->used;
    uint32_t cell, to, count;
    size_t k;
    memcpy(head, qnnrt_llm__state_magic, sizeof(qnnrt_llm__state_magic));
    qnnrt_llm__state_put(head + 8, QNNRT_LLM__STATE_VERSION, 4);
    qnnrt_llm__state_put(head + 12, n, 4);
    qnnrt_llm__state_put(head + 16, fingerprint, 8);
    qnnrt_llm__state_put(head + 24, bytes, 8);
    qnnrt_llm__state_put(head + 32, 0, 4);
    qnnrt_llm__state_put(head + 36, store->kv_count, 4);
    for (k = 0; k < store->kv_count; ++k, at += QNNRT_LLM__STATE_TENSOR) {
        qnnrt_llm__state_put(at, store->kv[k].outer, 4);
        qnnrt_llm__state_put(at + 4, store->kv[k].inner, 4);
        qnnrt_llm__state_put(at + 8, store->kv[k].element, 4);
    }
    for (cell = to = 0; to < n; ++cell) {
        if (cells->sequences[cell] == 0) continue;
        qnnrt_llm__state_put(at + (size_t)to * 4, (uint32_t)cells->positions[cell], 4);
        qnnrt_llm__state_put(at + (size_t)n * 4 + (size_t)to * 8, cells->sequences[cell], 8);
        ++to;
    }
    at += (size_t)n * QNNRT_LLM__STATE_CELL;
    for (k = 0; k < store->kv_count; ++k) {
        for (cell = to = 0; to < n; cell += count) {       /* one run of cells after the other */
            for (count = 0; cell < cells->end && cells->sequences[cell] == 0; ++cell) {}
            while (cell + count < cells->end && cells->sequences[cell + count] != 0) ++count;
            qnnrt_llm__rows_get(store, k, at, n, to, cell, count);
            to += count;
        }
        at += (size_t)store->kv[k].outer * n * qnnrt_llm__rows_piece(&store->kv[k]);
    }
    qnnrt_llm__state_put(at, qnnrt_llm__state_sum(head, bytes - QNNRT_LLM__STATE_SUM), 8);
}

/* The cells in a state: positions below `positions`, and a sequence for each. */
static qnnrt_result qnnrt_llm__state_cells(const unsigned char *at, uint32_t n, uint32_t positions,
                                           qnnrt_error *err)
{
    uint32_t i, position;
    for (i = 0; i < n; ++i) {
        position = qnnrt_llm__state_u32(at + (size_t)i * 4);
        if (position > INT32_MAX)
            return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: cell %u has a negative position",
                                   (unsigned)i);
        if (position >= positions)
            return qnnrt_llm__fail(err, QNNRT_E_LIMIT, "state: cell %u has position %u; a text has "
                                   "at most %u here", (unsigned)i, (unsigned)position,
                                   (unsigned)positions);
        if (qnnrt_llm__state_u64(at + (size_t)n * 4 + (size_t)i * 8) == 0)
            return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: cell %u belongs to no sequence",
                                   (unsigned)i);
    }
    return QNNRT_OK;
}

/* Whether a state is whole, and of this model and a cache like this one. */
static qnnrt_result qnnrt_llm__state_check(const qnnrt_llm__cells *cells,
                                           const qnnrt_llm__store *store, uint64_t fingerprint,
                                           uint32_t positions, const unsigned char *data,
                                           size_t bytes, qnnrt_error *err)
{
    const unsigned char *at = data + QNNRT_LLM__STATE_HEAD;
    uint32_t n;
    size_t k;
    if (bytes < QNNRT_LLM__STATE_HEAD + QNNRT_LLM__STATE_SUM ||
        memcmp(data, qnnrt_llm__state_magic, sizeof(qnnrt_llm__state_magic)) != 0)
        return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "these %llu bytes are no saved state",
                               (unsigned long long)bytes);
    if (qnnrt_llm__state_u32(data + 8) != QNNRT_LLM__STATE_VERSION)
        return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: version %u, expected %d",
                               (unsigned)qnnrt_llm__state_u32(data + 8), QNNRT_LLM__STATE_VERSION);
    if (qnnrt_llm__state_u64(data + 24) != bytes)
        return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: %llu bytes, expected %llu",
                               (unsigned long long)bytes,
                               (unsigned long long)qnnrt_llm__state_u64(data + 24));
    if (qnnrt_llm__state_sum(data, bytes - QNNRT_LLM__STATE_SUM) !=
        qnnrt_llm__state_u64(data + bytes - QNNRT_LLM__STATE_SUM))
        return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: damaged, its checksum differs");
    if (qnnrt_llm__state_u64(data + 16) != fingerprint)
        return qnnrt_llm__fail(err, QNNRT_E_MISMATCH,
                               "state: of another model, fingerprint %016llx, expected %016llx",
                               (unsigned long long)qnnrt_llm__state_u64(data + 16),
                               (unsigned long long)fingerprint);
    if (qnnrt_llm__state_u32(data + 36) != store->kv_count)
        return qnnrt_llm__fail(err, QNNRT_E_MISMATCH,
                               "state: %u tensors of keys and values, expected %llu",
                               (unsigned)qnnrt_llm__state_u32(data + 36),
                               (unsigned long long)store->kv_count);
    n = qnnrt_llm__state_u32(data + 12);
    if (n > cells->count)
        return qnnrt_llm__fail(err, QNNRT_E_LIMIT, "state: %u cells, this cache has %u",
                               (unsigned)n, (unsigned)cells->count);
    if (bytes != qnnrt_llm__state_size(store, n) || qnnrt_llm__state_u32(data + 32) != 0)
        return qnnrt_llm__fail(err, QNNRT_E_FORMAT, "state: %llu bytes do not hold %u cells",
                               (unsigned long long)bytes, (unsigned)n);
    for (k = 0; k < store->kv_count; ++k, at += QNNRT_LLM__STATE_TENSOR)
        if (qnnrt_llm__state_u32(at) != store->kv[k].outer ||
            qnnrt_llm__state_u32(at + 4) != store->kv[k].inner ||
            qnnrt_llm__state_u32(at + 8) != store->kv[k].element)
            return qnnrt_llm__fail(err, QNNRT_E_MISMATCH,
                                   "state: tensor %llu of keys and values has another shape",
                                   (unsigned long long)k);
    return qnnrt_llm__state_cells(at, n, positions, err);
}

/* Put a state in place of what is in a cache, cells packed to its front. Where the present stride
   is too small for them, it becomes cells->count: the ranges have room for that.

   positions   a text may have
   Returns     QNNRT_OK; QNNRT_E_FORMAT (no state, or damaged); QNNRT_E_MISMATCH (of another model);
               QNNRT_E_LIMIT (more cells or higher positions than there are): nothing has changed */
static qnnrt_result qnnrt_llm__state_restore(qnnrt_llm__cells *cells, qnnrt_llm__store *store,
                                             uint64_t fingerprint, uint32_t positions,
                                             const void *data, size_t bytes, qnnrt_error *err)
{
    const unsigned char *at = (const unsigned char *)data;
    uint32_t n, cell;
    size_t k;
    qnnrt_result result = qnnrt_llm__state_check(cells, store, fingerprint, positions, at, bytes,
                                                 err);
    if (result != QNNRT_OK) return result;
    n = qnnrt_llm__state_u32(at + 12);
    at += QNNRT_LLM__STATE_HEAD + store->kv_count * QNNRT_LLM__STATE_TENSOR;
    qnnrt_llm__cells_clear(cells);
    if (n > store->stride) store->stride = cells->count;
    for (cell = 0; cell < n; ++cell)
        qnnrt_llm__cells_set(cells, cell, (int32_t)qnnrt_llm__state_u32(at + (size_t)cell * 4),
                             qnnrt_llm__state_u64(at + (size_t)n * 4 + (size_t)cell * 8));
    at += (size_t)n * QNNRT_LLM__STATE_CELL;
    for (k = 0; k < store->kv_count && n > 0; ++k) {
        qnnrt_llm__rows_put(store, k, at, n, 0, 0, n);
        at += (size_t)store->kv[k].outer * n * qnnrt_llm__rows_piece(&store->kv[k]);
    }
    return QNNRT_OK;
}

/* A cache becomes like another one of the same model, holes included. QNNRT_E_LIMIT: it has too few
   cells, and nothing has changed. */
static qnnrt_result qnnrt_llm__state_copy(qnnrt_llm__cells *cells, qnnrt_llm__store *store,
                                          const qnnrt_llm__cells *from_cells,
                                          const qnnrt_llm__store *from, qnnrt_error *err)
{
    const uint32_t end = from_cells->end;
    if (cells == from_cells) return QNNRT_OK;
    if (end > cells->count)
        return qnnrt_llm__fail(err, QNNRT_E_LIMIT, "cache: %u cells do not fit into %u",
                               (unsigned)end, (unsigned)cells->count);
    qnnrt_llm__cells_clear(cells);
    memcpy(cells->positions, from_cells->positions, end * sizeof(*cells->positions));
    memcpy(cells->sequences, from_cells->sequences, end * sizeof(*cells->sequences));
    memcpy(cells->members, from_cells->members, sizeof(cells->members));
    memcpy(cells->last, from_cells->last, sizeof(cells->last));
    cells->used = from_cells->used;
    cells->end = end;
    if (end > store->stride) store->stride = cells->count;
    qnnrt_llm__rows_copy(store, from, end);
    return QNNRT_OK;
}

/* =====================================================================================
   MASK                                                                           >>mask
   Who may look at whom, in the codes of the mask.
   Needs: >>config >>cells     Knows nothing of: caches, graphs
   ===================================================================================== */

/* How a mask says yes and no, as bits of its elements. */
typedef struct qnnrt_llm__mask_codes {
    uint32_t element;                   /* bytes of one: 1, 2 or 4 */
    uint32_t attend, masked;
} qnnrt_llm__mask_codes;

/* Who asks: the tokens of one call. */
typedef struct qnnrt_llm__mask_rows {
    uint32_t        count;
    const int32_t  *positions;          /* [count] */
    const uint64_t *sequences;          /* [count] */
    const int32_t  *parents;            /* [count] or NULL */
} qnnrt_llm__mask_rows;

/* The mask of one call: [ar][context], of which the last ar columns are the new tokens, and the
   others cells, cell 0 in column `first`: not before column 0 for any cell in use. */
typedef struct qnnrt_llm__mask_form {
    uint32_t ar, context;
    int64_t  first;
    uint32_t window;                    /* tokens that each one sees, with itself; 0: all */
} qnnrt_llm__mask_form;

/* The bits that `value` has in a tensor of this type and encoding. */
static qnnrt_result qnnrt_llm__mask_encode(const qnnrt_tensor_info *tensor, float value,
                                           uint32_t *bits)
{
    static const uint32_t one = 1;
    qnnrt_tensor_info single = *tensor;
    unsigned char data[16] = {0};
    uint16_t half;
    qnnrt_result result;
    single.rank = 1;
    single.dims = &one;
    single.bytes /= single.count;
    single.count = 1;
    result = qnnrt_encode_f32(&single, &value, data);
    if (result != QNNRT_OK) return result;
    if (single.bytes == 1) *bits = data[0];
    else if (single.bytes == 2) { memcpy(&half, data, 2); *bits = half; }
    else memcpy(bits, data, 4);
    return QNNRT_OK;
}

/* Yes is 0, no is `masked`, or with masked 0 the lowest that the type can say: all codes of a
   quantized mask are meant to be used, -10000 is what half precision can still add to a score. A mask
   of truth values says 1 and 0. */
static qnnrt_result qnnrt_llm__mask_codes_of(const qnnrt_tensor_info *tensor, float masked,
                                             qnnrt_llm__mask_codes *codes, qnnrt_error *err)
{
    const qnnrt_quant *quant = &tensor->quant;
    const uint64_t bytes = tensor->count > 0 ? tensor->bytes / tensor->count : 0;
    int truth = 0;
    qnnrt_result result;
    if (bytes != 1 && bytes != 2 && bytes != 4)
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "mask \"%s\" is %s: elements of 1, 2 or 4"
                               " bytes are known", tensor->name, qnnrt_dtype_name(tensor->dtype));
    switch (tensor->dtype) {
    case QNNRT_DTYPE_F32: case QNNRT_DTYPE_F16: case QNNRT_DTYPE_BF16:
        if (masked == 0.0f) masked = -10000.0f;
        break;
    case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_U16Q: case QNNRT_DTYPE_S8Q: case QNNRT_DTYPE_S16Q:
        if (quant->encoding != QNNRT_ENCODING_PER_TENSOR)
            return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED,
                                   "mask \"%s\" has no encoding of one scale", tensor->name);
        if (masked == 0.0f) masked = -3.0e38f;
        break;
    case QNNRT_DTYPE_BOOL8: case QNNRT_DTYPE_U8: case QNNRT_DTYPE_I8: case QNNRT_DTYPE_I32:
    case QNNRT_DTYPE_U32: case QNNRT_DTYPE_U16: case QNNRT_DTYPE_I16:
        truth = 1;
        break;
    default:
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "mask \"%s\" is %s, which cannot say who"
                               " is masked", tensor->name, qnnrt_dtype_name(tensor->dtype));
    }
    codes->element = (uint32_t)bytes;
    result = qnnrt_llm__mask_encode(tensor, truth ? 1.0f : 0.0f, &codes->attend);
    if (result == QNNRT_OK)
        result = qnnrt_llm__mask_encode(tensor, truth ? 0.0f : masked, &codes->masked);
    if (result != QNNRT_OK)
        return qnnrt_llm__fail(err, result, "mask \"%s\" cannot be written as numbers",
                               tensor->name);
    if (codes->attend == codes->masked)
        return qnnrt_llm__fail(err, QNNRT_E_MISMATCH, "mask \"%s\" has no code for less than 0"
                               " (scale %g, offset %d), so it cannot mask; is it a mask?",
                               tensor->name, (double)quant->scale, (int)quant->offset);
    return QNNRT_OK;
}

static void qnnrt_llm__mask_fill(void *row, uint32_t element, uint32_t begin, uint32_t end,
                                 uint32_t code)
{
    uint32_t i;
    if (element == 1) {
        if (end > begin) memset((unsigned char *)row + begin, (int)code, end - begin);
    } else if (element == 2) {
        uint16_t *out = (uint16_t *)row;
        for (i = begin; i < end; ++i) out[i] = (uint16_t)code;
    } else {
        uint32_t *out = (uint32_t *)row;
        for (i = begin; i < end; ++i) out[i] = code;
    }
}

static int qnnrt_llm__mask_sees(const qnnrt_llm__mask_form *form, int32_t from, int32_t to)
{
    return to <= from && (form->window == 0 || (int64_t)from - to < (int64_t)form->window);
}

/* All cells belong to each of these sequences and come before `position`: the usual case. */
static int qnnrt_llm__mask_all(const qnnrt_llm__cells *cells, uint64_t sequences, int32_t position)
{
    uint32_t s;
    if ((sequences & (sequences - 1)) != 0) return 0;
    for (s = 0; (sequences >> s & 1) == 0; ++s) {}
    return cells->members[s] == cells->end && cells->last[s] <= position;
}

/* The past of one row. */
static void qnnrt_llm__mask_past(const qnnrt_llm__mask_form *form,
                                 const qnnrt_llm__mask_codes *codes,
                                 const qnnrt_llm__cells *cells, uint64_t sequences,
                                 int32_t position, void *row)
{
    const uint32_t past = form->context - form->ar, first = (uint32_t)(form->first < 0 ? 0 : form->first);
    uint32_t c, begin, run;
    if (form->window == 0 && qnnrt_llm__mask_all(cells, sequences, position)) {
        begin = cells->end == 0 ? past : first;
        qnnrt_llm__mask_fill(row, codes->element, 0, begin, codes->masked);
        run = cells->end == 0 ? past : (uint32_t)(form->first + cells->end);
        qnnrt_llm__mask_fill(row, codes->element, begin, run, codes->attend);
        qnnrt_llm__mask_fill(row, codes->element, run, past, codes->masked);
        return;
    }
    qnnrt_llm__mask_fill(row, codes->element, 0, past, codes->masked);
    for (c = 0; c < cells->end; c = run) {
        int sees = (cells->sequences[c] & sequences) != 0 &&
                   qnnrt_llm__mask_sees(form, position, cells->positions[c]);
        for (run = c + 1; run < cells->end; ++run)
            if (((cells->sequences[run] & sequences) != 0 &&
                 qnnrt_llm__mask_sees(form, position, cells->positions[run])) != sees) break;
        if (sees)
            qnnrt_llm__mask_fill(row, codes->element, (uint32_t)(form->first + c),
                                 (uint32_t)(form->first + run), codes->attend);
    }
}

/* Fill [ar][context]. Rows behind the tokens see nothing but themselves, so that what they compute
   is finite; nobody looks at them. */
static void qnnrt_llm__mask_write(const qnnrt_llm__mask_form *form,
                                  const qnnrt_llm__mask_codes *codes,
                                  const qnnrt_llm__cells *cells, const qnnrt_llm__mask_rows *rows,
                                  void *mask)
{
    const uint32_t past = form->context - form->ar, element = codes->element;
    const size_t width = (size_t)form->context * element;
    uint32_t i, j;
    for (i = 0; i < form->ar; ++i) {
        unsigned char *row = (unsigned char *)mask + i * width, *own = row + (size_t)past * element;
        if (i >= rows->count) {
            qnnrt_llm__mask_fill(row, element, 0, form->context, codes->masked);
        } else {
            /* What the row above sees, this one sees too, when nothing lies between them. */
            if (i > 0 && form->window == 0 && rows->sequences[i] == rows->sequences[i - 1] &&
                qnnrt_llm__mask_all(cells, rows->sequences[i], rows->positions[i - 1]) &&
                rows->positions[i] >= rows->positions[i - 1])
                memcpy(row, row - width, (size_t)past * element);
            else
                qnnrt_llm__mask_past(form, codes, cells, rows->sequences[i], rows->positions[i], row);
            qnnrt_llm__mask_fill(own, element, 0, form->ar, codes->masked);
            if (rows->parents != NULL) {
                for (j = i; rows->parents[j] >= 0;) {
                    j = (uint32_t)rows->parents[j];
                    if (qnnrt_llm__mask_sees(form, rows->positions[i], rows->positions[j]))
                        qnnrt_llm__mask_fill(own, element, j, j + 1, codes->attend);
                }
            } else {
                for (j = 0; j < i; ++j)
                    if ((rows->sequences[j] & rows->sequences[i]) != 0 &&
                        qnnrt_llm__mask_sees(form, rows->positions[i], rows->positions[j]))
                        qnnrt_llm__mask_fill(own, element, j, j + 1, codes->attend);
            }
        }
        qnnrt_llm__mask_fill(own, element, i, i + 1, codes->attend);
    }
}

/* =====================================================================================
   SESSION                                                                     >>session
   Plan, memory and runs of one or more models, and their caches.
   Needs: >>config >>shape >>rope >>cells >>rows >>mask     Knows nothing of: steps
   ===================================================================================== */

enum { QNNRT_LLM__ALIGN = 64 };

/* cos or sin of all positions, as a tensor stores them. */
typedef struct qnnrt_llm__table {
    const qnnrt_tensor_info *tensor;    /* type and encoding */
    uint32_t                 width;     /* elements of a row */
    int                      sine;
    void                    *rows;      /* [positions][width] */
} qnnrt_llm__table;

typedef struct qnnrt_llm__feed {        /* rows of a table go to a tensor */
    const unsigned char *table;
    unsigned char       *to;
    size_t               bytes;         /* of a row */
} qnnrt_llm__feed;

/* A graph ready to run, with everything that a step touches looked up. */
typedef struct qnnrt_llm__run {
    qnnrt_run              *run;
    const qnnrt_llm__graph *graph;
    const qnnrt_llm_cache  *bound;      /* the cache that its tensors lie in now, */
    uint32_t                bound_end;  /* with shift pointer: at this end */
    qnnrt_llm__feed        *feeds;      /* [feed_count] cos and sin */
    size_t                  feed_count;
    void                  **masks;      /* [mask_count] MASK, then WINDOW_MASK */
    qnnrt_llm__mask_codes  *codes;      /* [mask_count] */
    size_t                  mask_count, window_from;   /* of masks, the first with a window */
    const unsigned char    *logits;
    size_t                  logits_bytes;   /* of a row */
    const void            **outs;       /* [kv_count] where new rows are; NULL: in their place */
} qnnrt_llm__run;

typedef struct qnnrt_llm__part {        /* of a session: one model */
    qnnrt_llm        *llm;
    qnnrt_llm__run   *runs;             /* [llm->info.graph_count] */
    qnnrt_llm__table *tables;
    size_t            table_count;
    uint64_t         *ranges;           /* [kv_count] within a buffer */
    uint64_t         *range_bytes;      /* [kv_count] */
    uint64_t          buffer_bytes;     /* of one cache */
    qnnrt_llm_cache  *caches;           /* [session.desc.caches] */
    size_t            first_buffer, first_entry;
} qnnrt_llm__part;

struct qnnrt_llm_cache {
    qnnrt_llm_session   *session;
    qnnrt_llm__part     *part;
    qnnrt_llm__cells     cells;
    qnnrt_llm__store     store;
    uint64_t             offset;        /* of the buffer in the session's mem */
    qnnrt_error          error;
    /* What the last step of this cache was about, [info.ar] each: */
    int32_t             *tokens, *positions, *parents;
    uint64_t            *sequences;
    uint32_t            *places;        /* cells for it */
    uint32_t            *added;         /* [cells] by the batch so far, to be taken back */
};

struct qnnrt_llm_session {
    qnnrt_hooks             hooks;
    qnnrt_llm_session_desc  desc;
    qnnrt_llm__part        *parts;      /* [part_count] */
    size_t                  part_count;
    qnnrt_plan             *plan;
    qnnrt_mem              *mem;
    qnnrt_llm_session_info  info;
    /* The last step: */
    const qnnrt_llm_cache  *stepped;    /* NULL: none, or it failed */
    const qnnrt_llm__run   *stepped_run;
    size_t                  stepped_first;   /* of the batch: the token in row 0 */
    uint32_t                stepped_count, stepped_end;   /* end: of the cells then */
    int                     pending;    /* not accepted yet */
};

/* Only new rows of a tensor that is one row of cells can be computed where they are to stay. */
static int qnnrt_llm__session_in_place(const qnnrt_llm__kv *kv, const qnnrt_llm__graph *graph,
                                       const qnnrt_llm__ends *ends)
{
    return kv->outer == 1 && ends->out_cells == graph->ar && ends->out_first == 0;
}

static const qnnrt_tensor_info *qnnrt_llm__session_tensor(const qnnrt_llm__graph *graph,
                                                          qnnrt_slot slot)
{
    return qnnrt_pipeline_get_info(graph->pipeline)->slots[slot].tensor;
}

static int qnnrt_llm__session_alike(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->dtype == b->dtype && a->count == b->count && a->bytes == b->bytes &&
           a->quant.encoding == b->quant.encoding && a->quant.offset == b->quant.offset &&
           memcmp(&a->quant.scale, &b->quant.scale, sizeof(float)) == 0;
}

/* What running needs, and a part of a model lacks. */
static qnnrt_result qnnrt_llm__session_check(const qnnrt_llm *llm, qnnrt_error *err)
{
    size_t g;
    for (g = 0; g < llm->info.graph_count; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        const qnnrt_llm__slots *in = graph->inputs;
        const char *lacks =
            in[QNNRT_LLM_ROLE_TOKENS].count == 0 ? "an input for tokens" :
            graph->logits == QNNRT_NO_SLOT ? "an output with logits" :
            in[QNNRT_LLM_ROLE_MASK].count + in[QNNRT_LLM_ROLE_WINDOW_MASK].count == 0
                ? "an attention mask" :
            in[QNNRT_LLM_ROLE_POSITIONS].count + in[QNNRT_LLM_ROLE_ROPE_COS].count == 0
                ? "an input for positions, or for their cos and sin" : NULL;
        if (lacks != NULL)
            return qnnrt_llm__fail(err, QNNRT_E_NOT_FOUND, "graph \"%s\" has not got %s: is this a"
                                   " part of a model? qnnrt_llm_describe() shows what each tensor"
                                   " is taken for; a role table can say otherwise",
                                   graph->name, lacks);
        if (in[QNNRT_LLM_ROLE_WINDOW_MASK].count > 0 && llm->info.window == 0)
            return qnnrt_llm__fail(err, QNNRT_E_NOT_FOUND, "graph \"%s\" has a mask for a sliding"
                                   " window, and nobody says how long it is: set desc.window, or"
                                   " \"window\" in qnnrt.json", graph->name);
    }
    return QNNRT_OK;
}

/* The caches of a model within one buffer. */
static qnnrt_result qnnrt_llm__session_ranges(qnnrt_llm__part *part, uint32_t lead,
                                              qnnrt_error *err)
{
    const qnnrt_llm *llm = part->llm;
    size_t k;
    for (k = 0; k < llm->kv_count; ++k) {
        uint64_t bytes = qnnrt_llm__rows_bytes(&llm->kv[k], llm->info.cells, llm->info.ar, lead);
        if (bytes == 0 || bytes > UINT64_MAX / 2 - part->buffer_bytes - QNNRT_LLM__ALIGN)
            return qnnrt_llm__fail(err, QNNRT_E_LIMIT, "the cache is too large to address");
        part->ranges[k] = part->buffer_bytes;
        part->range_bytes[k] = bytes;
        part->buffer_bytes += (bytes + QNNRT_LLM__ALIGN - 1) / QNNRT_LLM__ALIGN * QNNRT_LLM__ALIGN;
    }
    return QNNRT_OK;
}

typedef struct qnnrt_llm__wants {       /* of the plan, while it is counted and written */
    qnnrt_entry_desc  *entries;
    qnnrt_buffer_desc *buffers;
    qnnrt_place_desc  *places;
    size_t             entry_count, buffer_count, place_count;
} qnnrt_llm__wants;

static void qnnrt_llm__session_place(qnnrt_llm__wants *wants, size_t entry, qnnrt_slot slot,
                                     size_t buffer, uint64_t offset)
{
    if (wants->places != NULL) {
        qnnrt_place_desc *place = &wants->places[wants->place_count];
        place->entry = entry;
        place->slot = slot;
        place->buffer = buffer;
        place->offset = offset;
    }
    ++wants->place_count;
}

/* What a model asks of the plan: its graphs, its caches, and one memory for what shards call by
   several names. Called twice: to count, and to write. */
static void qnnrt_llm__session_want(const qnnrt_llm_session *session, qnnrt_llm__part *part,
                                    qnnrt_llm__wants *wants)
{
    const qnnrt_llm *llm = part->llm;
    size_t g, k, i, role;
    part->first_buffer = wants->buffer_count;
    part->first_entry = wants->entry_count;
    for (i = 0; i < session->desc.caches && llm->kv_count > 0; ++i) {
        if (wants->buffers != NULL) {
            wants->buffers[wants->buffer_count].name = "KV cache";
            wants->buffers[wants->buffer_count].bytes = part->buffer_bytes;
            wants->buffers[wants->buffer_count].align = QNNRT_LLM__ALIGN;
        }
        ++wants->buffer_count;
    }
    for (g = 0; g < llm->info.graph_count; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        const size_t entry = wants->entry_count++;
        if (wants->entries != NULL) {
            wants->entries[entry].pipeline = graph->pipeline;
            wants->entries[entry].group = 1;
        }
        for (k = 0; k < llm->kv_count; ++k) {
            const qnnrt_llm__ends *ends = &graph->kv[k];
            const qnnrt_llm__kv *kv = &llm->kv[k];
            if (ends->in != QNNRT_NO_SLOT)
                qnnrt_llm__session_place(wants, entry, ends->in, part->first_buffer,
                                         part->ranges[k]);
            if (session->desc.kv == QNNRT_LLM_SHIFT_POINTER &&
                qnnrt_llm__session_in_place(kv, graph, ends))
                qnnrt_llm__session_place(wants, entry, ends->out, part->first_buffer,
                                         part->ranges[k] +
                                             (uint64_t)llm->info.cells * kv->inner * kv->element);
        }
        for (role = 0; role < QNNRT_LLM_ROLE_COUNT; ++role) {
            const qnnrt_llm__slots *in = &graph->inputs[role];
            const qnnrt_tensor_info *first;
            size_t alike = 1;
            if (in->count < 2) continue;
            first = qnnrt_llm__session_tensor(graph, in->slots[0]);
            while (alike < in->count &&
                   qnnrt_llm__session_alike(first,
                                            qnnrt_llm__session_tensor(graph, in->slots[alike])))
                ++alike;
            if (alike < in->count) continue;
            if (wants->buffers != NULL) {
                wants->buffers[wants->buffer_count].name =
                    qnnrt_llm_role_name((qnnrt_llm_role)role);
                wants->buffers[wants->buffer_count].bytes = first->bytes;
            }
            for (i = 0; i < in->count; ++i)
                qnnrt_llm__session_place(wants, entry, in->slots[i], wants->buffer_count, 0);
            ++wants->buffer_count;
        }
    }
}

static qnnrt_result qnnrt_llm__session_plan(qnnrt_llm_session *session, qnnrt_error *err)
{
    qnnrt_llm__wants wants;
    qnnrt_plan_desc desc;
    qnnrt_result result = QNNRT_E_MEMORY;
    size_t p;
    memset(&wants, 0, sizeof wants);
    memset(&desc, 0, sizeof desc);
    for (p = 0; p < session->part_count; ++p)
        qnnrt_llm__session_want(session, &session->parts[p], &wants);
    wants.entries = (qnnrt_entry_desc *)qnnrt_llm__alloc(&session->hooks, wants.entry_count,
                                                         sizeof *wants.entries);
    wants.buffers = (qnnrt_buffer_desc *)qnnrt_llm__alloc(&session->hooks, wants.buffer_count,
                                                          sizeof *wants.buffers);
    wants.places = (qnnrt_place_desc *)qnnrt_llm__alloc(&session->hooks, wants.place_count,
                                                        sizeof *wants.places);
    if (wants.entries == NULL || wants.buffers == NULL || wants.places == NULL) {
        qnnrt_llm__fail_memory(err, "a plan");
        goto done;
    }
    wants.entry_count = wants.buffer_count = wants.place_count = 0;
    for (p = 0; p < session->part_count; ++p)
        qnnrt_llm__session_want(session, &session->parts[p], &wants);
    desc.entries = wants.entries;
    desc.entry_count = wants.entry_count;
    desc.buffers = wants.buffers;
    desc.buffer_count = wants.buffer_count;
    desc.places = wants.places;
    desc.place_count = wants.place_count;
    result = qnnrt_plan_create(&desc, &session->plan, err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(session->plan, NULL, &session->mem, err);
    if (result == QNNRT_OK) session->info.arena_bytes = qnnrt_plan_get_info(session->plan)->peak;
done:
    qnnrt_llm__free(&session->hooks, wants.entries);
    qnnrt_llm__free(&session->hooks, wants.buffers);
    qnnrt_llm__free(&session->hooks, wants.places);
    return result;
}

static qnnrt_result qnnrt_llm__session_cache(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                             size_t index, qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &session->hooks;
    const qnnrt_llm_info *info = &part->llm->info;
    qnnrt_llm_cache *cache = &part->caches[index];
    const uint32_t cells = info->cells;
    size_t k;
    cache->session = session;
    cache->part = part;
    cache->store.kv = part->llm->kv;
    cache->store.kv_count = part->llm->kv_count;
    cache->store.ranges = part->ranges;
    cache->store.stride = cells;
    cache->store.lead = session->desc.kv == QNNRT_LLM_SHIFT_POINTER;
    if (part->llm->kv_count > 0)
        cache->store.data = (unsigned char *)qnnrt_mem_buffer(
            session->mem, part->first_buffer + index, &cache->offset, NULL);
    cache->tokens = (int32_t *)qnnrt_llm__alloc(hooks, info->ar, sizeof(int32_t));
    cache->positions = (int32_t *)qnnrt_llm__alloc(hooks, info->ar, sizeof(int32_t));
    cache->parents = (int32_t *)qnnrt_llm__alloc(hooks, info->ar, sizeof(int32_t));
    cache->sequences = (uint64_t *)qnnrt_llm__alloc(hooks, info->ar, sizeof(uint64_t));
    cache->places = (uint32_t *)qnnrt_llm__alloc(hooks, info->ar, sizeof(uint32_t));
    cache->added = (uint32_t *)qnnrt_llm__alloc(hooks, cells, sizeof(uint32_t));
    if (!qnnrt_llm__cells_make(&cache->cells, hooks, cells) || cache->tokens == NULL ||
        cache->positions == NULL || cache->parents == NULL || cache->sequences == NULL ||
        cache->places == NULL || cache->added == NULL)
        return qnnrt_llm__fail_memory(err, "a cache");
    /* Masked cells still weigh a little: they must not hold huge numbers. */
    for (k = 0; k < part->llm->kv_count; ++k) {
        const qnnrt_tensor_info *tensor = part->llm->kv[k].tensor;
        uint32_t zero = 0;
        qnnrt_result result = qnnrt_llm__mask_encode(tensor, 0.0f, &zero);
        if (result != QNNRT_OK)
            return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "cache tensor \"%s\" is %s, which has"
                                   " no code for 0", tensor->name, qnnrt_dtype_name(tensor->dtype));
        qnnrt_llm__rows_fill(&cache->store, k, part->range_bytes[k], &zero);
    }
    return QNNRT_OK;
}

/* The table that a cos or sin tensor takes rows of: one for all of a type, encoding and width. */
static qnnrt_result qnnrt_llm__session_table(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                             const qnnrt_tensor_info *tensor, int sine,
                                             const void **rows, qnnrt_error *err)
{
    qnnrt_result result;
    const uint32_t width = tensor->dims[tensor->rank - 1];
    const uint32_t dim = part->llm->info.key_dim;
    qnnrt_llm__table *table;
    size_t i;
    for (i = 0; i < part->table_count; ++i) {
        table = &part->tables[i];
        if (table->sine == sine && table->width == width && table->tensor->dtype == tensor->dtype &&
            table->tensor->quant.encoding == tensor->quant.encoding &&
            table->tensor->quant.offset == tensor->quant.offset &&
            memcmp(&table->tensor->quant.scale, &tensor->quant.scale, sizeof(float)) == 0) {
            *rows = table->rows;
            return QNNRT_OK;
        }
    }
    table = &part->tables[part->table_count++];
    table->tensor = tensor;
    table->width = width;
    table->sine = sine;
    result = qnnrt_llm__rope_table(&session->hooks, &part->llm->info.rope, tensor, width,
                                   width == dim && width % 2 == 0 ? width / 2 : width, sine,
                                   session->desc.positions, &table->rows, err);
    *rows = table->rows;
    return result;
}

static qnnrt_result qnnrt_llm__session_run(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                           size_t index, qnnrt_error *err)
{
    static const qnnrt_llm_role turns[2] = { QNNRT_LLM_ROLE_ROPE_COS, QNNRT_LLM_ROLE_ROPE_SIN };
    static const qnnrt_llm_role masks[2] = { QNNRT_LLM_ROLE_MASK, QNNRT_LLM_ROLE_WINDOW_MASK };
    const qnnrt_llm *llm = part->llm;
    const qnnrt_llm__graph *graph = &llm->graphs[index];
    const qnnrt_hooks *hooks = &session->hooks;
    qnnrt_llm__run *run = &part->runs[index];
    const qnnrt_tensor_info *tensor;
    qnnrt_result result;
    size_t i, k, most;
    int which;

    run->graph = graph;
    result = qnnrt_run_create(session->mem, part->first_entry + index, &run->run, err);
    if (result != QNNRT_OK) return result;
    most = graph->inputs[turns[0]].count + graph->inputs[turns[1]].count;
    run->feeds = (qnnrt_llm__feed *)qnnrt_llm__alloc(hooks, most, sizeof *run->feeds);
    most = graph->inputs[masks[0]].count + graph->inputs[masks[1]].count;
    run->masks = (void **)qnnrt_llm__alloc(hooks, most, sizeof *run->masks);
    run->codes = (qnnrt_llm__mask_codes *)qnnrt_llm__alloc(hooks, most, sizeof *run->codes);
    run->outs = (const void **)qnnrt_llm__alloc(hooks, llm->kv_count, sizeof *run->outs);
    if (run->feeds == NULL || run->masks == NULL || run->codes == NULL || run->outs == NULL)
        return qnnrt_llm__fail_memory(err, "a run");

    for (which = 0; which < 2; ++which) {
        const qnnrt_llm__slots *in = &graph->inputs[turns[which]];
        for (i = 0; i < in->count; ++i) {
            qnnrt_llm__feed *feed = &run->feeds[run->feed_count];
            const void *rows;
            tensor = qnnrt_llm__session_tensor(graph, in->slots[i]);
            result = qnnrt_llm__session_table(session, part, tensor, which, &rows, err);
            if (result != QNNRT_OK) return result;
            feed->table = (const unsigned char *)rows;
            feed->to = (unsigned char *)qnnrt_data_slot(run->run, in->slots[i], NULL);
            feed->bytes = (size_t)(tensor->bytes / graph->ar);
            for (k = 0; k < run->feed_count && run->feeds[k].to != feed->to; ++k) {}
            if (k == run->feed_count) ++run->feed_count;
        }
    }
    for (which = 0; which < 2; ++which) {
        const qnnrt_llm__slots *in = &graph->inputs[masks[which]];
        if (which == 1) run->window_from = run->mask_count;
        for (i = 0; i < in->count; ++i) {
            void *to = qnnrt_data_slot(run->run, in->slots[i], NULL);
            tensor = qnnrt_llm__session_tensor(graph, in->slots[i]);
            result = qnnrt_llm__mask_codes_of(tensor, llm->masked, &run->codes[run->mask_count],
                                              err);
            if (result != QNNRT_OK) return result;
            run->masks[run->mask_count] = to;
            for (k = 0; k < run->mask_count && run->masks[k] != to; ++k) {}
            if (k == run->mask_count) ++run->mask_count;
        }
    }
    tensor = qnnrt_llm__session_tensor(graph, graph->logits);
    run->logits = (const unsigned char *)qnnrt_data_slot(run->run, graph->logits, NULL);
    run->logits_bytes = (size_t)(tensor->bytes / graph->ar);
    for (k = 0; k < llm->kv_count; ++k)
        if (session->desc.kv != QNNRT_LLM_SHIFT_POINTER ||
            !qnnrt_llm__session_in_place(&llm->kv[k], graph, &graph->kv[k]))
            run->outs[k] = qnnrt_data_slot(run->run, graph->kv[k].out, NULL);
    return QNNRT_OK;
}

/* One buffer for every tensor of every graph: what it would take without a plan. */
static uint64_t qnnrt_llm__session_naive(const qnnrt_llm *llm)
{
    uint64_t bytes = 0;
    size_t g, i;
    for (g = 0; g < llm->info.graph_count; ++g)
        for (i = 0; i < llm->info.graphs[g].tensor_count; ++i)
            bytes += llm->info.graphs[g].tensors[i].tensor->bytes;
    return bytes;
}

static void qnnrt_llm__session_free(qnnrt_llm_session *session)
{
    const qnnrt_hooks hooks = session->hooks;
    size_t p, i;
    for (p = 0; p < session->part_count; ++p) {
        qnnrt_llm__part *part = &session->parts[p];
        if (part->llm == NULL) continue;
        for (i = 0; part->runs != NULL && i < part->llm->info.graph_count; ++i) {
            qnnrt_llm__run *run = &part->runs[i];
            qnnrt_run_destroy(run->run);
            qnnrt_llm__free(&hooks, run->feeds);
            qnnrt_llm__free(&hooks, (void *)run->masks);
            qnnrt_llm__free(&hooks, run->codes);
            qnnrt_llm__free(&hooks, (void *)run->outs);
        }
        for (i = 0; part->caches != NULL && i < session->desc.caches; ++i) {
            qnnrt_llm_cache *cache = &part->caches[i];
            qnnrt_llm__cells_free(&cache->cells, &hooks);
            qnnrt_llm__free(&hooks, cache->tokens);
            qnnrt_llm__free(&hooks, cache->positions);
            qnnrt_llm__free(&hooks, cache->parents);
            qnnrt_llm__free(&hooks, cache->sequences);
            qnnrt_llm__free(&hooks, cache->places);
            qnnrt_llm__free(&hooks, cache->added);
        }
        for (i = 0; i < part->table_count; ++i) qnnrt_llm__free(&hooks, part->tables[i].rows);
        qnnrt_llm__free(&hooks, part->runs);
        qnnrt_llm__free(&hooks, part->caches);
        qnnrt_llm__free(&hooks, part->tables);
        qnnrt_llm__free(&hooks, part->ranges);
        qnnrt_llm__free(&hooks, part->range_bytes);
        --part->llm->sessions;
    }
    qnnrt_mem_destroy(session->mem);
    qnnrt_plan_destroy(session->plan);
    qnnrt_llm__free(&hooks, session->parts);
    qnnrt_llm__free(&hooks, session);
}

static qnnrt_result qnnrt_llm__session_part(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                            qnnrt_llm *llm, qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &session->hooks;
    size_t tables = 0, g;
    qnnrt_result result;
    part->llm = llm;
    ++llm->sessions;
    result = qnnrt_llm__session_check(llm, err);
    if (result != QNNRT_OK) return result;
    for (g = 0; g < llm->info.graph_count; ++g)
        tables += llm->graphs[g].inputs[QNNRT_LLM_ROLE_ROPE_COS].count +
                  llm->graphs[g].inputs[QNNRT_LLM_ROLE_ROPE_SIN].count;
    part->runs = (qnnrt_llm__run *)qnnrt_llm__alloc(hooks, llm->info.graph_count,
                                                    sizeof *part->runs);
    part->caches = (qnnrt_llm_cache *)qnnrt_llm__alloc(hooks, session->desc.caches,
                                                       sizeof *part->caches);
    part->tables = (qnnrt_llm__table *)qnnrt_llm__alloc(hooks, tables, sizeof *part->tables);
    part->ranges = (uint64_t *)qnnrt_llm__alloc(hooks, llm->kv_count, sizeof *part->ranges);
    part->range_bytes = (uint64_t *)qnnrt_llm__alloc(hooks, llm->kv_count,
                                                     sizeof *part->range_bytes);
    if (part->runs == NULL || part->caches == NULL || part->tables == NULL ||
        part->ranges == NULL || part->range_bytes == NULL)
        return qnnrt_llm__fail_memory(err, "a session");
    return qnnrt_llm__session_ranges(part, session->desc.kv == QNNRT_LLM_SHIFT_POINTER, err);
}

static qnnrt_result qnnrt_llm__session_make(qnnrt_llm_session *session, qnnrt_llm *const *models,
                                            qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    uint32_t positions = session->desc.positions;
    size_t p, i;
    for (p = 0; p < session->part_count && result == QNNRT_OK; ++p)
        result = qnnrt_llm__session_part(session, &session->parts[p], models[p], err);
    if (result == QNNRT_OK) result = qnnrt_llm__session_plan(session, err);
    for (p = 0; p < session->part_count && result == QNNRT_OK; ++p) {
        qnnrt_llm__part *part = &session->parts[p];
        if (positions == 0 && part->llm->info.context > session->desc.positions)
            session->desc.positions = part->llm->info.context;
        session->info.naive_bytes += qnnrt_llm__session_naive(part->llm);
        for (i = 0; i < session->desc.caches && result == QNNRT_OK; ++i)
            result = qnnrt_llm__session_cache(session, part, i, err);
    }
    for (p = 0; p < session->part_count && result == QNNRT_OK; ++p)
        for (i = 0; i < session->parts[p].llm->info.graph_count && result == QNNRT_OK; ++i)
            result = qnnrt_llm__session_run(session, &session->parts[p], i, err);
    if (result == QNNRT_OK) session->info.cache_bytes = session->parts[0].buffer_bytes;
    return result;
}

/* =====================================================================================
   STEP                                                                           >>step
   One call after the other: fill, execute, keep.
   Needs: >>config >>shape >>cells >>rows >>mask >>session     Knows nothing of: sampling
   ===================================================================================== */

#define QNNRT_LLM__FAIL(cache, ...) qnnrt_llm__fail(&(cache)->error, __VA_ARGS__)

/* ---- what is asked for ---- */

/* The whole batch, before anything happens. */
static qnnrt_result qnnrt_llm__step_check(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    const qnnrt_llm_info *info = &cache->part->llm->info;
    size_t i;
    if (batch->count == 0 || batch->tokens == NULL)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the batch has no tokens: a text begins with at"
                               " least one (its bos token, say)");
    if (batch->sequences == NULL && batch->sequence >= QNNRT_LLM_SEQUENCES)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "sequence %u: a cache has 0 to %d",
                               (unsigned)batch->sequence, QNNRT_LLM_SEQUENCES - 1);
    if (batch->parents != NULL && batch->count > info->ar)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "a tree of %lu drafts: the largest graph takes"
                               " %u tokens at once", (unsigned long)batch->count,
                               (unsigned)info->ar);
    for (i = 0; i < batch->count; ++i) {
        if (batch->tokens[i] < 0 || (uint32_t)batch->tokens[i] >= info->vocabulary)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %ld at place %lu of the batch: the"
                                   " vocabulary has 0 to %lu", (long)batch->tokens[i],
                                   (unsigned long)i, (unsigned long)info->vocabulary - 1);
        if (batch->sequences != NULL && batch->sequences[i] == 0)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch belongs to no"
                                   " sequence", (unsigned long)i);
        if (batch->parents != NULL &&
            (batch->parents[i] < -1 || batch->parents[i] >= (int32_t)i))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch follows %ld: it can"
                                   " follow an earlier one, or -1, what the cache holds",
                                   (unsigned long)i, (long)batch->parents[i]);
    }
    return QNNRT_OK;
}

/* The highest position of any of these sequences, -1: all are empty. */
static int32_t qnnrt_llm__step_last(const qnnrt_llm__cells *cells, uint64_t sequences)
{
    int32_t last = -1;
    uint32_t s;
    for (s = 0; sequences != 0; ++s, sequences >>= 1)
        if ((sequences & 1) != 0 && cells->last[s] > last) last = cells->last[s];
    return last;
}

/* Token `i` of the batch becomes row `row` of the step: where in its text it stands. */
static qnnrt_result qnnrt_llm__step_row(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch,
                                        size_t i, uint32_t row)
{
    const uint64_t sequences = batch->sequences != NULL ? batch->sequences[i]
                                                        : (uint64_t)1 << batch->sequence;
    int32_t before = -1, position;
    uint32_t j;
    cache->tokens[row] = batch->tokens[i];
    cache->sequences[row] = sequences;
    cache->parents[row] = batch->parents != NULL ? batch->parents[i] : -1;
    if (batch->parents != NULL && batch->parents[i] >= 0) {
        before = cache->positions[batch->parents[i]];
    } else {
        before = qnnrt_llm__step_last(&cache->cells, sequences);
        if (batch->parents == NULL && row > 0 && cache->sequences[row - 1] == sequences) {
            before = cache->positions[row - 1];      /* rose from row to row so far */
        } else if (batch->parents == NULL) {
            for (j = 0; j < row; ++j)
                if ((cache->sequences[j] & sequences) != 0 && cache->positions[j] > before)
                    before = cache->positions[j];
        }
    }
    position = before + 1;
    if (batch->positions != NULL) {
        position = batch->positions[i];
        if (position <= before)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "position %ld of token %lu of the batch:"
                                   " what it follows reaches to %ld already; remove that first",
                                   (long)position, (unsigned long)i, (long)before);
    }
    if ((uint32_t)position >= cache->session->desc.positions)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "position %ld: a text has at most %lu here"
                               " (desc.positions of the session)", (long)position,
                               (unsigned long)cache->session->desc.positions);
    cache->positions[row] = position;
    return QNNRT_OK;
}

/* ---- with which graph ---- */

/* The smallest graph that takes `count` tokens at once behind `end` cells, else the largest that
   takes some; NULL: none does. Of equals the one with the shorter context, which is faster. */
static qnnrt_llm__run *qnnrt_llm__step_choose(const qnnrt_llm_cache *cache, size_t count,
                                              uint32_t end)
{
    qnnrt_llm__part *part = cache->part;
    qnnrt_llm__run *best = NULL;
    size_t g;
    for (g = 0; g < part->llm->info.graph_count; ++g) {
        qnnrt_llm__run *run = &part->runs[g];
        if (run->graph->cells < end) continue;
        if (best != NULL && run->graph->ar == best->graph->ar) continue;
        best = run;
        if (run->graph->ar >= count) break;
    }
    return best;
}

/* Fill the holes, from the end. */
static void qnnrt_llm__step_compact(qnnrt_llm_cache *cache)
{
    qnnrt_llm__cells *cells = &cache->cells;
    uint32_t hole = 0;
    while (cells->used < cells->end) {
        const uint32_t from = cells->end - 1;
        const int32_t position = cells->positions[from];
        const uint64_t sequences = cells->sequences[from];
        while (cells->sequences[hole] != 0) ++hole;
        qnnrt_llm__rows_move(&cache->store, from, hole, 1);
        qnnrt_llm__cells_unset(cells, from);
        qnnrt_llm__cells_set(cells, hole, position, sequences);
    }
}

/* The graph for `count` tokens. Before the first of a batch, cells are brought together when that
   lets a larger graph do it, or new rows stay where they are computed. */
static qnnrt_llm__run *qnnrt_llm__step_graph(qnnrt_llm_cache *cache, size_t count)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    qnnrt_llm__run *run = qnnrt_llm__step_choose(cache, count, cells->end);
    if (cells->used < cells->end &&
        (qnnrt_llm__step_choose(cache, count, cells->used) != run ||
         (cache->store.lead != 0 && cells->count - cells->end < count))) {
        qnnrt_llm__step_compact(cache);
        run = qnnrt_llm__step_choose(cache, count, cells->end);
    }
    return run;
}

/* ---- one call ---- */

static unsigned char *qnnrt_llm__step_cell(const qnnrt_llm_cache *cache, size_t k, uint32_t cell)
{
    const qnnrt_llm__store *store = &cache->store;
    const qnnrt_llm__kv *kv = &store->kv[k];
    return store->data + store->ranges[k] +
           ((uint64_t)store->lead * store->stride + cell) * kv->inner * kv->element;
}

/* Let the graph read this cache. */
static qnnrt_result qnnrt_llm__step_bind(qnnrt_llm_cache *cache, qnnrt_llm__run *run)
{
    const qnnrt_llm__graph *graph = run->graph;
    const qnnrt_llm__store *store = &cache->store;
    const uint32_t end = cache->cells.end;
    const uint64_t moved = store->lead != 0 ? end : 0;
    qnnrt_result result = QNNRT_OK;
    size_t k;
    if (run->bound == cache && (store->lead == 0 || (run->bound_end == end && graph->cells > 0)))
        return QNNRT_OK;
    run->bound = NULL;
    for (k = 0; k < store->kv_count && result == QNNRT_OK; ++k) {
        const qnnrt_llm__kv *kv = &store->kv[k];
        const uint64_t begin = cache->offset + store->ranges[k];
        if (graph->kv[k].in != QNNRT_NO_SLOT)
            result = qnnrt_bind_at(run->run, graph->kv[k].in, cache->session->mem,
                                   begin + moved * kv->inner * kv->element);
        if (result == QNNRT_OK && run->outs[k] == NULL)
            result = qnnrt_bind_at(run->run, graph->kv[k].out, cache->session->mem,
                                   begin + ((uint64_t)store->stride + end) * kv->inner *
                                               kv->element);
    }
    if (result != QNNRT_OK) {
        cache->error = *qnnrt_run_error(run->run);
        return result;
    }
    run->bound = cache;
    run->bound_end = end;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_llm__step_write(const qnnrt_llm__run *run, qnnrt_llm_role role,
                                          const int32_t *values)
{
    const qnnrt_llm__slots *in = &run->graph->inputs[role];
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < in->count && result == QNNRT_OK; ++i)
        result = qnnrt_write_i32_slot(run->run, in->slots[i], 0, values, run->graph->ar);
    return result;
}

/* Everything but keys and values. Rows behind the tokens are token 0 at position 0. */
static qnnrt_result qnnrt_llm__step_fill(qnnrt_llm_cache *cache, qnnrt_llm__run *run,
                                         uint32_t count, const int32_t *parents)
{
    const qnnrt_llm__graph *graph = run->graph;
    qnnrt_llm__mask_form form;
    qnnrt_llm__mask_rows rows;
    qnnrt_result result;
    size_t i, r;
    for (i = count; i < graph->ar; ++i) cache->tokens[i] = cache->positions[i] = 0;
    result = qnnrt_llm__step_write(run, QNNRT_LLM_ROLE_TOKENS, cache->tokens);
    if (result == QNNRT_OK)
        result = qnnrt_llm__step_write(run, QNNRT_LLM_ROLE_POSITIONS, cache->positions);
    if (result != QNNRT_OK) {
        cache->error = *qnnrt_run_error(run->run);
        return result;
    }
    for (i = 0; i < run->feed_count; ++i) {
        const qnnrt_llm__feed *feed = &run->feeds[i];
        for (r = 0; r < graph->ar; ++r)
            memcpy(feed->to + r * feed->bytes,
                   feed->table + (size_t)cache->positions[r] * feed->bytes, feed->bytes);
    }
    rows.count = count;
    rows.positions = cache->positions;
    rows.sequences = cache->sequences;
    rows.parents = parents;
    form.ar = graph->ar;
    form.context = graph->context;
    form.first = cache->store.lead != 0 ? (int64_t)graph->cells - cache->cells.end : 0;
    for (i = 0; i < run->mask_count; ++i) {
        form.window = i < run->window_from ? 0 : cache->part->llm->info.window;
        qnnrt_llm__mask_write(&form, &run->codes[i], &cache->cells, &rows, run->masks[i]);
    }
    return QNNRT_OK;
}

/* Compute `count` rows that are filled in. */
static qnnrt_result qnnrt_llm__step_run(qnnrt_llm_cache *cache, qnnrt_llm__run *run,
                                        size_t first, uint32_t count, const int32_t *parents)
{
    qnnrt_llm_session *session = cache->session;
    uint64_t (*clock)(void *user) = session->desc.clock_ns;
    uint64_t begin = 0;
    qnnrt_result result;
    session->stepped = NULL;
    session->pending = 0;
    if (run->graph->cells > 0)
        qnnrt_llm__rows_arrange(&cache->store, run->graph->cells, cache->cells.end);
    result = qnnrt_llm__step_bind(cache, run);
    if (result == QNNRT_OK) result = qnnrt_llm__step_fill(cache, run, count, parents);
    if (result != QNNRT_OK) return result;
    if (clock != NULL) begin = clock(session->desc.clock_user);
    result = qnnrt_exec(run->run);
    if (clock != NULL) session->info.exec_ns += clock(session->desc.clock_user) - begin;
    if (result != QNNRT_OK) {
        cache->error = *qnnrt_run_error(run->run);
        return result;
    }
    ++session->info.steps;
    session->info.executes += qnnrt_pipeline_get_info(run->graph->pipeline)->step_count;
    session->stepped = cache;
    session->stepped_run = run;
    session->stepped_first = first;
    session->stepped_count = count;
    session->stepped_end = cache->cells.end;
    session->pending = 1;
    return QNNRT_OK;
}

/* ---- keeping ---- */

/* New keys and values of rows[i] (NULL: of row i) go to cells places[i]. */
static void qnnrt_llm__step_keep(qnnrt_llm_cache *cache, const uint32_t *rows, uint32_t count)
{
    const qnnrt_llm__run *run = cache->session->stepped_run;
    const uint32_t *places = cache->places, end = cache->session->stepped_end;
    uint32_t i, n;
    size_t k;
    for (i = 0; i < count; i += n) {
        const uint32_t row = rows != NULL ? rows[i] : i;
        for (n = 1; i + n < count; ++n)
            if ((rows != NULL ? rows[i + n] : i + n) != row + n || places[i + n] != places[i] + n)
                break;
        for (k = 0; k < cache->store.kv_count; ++k) {
            const qnnrt_llm__ends *ends = &run->graph->kv[k];
            uint32_t j;
            if (run->outs[k] != NULL) {
                qnnrt_llm__rows_put(&cache->store, k, run->outs[k], ends->out_cells,
                                    ends->out_first + row, places[i], n);
                continue;
            }
            /* Computed in their place, behind the end; those after refused drafts move up. */
            if (places[i] == end + row) continue;
            for (j = 0; j < n; ++j)
                qnnrt_llm__rows_put(&cache->store, k, qnnrt_llm__step_cell(cache, k, end),
                                    ends->out_cells, row + j, places[i] + j, 1);
        }
    }
    for (i = 0; i < count; ++i) {
        const uint32_t row = rows != NULL ? rows[i] : i;
        qnnrt_llm__cells_set(&cache->cells, places[i], cache->positions[row],
                             cache->sequences[row]);
    }
    cache->session->pending = 0;
}

/* Cells for `count` tokens: with shift pointer those where they were computed, if there are. */
static int qnnrt_llm__step_places(qnnrt_llm_cache *cache, uint32_t count)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    const uint32_t end = cells->end;
    uint32_t i;
    if (cache->store.lead == 0 || cells->count - end < count)
        return qnnrt_llm__cells_find(cells, count, cache->places);
    for (i = 0; i < count; ++i) cache->places[i] = end + i;
    return 1;
}

static qnnrt_result qnnrt_llm__step_accept(qnnrt_llm_cache *cache, const uint32_t *rows,
                                           size_t count)
{
    const qnnrt_llm_session *session = cache->session;
    size_t i;
    if (session->stepped != cache || !session->pending)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "nothing to accept: the last step of the"
                               " session was not a qnnrt_llm_eval() of this cache, or it was"
                               " accepted, or the cache has changed since");
    if (count > session->stepped_count)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "%lu rows to accept of a batch of %u",
                               (unsigned long)count, (unsigned)session->stepped_count);
    for (i = 0; rows != NULL && i < count; ++i)
        if (rows[i] >= session->stepped_count || (i > 0 && rows[i] <= rows[i - 1]))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "row %u to accept, in place %lu: rows are"
                                   " ascending and under %u", (unsigned)rows[i],
                                   (unsigned long)i, (unsigned)session->stepped_count);
    if (!qnnrt_llm__step_places(cache, (uint32_t)count))
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "the context is full: %u of %u cells are in"
                               " use, and %lu more tokens are to be kept",
                               (unsigned)cache->cells.used, (unsigned)cache->cells.count,
                               (unsigned long)count);
    qnnrt_llm__step_keep(cache, rows, (uint32_t)count);
    return QNNRT_OK;
}

static qnnrt_result qnnrt_llm__step_eval(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    const qnnrt_llm_info *info = &cache->part->llm->info;
    qnnrt_llm__run *run;
    uint32_t i;
    qnnrt_result result = qnnrt_llm__step_check(cache, batch);
    if (result != QNNRT_OK) return result;
    if (batch->count > info->ar)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "%lu tokens at once: the largest graph takes"
                               " %u", (unsigned long)batch->count, (unsigned)info->ar);
    for (i = 0; i < batch->count; ++i) {
        result = qnnrt_llm__step_row(cache, batch, i, i);
        if (result != QNNRT_OK) return result;
    }
    run = qnnrt_llm__step_graph(cache, batch->count);
    if (run == NULL || run->graph->ar < batch->count)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "no graph takes %lu tokens behind %u others:"
                               " of %u in context, %u remain", (unsigned long)batch->count,
                               (unsigned)cache->cells.used, (unsigned)info->context,
                               (unsigned)(info->context - cache->cells.used));
    return qnnrt_llm__step_run(cache, run, 0, (uint32_t)batch->count,
                               batch->parents != NULL ? cache->parents : NULL);
}

/* Logits of the rows that the batch wants, to where it wants them. */
static qnnrt_result qnnrt_llm__step_give(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch,
                                         size_t first, uint32_t count, size_t *given)
{
    const qnnrt_llm__run *run = cache->session->stepped_run;
    const qnnrt_llm_info *info = &cache->part->llm->info;
    uint32_t r;
    if (batch->logits == NULL && batch->codes == NULL) return QNNRT_OK;
    for (r = 0; r < count; ++r) {
        const size_t i = first + r;
        if (batch->wanted != NULL ? batch->wanted[i] == 0 : i + 1 < batch->count) continue;
        if (batch->codes != NULL)
            memcpy((unsigned char *)batch->codes + *given * run->logits_bytes,
                   run->logits + r * run->logits_bytes, run->logits_bytes);
        if (batch->logits != NULL) {
            qnnrt_result result = qnnrt_read_f32_slot(
                run->run, run->graph->logits, (uint64_t)r * info->vocabulary,
                batch->logits + *given * info->vocabulary, info->vocabulary);
            if (result != QNNRT_OK) {
                cache->error = *qnnrt_run_error(run->run);
                return result;
            }
        }
        ++*given;
    }
    return QNNRT_OK;
}

static qnnrt_result qnnrt_llm__step_decode(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    qnnrt_llm__cells *cells = &cache->cells;
    size_t done, added = 0, given = 0;
    uint32_t count, i;
    qnnrt_result result = qnnrt_llm__step_check(cache, batch);
    if (result != QNNRT_OK) return result;
    if (batch->count > cells->count - cells->used)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "the context is full: %u of %u cells are in"
                               " use, and the batch has %lu tokens", (unsigned)cells->used,
                               (unsigned)cells->count, (unsigned long)batch->count);
    for (done = 0; done < batch->count; done += count) {
        /* Cells of this batch must stay where they are, to be taken back after a failure. */
        qnnrt_llm__run *run = done == 0 ? qnnrt_llm__step_graph(cache, batch->count)
                                        : qnnrt_llm__step_choose(cache, batch->count - done,
                                                                 cells->end);
        result = QNNRT_OK;
        if (run == NULL || (batch->parents != NULL && run->graph->ar < batch->count)) {
            result = QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "no graph takes %lu tokens behind %u"
                                     " others", (unsigned long)(batch->count - done),
                                     (unsigned)cells->used);
            break;
        }
        count = run->graph->ar;
        if (count > batch->count - done) count = (uint32_t)(batch->count - done);
        for (i = 0; i < count && result == QNNRT_OK; ++i)
            result = qnnrt_llm__step_row(cache, batch, done + i, i);
        if (result == QNNRT_OK)
            result = qnnrt_llm__step_run(cache, run, done, count,
                                         batch->parents != NULL ? cache->parents : NULL);
        if (result == QNNRT_OK)
            result = qnnrt_llm__step_give(cache, batch, done, count, &given);
        if (result == QNNRT_OK) result = qnnrt_llm__step_accept(cache, NULL, count);
        if (result != QNNRT_OK) break;
        for (i = 0; i < count; ++i) cache->added[added++] = cache->places[i];
    }
    /* All or nothing: cells of earlier chunks are given back. */
    if (result != QNNRT_OK) {
        while (added > 0) qnnrt_llm__cells_unset(cells, cache->added[--added]);
        cache->session->stepped = NULL;
    }
    return result;
}

/* =====================================================================================
   SAMPLING                                                                     >>sample
   From logits to a token, in integers.
   Needs: >>config >>math     Knows nothing of: models, caches
   ===================================================================================== */

/* =====================================================================================
   PUBLIC                                                                       >>public
   Checks arguments and calls the rooms above.
   Needs: every room above     Knows nothing of: -
   ===================================================================================== */

/* ---- session ---- */

QNNRT_LLM_API qnnrt_result qnnrt_llm_session_create(qnnrt_llm *const *models, size_t model_count,
                                                    const qnnrt_llm_session_desc *desc,
                                                    qnnrt_llm_session **out, qnnrt_error *err)
{
    qnnrt_llm_session *session;
    qnnrt_result result;
    size_t i;
    qnnrt_llm__error_clear(err);
    if (out == NULL) return qnnrt_llm__fail(err, QNNRT_E_ARG, "qnnrt_llm_session_create: out is NULL");
    *out = NULL;
    if (models == NULL || model_count == 0 || model_count > 1024)
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "qnnrt_llm_session_create: a session has 1 to 1024"
                               " models");
    for (i = 0; i < model_count; ++i)
        if (models[i] == NULL)
            return qnnrt_llm__fail(err, QNNRT_E_ARG, "qnnrt_llm_session_create: model %lu is NULL",
                                   (unsigned long)i);
    if (desc != NULL && (desc->caches > 65536 || desc->positions > 0x40000000u ||
                         (unsigned)desc->kv > QNNRT_LLM_SHIFT_POINTER))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "qnnrt_llm_session_create: desc has caches over"
                               " 65,536, positions over 2^30, or an unknown kv");
    session = (qnnrt_llm_session *)qnnrt_llm__alloc(&models[0]->hooks, 1, sizeof *session);
    if (session == NULL) return qnnrt_llm__fail_memory(err, "a session");
    session->hooks = models[0]->hooks;
    if (desc != NULL) session->desc = *desc;
    if (session->desc.caches == 0) session->desc.caches = 1;
    session->parts = (qnnrt_llm__part *)qnnrt_llm__alloc(&session->hooks, model_count,
                                                         sizeof *session->parts);
    if (session->parts == NULL) {
        result = qnnrt_llm__fail_memory(err, "a session");
    } else {
        session->part_count = model_count;
        result = qnnrt_llm__session_make(session, models, err);
    }
    if (result != QNNRT_OK) qnnrt_llm__session_free(session);
    else *out = session;
    return result;
}

QNNRT_LLM_API void qnnrt_llm_session_destroy(qnnrt_llm_session *session)
{
    if (session != NULL) qnnrt_llm__session_free(session);
}

QNNRT_LLM_API qnnrt_llm_session_info qnnrt_llm_session_get_info(const qnnrt_llm_session *session)
{
    qnnrt_llm_session_info none;
    memset(&none, 0, sizeof none);
    return session != NULL ? session->info : none;
}

QNNRT_LLM_API qnnrt_llm_cache *qnnrt_llm_cache_get(qnnrt_llm_session *session, size_t model,
                                                   size_t index)
{
    if (session == NULL || model >= session->part_count || index >= session->desc.caches)
        return NULL;
    return &session->parts[model].caches[index];
}

QNNRT_LLM_API const qnnrt_error *qnnrt_llm_error(const qnnrt_llm_cache *cache)
{
    static const qnnrt_error none = { QNNRT_E_ARG, 0, "the cache is NULL" };
    return cache != NULL ? &cache->error : &none;
}

/* ---- step ---- */

/* Time of the host is what a call takes, less what it spends in qnnrt_exec(). */
static uint64_t qnnrt_llm__public_begin(qnnrt_llm_session *session)
{
    if (session->desc.clock_ns == NULL) return 0;
    return session->desc.clock_ns(session->desc.clock_user) - session->info.exec_ns;
}

static void qnnrt_llm__public_end(qnnrt_llm_session *session, uint64_t begin)
{
    if (session->desc.clock_ns == NULL) return;
    session->info.host_ns += session->desc.clock_ns(session->desc.clock_user) -
                             session->info.exec_ns - begin;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_decode(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    qnnrt_result result;
    uint64_t begin;
    if (cache == NULL) return QNNRT_E_ARG;
    if (batch == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the batch is NULL");
    begin = qnnrt_llm__public_begin(cache->session);
    result = qnnrt_llm__step_decode(cache, batch);
    qnnrt_llm__public_end(cache->session, begin);
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_eval(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    qnnrt_result result;
    uint64_t begin;
    size_t given = 0;
    if (cache == NULL) return QNNRT_E_ARG;
    if (batch == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the batch is NULL");
    begin = qnnrt_llm__public_begin(cache->session);
    result = qnnrt_llm__step_eval(cache, batch);
    if (result == QNNRT_OK)
        result = qnnrt_llm__step_give(cache, batch, 0, (uint32_t)batch->count, &given);
    qnnrt_llm__public_end(cache->session, begin);
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_accept(qnnrt_llm_cache *cache, const uint32_t *rows,
                                            size_t count)
{
    qnnrt_result result;
    uint64_t begin;
    if (cache == NULL) return QNNRT_E_ARG;
    begin = qnnrt_llm__public_begin(cache->session);
    result = qnnrt_llm__step_accept(cache, rows, count);
    qnnrt_llm__public_end(cache->session, begin);
    return result;
}

/* The row of the last step that token `row` of the batch was in, or -1. */
static int64_t qnnrt_llm__public_row(qnnrt_llm_cache *cache, size_t row)
{
    const qnnrt_llm_session *session;
    if (cache == NULL) return -1;
    session = cache->session;
    if (session->stepped != cache) {
        QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "no logits: the last step of the session was not one"
                        " of this cache, or it failed");
        return -1;
    }
    if (row < session->stepped_first || row - session->stepped_first >= session->stepped_count) {
        QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "no logits of token %lu: of the last batch those of %lu"
                        " to %lu are here; batch.wanted gives others", (unsigned long)row,
                        (unsigned long)session->stepped_first,
                        (unsigned long)(session->stepped_first + session->stepped_count - 1));
        return -1;
    }
    return (int64_t)(row - session->stepped_first);
}

QNNRT_LLM_API const void *qnnrt_llm_codes(qnnrt_llm_cache *cache, size_t row)
{
    const int64_t at = qnnrt_llm__public_row(cache, row);
    const qnnrt_llm__run *run;
    if (at < 0) return NULL;
    run = cache->session->stepped_run;
    return run->logits + (size_t)at * run->logits_bytes;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_logits(qnnrt_llm_cache *cache, size_t row, float *values)
{
    const int64_t at = qnnrt_llm__public_row(cache, row);
    const uint32_t vocabulary = cache != NULL ? cache->part->llm->info.vocabulary : 0;
    const qnnrt_llm__run *run;
    qnnrt_result result;
    if (at < 0) return cache != NULL ? cache->error.code : QNNRT_E_ARG;
    if (values == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "values is NULL");
    run = cache->session->stepped_run;
    result = qnnrt_read_f32_slot(run->run, run->graph->logits, (uint64_t)at * vocabulary, values,
                                 vocabulary);
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

QNNRT_LLM_API int32_t qnnrt_llm_argmax(qnnrt_llm_cache *cache, size_t row)
{
    const void *codes = qnnrt_llm_codes(cache, row);
    const qnnrt_llm_info *info;
    if (codes == NULL) return -1;
    info = &cache->part->llm->info;
    return (int32_t)qnnrt_llm__sample_argmax(codes, info->logits->dtype, info->vocabulary);
}

/* ---- cache ---- */

QNNRT_LLM_API qnnrt_llm_cache_info qnnrt_llm_cache_get_info(const qnnrt_llm_cache *cache)
{
    qnnrt_llm_cache_info info = { 0, 0, 0 };
    if (cache != NULL) {
        info.cells = cache->cells.count;
        info.used = cache->cells.used;
        info.end = cache->cells.end;
    }
    return info;
}

/* What was computed for the cache as it was cannot be accepted any more. */
static void qnnrt_llm__public_change(qnnrt_llm_cache *cache)
{
    if (cache->session->stepped == cache) cache->session->pending = 0;
}

static qnnrt_result qnnrt_llm__public_sequence(qnnrt_llm_cache *cache, int sequence, int lowest)
{
    if (cache == NULL) return QNNRT_E_ARG;
    if (sequence < lowest || sequence >= QNNRT_LLM_SEQUENCES)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "sequence %d: a cache has 0 to %d", sequence,
                               QNNRT_LLM_SEQUENCES - 1);
    return QNNRT_OK;
}

QNNRT_LLM_API void qnnrt_llm_clear(qnnrt_llm_cache *cache)
{
    if (cache == NULL) return;
    qnnrt_llm__public_change(cache);
    qnnrt_llm__cells_clear(&cache->cells);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_remove(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, -1);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__public_change(cache);
    qnnrt_llm__cells_remove(&cache->cells, sequence, begin, end);
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_copy(qnnrt_llm_cache *cache, int from, int to,
                                                   int32_t begin, int32_t end)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, from, 0);
    if (result == QNNRT_OK) result = qnnrt_llm__public_sequence(cache, to, 0);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__public_change(cache);
    qnnrt_llm__cells_copy(&cache->cells, from, to, begin, end);
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_keep(qnnrt_llm_cache *cache, int sequence)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__public_change(cache);
    qnnrt_llm__cells_keep(&cache->cells, sequence);
    return QNNRT_OK;
}

/* Every model here is told positions, and keys are stored turned by them: other positions would
   need other keys. */
static qnnrt_result qnnrt_llm__public_turned(qnnrt_llm_cache *cache, int sequence, int32_t begin,
                                             int32_t end, const char *what)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    uint32_t c;
    for (c = 0; c < cells->end; ++c)
        if ((cells->sequences[c] >> sequence & 1) != 0 && cells->positions[c] >= begin &&
            (end < 0 || cells->positions[c] < end))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_UNSUPPORTED, "positions cannot be %s: keys are"
                                   " stored turned by their positions (RoPE), as %s codes; remove"
                                   " the cells from position %ld on and compute those tokens again",
                                   what, qnnrt_dtype_name(cache->part->llm->info.cache_dtype),
                                   (long)cells->positions[c]);
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_shift(qnnrt_llm_cache *cache, int sequence,
                                                    int32_t begin, int32_t end, int32_t delta)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    if (result != QNNRT_OK || delta == 0) return result;
    return qnnrt_llm__public_turned(cache, sequence, begin, end, "shifted");
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_divide(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end, int32_t divisor)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    if (result != QNNRT_OK || divisor == 1) return result;
    if (divisor < 1) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "a divisor of %ld", (long)divisor);
    return qnnrt_llm__public_turned(cache, sequence, begin, end, "divided");
}

QNNRT_LLM_API int32_t qnnrt_llm_sequence_first(const qnnrt_llm_cache *cache, int sequence)
{
    if (cache == NULL || sequence < 0 || sequence >= QNNRT_LLM_SEQUENCES) return -1;
    return qnnrt_llm__cells_first(&cache->cells, sequence);
}

QNNRT_LLM_API int32_t qnnrt_llm_sequence_last(const qnnrt_llm_cache *cache, int sequence)
{
    if (cache == NULL || sequence < 0 || sequence >= QNNRT_LLM_SEQUENCES) return -1;
    return qnnrt_llm__cells_last(&cache->cells, sequence);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_cache_copy(qnnrt_llm_cache *to, const qnnrt_llm_cache *from)
{
    if (to == NULL || from == NULL) return QNNRT_E_ARG;
    if (to->part->llm != from->part->llm)
        return QNNRT_LLM__FAIL(to, QNNRT_E_ARG, "the cache to be copied is one of another model");
    qnnrt_llm__public_change(to);
    return qnnrt_llm__state_copy(&to->cells, &to->store, &from->cells, &from->store, &to->error);
}

/* ---- state ---- */

QNNRT_LLM_API size_t qnnrt_llm_state_bytes(const qnnrt_llm_cache *cache)
{
    return cache != NULL ? qnnrt_llm__state_bytes(&cache->cells, &cache->store) : 0;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_state_save(qnnrt_llm_cache *cache, void *data, size_t capacity,
                                                size_t *bytes)
{
    size_t needed;
    if (bytes != NULL) *bytes = 0;
    if (cache == NULL) return QNNRT_E_ARG;
    needed = qnnrt_llm__state_bytes(&cache->cells, &cache->store);
    if (data == NULL || capacity < needed)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the state takes %lu bytes, and there is room for"
                               " %lu", (unsigned long)needed,
                               (unsigned long)(data != NULL ? capacity : 0));
    qnnrt_llm__state_save(&cache->cells, &cache->store, cache->part->llm->info.fingerprint, data);
    if (bytes != NULL) *bytes = needed;
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_state_restore(qnnrt_llm_cache *cache, const void *data,
                                                   size_t bytes)
{
    qnnrt_result result;
    if (cache == NULL) return QNNRT_E_ARG;
    if (data == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "data is NULL");
    result = qnnrt_llm__state_restore(&cache->cells, &cache->store,
                                      cache->part->llm->info.fingerprint,
                                      cache->session->desc.positions, data, bytes, &cache->error);
    if (result == QNNRT_OK) qnnrt_llm__public_change(cache);
    return result;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LLM__IMPL_ONCE */
#endif /* QNNRT_LLM_IMPLEMENTATION */
