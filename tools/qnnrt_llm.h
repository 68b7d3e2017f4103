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

/* Draw a token by one row of logits as stored (qnnrt_llm_codes()); -1 for NULL, and when all of them
   are NaN. The lower of equal tokens counts as the more probable one. */
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

/* =====================================================================================
   STATE                                                                         >>state
   A cache as bytes, and back.
   Needs: >>config >>shape >>cells >>rows     Knows nothing of: graphs
   ===================================================================================== */

/* =====================================================================================
   MASK                                                                           >>mask
   Who may look at whom, in the codes of the mask.
   Needs: >>config >>cells     Knows nothing of: caches, graphs
   ===================================================================================== */

/* =====================================================================================
   SESSION                                                                     >>session
   Plan, memory and runs of one or more models, and their caches.
   Needs: >>config >>shape >>rope >>cells >>rows     Knows nothing of: steps
   ===================================================================================== */

/* =====================================================================================
   STEP                                                                           >>step
   One call after the other: fill, execute, keep.
   Needs: >>config >>shape >>cells >>rows >>mask >>session     Knows nothing of: sampling
   ===================================================================================== */

/* =====================================================================================
   SAMPLING                                                                     >>sample
   From logits to a token, in integers.
   Needs: >>config >>math     Knows nothing of: models, caches
   ===================================================================================== */

/* ---- keys --------------------------------------------------------------------------------------

   A key is an integer that is larger where the logit is larger, the same when it is equal, and below
   all others for a NaN. Most work is done on keys, so that only few logits become numbers.        */

typedef enum qnnrt_llm__sample_kind {
    QNNRT_LLM__SAMPLE_CODE8,
    QNNRT_LLM__SAMPLE_CODE16,
    QNNRT_LLM__SAMPLE_FLOAT16,
    QNNRT_LLM__SAMPLE_FLOAT32
} qnnrt_llm__sample_kind;

typedef struct qnnrt_llm__sample_form {
    qnnrt_llm__sample_kind kind;
    uint32_t bytes;
    uint32_t flip;          /* codes: the sign bit is turned over, to compare as the kernel does */
    uint32_t infinity;      /* FLOAT16: its bits, 0x7C00, or 0x7F80 of bfloat16 */
    int32_t  lowest, highest;   /* keys of numbers, infinities included */
    int32_t  bias;          /* codes: code = key + bias */
} qnnrt_llm__sample_form;

enum {
    QNNRT_LLM__SAMPLE_BLOCK = 2048,        /* keys whose maximum is found at a time */
    QNNRT_LLM__SAMPLE_NONE  = -0x7FFFFFFF - 1   /* the key of a NaN */
};

/* 0 when there is no such form. Integers without an encoding have the same order as codes. */
static int qnnrt_llm__sample_form_of(qnnrt_dtype dtype, qnnrt_llm__sample_form *form)
{
    memset(form, 0, sizeof *form);
    switch ((int)dtype) {
    case QNNRT_DTYPE_U8: case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_I8: case QNNRT_DTYPE_S8Q:
        form->kind    = QNNRT_LLM__SAMPLE_CODE8;
        form->bytes   = 1;
        form->flip    = dtype == QNNRT_DTYPE_I8 || dtype == QNNRT_DTYPE_S8Q ? 0x80 : 0;
        form->bias    = -(int32_t)form->flip;
        form->highest = 255;
        return 1;
    case QNNRT_DTYPE_U16: case QNNRT_DTYPE_U16Q: case QNNRT_DTYPE_I16: case QNNRT_DTYPE_S16Q:
        form->kind    = QNNRT_LLM__SAMPLE_CODE16;
        form->bytes   = 2;
        form->flip    = dtype == QNNRT_DTYPE_U16 || dtype == QNNRT_DTYPE_U16Q ? 0x8000 : 0;
        form->bias    = (int32_t)form->flip;
        form->lowest  = -32768;
        form->highest = 32767;
        return 1;
    case QNNRT_DTYPE_F16: case QNNRT_DTYPE_BF16:
        form->kind     = QNNRT_LLM__SAMPLE_FLOAT16;
        form->bytes    = 2;
        form->infinity = dtype == QNNRT_DTYPE_F16 ? 0x7C00 : 0x7F80;
        form->highest  = (int32_t)form->infinity;
        form->lowest   = -form->highest;
        return 1;
    case QNNRT_DTYPE_F32:
        form->kind    = QNNRT_LLM__SAMPLE_FLOAT32;
        form->bytes   = 4;
        form->highest = 0x7F800000;
        form->lowest  = -form->highest;
        return 1;
    default:
        return 0;
    }
}

/* Sign and magnitude to two's complement, so that both zeros are 0; NaNs below all. Without branches,
   for compilers to make vectors of it. */
static int16_t qnnrt_llm__sample_key16(uint16_t bits, uint16_t infinity)
{
    const uint16_t size = (uint16_t)(bits & 0x7FFF);
    const uint16_t sign = (uint16_t)(0 - (bits >> 15));
    const uint16_t nan  = (uint16_t)(0 - (size > infinity));
    const uint16_t key  = (uint16_t)((size ^ sign) - sign);
    return (int16_t)(uint16_t)((key & ~nan) | (nan & 0x8000));
}

static int32_t qnnrt_llm__sample_key32(uint32_t bits)
{
    const uint32_t size = bits & 0x7FFFFFFF;
    const uint32_t sign = 0 - (bits >> 31);
    const uint32_t nan  = 0 - (uint32_t)(size > 0x7F800000);
    const uint32_t key  = (size ^ sign) - sign;
    return (int32_t)((key & ~nan) | (nan & 0x80000000u));
}

static int32_t qnnrt_llm__sample_key(const qnnrt_llm__sample_form *form, const unsigned char *codes,
                                     uint32_t index)
{
    const unsigned char *at = codes + (size_t)index * form->bytes;
    if (form->kind == QNNRT_LLM__SAMPLE_CODE8) {
        return (int32_t)(*at ^ form->flip);
    } else if (form->kind == QNNRT_LLM__SAMPLE_FLOAT32) {
        uint32_t bits;
        memcpy(&bits, at, sizeof bits);
        return qnnrt_llm__sample_key32(bits);
    } else {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at, sizeof bits);
        if (form->kind == QNNRT_LLM__SAMPLE_CODE16) return (int16_t)(bits ^ form->flip);
        key = qnnrt_llm__sample_key16(bits, (uint16_t)form->infinity);
        return key == -32768 ? (int32_t)QNNRT_LLM__SAMPLE_NONE : key;
    }
}

/* The largest key of a whole block, one function per kind. The numbers of turns are constant and the
   types as narrow as can be, results included, for compilers to make vectors of all of it: gcc -O2
   does so on no other terms, clang widens what is returned wider. */
static unsigned char qnnrt_llm__sample_code8(const unsigned char *at, unsigned char flip)
{
    unsigned char most = 0;
    for (int i = 0; i < QNNRT_LLM__SAMPLE_BLOCK; ++i) {
        const unsigned char key = (unsigned char)(at[i] ^ flip);
        most = key > most ? key : most;
    }
    return most;
}

static int16_t qnnrt_llm__sample_code16(const unsigned char *at, uint16_t flip)
{
    int16_t most = -32768;
    for (int i = 0; i < QNNRT_LLM__SAMPLE_BLOCK; ++i) {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at + 2 * i, sizeof bits);
        key = (int16_t)(bits ^ flip);
        most = key > most ? key : most;
    }
    return most;
}

static int16_t qnnrt_llm__sample_float16(const unsigned char *at, uint16_t infinity)
{
    int16_t most = -32768;
    for (int i = 0; i < QNNRT_LLM__SAMPLE_BLOCK; ++i) {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at + 2 * i, sizeof bits);
        key = qnnrt_llm__sample_key16(bits, infinity);
        most = key > most ? key : most;
    }
    return most;
}

static int32_t qnnrt_llm__sample_float32(const unsigned char *at)
{
    int32_t most = QNNRT_LLM__SAMPLE_NONE;
    for (int i = 0; i < QNNRT_LLM__SAMPLE_BLOCK; ++i) {
        uint32_t bits;
        int32_t key;
        memcpy(&bits, at + 4 * i, sizeof bits);
        key = qnnrt_llm__sample_key32(bits);
        most = key > most ? key : most;
    }
    return most;
}

static int32_t qnnrt_llm__sample_block(const qnnrt_llm__sample_form *form, const unsigned char *at)
{
    int32_t most;
    switch (form->kind) {
    case QNNRT_LLM__SAMPLE_CODE8:
        return qnnrt_llm__sample_code8(at, (unsigned char)form->flip);
    case QNNRT_LLM__SAMPLE_CODE16:
        return qnnrt_llm__sample_code16(at, (uint16_t)form->flip);
    case QNNRT_LLM__SAMPLE_FLOAT16:
        most = qnnrt_llm__sample_float16(at, (uint16_t)form->infinity);
        return most == -32768 ? (int32_t)QNNRT_LLM__SAMPLE_NONE : most;
    default:
        return qnnrt_llm__sample_float32(at);
    }
}

/* Go on with the search for the largest key: *key and *index change when [begin, end) has a larger
   one. Only the block that has it is looked at twice. */
static void qnnrt_llm__sample_scan(const qnnrt_llm__sample_form *form, const unsigned char *codes,
                                   uint32_t begin, uint32_t end, int32_t *key, uint32_t *index)
{
    const uint32_t size = QNNRT_LLM__SAMPLE_BLOCK;
    uint32_t block = end;
    if (end - begin < size) {
        for (; begin < end; ++begin) {
            const int32_t one = qnnrt_llm__sample_key(form, codes, begin);
            if (one > *key) {
                *key = one;
                *index = begin;
            }
        }
        return;
    }
    while (begin < end) {
        int32_t most;
        if (end - begin < size) begin = end - size;   /* the last one overlaps */
        most = qnnrt_llm__sample_block(form, codes + (size_t)begin * form->bytes);
        if (most > *key) {
            *key = most;
            block = begin;
        }
        begin += size;
    }
    if (block == end) return;
    if (form->kind == QNNRT_LLM__SAMPLE_CODE16) {
        const uint16_t code = (uint16_t)((uint32_t)*key ^ form->flip);
        uint16_t bits;
        for (;; ++block) {
            memcpy(&bits, codes + (size_t)block * 2, sizeof bits);
            if (bits == code) break;
        }
    } else {
        while (qnnrt_llm__sample_key(form, codes, block) != *key) ++block;
    }
    *index = block;
}

/* The index of the largest logit, the lowest of equals. A NaN is never it; UINT32_MAX when there is
   nothing else, or no order in this type. */
static uint32_t qnnrt_llm__sample_argmax(const void *codes, qnnrt_dtype dtype, uint32_t count)
{
    qnnrt_llm__sample_form form;
    int32_t key = QNNRT_LLM__SAMPLE_NONE;
    uint32_t index = UINT32_MAX;
    if (codes == NULL || !qnnrt_llm__sample_form_of(dtype, &form)) return UINT32_MAX;
    qnnrt_llm__sample_scan(&form, (const unsigned char *)codes, 0, count, &key, &index);
    return index;
}

/* ---- levels and steps --------------------------------------------------------------------------

   A level is a logit as a number: of codes (code + offset), which counts in scales, of floats the
   float itself. Both are exact. How far a token lies below the best one, divided by the temperature,
   is counted in steps of 2^-20, cut towards 0: from there on all is done in integers. Nothing is
   drawn that lies 23 or more below: it would be once in 10^10 draws.

   No sum has a product in it that is not exact (see >>math), so all machines count the same steps. */

enum {
    QNNRT_LLM__SAMPLE_STEPS = 23 << 20,    /* so many and more: never drawn */
    QNNRT_LLM__SAMPLE_BINS  = 23 << 4      /* by the upper bits of the steps */
};

typedef struct qnnrt_llm__sample_one {
    uint32_t token, steps;
} qnnrt_llm__sample_one;

typedef struct qnnrt_llm__sample_recent {
    uint32_t token, times;      /* times: among the recent ones */
    int      nan;               /* its logit is none ... */
    double   level;             /* ... after the penalty: both while a token is being drawn */
} qnnrt_llm__sample_recent;

struct qnnrt_llm_sampler {
    qnnrt_hooks hooks;
    qnnrt_llm__sample_form form;
    uint32_t vocabulary;
    double   offset;            /* level = key + offset, of codes */
    double   unit;              /* steps of one level; 0: greedy */
    uint32_t top_k;             /* 0: all */
    uint64_t top_p, min_p;      /* in 2^-32; 0: without */
    double   penalty, inverse;  /* inverse: 1 / penalty */
    uint64_t seed, state;

    /* With a penalty: the last tokens, oldest at next when full, and each of them once, ascending. */
    uint32_t *ring;
    uint32_t  room, held, next, distinct;
    qnnrt_llm__sample_recent *recent;

    /* Unless greedy. */
    qnnrt_llm__sample_one *ones;           /* [vocabulary] those that may be drawn, by token */
    uint64_t bins[QNNRT_LLM__SAMPLE_BINS];
    uint64_t high[QNNRT_LLM__SAMPLE_BINS]; /* e ^ -steps by bits 16 and up, in 2^-32 */
    uint64_t middle[256], low[256];        /* by bits 8 to 15, and 0 to 7, in 2^-31 */
};

/* Of a key that is no NaN's. */
static double qnnrt_llm__sample_level(const qnnrt_llm_sampler *s, int32_t key)
{
    const uint32_t size = (uint32_t)(key < 0 ? -key : key);
    double level;
    if (s->form.kind == QNNRT_LLM__SAMPLE_CODE8 || s->form.kind == QNNRT_LLM__SAMPLE_CODE16)
        return (double)key + s->offset;
    if (s->form.kind == QNNRT_LLM__SAMPLE_FLOAT16 && s->form.infinity == 0x7C00) {
        /* Half to float: the exponent's bias grows by 112; what has none is a multiple of 2^-24. */
        if (size < 0x400) {
            level = (double)size / 16777216.0;
        } else {
            const uint32_t bits = size == 0x7C00 ? 0x7F800000u : (size << 13) + (112u << 23);
            float value;
            memcpy(&value, &bits, sizeof value);
            level = (double)value;
        }
    } else {
        const uint32_t bits = s->form.kind == QNNRT_LLM__SAMPLE_FLOAT32 ? size : size << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        level = (double)value;
    }
    return key < 0 ? -level : level;
}

static uint32_t qnnrt_llm__sample_steps(const qnnrt_llm_sampler *s, double top, double level)
{
    const uint32_t most = QNNRT_LLM__SAMPLE_STEPS;
    double steps;
    if (level >= top) return 0;
    steps = (top - level) * s->unit;
    return steps < (double)most ? (uint32_t)steps : most;
}

/* The lowest key that can be drawn beside this top; all above it can be. */
static int32_t qnnrt_llm__sample_bound(const qnnrt_llm_sampler *s, double top)
{
    int64_t low = s->form.lowest, high = (int64_t)s->form.highest + 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (qnnrt_llm__sample_steps(s, top, qnnrt_llm__sample_level(s, (int32_t)middle)) <
            QNNRT_LLM__SAMPLE_STEPS)
            high = middle;
        else
            low = middle + 1;
    }
    return (int32_t)low;
}

/* e ^ -steps in 2^-32, at most 2^32. */
static uint64_t qnnrt_llm__sample_weight(const qnnrt_llm_sampler *s, uint32_t steps)
{
    const uint64_t half = (uint64_t)1 << 30;
    const uint64_t rest = (s->middle[steps >> 8 & 255] * s->low[steps & 255] + half) >> 31;
    return (s->high[steps >> 16] * rest + half) >> 31;
}

/* ---- choosing ------------------------------------------------------------------------------------- */

/* The next of Steele, Lea and Flood's SplitMix64: every seed is a good one. */
static uint64_t qnnrt_llm__sample_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The upper half of a * b. */
static uint64_t qnnrt_llm__sample_times(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other  = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static uint64_t qnnrt_llm__sample_sum(const qnnrt_llm_sampler *s, uint32_t count)
{
    uint64_t sum = 0;      /* below 2^63, as there are fewer than 2^31 of at most 2^32 */
    for (uint32_t i = 0; i < count; ++i) sum += qnnrt_llm__sample_weight(s, s->ones[i].steps);
    return sum;
}

/* Keep the fewest best of the candidates whose weights add up to `want` or more, the lower token of
   equals first; not weighted: the best `want` of them. Where the cut lies is found by the upper bits
   of the steps first, then among those that share them by the next, and once more. */
static uint32_t qnnrt_llm__sample_best(qnnrt_llm_sampler *s, uint32_t count, int weighted,
                                       uint64_t want)
{
    uint32_t cut = 0, kept = 0;
    for (uint32_t shift = 16; ; shift -= 8) {
        const uint32_t bins = shift == 16 ? QNNRT_LLM__SAMPLE_BINS : 256;
        uint32_t bin = 0;
        memset(s->bins, 0, sizeof *s->bins * bins);
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t upper = s->ones[i].steps >> shift;
            if (shift == 16)
                s->bins[upper] += weighted ? qnnrt_llm__sample_weight(s, s->ones[i].steps) : 1;
            else if (upper >> 8 == cut)
                s->bins[upper & 255] += weighted ? qnnrt_llm__sample_weight(s, s->ones[i].steps) : 1;
        }
        while (s->bins[bin] < want && bin + 1 < bins) want -= s->bins[bin++];
        cut = cut << 8 | bin;
        if (shift == 0) break;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const qnnrt_llm__sample_one one = s->ones[i];
        if (one.steps > cut || (one.steps == cut && want == 0)) continue;
        if (one.steps == cut) {
            const uint64_t weight = weighted ? qnnrt_llm__sample_weight(s, cut) : 1;
            want = want > weight ? want - weight : 0;
        }
        s->ones[kept++] = one;
    }
    return kept;
}

/* What the penalty makes of the recent tokens' logits. Dividing by the inverse rather than
   multiplying leaves no product for a compiler to fuse with what follows. */
static void qnnrt_llm__sample_penalize(qnnrt_llm_sampler *s, const unsigned char *codes)
{
    for (uint32_t i = 0; i < s->distinct; ++i) {
        qnnrt_llm__sample_recent *recent = &s->recent[i];
        const int32_t key = qnnrt_llm__sample_key(&s->form, codes, recent->token);
        recent->nan = key == QNNRT_LLM__SAMPLE_NONE;
        if (recent->nan) continue;
        recent->level = qnnrt_llm__sample_level(s, key);
        recent->level /= recent->level > 0 ? s->penalty : s->inverse;
    }
}

/* The best token and its level, -1: all are NaN. */
static int64_t qnnrt_llm__sample_top(const qnnrt_llm_sampler *s, const unsigned char *codes,
                                     double *top)
{
    int32_t key = QNNRT_LLM__SAMPLE_NONE;
    uint32_t index = 0, begin = 0;
    int64_t best = -1;
    for (uint32_t i = 0; i < s->distinct; ++i) {
        qnnrt_llm__sample_scan(&s->form, codes, begin, s->recent[i].token, &key, &index);
        begin = s->recent[i].token + 1;
    }
    qnnrt_llm__sample_scan(&s->form, codes, begin, s->vocabulary, &key, &index);
    if (key != QNNRT_LLM__SAMPLE_NONE) {
        best = index;
        *top = qnnrt_llm__sample_level(s, key);
    }
    for (uint32_t i = 0; i < s->distinct; ++i) {
        const qnnrt_llm__sample_recent *recent = &s->recent[i];
        if (recent->nan) continue;
        if (best < 0 || recent->level > *top || (recent->level == *top && recent->token < best)) {
            best = recent->token;
            *top = recent->level;
        }
    }
    return best;
}

/* Add the tokens of [begin, end) that can be drawn to the candidates. Returns how many there are. */
static uint32_t qnnrt_llm__sample_collect(qnnrt_llm_sampler *s, const unsigned char *codes,
                                          uint32_t begin, uint32_t end, int32_t bound, double top,
                                          uint32_t count)
{
    for (; begin < end; ++begin) {
        const int32_t key = qnnrt_llm__sample_key(&s->form, codes, begin);
        if (key < bound) continue;
        s->ones[count].token   = begin;
        s->ones[count++].steps = qnnrt_llm__sample_steps(s, top, qnnrt_llm__sample_level(s, key));
    }
    return count;
}

static int32_t qnnrt_llm__sample_draw(qnnrt_llm_sampler *s, const unsigned char *codes)
{
    double top = 0;
    int64_t best;
    int32_t bound;
    uint32_t count = 0, begin = 0, kept;
    uint64_t at;

    qnnrt_llm__sample_penalize(s, codes);
    best = qnnrt_llm__sample_top(s, codes, &top);
    if (best < 0 || s->unit == 0) return (int32_t)best;
    bound = qnnrt_llm__sample_bound(s, top);
    for (uint32_t i = 0; i < s->distinct; ++i) {
        const qnnrt_llm__sample_recent *recent = &s->recent[i];
        uint32_t steps;
        count = qnnrt_llm__sample_collect(s, codes, begin, recent->token, bound, top, count);
        begin = recent->token + 1;
        if (recent->nan) continue;
        steps = qnnrt_llm__sample_steps(s, top, recent->level);
        if (steps == QNNRT_LLM__SAMPLE_STEPS) continue;
        s->ones[count].token   = recent->token;
        s->ones[count++].steps = steps;
    }
    count = qnnrt_llm__sample_collect(s, codes, begin, s->vocabulary, bound, top, count);

    if (s->top_k != 0 && s->top_k < count) count = qnnrt_llm__sample_best(s, count, 0, s->top_k);
    if (s->top_p != 0) {
        at = qnnrt_llm__sample_times(qnnrt_llm__sample_sum(s, count), s->top_p << 32);
        count = qnnrt_llm__sample_best(s, count, 1, at != 0 ? at : 1);
    }
    if (s->min_p != 0) {
        kept = 0;
        for (uint32_t i = 0; i < count; ++i)
            if (qnnrt_llm__sample_weight(s, s->ones[i].steps) >= s->min_p)
                s->ones[kept++] = s->ones[i];
        count = kept;
    }
    at = qnnrt_llm__sample_times(qnnrt_llm__sample_random(&s->state),
                                 qnnrt_llm__sample_sum(s, count));
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t weight = qnnrt_llm__sample_weight(s, s->ones[i].steps);
        if (at < weight) return (int32_t)s->ones[i].token;
        at -= weight;
    }
    return (int32_t)best;      /* not reached: `at` is below the sum */
}

/* ---- recent tokens ------------------------------------------------------------------------------- */

/* Where a token is among the distinct ones, or would be. */
static uint32_t qnnrt_llm__sample_find(const qnnrt_llm_sampler *s, uint32_t token)
{
    uint32_t low = 0, high = s->distinct;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->recent[middle].token < token) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void qnnrt_llm__sample_remember(qnnrt_llm_sampler *s, uint32_t token)
{
    qnnrt_llm__sample_recent *recent;
    uint32_t at;
    if (s->room == 0) return;
    if (s->held == s->room) {
        at = qnnrt_llm__sample_find(s, s->ring[s->next]);
        recent = &s->recent[at];
        if (--recent->times == 0)
            memmove(recent, recent + 1, sizeof *recent * (--s->distinct - at));
    } else {
        ++s->held;
    }
    s->ring[s->next] = token;
    s->next = s->next + 1 < s->room ? s->next + 1 : 0;
    at = qnnrt_llm__sample_find(s, token);
    recent = &s->recent[at];
    if (at == s->distinct || recent->token != token) {
        memmove(recent + 1, recent, sizeof *recent * (s->distinct++ - at));
        memset(recent, 0, sizeof *recent);
        recent->token = token;
    }
    ++recent->times;
}

static void qnnrt_llm__sample_reset(qnnrt_llm_sampler *s)
{
    s->state = s->seed;
    s->held = s->next = s->distinct = 0;
}

/* ---- making one ---------------------------------------------------------------------------------- */

static void qnnrt_llm__sample_free(qnnrt_llm_sampler *s)
{
    qnnrt_hooks hooks;
    if (s == NULL) return;
    hooks = s->hooks;
    qnnrt_llm__free(&hooks, s->ring);
    qnnrt_llm__free(&hooks, s->recent);
    qnnrt_llm__free(&hooks, s->ones);
    qnnrt_llm__free(&hooks, s);
}

/* Whether a sampler can be made of this; a comparison with a NaN is false. */
static qnnrt_result qnnrt_llm__sample_check(const qnnrt_llm_sampler_desc *desc, qnnrt_error *err)
{
    const struct { const char *name, *range; float value, high; } fields[] = {
        { "temperature",        "0 to 1e30", desc->temperature,        1e30f },
        { "top_p",              "0 to 1",    desc->top_p,              1.0f  },
        { "min_p",              "0 to 1",    desc->min_p,              1.0f  },
        { "repetition_penalty", "0 to 1e30", desc->repetition_penalty, 1e30f }
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        if (!(fields[i].value >= 0 && fields[i].value <= fields[i].high))
            return qnnrt_llm__fail(err, QNNRT_E_ARG, "%s is %g, expected %s", fields[i].name,
                                   (double)fields[i].value, fields[i].range);
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "hooks: alloc and free are given both or none");
    return QNNRT_OK;
}

static qnnrt_result qnnrt_llm__sample_take_logits(qnnrt_llm_sampler *s,
                                                  const qnnrt_tensor_info *logits, double *scale,
                                                  qnnrt_error *err)
{
    const char *name = logits->name != NULL ? logits->name : "";
    const qnnrt_quant *quant = &logits->quant;
    *scale = 1.0;
    if (logits->rank == 0 || logits->dims == NULL || logits->dims[logits->rank - 1] == 0)
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "tensor \"%s\" has no dimension for a vocabulary",
                               name);
    s->vocabulary = logits->dims[logits->rank - 1];
    if (s->vocabulary > 0x7FFFFFFFu)
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": a vocabulary of %u is more "
                               "than tokens can number", name, s->vocabulary);
    if (!qnnrt_llm__sample_form_of(logits->dtype, &s->form))
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": there is no sampling of "
                               "logits as %s", name, qnnrt_dtype_name(logits->dtype));
    if (s->form.kind == QNNRT_LLM__SAMPLE_FLOAT16 || s->form.kind == QNNRT_LLM__SAMPLE_FLOAT32)
        return QNNRT_OK;
    if (quant->encoding != QNNRT_ENCODING_PER_TENSOR)
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": logits as %s need one scale "
                               "and offset", name, qnnrt_dtype_name(logits->dtype));
    if (quant->bitwidth != 0 && quant->bitwidth != s->form.bytes * 8)
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": there is no sampling of "
                               "logits that use %u bits of %u", name, quant->bitwidth,
                               s->form.bytes * 8);
    if (!(quant->scale > 0 && quant->scale <= 3.4e38f))
        return qnnrt_llm__fail(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": the scale of its logits is "
                               "%g, expected a number above 0", name, (double)quant->scale);
    *scale = (double)quant->scale;
    s->offset = (double)s->form.bias + (double)quant->offset;
    return QNNRT_OK;
}

/* The nearest multiple of 1 / one, a power of two. */
static uint64_t qnnrt_llm__sample_fixed(double x, double one) { return (uint64_t)(x * one + 0.5); }

static qnnrt_result qnnrt_llm__sample_make(const qnnrt_tensor_info *logits,
                                           const qnnrt_llm_sampler_desc *desc,
                                           qnnrt_llm_sampler **out, qnnrt_error *err)
{
    const double one32 = 4294967296.0, one31 = 2147483648.0;
    double scale;
    qnnrt_llm_sampler *s = NULL;
    qnnrt_result result = qnnrt_llm__sample_check(desc, err);
    if (result != QNNRT_OK) return result;
    s = (qnnrt_llm_sampler *)qnnrt_llm__alloc(&desc->hooks, 1, sizeof *s);
    if (s == NULL) return qnnrt_llm__fail_memory(err, "a sampler");
    s->hooks = desc->hooks;
    result = qnnrt_llm__sample_take_logits(s, logits, &scale, err);
    if (result != QNNRT_OK) goto done;

    s->top_k = desc->top_k;
    s->top_p = desc->top_p < 1.0f ? qnnrt_llm__sample_fixed((double)desc->top_p, one32) : 0;
    if (desc->top_p > 0 && desc->top_p < 1.0f && s->top_p == 0) s->top_p = 1;
    s->min_p = qnnrt_llm__sample_fixed((double)desc->min_p, one32);
    s->seed = desc->seed;
    s->penalty = desc->repetition_penalty != 0 ? (double)desc->repetition_penalty : 1.0;
    s->inverse = 1.0 / s->penalty;
    if (s->penalty != 1.0) {
        s->room = desc->repetition_last != 0 ? desc->repetition_last : 64;
        s->ring = (uint32_t *)qnnrt_llm__alloc(&s->hooks, s->room, sizeof *s->ring);
        s->recent = (qnnrt_llm__sample_recent *)qnnrt_llm__alloc(&s->hooks, s->room,
                                                                 sizeof *s->recent);
        if (s->ring == NULL || s->recent == NULL) {
            result = qnnrt_llm__fail_memory(err, "the recent tokens of a sampler");
            goto done;
        }
    }
    if (desc->temperature > 0) {
        s->unit = 1048576.0 * scale / (double)desc->temperature;
        s->ones = (qnnrt_llm__sample_one *)qnnrt_llm__alloc(&s->hooks, s->vocabulary,
                                                            sizeof *s->ones);
        if (s->ones == NULL) {
            result = qnnrt_llm__fail_memory(err, "the candidates of a sampler");
            goto done;
        }
        for (int i = 0; i < QNNRT_LLM__SAMPLE_BINS; ++i)
            s->high[i] = qnnrt_llm__sample_fixed(qnnrt_llm__math_exp((double)i / -16.0), one32);
        for (int i = 0; i < 256; ++i) {
            s->middle[i] = qnnrt_llm__sample_fixed(qnnrt_llm__math_exp((double)i / -4096.0), one31);
            s->low[i] = qnnrt_llm__sample_fixed(qnnrt_llm__math_exp((double)i / -1048576.0), one31);
        }
    }
    qnnrt_llm__sample_reset(s);
    *out = s;
    s = NULL;
done:
    qnnrt_llm__sample_free(s);
    return result;
}

/* =====================================================================================
   PUBLIC                                                                       >>public
   Checks arguments and calls the rooms above.
   Needs: every room above     Knows nothing of: -
   ===================================================================================== */

/* ---- sampling ------------------------------------------------------------------------------------ */

qnnrt_result qnnrt_llm_sampler_create(const qnnrt_tensor_info *logits,
                                      const qnnrt_llm_sampler_desc *desc, qnnrt_llm_sampler **out,
                                      qnnrt_error *err)
{
    const qnnrt_llm_sampler_desc greedy = { 0, 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, 0, 0 } };
    qnnrt_llm__error_clear(err);
    if (out != NULL) *out = NULL;
    if (logits == NULL || out == NULL)
        return qnnrt_llm__fail(err, QNNRT_E_ARG, "%s is NULL", logits == NULL ? "logits" : "out");
    return qnnrt_llm__sample_make(logits, desc != NULL ? desc : &greedy, out, err);
}

void qnnrt_llm_sampler_destroy(qnnrt_llm_sampler *sampler) { qnnrt_llm__sample_free(sampler); }

int32_t qnnrt_llm_sample(qnnrt_llm_sampler *sampler, const void *codes)
{
    if (sampler == NULL || codes == NULL) return -1;
    return qnnrt_llm__sample_draw(sampler, (const unsigned char *)codes);
}

void qnnrt_llm_sampler_accept(qnnrt_llm_sampler *sampler, int32_t token)
{
    if (sampler == NULL || token < 0 || (uint32_t)token >= sampler->vocabulary) return;
    qnnrt_llm__sample_remember(sampler, (uint32_t)token);
}

void qnnrt_llm_sampler_reset(qnnrt_llm_sampler *sampler)
{
    if (sampler != NULL) qnnrt_llm__sample_reset(sampler);
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LLM__IMPL_ONCE */
#endif /* QNNRT_LLM_IMPLEMENTATION */
