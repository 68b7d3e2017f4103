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

/* =====================================================================================
   ROTARY POSITIONS                                                               >>rope
   Tables of cos and sin by position, in the codes of the tensors that take them.
   Needs: >>config >>math     Knows nothing of: graphs, caches
   ===================================================================================== */

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

/* After changes: find the end, and the last positions of the sequences in stale, anew. None of them
   is above `most`: where one is found there, nothing else is looked at. Texts that were cut have it
   in their last cell. */
static void qnnrt_llm__cells_settle(qnnrt_llm__cells *cells, uint64_t stale, int32_t most)
{
    const uint64_t *const sequences = cells->sequences;
    const int32_t *const positions = cells->positions;
    uint32_t cell;
    int s;
    while (cells->end > 0 && sequences[cells->end - 1] == 0) --cells->end;
    for (s = 0; stale != 0; ++s, stale >>= 1) {
        int32_t last = -1;
        if ((stale & 1) == 0) continue;
        for (cell = cells->members[s] > 0 ? cells->end : 0; cell > 0 && last < most; --cell)
            if ((sequences[cell - 1] >> s & 1) != 0 && last < positions[cell - 1])
                last = positions[cell - 1];
        cells->last[s] = last;
    }
}

/* Free one cell, whoever it belongs to. */
static void qnnrt_llm__cells_unset(qnnrt_llm__cells *cells, uint32_t cell)
{
    qnnrt_llm__cells_settle(cells, qnnrt_llm__cells_leave(cells, cell, ~(uint64_t)0), INT32_MAX);
}

/* Whether a cell in use belongs to one of the sequences in bits and lies in [begin, end), where
   negative numbers mean 0 and infinity: unlike llama.cpp's largest number, infinity is behind every
   position. */
static int qnnrt_llm__cells_within(const qnnrt_llm__cells *cells, uint32_t cell, uint64_t bits,
                                   int32_t begin, int32_t end)
{
    const int32_t position = cells->positions[cell];           /* decides most often */
    return position >= begin && (end < 0 || position < end) &&
           (cells->sequences[cell] & bits) != 0;
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
    /* Who lost the last position has nothing left at begin or behind it. */
    qnnrt_llm__cells_settle(cells, stale, begin > 0 ? begin - 1 : -1);
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
    qnnrt_llm__cells_settle(cells, stale, INT32_MAX);
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
    qnnrt_llm__cells_settle(cells, stale, INT32_MAX);
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
    qnnrt_llm__cells_settle(cells, stale, INT32_MAX);
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

/* Copy count pieces that begin some bytes apart. Sizes that keys and values have are known to the
   compiler, so that no function is called: a decoding step lives on these loops. */
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
    case 8:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 8);
        break;
    case 16:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 16);
        break;
    case 32:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 32);
        break;
    case 64:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 64);
        break;
    case 128:
        for (i = 0; i < count; ++i, to += to_step, from += from_step) memcpy(to, from, 128);
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
    const uint32_t before = store->stride, lead = store->lead;
    uint32_t i, row;
    size_t k;
    store->stride = stride;
    if (stride == before || end == 0) return;
    for (k = 0; k < store->kv_count; ++k) {
        const uint32_t outer = store->kv[k].outer;
        const size_t piece = qnnrt_llm__rows_piece(&store->kv[k]), bytes = end * piece;
        unsigned char *data = store->data + (size_t)store->ranges[k];
        for (i = lead == 0; i < outer; ++i) {          /* without a lead, row 0 is where it was */
            row = lead + (stride < before ? i : outer - 1 - i + (lead == 0));
            memmove(data + (size_t)row * stride * piece, data + (size_t)row * before * piece,
                    bytes);
        }
    }
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

/* In one expression: compilers make one load of it. */
static uint64_t qnnrt_llm__state_u64(const unsigned char *at)
{
    return at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
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

/* =====================================================================================
   PUBLIC                                                                       >>public
   Checks arguments and calls the rooms above.
   Needs: every room above     Knows nothing of: -
   ===================================================================================== */

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LLM__IMPL_ONCE */
#endif /* QNNRT_LLM_IMPLEMENTATION */
