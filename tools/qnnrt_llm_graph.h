/* qnnrt_llm_graph.h - v0.5.0 - graphs of Llama-like language models, from config.json or GGUF

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_llm_graph.h"
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_WEIGHTS_IMPLEMENTATION
       #define QNNRT_LLM_GRAPH_IMPLEMENTATION
       #include "qnnrt_weights.h"
       #include "qnnrt_llm_graph.h"
   qnnrt.h, qnnrt_json.h, qnnrt_weights.h and qnnrt_ir.h lie beside this file or are found by the
   compiler. Link with -ldl -lm.

       qnnrt_llm_graph model; qnnrt_llm_graph_desc desc = {0}; qnnrt_ir *ir; qnnrt_error err;
       if (qnnrt_llm_graph_read(text, bytes, &model, &err) != QNNRT_OK) puts(err.text);
       desc.tokens = 32; desc.context = 1024;           // the prefill graph
       if (qnnrt_llm_graph_create(&model, &desc, &ir, &err) != QNNRT_OK) puts(err.text);
       // as any graph: qnnrt_lower_weights(), qnnrt_lower_passes(), qnnrt_lower_graph(), ...
       qnnrt_ir_free(ir);

   Uses     Public names of qnnrt.h, qnnrt_json.h, qnnrt_weights.h and qnnrt_ir.h, libc and libm
   Trust    The files may be hostile: numbers are limited, sizes fit in 48 bits. The caller is
            trusted.
   Memory   One allocator hook serves every allocation. A qnnrt_llm_graph owns nothing.
   Threads  The header creates none. Any thread may read a qnnrt_llm_graph.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       config     config.json, as transformers writes it beside a checkpoint
       GGUF       a file of llama.cpp with the weights, the numbers of a config, and a tokenizer
       part       a run of layers that becomes a graph of its own, a shard
       AR         tokens that a graph takes per call: .tokens
       context    tokens that a graph sees, the new ones included; it reads context - AR cells

   BUILD OPTIONS, to define before the header is first included
       QNNRT_LLM_GRAPH_API   replaces the storage and export prefix of all functions (default:
                           QNNRT_API)
       The options of qnnrt_ir.h work here too.

   MANUAL

   Models
       qnnrt_llm_graph_known() lists them. Other architectures are refused by name, and so is what
       these graphs do not compute: quantized checkpoints, scaled positions other than "linear" and
       "llama3", unknown activations.

   Tensors of a graph
       They are those of Qualcomm's hub, so that qnnrt_llm.h and Genie know what they are for. All
       floats are float32; lowering gives them another type.
           input_ids [1, AR] int64                       part 0, unless desc.embedded
           attention_mask [1, 1, AR, context]            is added to the scores
           window_attention_mask                         the same for layers with a sliding window
                                                         that is smaller than the context
           position_ids_cos, _sin [1, 1, AR, head_dim / 2]
           past_key_<i>_in [KV, 1, head_dim, context - AR], past_value_<i>_in [KV, 1, context - AR,
                                                         head_dim]
           past_key_<i>_out [KV, 1, head_dim, AR], past_value_<i>_out [KV, 1, AR, head_dim]
           _model_embed_tokens_Gather_output_0, _model_layers_<i>_Add_1_Add_output_0 [1, AR, width]
                                                         between parts
           logits [1, AR, vocabulary]                    last part
           last_hidden_state [1, AR, width]              last part, with desc.outputs: what the head
                                                         reads, after the last norm
       Keys are stored rotated. Earlier tokens are in the first cells, the new ones in the last AR
       columns of the mask. Weights have the keys of the checkpoint, or the names of GGUF.

   GGUF
       qnnrt_llm_graph_read_gguf() reads the metadata of an opened file in place of a config:
           qnnrt_weights_open("model.gguf", NULL, &weights, &err);
           qnnrt_llm_graph_read_gguf(weights, &model, &err);
       It also tells the weights in which order the rows of queries and keys are to be read. Known
       are the architectures llama, qwen2 and qwen3. Experts, scaled positions other than linear
       ones and those of Llama 3.1, and factors of scores and sums are refused by name.

   Positions
       The caller computes cosines and sines: qnnrt_llm_graph_settings() writes how, as the object
       "llm" of qnnrt.json, which qnnrt_llm.h reads. Models that rotate only a part of a head
       (partial_rotary_factor) use the first columns of the tables; theta is changed so that these
       have the right angles.

   Adapters (LoRA)
       With desc.lora_rank, the projections of desc.lora compute W x + B A x, with two more inputs
       each under the names of their modules:
           model.layers.0.self_attn.q_proj.lora_A.weight [rank, columns of W]
           model.layers.0.self_attn.q_proj.lora_B.weight [rows of W, rank]
       qnnrt_lower_desc.updateable makes them tensors of the graph that are 0 until qnnrt_update():
       see "Adapters" in qnnrt_llm.h.

   ROOMS (search for the tag)
       >>models >>read >>limits >>gguf >>build >>layer >>graph >>settings >>public
*/
#ifndef QNNRT_LLM_GRAPH_H
#define QNNRT_LLM_GRAPH_H

#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_ir.h"
#include "qnnrt_weights.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_llm_graph.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_LLM_GRAPH_API
#define QNNRT_LLM_GRAPH_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { QNNRT_LLM_GRAPH_LAYERS = 1024, QNNRT_LLM_GRAPH_EOS = 64 };

typedef enum qnnrt_llm_graph_act {
    QNNRT_LLM_GRAPH_SILU = 0, QNNRT_LLM_GRAPH_GELU, QNNRT_LLM_GRAPH_GELU_TANH
} qnnrt_llm_graph_act;

/* How positions become angles, as in qnnrt_llm.h. */
typedef enum qnnrt_llm_graph_scaling {
    QNNRT_LLM_GRAPH_PLAIN = 0, QNNRT_LLM_GRAPH_LINEAR, QNNRT_LLM_GRAPH_LLAMA3
} qnnrt_llm_graph_scaling;

/* What a config says. */
typedef struct qnnrt_llm_graph {
    const char *architecture;        /* "LlamaForCausalLM" */
    uint32_t    layers, width, heads, kv_heads, head_dim, inner, vocabulary;
    uint32_t    positions;           /* most tokens of a text: max_position_embeddings */
    uint32_t    rotary;              /* values of a head that positions rotate, head_dim or less */
    double      epsilon;             /* of norms */
    double      theta;               /* of angles, for .rotary values */
    qnnrt_llm_graph_scaling scaling;
    double      factor, low_frequency, high_frequency;
    uint32_t    original_context;
    qnnrt_llm_graph_act act;
    int         tied;                /* 1: the head is the table of embeddings */
    int         qkv_bias, o_bias, mlp_bias;
    int         fused;               /* 1: qkv_proj and gate_up_proj are one weight each */
    int         head_norms;          /* 1: norms of each head of queries and keys */
    int         plus_one;            /* 1: norms multiply by 1 + weight */
    int         four_norms;          /* 1: norms also after attention and MLP, before the sums */
    double      embedding_scale;     /* 0: none */
    double      score_scale;         /* of queries times keys */
    double      score_cap, logit_cap;            /* cap * tanh(x / cap); 0: none */
    uint32_t    window;              /* tokens that windowed layers see, 0: none */
    unsigned char windowed[QNNRT_LLM_GRAPH_LAYERS];
    int32_t     bos;                 /* -1: none */
    int32_t     eos[QNNRT_LLM_GRAPH_EOS];
    uint32_t    eos_count;
    int         gguf;                /* 1: weights have the names of GGUF */
} qnnrt_llm_graph;

/* Return the names of architectures one by one, "LlamaForCausalLM", then NULL. */
QNNRT_LLM_GRAPH_API const char *qnnrt_llm_graph_known(size_t index);

/* Read a config.json.

   text     JSON of `bytes` bytes; may be freed after the call
   out      owns nothing; undefined on failure

   Returns  QNNRT_OK; QNNRT_E_FORMAT (not JSON, or a key is missing or of another type);
            QNNRT_E_UNSUPPORTED (an architecture or setting that is not known: text names it);
            QNNRT_E_LIMIT (a number is too large); QNNRT_E_MISMATCH (numbers that do not fit
            together); QNNRT_E_ARG */
QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read(const char *text, size_t bytes,
                                                      qnnrt_llm_graph *out, qnnrt_error *err);

/* Take the begin and end tokens of a generation_config.json, which replace those of config.json.
   Other settings are skipped.
   Returns  QNNRT_OK; QNNRT_E_FORMAT; QNNRT_E_LIMIT; QNNRT_E_ARG */
QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read_generation(const char *text, size_t bytes,
                                                                 qnnrt_llm_graph *model,
                                                                 qnnrt_error *err);

/* What the last part of a model computes. */
typedef enum qnnrt_llm_graph_outputs {
    QNNRT_LLM_GRAPH_LOGITS = 0,
    QNNRT_LLM_GRAPH_HIDDEN,          /* the last hidden state, and no head: for embeddings */
    QNNRT_LLM_GRAPH_BOTH
} qnnrt_llm_graph_outputs;

/* Read the metadata of a GGUF file, and set the order in which conversions read the rows of its
   queries and keys: files for llama have them in another one (qnnrt_weights_unpair()).

   weights  of an opened GGUF file; no other thread may use them meanwhile
   out      owns nothing; undefined on failure. End tokens are those that the file names, and those
            whose texts end answers ("<|im_end|>"); there is no begin token if the file says that
            texts begin without one

   Returns  as qnnrt_llm_graph_read(): FORMAT for a file without metadata, and for a key that is
            missing or of another type */
QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read_gguf(qnnrt_weights *weights,
                                                           qnnrt_llm_graph *out, qnnrt_error *err);

/* Return the name of the table of embeddings in the file of weights. */
QNNRT_LLM_GRAPH_API const char *qnnrt_llm_graph_table(const qnnrt_llm_graph *model);

/* Which graph to make; every 0 is a default. */
typedef struct qnnrt_llm_graph_desc {
    qnnrt_hooks hooks;               /* alloc and free are used */
    const char *name;                /* of the graph (default NULL: "decoder") */
    uint32_t    tokens;              /* per call (default 0: 1) */
    uint32_t    context;             /* more than .tokens (default 0: model.positions) */
    uint32_t    part, parts;         /* part of a model that is cut into .parts (default 0: 1) with
                                        near equal numbers of layers */
    int         embedded;            /* 1: part 0 takes rows of the table of embeddings, under the
                                        name that they have between parts, instead of input_ids */
    int         ends_apart;          /* 1: part 0 is the table of embeddings alone, and the last
                                        one the last norm and the head; .parts is 3 or more */
    qnnrt_dtype (*weight_dtype)(void *user, const char *key);
                                     /* returns the dtype that the checkpoint has for a weight, so
                                        that 1 + weight can be folded (default: float32) */
    void       *weight_user;
    qnnrt_llm_graph_outputs outputs; /* (default 0: logits) */
    uint32_t    lora_rank;           /* most rank of adapters (default 0: none) */
    const char *lora;                /* projections that adapters change: "q_proj,v_proj", or "all"
                                        (default NULL: all) */
} qnnrt_llm_graph_desc;

/* Make a graph, without findings. qnnrt_ir_write() writes it as JSON.

   model    from qnnrt_llm_graph_read()
   desc     may be NULL
   out      receives the graph, NULL on failure

   Returns  QNNRT_OK; QNNRT_E_ARG (tokens, context, or part do not fit; .lora lists a projection
            that the model does not have); QNNRT_E_LIMIT (a tensor is too large); QNNRT_E_MEMORY
   Frees    qnnrt_ir_free()
   Cost     1 ms for 32 layers */
QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_create(const qnnrt_llm_graph *model,
                                                        const qnnrt_llm_graph_desc *desc,
                                                        qnnrt_ir **out, qnnrt_error *err);

/* Write the value of "llm" in qnnrt.json: rope, bos, eos, window. A begin token that is an end
   token, too, is left out: tokenizers do not put it before texts.

   context  of the graphs: decides whether there is a window
   writer   of qnnrt_json.h; the caller begins and ends it, and learns there of errors */
QNNRT_LLM_GRAPH_API void qnnrt_llm_graph_settings(const qnnrt_llm_graph *model, uint32_t context,
                                                  qnnrt_json_writer *writer);

/* Return the first layer of a part; of part == parts: the number of layers. */
QNNRT_LLM_GRAPH_API uint32_t qnnrt_llm_graph_first_layer(const qnnrt_llm_graph *model,
                                                         uint32_t part, uint32_t parts);

#define QNNRT_LLM_GRAPH_LOOK_UP  "embedding" /* the node that looks rows up in the table */
/* Its rows, as the first graph takes them with desc.embedded. */
#define QNNRT_LLM_GRAPH_EMBEDDED "_model_embed_tokens_Gather_output_0"

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LLM_GRAPH_H, end of the declarations */

#ifdef QNNRT_LLM_GRAPH_IMPLEMENTATION
#ifndef QNNRT_LLM_GRAPH__IMPL_ONCE
#define QNNRT_LLM_GRAPH__IMPL_ONCE

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   MODELS                                                                        >>models
   What is fixed by the architecture.
   Needs: nothing     Knows nothing of: files, graphs
   ===================================================================================== */

enum {
    QNNRT_LLM_GRAPH__QKV_BIAS = 1,   /* always; others have attention_bias */
    QNNRT_LLM_GRAPH__FUSED = 2,
    QNNRT_LLM_GRAPH__HEAD_NORMS = 4,
    QNNRT_LLM_GRAPH__PLUS_ONE = 8,
    QNNRT_LLM_GRAPH__FOUR_NORMS = 16,
    QNNRT_LLM_GRAPH__SCALED = 32,    /* embeddings, by the root of the width */
    QNNRT_LLM_GRAPH__TIED = 64,      /* unless the config says otherwise */
    QNNRT_LLM_GRAPH__WINDOW = 128,   /* sliding_window counts in all layers */
    QNNRT_LLM_GRAPH__EVERY_OTHER = 256,          /* in layers 0, 2, 4, ... */
    QNNRT_LLM_GRAPH__USE_WINDOW = 512, /* from max_window_layers on, if use_sliding_window */
    QNNRT_LLM_GRAPH__CAPS = 1024,    /* attn_logit_softcapping and relatives */
    QNNRT_LLM_GRAPH__BIASES = 2048,  /* attention_bias counts */
    QNNRT_LLM_GRAPH__MLP_BIAS = 4096,            /* mlp_bias counts */
    QNNRT_LLM_GRAPH__PARTIAL = 8192  /* partial_rotary_factor counts */
};

typedef struct qnnrt_llm_graph__model {
    const char *architecture, *type;
    unsigned    has;
    uint32_t    head_dim;            /* 0: width / heads */
    uint32_t    window;              /* sliding_window where it is absent; 0: none */
    double      epsilon;             /* rms_norm_eps where it is absent */
} qnnrt_llm_graph__model;

/* Defaults are those of transformers 5.23. */
static const qnnrt_llm_graph__model qnnrt_llm_graph__models[] = {
    { "LlamaForCausalLM", "llama", QNNRT_LLM_GRAPH__BIASES | QNNRT_LLM_GRAPH__MLP_BIAS, 0, 0,
      1e-6 },
    { "MistralForCausalLM", "mistral", QNNRT_LLM_GRAPH__WINDOW, 0, 4096, 1e-6 },
    { "Qwen2ForCausalLM", "qwen2", QNNRT_LLM_GRAPH__QKV_BIAS | QNNRT_LLM_GRAPH__USE_WINDOW, 0,
      4096, 1e-6 },
    { "Qwen3ForCausalLM", "qwen3", QNNRT_LLM_GRAPH__HEAD_NORMS | QNNRT_LLM_GRAPH__USE_WINDOW |
                                   QNNRT_LLM_GRAPH__BIASES, 128, 4096, 1e-6 },
    { "Phi3ForCausalLM", "phi3", QNNRT_LLM_GRAPH__FUSED | QNNRT_LLM_GRAPH__WINDOW |
                                 QNNRT_LLM_GRAPH__PARTIAL, 0, 0, 1e-5 },
    { "GemmaForCausalLM", "gemma", QNNRT_LLM_GRAPH__PLUS_ONE | QNNRT_LLM_GRAPH__SCALED |
                                   QNNRT_LLM_GRAPH__TIED | QNNRT_LLM_GRAPH__BIASES, 256, 0, 1e-6 },
    { "Gemma2ForCausalLM", "gemma2", QNNRT_LLM_GRAPH__PLUS_ONE | QNNRT_LLM_GRAPH__SCALED |
                                     QNNRT_LLM_GRAPH__TIED | QNNRT_LLM_GRAPH__FOUR_NORMS |
                                     QNNRT_LLM_GRAPH__EVERY_OTHER | QNNRT_LLM_GRAPH__CAPS |
                                     QNNRT_LLM_GRAPH__BIASES, 256, 4096, 1e-6 }
};

enum {
    QNNRT_LLM_GRAPH__MODELS = sizeof(qnnrt_llm_graph__models) / sizeof(qnnrt_llm_graph__models[0])
};

/* =====================================================================================
   READ                                                                            >>read
   Reads JSON: what the files say, and whether they say it.
   Needs: nothing     Knows nothing of: models
   ===================================================================================== */

enum { QNNRT_LLM_GRAPH__TEXT = 64 };

/* A text of a file; empty: absent or null. */
typedef struct qnnrt_llm_graph__word {
    char text[QNNRT_LLM_GRAPH__TEXT];
} qnnrt_llm_graph__word;

/* A number of a file. */
typedef struct qnnrt_llm_graph__number {
    double value;
    int    given;                    /* 0: absent or null */
    int    null;                     /* 1: null, which is no default */
} qnnrt_llm_graph__number;

/* The members that are read: X(key, field, kind, most). Kinds: Count, Real, Flag, Word. */
#define QNNRT_LLM_GRAPH__MEMBERS(X) \
    X("num_hidden_layers", layers, COUNT, 1024) \
    X("hidden_size", width, COUNT, 1 << 17) \
    X("num_attention_heads", heads, COUNT, 4096) \
    X("num_key_value_heads", kv_heads, COUNT, 4096) \
    X("head_dim", head_dim, COUNT, 4096) \
    X("intermediate_size", inner, COUNT, 1 << 20) \
    X("vocab_size", vocabulary, COUNT, 1 << 22) \
    X("max_position_embeddings", positions, COUNT, 1 << 24) \
    X("sliding_window", window, COUNT, 1 << 30) \
    X("max_window_layers", window_layers, COUNT, 1 << 20) \
    X("rms_norm_eps", epsilon, REAL, 1) \
    X("rope_theta", theta, REAL, 1e30) \
    X("partial_rotary_factor", partial, REAL, 1) \
    X("original_max_position_embeddings", original, COUNT, 1 << 24) \
    X("query_pre_attn_scalar", query_scalar, REAL, 1e9) \
    X("attn_logit_softcapping", score_cap, REAL, 1e9) \
    X("final_logit_softcapping", logit_cap, REAL, 1e9) \
    X("tie_word_embeddings", tied, FLAG, 1) \
    X("attention_bias", attention_bias, FLAG, 1) \
    X("mlp_bias", mlp_bias, FLAG, 1) \
    X("use_sliding_window", use_window, FLAG, 1) \
    X("use_bidirectional_attention", both_ways, FLAG, 1)

/* Members of rope_scaling and rope_parameters. */
#define QNNRT_LLM_GRAPH__ROPE_MEMBERS(X) \
    X("rope_theta", rope.theta, REAL, 1e30) \
    X("partial_rotary_factor", rope.partial, REAL, 1) \
    X("factor", rope.factor, REAL, 1e6) \
    X("low_freq_factor", rope.low, REAL, 1e9) \
    X("high_freq_factor", rope.high, REAL, 1e9) \
    X("original_max_position_embeddings", rope.original, COUNT, 1 << 24)

/* What rope_scaling or rope_parameters says. */
typedef struct qnnrt_llm_graph__rope {
    qnnrt_llm_graph__number theta, partial, factor, low, high, original;
    qnnrt_llm_graph__word   rope_type, type;
    int                     nested;  /* 1: settings of positions for each kind of layer */
} qnnrt_llm_graph__rope;

typedef struct qnnrt_llm_graph__facts {
#define QNNRT_LLM_GRAPH_X(key, field, kind, most) qnnrt_llm_graph__number field;
    QNNRT_LLM_GRAPH__MEMBERS(QNNRT_LLM_GRAPH_X)
#undef QNNRT_LLM_GRAPH_X
    qnnrt_llm_graph__number factor, low, high;
    qnnrt_llm_graph__word   architecture, type, act, activation, rope_type;
    qnnrt_llm_graph__rope   rope;    /* of the object that counts, see read_rope() */
    int                     scaled;  /* 1: rope_scaling has members, and counts */
    int                   quantized;
    unsigned char         windowed[QNNRT_LLM_GRAPH_LAYERS];
    uint32_t              kinds;     /* entries of layer_types */
    int64_t               bos;
    int                   bos_given, eos_given;
    int32_t               eos[QNNRT_LLM_GRAPH_EOS];
    uint32_t              eos_count;
    const char           *file;      /* that says so, for errors */
    const char           *gguf;      /* the architecture as GGUF writes it; NULL: a config */
} qnnrt_llm_graph__facts;

typedef enum qnnrt_llm_graph__kind {
    QNNRT_LLM_GRAPH__COUNT, QNNRT_LLM_GRAPH__REAL, QNNRT_LLM_GRAPH__FLAG
} qnnrt_llm_graph__kind;

typedef struct qnnrt_llm_graph__member {
    const char         *key;
    size_t              at;          /* of its number in the facts */
    qnnrt_llm_graph__kind kind;
    double              most;
} qnnrt_llm_graph__member;

#define QNNRT_LLM_GRAPH_X(key, field, kind, most) \
    { key, offsetof(qnnrt_llm_graph__facts, field), QNNRT_LLM_GRAPH__##kind, most },
static const qnnrt_llm_graph__member qnnrt_llm_graph__members[] = {
    QNNRT_LLM_GRAPH__MEMBERS(QNNRT_LLM_GRAPH_X)
};
static const qnnrt_llm_graph__member qnnrt_llm_graph__rope_members[] = {
    QNNRT_LLM_GRAPH__ROPE_MEMBERS(QNNRT_LLM_GRAPH_X)
};
#undef QNNRT_LLM_GRAPH_X

/* A file that is being read. */
typedef struct qnnrt_llm_graph__reader {
    qnnrt_json_reader     json;
    const char           *file;
    qnnrt_llm_graph__facts *facts;
    qnnrt_error          *err;
    qnnrt_result          result;
} qnnrt_llm_graph__reader;

/* Report a value of the wrong kind; the key was read last. */
static void qnnrt_llm_graph__read_wrong(qnnrt_llm_graph__reader *r, qnnrt_result code,
                                        const char *key, const char *expected)
{
    if (r->result != QNNRT_OK || r->json.error != NULL) return;
    r->result = qnnrt_error_set(r->err, code, "%s: \"%s\": expected %s", r->file, key, expected);
}

/* Read a value that is of a type, or null, which is absent. Return 1 if it is of the type. */
static int qnnrt_llm_graph__read_value(qnnrt_llm_graph__reader *r, qnnrt_json_type type,
                                       const char *key, const char *expected)
{
    const qnnrt_json_type found = qnnrt_json_value(&r->json);
    if (found != type && found != QNNRT_JSON_NULL)
        qnnrt_llm_graph__read_wrong(r, QNNRT_E_FORMAT, key, expected);
    return found == type;
}

/* Read a number or a flag. Null is absent. */
static void qnnrt_llm_graph__read_number(qnnrt_llm_graph__reader *r,
                                         const qnnrt_llm_graph__member *m)
{
    qnnrt_llm_graph__number *out =
        (qnnrt_llm_graph__number *)(void *)((char *)r->facts + m->at);
    const qnnrt_json_type type = qnnrt_json_value(&r->json);
    char expected[96];
    uint64_t whole = 0;
    double value = 0;
    out->given = 0;
    out->null = type == QNNRT_JSON_NULL;
    if (out->null) return;
    if (m->kind == QNNRT_LLM_GRAPH__FLAG) {
        if (type != QNNRT_JSON_TRUE && type != QNNRT_JSON_FALSE)
            qnnrt_llm_graph__read_wrong(r, QNNRT_E_FORMAT, m->key, "true or false");
        out->given = 1;
        out->value = type == QNNRT_JSON_TRUE;
        return;
    }
    snprintf(expected, sizeof expected, m->kind == QNNRT_LLM_GRAPH__COUNT
             ? "a whole number from 0 to %.0f" : "a number from 0 to %g", m->most);
    if (type != QNNRT_JSON_NUMBER || !qnnrt_json_f64(&r->json.value, &value) || !(value >= 0)) {
        qnnrt_llm_graph__read_wrong(r, QNNRT_E_FORMAT, m->key, expected);
        return;
    }
    if (!(value <= m->most)) {
        qnnrt_llm_graph__read_wrong(r, QNNRT_E_LIMIT, m->key, expected);
        return;
    }
    if (m->kind == QNNRT_LLM_GRAPH__COUNT && !qnnrt_json_u64(&r->json.value, &whole)) {
        qnnrt_llm_graph__read_wrong(r, QNNRT_E_FORMAT, m->key, expected);
        return;
    }
    out->given = 1;
    out->value = value;
}

/* Copy the string that was read; a longer one is cut. */
static void qnnrt_llm_graph__read_copy(const qnnrt_json_text *text, qnnrt_llm_graph__word *out)
{
    size_t bytes = text->bytes < sizeof out->text - 1 ? text->bytes : sizeof out->text - 1;
    memcpy(out->text, text->text, bytes);
    out->text[bytes] = '\0';
}

/* Read a text. Null is absent. */
static void qnnrt_llm_graph__read_word(qnnrt_llm_graph__reader *r, const char *key,
                                       qnnrt_llm_graph__word *out)
{
    out->text[0] = '\0';
    if (qnnrt_llm_graph__read_value(r, QNNRT_JSON_STRING, key, "a text"))
        qnnrt_llm_graph__read_copy(&r->json.value, out);
}

/* Read "architectures": the first one counts. */
static void qnnrt_llm_graph__read_architectures(qnnrt_llm_graph__reader *r)
{
    int first = 1;
    r->facts->architecture.text[0] = '\0';
    if (!qnnrt_llm_graph__read_value(r, QNNRT_JSON_ARRAY, "architectures", "a list of names"))
        return;
    while (qnnrt_json_more(&r->json)) {
        if (first) qnnrt_llm_graph__read_word(r, "architectures", &r->facts->architecture);
        qnnrt_json_skip(&r->json);
        first = 0;
    }
}

/* Read "layer_types". */
static void qnnrt_llm_graph__read_kinds(qnnrt_llm_graph__reader *r)
{
    qnnrt_llm_graph__facts *facts = r->facts;
    facts->kinds = 0;
    if (!qnnrt_llm_graph__read_value(r, QNNRT_JSON_ARRAY, "layer_types", "a list of texts")) return;
    while (qnnrt_json_more(&r->json)) {
        const int text = qnnrt_json_value(&r->json) == QNNRT_JSON_STRING;
        const int sliding = text && qnnrt_json_is(&r->json.value, "sliding_attention");
        if (facts->kinds == QNNRT_LLM_GRAPH_LAYERS)
            qnnrt_llm_graph__read_wrong(r, QNNRT_E_LIMIT, "layer_types", "at most 1024 layers");
        else if (!sliding && !(text && qnnrt_json_is(&r->json.value, "full_attention")))
            qnnrt_llm_graph__read_wrong(r, QNNRT_E_UNSUPPORTED, "layer_types",
                                        "full_attention and sliding_attention only");
        if (r->result != QNNRT_OK) return;
        facts->windowed[facts->kinds++] = (unsigned char)sliding;
    }
}

/* Read a token or a list of tokens; null: none. most: QNNRT_LLM_GRAPH_EOS, or 1 for bos */
static void qnnrt_llm_graph__read_tokens(qnnrt_llm_graph__reader *r, const char *key, int32_t *out,
                                         uint32_t most, uint32_t *count)
{
    const qnnrt_json_type type = qnnrt_json_value(&r->json);
    const int list = type == QNNRT_JSON_ARRAY;
    *count = 0;
    if (type == QNNRT_JSON_NULL) return;
    while (!list || qnnrt_json_more(&r->json)) {
        int64_t token = -1;
        const int number = (list ? qnnrt_json_value(&r->json) : type) == QNNRT_JSON_NUMBER;
        if (!number || !qnnrt_json_i64(&r->json.value, &token) || token < -1 || token > INT32_MAX)
            qnnrt_llm_graph__read_wrong(r, QNNRT_E_FORMAT, key,
                                        most > 1 ? "a token or a list of tokens" : "a token");
        else if (*count == most)
            qnnrt_llm_graph__read_wrong(r, QNNRT_E_LIMIT, key,
                                        most > 1 ? "at most 64 tokens" : "one token");
        if (r->result != QNNRT_OK) return;
        if (token >= 0) out[(*count)++] = (int32_t)token;
        if (!list) return;
    }
}

/* Read the member of a table that has the present key. Return 0 if none has it. */
static int qnnrt_llm_graph__read_member(qnnrt_llm_graph__reader *r,
                                        const qnnrt_llm_graph__member *members, size_t count)
{
    size_t i = 0;
    while (i < count && !qnnrt_json_is(&r->json.key, members[i].key)) ++i;
    if (i < count) qnnrt_llm_graph__read_number(r, &members[i]);
    return i < count;
}

/* Read rope_scaling or rope_parameters. Where both have members, rope_scaling counts alone. */
static void qnnrt_llm_graph__read_rope(qnnrt_llm_graph__reader *r, const char *key, int scaling)
{
    const qnnrt_llm_graph__rope before = r->facts->rope;
    qnnrt_llm_graph__rope *rope = &r->facts->rope;
    int members = 0;
    if (!qnnrt_llm_graph__read_value(r, QNNRT_JSON_OBJECT, key, "an object")) return;
    memset(rope, 0, sizeof(*rope));
    for (; r->result == QNNRT_OK && qnnrt_json_more(&r->json); members = 1) {
        const qnnrt_json_text *name = &r->json.key;
        if (qnnrt_json_is(name, "rope_type"))
            qnnrt_llm_graph__read_word(r, key, &rope->rope_type);
        else if (qnnrt_json_is(name, "type"))
            qnnrt_llm_graph__read_word(r, key, &rope->type);
        else if (qnnrt_json_is(name, "full_attention") || qnnrt_json_is(name, "sliding_attention"))
            rope->nested = 1;
        else
            qnnrt_llm_graph__read_member(r, qnnrt_llm_graph__rope_members,
                                         sizeof(qnnrt_llm_graph__rope_members) /
                                         sizeof(qnnrt_llm_graph__rope_members[0]));
        qnnrt_json_skip(&r->json);
    }
    if (!members || (r->facts->scaled && !scaling)) *rope = before;
    if (members && scaling) r->facts->scaled = 1;
}

/* Take what counts where a setting of positions is in several places, as transformers does. */
static void qnnrt_llm_graph__read_settled(qnnrt_llm_graph__facts *facts)
{
    const qnnrt_llm_graph__rope *rope = &facts->rope;
    if (rope->theta.given) facts->theta = rope->theta;
    if (rope->partial.given) facts->partial = rope->partial;
    if (!facts->original.given) facts->original = rope->original;
    if (!facts->original.given) facts->original = facts->positions;
    facts->factor = rope->factor;
    facts->low = rope->low;
    facts->high = rope->high;
    facts->rope_type = rope->rope_type.text[0] != '\0' ? rope->rope_type : rope->type;
}

/* Read the present member of config.json. */
static void qnnrt_llm_graph__read_config(qnnrt_llm_graph__reader *r)
{
    const qnnrt_json_text *key = &r->json.key;
    qnnrt_llm_graph__facts *facts = r->facts;
    if (qnnrt_json_is(key, "architectures")) qnnrt_llm_graph__read_architectures(r);
    else if (qnnrt_json_is(key, "model_type"))
        qnnrt_llm_graph__read_word(r, "model_type", &facts->type);
    else if (qnnrt_json_is(key, "hidden_act"))
        qnnrt_llm_graph__read_word(r, "hidden_act", &facts->act);
    else if (qnnrt_json_is(key, "hidden_activation"))
        qnnrt_llm_graph__read_word(r, "hidden_activation", &facts->activation);
    else if (qnnrt_json_is(key, "rope_scaling")) qnnrt_llm_graph__read_rope(r, "rope_scaling", 1);
    else if (qnnrt_json_is(key, "rope_parameters"))
        qnnrt_llm_graph__read_rope(r, "rope_parameters", 0);
    else if (qnnrt_json_is(key, "layer_types")) qnnrt_llm_graph__read_kinds(r);
    else if (qnnrt_json_is(key, "quantization_config"))
        facts->quantized = qnnrt_json_value(&r->json) != QNNRT_JSON_NULL;
    else
        qnnrt_llm_graph__read_member(r, qnnrt_llm_graph__members,
                                     sizeof(qnnrt_llm_graph__members) /
                                     sizeof(qnnrt_llm_graph__members[0]));
}

/* Read a file: all of config.json, or of generation_config.json the tokens alone. */
static qnnrt_result qnnrt_llm_graph__read_file(const char *file, int all, const char *text,
                                               size_t bytes, qnnrt_llm_graph__facts *facts,
                                               qnnrt_error *err)
{
    qnnrt_llm_graph__reader r;
    memset(&r, 0, sizeof(r));
    memset(facts, 0, sizeof(*facts));
    facts->bos = -1;
    facts->file = file;
    r.file = file;
    r.facts = facts;
    r.err = err;
    qnnrt_json_begin(&r.json, text, bytes, NULL);
    if (qnnrt_json_value(&r.json) != QNNRT_JSON_OBJECT && r.json.error == NULL)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: expected an object", file);
    while (r.result == QNNRT_OK && qnnrt_json_more(&r.json)) {
        if (qnnrt_json_is(&r.json.key, "bos_token_id")) {
            int32_t token = -1;
            uint32_t count = 0;
            facts->bos_given = 1;
            qnnrt_llm_graph__read_tokens(&r, "bos_token_id", &token, 1, &count);
            facts->bos = count > 0 ? token : -1;
        } else if (qnnrt_json_is(&r.json.key, "eos_token_id")) {
            facts->eos_given = 1;
            qnnrt_llm_graph__read_tokens(&r, "eos_token_id", facts->eos, QNNRT_LLM_GRAPH_EOS,
                                         &facts->eos_count);
        } else if (all) {
            qnnrt_llm_graph__read_config(&r);
        }
        qnnrt_json_skip(&r.json);
    }
    if (r.json.error != NULL || (r.result == QNNRT_OK && !qnnrt_json_end(&r.json)))
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: byte %llu: %s", file,
                               (unsigned long long)r.json.error_at, r.json.error != NULL ?
                               r.json.error : "not JSON");
    qnnrt_llm_graph__read_settled(facts);
    return r.result;
}

/* =====================================================================================
   LIMITS                                                                        >>limits
   From what a file says to a model that graphs can be made of.
   Needs: >>models >>read     Knows nothing of: JSON, graphs
   ===================================================================================== */

/* The names of config.json in GGUF, with the architecture before them. */
typedef struct qnnrt_llm_graph__name {
    const char *config, *gguf;
} qnnrt_llm_graph__name;

static const qnnrt_llm_graph__name qnnrt_llm_graph__names[] = {
    { "num_hidden_layers", "block_count" }, { "hidden_size", "embedding_length" },
    { "num_attention_heads", "attention.head_count" },
    { "num_key_value_heads", "attention.head_count_kv" }, { "head_dim", "attention.key_length" },
    { "intermediate_size", "feed_forward_length" }, { "vocab_size", "vocab_size" },
    { "max_position_embeddings", "context_length" },
    { "rms_norm_eps", "attention.layer_norm_rms_epsilon" }, { "rope_theta", "rope.freq_base" },
    { "factor", "rope.scaling.factor" },
    { "original_max_position_embeddings", "rope.scaling.original_context_length" }
};

enum {
    QNNRT_LLM_GRAPH__NAMES = sizeof(qnnrt_llm_graph__names) / sizeof(qnnrt_llm_graph__names[0])
};

/* Fill an error about the facts, whose text names keys of config.json, and return its code. For
   GGUF the name of the key is put in its place. */
__attribute__((cold, format(printf, 4, 5)))
static qnnrt_result qnnrt_llm_graph__wrong(const qnnrt_llm_graph__facts *facts, qnnrt_error *err,
                                           qnnrt_result code, const char *format, ...)
{
    char text[600], quoted[80];
    va_list args;
    size_t i;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (i = 0; facts->gguf != NULL && i < QNNRT_LLM_GRAPH__NAMES; ++i) {
        const char *at;
        snprintf(quoted, sizeof quoted, "\"%s\"", qnnrt_llm_graph__names[i].config);
        at = strstr(text, quoted);
        if (at != NULL)
            return qnnrt_error_set(err, code, "%s: %.*s\"%s.%s\"%s", facts->file, (int)(at - text),
                                   text, facts->gguf, qnnrt_llm_graph__names[i].gguf, at +
                                   strlen(quoted));
    }
    return qnnrt_error_set(err, code, "%s: %s", facts->file, text);
}

/* Find the row of an architecture, or of a model_type where there is none. */
static const qnnrt_llm_graph__model *qnnrt_llm_graph__limits_model(
    const qnnrt_llm_graph__facts *facts, qnnrt_error *err)
{
    const char *name = facts->architecture.text[0] != '\0' ? facts->architecture.text
                                                            : facts->type.text;
    size_t i;
    for (i = 0; i < QNNRT_LLM_GRAPH__MODELS; ++i) {
        const qnnrt_llm_graph__model *m = &qnnrt_llm_graph__models[i];
        if (strcmp(name, facts->architecture.text[0] != '\0' ? m->architecture : m->type) != 0)
            continue;
        if (facts->type.text[0] == '\0' || strcmp(facts->type.text, m->type) == 0) return m;
        qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "\"model_type\" is \"%s\", but the "
                               "architecture is \"%s\"", facts->type.text, m->architecture);
        return NULL;
    }
    if (name[0] == '\0')
        qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"architectures\" is missing;");
    else
        qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "the architecture is \"%s\";",
                               name);
    for (i = 0; i < QNNRT_LLM_GRAPH__MODELS; ++i)
        qnnrt_error_add(err, "%s %s", i == 0 ? " known are" : ",",
                        qnnrt_llm_graph__models[i].architecture);
    qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Export the model with qnnrt.export(), and compile "
                     "that folder.");
    return NULL;
}

/* Take the counts that must be there and not 0. */
static qnnrt_result qnnrt_llm_graph__limits_counts(const qnnrt_llm_graph__facts *facts,
                                                   qnnrt_llm_graph *out, qnnrt_error *err)
{
    const struct {
        const qnnrt_llm_graph__number *from;
        uint32_t                      *to;
        const char                    *key;
    } counts[] = {
        { &facts->layers, &out->layers, "num_hidden_layers" },
        { &facts->width, &out->width, "hidden_size" },
        { &facts->heads, &out->heads, "num_attention_heads" },
        { &facts->inner, &out->inner, "intermediate_size" },
        { &facts->vocabulary, &out->vocabulary, "vocab_size" },
        { &facts->positions, &out->positions, "max_position_embeddings" }
    };
    size_t i;
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        *counts[i].to = (uint32_t)counts[i].from->value;
        if (!counts[i].from->given || *counts[i].to == 0)
            return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"%s\" is %s, expected a"
                                          " number above 0", counts[i].key,
                                          counts[i].from->given ? "0" : "missing");
    }
    return QNNRT_OK;
}

/* Take the settings of positions. */
static qnnrt_result qnnrt_llm_graph__limits_rope(const qnnrt_llm_graph__model *m,
                                                 const qnnrt_llm_graph__facts *facts,
                                                 qnnrt_llm_graph *out, qnnrt_error *err)
{
    const char *type = facts->rope_type.text;
    const int known = facts->gguf != NULL || (m->has & QNNRT_LLM_GRAPH__PARTIAL) != 0;
    const double partial = facts->partial.given && known ? facts->partial.value : 1;
    out->theta = facts->theta.given ? facts->theta.value : 10000;
    if (facts->rope.nested)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "\"rope_parameters\" has"
                                      " settings for each kind of layer, expected the same for"
                                      " all");
    if (!(out->theta >= 1))
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"rope_theta\" is %g,"
                                      " expected 1 or more", out->theta);
    out->rotary = (uint32_t)((double)out->head_dim * partial);
    if (out->rotary == 0 || out->rotary % 2 != 0 || out->head_dim % 2 != 0)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_MISMATCH, "positions rotate %u of the"
                                      " %u values of a head, expected even numbers",
                                      (unsigned)out->rotary, (unsigned)out->head_dim);
    if (type[0] == '\0' && facts->gguf == NULL && facts->factor.given && facts->factor.value != 1)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "positions are scaled by a"
                                      " factor of %g, but \"rope_type\" is missing",
                                      facts->factor.value);
    if (type[0] == '\0' || strcmp(type, "default") == 0) return QNNRT_OK;
    if (!known && facts->partial.given && facts->partial.value < 1)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "\"partial_rotary_factor\" "
                                      "is %g with positions scaled by \"%s\"; %s has no code for "
                                      "that", facts->partial.value, type, m->architecture);
    if (strcmp(type, "linear") == 0) out->scaling = QNNRT_LLM_GRAPH_LINEAR;
    else if (strcmp(type, "llama3") == 0) out->scaling = QNNRT_LLM_GRAPH_LLAMA3;
    else
        return qnnrt_error_hint(err,
                                qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED,
                                                       "positions are scaled by \"%s\"; known are "
                                                       "default, linear and llama3", type),
                                "Export the model with qnnrt.export(), and compile that folder.");
    if (!facts->factor.given || !(facts->factor.value >= 1e-6))
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "positions are scaled by"
                                      " \"%s\", but \"factor\" is missing", type);
    out->factor = facts->factor.value;
    if (out->scaling == QNNRT_LLM_GRAPH_LINEAR) return QNNRT_OK;
    out->low_frequency = facts->low.value;
    out->high_frequency = facts->high.value;
    out->original_context = (uint32_t)facts->original.value;
    if (!(out->low_frequency > 0) || !(out->high_frequency > out->low_frequency) ||
        out->original_context == 0)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "positions are scaled by"
                                      " \"llama3\"; expected 0 < low_freq_factor <"
                                      " high_freq_factor, and original_max_position_embeddings");
    return QNNRT_OK;
}

/* Take which layers have a window. */
static qnnrt_result qnnrt_llm_graph__limits_window(const qnnrt_llm_graph__model *m,
                                                   const qnnrt_llm_graph__facts *facts,
                                                   qnnrt_llm_graph *out, qnnrt_error *err)
{
    const int uses = (m->has & (QNNRT_LLM_GRAPH__WINDOW | QNNRT_LLM_GRAPH__EVERY_OTHER)) != 0 ||
                     ((m->has & QNNRT_LLM_GRAPH__USE_WINDOW) != 0 && facts->use_window.given &&
                      facts->use_window.value > 0);
    const double window = facts->window.given ? facts->window.value
                          : facts->window.null || facts->gguf != NULL ? 0 : m->window;
    uint32_t i;
    if (facts->kinds != 0 && facts->kinds != out->layers)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_MISMATCH, "\"layer_types\" has %u"
                                      " layers, \"num_hidden_layers\" is %u",
                                      (unsigned)facts->kinds, (unsigned)out->layers);
    if (!uses || window < 1) {
        for (i = 0; i < facts->kinds; ++i)
            if (facts->windowed[i] && (m->has & (QNNRT_LLM_GRAPH__USE_WINDOW |
                                                 QNNRT_LLM_GRAPH__EVERY_OTHER)) != 0)
                return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"layer_types\" has"
                                              " sliding_attention, but \"sliding_window\" is"
                                              " missing or not used");
        return QNNRT_OK;
    }
    for (i = 0; i < facts->kinds && (m->has & QNNRT_LLM_GRAPH__WINDOW) != 0; ++i)
        if (!facts->windowed[i])             /* some releases of transformers use them */
            return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "\"layer_types\" has"
                                          " full_attention beside \"sliding_window\"; layers of"
                                          " %s are alike", m->architecture);
    out->window = (uint32_t)window;
    for (i = 0; i < out->layers; ++i) {
        if ((m->has & QNNRT_LLM_GRAPH__WINDOW) != 0) out->windowed[i] = 1;
        else if (facts->kinds != 0) out->windowed[i] = facts->windowed[i];
        else if ((m->has & QNNRT_LLM_GRAPH__EVERY_OTHER) != 0) out->windowed[i] = i % 2 == 0;
        else out->windowed[i] = i >= (facts->window_layers.given
                                      ? (uint32_t)facts->window_layers.value : 28);
    }
    return QNNRT_OK;
}

/* Take the function of the MLP. Older configs of Gemma say "gelu" and mean its form with tanh. */
static qnnrt_result qnnrt_llm_graph__limits_act(const qnnrt_llm_graph__model *m,
                                                const qnnrt_llm_graph__facts *facts,
                                                qnnrt_llm_graph *out, qnnrt_error *err)
{
    const int gemma = (m->has & QNNRT_LLM_GRAPH__PLUS_ONE) != 0;
    const int second = (m->has & QNNRT_LLM_GRAPH__CAPS) != 0;     /* Gemma2's key is another one */
    const char *given = second ? facts->activation.text : facts->act.text;
    const char *name = given[0] != '\0' ? given : gemma ? "gelu_pytorch_tanh" : "silu";
    if (gemma && !second && strcmp(name, "gelu") == 0) name = "gelu_pytorch_tanh";
    if (strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0) out->act = QNNRT_LLM_GRAPH_SILU;
    else if (strcmp(name, "gelu") == 0) out->act = QNNRT_LLM_GRAPH_GELU;
    else if (strcmp(name, "gelu_pytorch_tanh") == 0 || strcmp(name, "gelu_new") == 0)
        out->act = QNNRT_LLM_GRAPH_GELU_TANH;
    else
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED, "the activation is"
                                      " \"%s\"; known are silu, gelu and gelu_pytorch_tanh", name);
    return QNNRT_OK;
}

/* Put tokens into a model. */
static qnnrt_result qnnrt_llm_graph__limits_tokens(const char *file,
                                                   const qnnrt_llm_graph__facts *facts,
                                                   qnnrt_llm_graph *out, qnnrt_error *err)
{
    uint32_t i;
    if (facts->bos_given) out->bos = (int32_t)facts->bos;
    if (facts->eos_given) {
        memcpy(out->eos, facts->eos, sizeof(out->eos));
        out->eos_count = facts->eos_count;
    }
    for (i = 0; i < out->eos_count + 1; ++i) {
        const int32_t token = i < out->eos_count ? out->eos[i] : out->bos;
        if (token >= 0 && (uint32_t)token >= out->vocabulary)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s: the %s token is %ld, but "
                                   "\"vocab_size\" is %u", file, i < out->eos_count ? "end" :
                                   "begin", (long)token, (unsigned)out->vocabulary);
    }
    return QNNRT_OK;
}

/* Fill a model. */
static qnnrt_result qnnrt_llm_graph__limits_fill(const qnnrt_llm_graph__facts *facts,
                                                 qnnrt_llm_graph *out, qnnrt_error *err)
{
    const qnnrt_llm_graph__model *m = qnnrt_llm_graph__limits_model(facts, err);
    qnnrt_result result;
    memset(out, 0, sizeof(*out));
    out->bos = -1;
    if (m == NULL)
        return facts->architecture.text[0] != '\0' || facts->type.text[0] != '\0'
               ? QNNRT_E_UNSUPPORTED : QNNRT_E_FORMAT;
    out->architecture = m->architecture;
    if (facts->quantized)
        return qnnrt_error_hint(err,
                                qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED,
                                                       "the checkpoint is quantized "
                                                       "(\"quantization_config\"), expected "
                                                       "floats"), "Give the checkpoint that it was "
                                "made from.");
    if (facts->both_ways.given && facts->both_ways.value > 0)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_UNSUPPORTED,
                                      "\"use_bidirectional_attention\" is true, expected false");
    result = qnnrt_llm_graph__limits_counts(facts, out, err);
    if (result != QNNRT_OK) return result;
    out->kv_heads = facts->kv_heads.given ? (uint32_t)facts->kv_heads.value : out->heads;
    out->head_dim = facts->head_dim.given ? (uint32_t)facts->head_dim.value
                    : m->head_dim != 0 ? m->head_dim : out->width / out->heads;
    if (out->kv_heads == 0 || out->heads % out->kv_heads != 0)
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_MISMATCH, "\"num_attention_heads\" is"
                                      " %u, expected a multiple of \"num_key_value_heads\", %u",
                                      (unsigned)out->heads, (unsigned)out->kv_heads);
    if (out->head_dim == 0 ||
        (!facts->head_dim.given && m->head_dim == 0 && out->width % out->heads != 0))
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_MISMATCH, "\"hidden_size\" is %u,"
                                      " expected a multiple of \"num_attention_heads\", %u",
                                      (unsigned)out->width, (unsigned)out->heads);
    out->epsilon = facts->epsilon.given ? facts->epsilon.value : m->epsilon;
    if (!(out->epsilon > 0))
        return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"rms_norm_eps\" is 0,"
                                      " expected a number above 0");
    out->fused = (m->has & QNNRT_LLM_GRAPH__FUSED) != 0;
    out->head_norms = (m->has & QNNRT_LLM_GRAPH__HEAD_NORMS) != 0;
    out->plus_one = (m->has & QNNRT_LLM_GRAPH__PLUS_ONE) != 0;
    out->four_norms = (m->has & QNNRT_LLM_GRAPH__FOUR_NORMS) != 0;
    out->tied = facts->tied.given ? facts->tied.value > 0 : (m->has & QNNRT_LLM_GRAPH__TIED) != 0;
    if ((m->has & QNNRT_LLM_GRAPH__BIASES) != 0) {
        out->qkv_bias = out->o_bias = facts->attention_bias.given &&
                                      facts->attention_bias.value > 0;
    }
    if ((m->has & QNNRT_LLM_GRAPH__MLP_BIAS) != 0)
        out->mlp_bias = facts->mlp_bias.given && facts->mlp_bias.value > 0;
    if ((m->has & QNNRT_LLM_GRAPH__QKV_BIAS) != 0) out->qkv_bias = 1;
    if ((m->has & QNNRT_LLM_GRAPH__SCALED) != 0) out->embedding_scale = sqrt((double)out->width);
    out->score_scale = 1 / sqrt((double)out->head_dim);
    if ((m->has & QNNRT_LLM_GRAPH__CAPS) != 0) {
        const double scalar = facts->query_scalar.given ? facts->query_scalar.value : 256;
        if (!(scalar > 0))
            return qnnrt_llm_graph__wrong(facts, err, QNNRT_E_FORMAT, "\"query_pre_attn_scalar\""
                                          " is 0, expected a number above 0");
        out->score_scale = 1 / sqrt(scalar);
        out->score_cap = facts->score_cap.given || facts->score_cap.null ? facts->score_cap.value
                                                                         : 50;
        out->logit_cap = facts->logit_cap.given || facts->logit_cap.null ? facts->logit_cap.value
                                                                         : 30;
    }
    result = qnnrt_llm_graph__limits_rope(m, facts, out, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__limits_window(m, facts, out, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__limits_act(m, facts, out, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__limits_tokens(facts->file, facts, out, err);
    return result;
}

/* =====================================================================================
   GGUF                                                                            >>gguf
   The metadata and the weights of a GGUF file as facts.
   Needs: >>read >>limits     Knows nothing of: JSON, graphs
   ===================================================================================== */

/* Weights of checkpoints, without ".weight", and their names in GGUF. */
static const qnnrt_llm_graph__name qnnrt_llm_graph__gguf_weights[] = {
    { "self_attn.q_proj", "attn_q" },        { "self_attn.k_proj", "attn_k" },
    { "self_attn.v_proj", "attn_v" },        { "self_attn.o_proj", "attn_output" },
    { "self_attn.q_norm", "attn_q_norm" },   { "self_attn.k_norm", "attn_k_norm" },
    { "input_layernorm", "attn_norm" },      { "post_attention_layernorm", "ffn_norm" },
    { "mlp.gate_proj", "ffn_gate" },         { "mlp.up_proj", "ffn_up" },
    { "mlp.down_proj", "ffn_down" },         { "model.embed_tokens", "token_embd" },
    { "model.norm", "output_norm" },         { "lm_head", "output" }
};

enum { QNNRT_LLM_GRAPH__GGUF_WEIGHTS = sizeof(qnnrt_llm_graph__gguf_weights) /
                                     sizeof(qnnrt_llm_graph__gguf_weights[0]) };

/* Write the name that a weight of a checkpoint has in GGUF. */
static void qnnrt_llm_graph__gguf_key(char *out, size_t room, int64_t layer, const char *name)
{
    size_t i, length = 0;
    const char *ours = NULL;
    for (i = 0; i < QNNRT_LLM_GRAPH__GGUF_WEIGHTS && ours == NULL; ++i) {
        length = strlen(qnnrt_llm_graph__gguf_weights[i].config);
        if (strncmp(name, qnnrt_llm_graph__gguf_weights[i].config, length) == 0 &&
            name[length] == '.')
            ours = qnnrt_llm_graph__gguf_weights[i].gguf;
    }
    if (ours == NULL) snprintf(out, room, "%s", name);
    else if (layer < 0) snprintf(out, room, "%s%s", ours, name + length);
    else snprintf(out, room, "blk.%ld.%s%s", (long)layer, ours, name + length);
}

/* Find a pair: "<architecture>.<key>". */
static const qnnrt_weights_value *qnnrt_llm_graph__gguf_value(const qnnrt_weights *weights,
                                                              const qnnrt_llm_graph__facts *facts,
                                                              const char *key)
{
    char name[QNNRT_LLM_GRAPH__TEXT + 64];
    snprintf(name, sizeof name, "%s.%s", facts->gguf, key);
    return qnnrt_weights_get_value(weights, name);
}

/* Copy a text of the metadata. Return 0 if it is none, or too long. */
static int qnnrt_llm_graph__gguf_text(const qnnrt_weights_value *value, qnnrt_llm_graph__word *out)
{
    const char *text;
    uint64_t at = 0;
    size_t bytes;
    out->text[0] = '\0';
    if (value == NULL || value->list || !qnnrt_weights_value_next(value, &at, &text, &bytes) ||
        bytes >= sizeof out->text)
        return 0;
    memcpy(out->text, text, bytes);
    out->text[bytes] = '\0';
    return 1;
}

/* Read a number; a list of equal ones is one. Return QNNRT_OK if there is none. */
static qnnrt_result qnnrt_llm_graph__gguf_number(const qnnrt_weights *weights,
                                                 const qnnrt_llm_graph__facts *facts,
                                                 const char *key, int whole, double most,
                                                 qnnrt_llm_graph__number *out, qnnrt_error *err)
{
    const qnnrt_weights_value *value = qnnrt_llm_graph__gguf_value(weights, facts, key);
    uint64_t i;
    double number = 0;
    int64_t integer;
    out->given = 0;
    if (value == NULL) return QNNRT_OK;
    for (i = 0; i == 0 || i < value->count; ++i) {
        const int good = whole ? qnnrt_weights_value_i64(value, i, &integer)
                               : qnnrt_weights_value_f64(value, i, &number);
        if (good && whole) number = (double)integer;
        if (!good || !(number >= 0))
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: \"%s.%s\": expected %s", facts->file,
                                   facts->gguf, key, whole ? "a whole number" : "a number");
        if (number > most)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "%s: \"%s.%s\" is %g, the limit is %g",
                                   facts->file, facts->gguf, key, number, most);
        if (i > 0 && number != out->value)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: \"%s.%s\" is not the same for "
                                   "all layers", facts->file, facts->gguf, key);
        out->value = number;
    }
    out->given = 1;
    return QNNRT_OK;
}

/* Read all numbers that config.json has, too. */
static qnnrt_result qnnrt_llm_graph__gguf_numbers(const qnnrt_weights *weights,
                                                  qnnrt_llm_graph__facts *facts, qnnrt_error *err)
{
    enum {
        MEMBERS = sizeof(qnnrt_llm_graph__members) / sizeof(qnnrt_llm_graph__members[0]),
        ROPE = sizeof(qnnrt_llm_graph__rope_members) / sizeof(qnnrt_llm_graph__rope_members[0])
    };
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    for (i = 0; i < QNNRT_LLM_GRAPH__NAMES; ++i)
        for (k = 0; k < MEMBERS + ROPE && result == QNNRT_OK; ++k) {
            const qnnrt_llm_graph__member *m = k < MEMBERS ? &qnnrt_llm_graph__members[k]
                                             : &qnnrt_llm_graph__rope_members[k - MEMBERS];
            if (strcmp(m->key, qnnrt_llm_graph__names[i].config) != 0) continue;
            result = qnnrt_llm_graph__gguf_number(
                weights, facts, qnnrt_llm_graph__names[i].gguf, m->kind == QNNRT_LLM_GRAPH__COUNT,
                m->most, (qnnrt_llm_graph__number *)(void *)((char *)facts + m->at), err);
        }
    return result;
}

/* Refuse what the graphs do not compute. */
static qnnrt_result qnnrt_llm_graph__gguf_refuse(const qnnrt_weights *weights,
                                                 const qnnrt_llm_graph__facts *facts,
                                                 qnnrt_error *err)
{
    /* What each of these has to be, if it is there; 0 means the same as 1 for factors. */
    static const struct { const char *key; double value; int factor; } wanted[] = {
        { "expert_count", 0, 0 }, { "attention.causal", 1, 0 }, { "attention.scale", 0, 0 },
        { "logit_scale", 1, 1 }, { "residual_scale", 1, 1 }, { "embedding_scale", 1, 1 },
        { "rope.scaling.attn_factor", 1, 1 }, { "attention.max_alibi_bias", 0, 0 },
        { "attention.clamp_kqv", 0, 0 }, { "use_parallel_residual", 0, 0 }
    };
    qnnrt_llm_graph__number key, number;
    qnnrt_result result;
    size_t i;
    for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i) {
        result = qnnrt_llm_graph__gguf_number(weights, facts, wanted[i].key, 0, 1e30, &number, err);
        if (result != QNNRT_OK) return result;
        if (number.given && number.value != wanted[i].value &&
            !(wanted[i].factor && number.value == 0))
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: \"%s.%s\" is %g, expected %g",
                                   facts->file, facts->gguf, wanted[i].key, number.value,
                                   wanted[i].value);
    }
    result = qnnrt_llm_graph__gguf_number(weights, facts, "attention.value_length", 1, 4096,
                                          &number, err);
    if (result != QNNRT_OK) return result;
    key = facts->head_dim;
    if (!key.given && facts->heads.value > 0) key.value = facts->width.value / facts->heads.value;
    if (number.given && number.value != key.value)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: \"%s.attention.value_length\" is %g, "
                               "expected that of keys, %g", facts->file, facts->gguf, number.value,
                               key.value);
    return QNNRT_OK;
}

/* Return the factor by which the settings of Llama 3.1 divide frequency f. */
static double qnnrt_llm_graph__gguf_divide(const qnnrt_llm_graph__facts *facts, double f)
{
    const double turns = facts->original.value * f / 6.283185307179586;
    const double smooth = (turns - facts->low.value) / (facts->high.value - facts->low.value);
    if (smooth >= 1) return 1;
    if (smooth <= 0) return facts->factor.value;
    return 1 / ((1 - smooth) / facts->factor.value + smooth);
}

/* Find the settings of Llama 3.1 that give these factors of frequencies, [n]. In between, the
   inverse of a factor grows with the frequency along a line, which two of them fix. */
static qnnrt_result qnnrt_llm_graph__gguf_llama3(qnnrt_llm_graph__facts *facts,
                                                 const float *factors, uint32_t n, qnnrt_error *err)
{
    const double theta = facts->theta.given ? facts->theta.value : 10000;
    double most = 1, x[2] = { 0, 0 }, y[2] = { 0, 0 }, slope, width;
    uint32_t i, between = 0;
    int fits = 1;
    for (i = 0; i < n; ++i) if ((double)factors[i] > most) most = (double)factors[i];
    facts->factor.given = facts->low.given = facts->high.given = facts->original.given = 1;
    facts->factor.value = most;
    facts->low.value = 1;
    facts->high.value = 4;
    facts->original.value = 8192;
    for (i = 0; i < n; ++i) {
        const double factor = (double)factors[i], f = pow(theta, -(double)i / n);
        if (!(factor > 1.0001 && factor < most * 0.9999)) continue;
        x[between != 0] = f / 6.283185307179586;
        y[between != 0] = (1 / factor - 1 / most) / (1 - 1 / most);
        ++between;
    }
    if (between > 1) {
        slope = (y[0] - y[1]) / (x[0] - x[1]);
        width = 1 / (slope * x[0] - y[0]);       /* of the line, for a low frequency of 1 */
        if (width > 1e-3 && width < 1e6) {
            facts->high.value = floor((1 + width) * 1000 + 0.5) / 1000;
            facts->original.value = floor(slope * width + 0.5);
        }
    }
    for (i = 0; i < n; ++i) {
        const double wanted = qnnrt_llm_graph__gguf_divide(facts, pow(theta, -(double)i / n));
        if (!(fabs((double)factors[i] - wanted) <= 1e-4 * wanted)) fits = 0;
    }
    if (!fits || facts->original.value < 1 || facts->original.value > 1 << 24)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: the factors of "
                                                "\"rope_freqs.weight\" are not those of Llama 3.1",
                                                facts->file), "Export the checkpoint with "
                                "qnnrt.export(), and compile that folder.");
    if (most > 1) snprintf(facts->rope_type.text, sizeof facts->rope_type.text, "llama3");
    return QNNRT_OK;
}

/* Read how positions become angles. */
static qnnrt_result qnnrt_llm_graph__gguf_rope(const qnnrt_weights *weights,
                                               qnnrt_llm_graph__facts *facts, qnnrt_error *err)
{
    enum { MOST = 2048 };
    const qnnrt_weights_value *type = qnnrt_llm_graph__gguf_value(weights, facts,
                                                                  "rope.scaling.type");
    const qnnrt_weight *table = qnnrt_weights_find(weights, "rope_freqs.weight");
    const double size = facts->head_dim.given ? facts->head_dim.value
                        : facts->heads.value > 0 ? facts->width.value / facts->heads.value : 0;
    qnnrt_llm_graph__number rotary, linear;
    float factors[MOST];
    qnnrt_result result = qnnrt_llm_graph__gguf_number(weights, facts, "rope.dimension_count", 1,
                                                       4096, &rotary, err);
    if (result == QNNRT_OK)
        result = qnnrt_llm_graph__gguf_number(weights, facts, "rope.scale_linear", 0, 1e6, &linear,
                                              err);
    if (result != QNNRT_OK) return result;
    if (rotary.given && size > 0) {
        facts->partial.given = 1;
        facts->partial.value = rotary.value / size;
        if (rotary.value > size)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s: \"%s.rope.dimension_count\" is %g, "
                                   "the limit is the size of a head, %g", facts->file, facts->gguf,
                                   rotary.value, size);
    }
    if (type != NULL && !qnnrt_llm_graph__gguf_text(type, &facts->rope_type))
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: \"%s.rope.scaling.type\": expected a text",
                               facts->file, facts->gguf);
    if (strcmp(facts->rope_type.text, "none") == 0) facts->rope_type.text[0] = '\0';
    if (type == NULL && !facts->factor.given && linear.given) facts->factor = linear;
    if (type == NULL && facts->factor.given && facts->factor.value != 0 && facts->factor.value != 1)
        snprintf(facts->rope_type.text, sizeof facts->rope_type.text, "linear");
    if (table == NULL) return QNNRT_OK;
    if (facts->rope_type.text[0] != '\0')
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: positions are scaled by \"%s\" and "
                               "by \"rope_freqs.weight\", expected one of them", facts->file,
                               facts->rope_type.text);
    if (table->count == 0 || table->count > MOST ||
        2 * (double)table->count != (rotary.given ? rotary.value : size))
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s: \"rope_freqs.weight\" has %llu values, "
                               "expected half a head", facts->file,
                               (unsigned long long)table->count);
    result = qnnrt_weights_convert(table, QNNRT_DTYPE_F32, factors,
                                   (size_t)table->count * sizeof(float), NULL, err);
    return result != QNNRT_OK ? result
           : qnnrt_llm_graph__gguf_llama3(facts, factors, (uint32_t)table->count, err);
}

/* Add an end token, once. */
static void qnnrt_llm_graph__gguf_end(qnnrt_llm_graph__facts *facts, int64_t token)
{
    uint32_t i;
    facts->eos_given = 1;
    for (i = 0; i < facts->eos_count; ++i) if (facts->eos[i] == token) return;
    if (token >= 0 && token <= INT32_MAX && facts->eos_count < QNNRT_LLM_GRAPH_EOS)
        facts->eos[facts->eos_count++] = (int32_t)token;
}

/* Read begin and end tokens. */
static qnnrt_result qnnrt_llm_graph__gguf_tokens(const qnnrt_weights *weights,
                                                 qnnrt_llm_graph__facts *facts, qnnrt_error *err)
{
    static const char *const keys[] = { "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id" };
    static const char *const ends[] = { "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>",
        "<|endoftext|>", "<|end_of_text|>", "<end_of_turn>", "</s>", "<EOT>", "_<EOT>", "[EOT]" };
    /* Tokenizers of these kinds put the begin token before texts unless the file says otherwise. */
    static const char *const begins[] = { "llama3", "llama-v3", "llama-bpe", "falcon3", "tekken" };
    const qnnrt_weights_value *list = qnnrt_weights_get_value(weights, "tokenizer.ggml.tokens");
    qnnrt_llm_graph__word model, pre;
    const char *text;
    uint64_t at = 0;
    int64_t token, add = 0, number = 0;
    size_t i, bytes;
    if (list != NULL && (double)list->count != facts->vocabulary.value)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s: \"tokenizer.ggml.tokens\" has %llu "
                               "tokens, \"token_embd.weight\" has %.0f rows", facts->file,
                               (unsigned long long)list->count, facts->vocabulary.value);
    qnnrt_llm_graph__gguf_text(qnnrt_weights_get_value(weights, "tokenizer.ggml.model"), &model);
    qnnrt_llm_graph__gguf_text(qnnrt_weights_get_value(weights, "tokenizer.ggml.pre"), &pre);
    add = strcmp(model.text, "llama") == 0;
    for (i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i)
        add |= strcmp(pre.text, begins[i]) == 0;
    qnnrt_weights_value_i64(qnnrt_weights_get_value(weights, "tokenizer.ggml.add_bos_token"), 0,
                            &add);
    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        const qnnrt_weights_value *value = qnnrt_weights_get_value(weights, keys[i]);
        if (value == NULL) continue;
        if (value->list || !qnnrt_weights_value_i64(value, 0, &token) || token < 0 ||
            token > INT32_MAX)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: \"%s\": expected a token", facts->file,
                                   keys[i]);
        if (i > 0) qnnrt_llm_graph__gguf_end(facts, token);
        else facts->bos_given = 1;
        if (i == 0) facts->bos = add ? token : -1;
    }
    for (; qnnrt_weights_value_next(list, &at, &text, &bytes); ++number)
        for (i = 0; i < sizeof(ends) / sizeof(ends[0]); ++i)
            if (strlen(ends[i]) == bytes && memcmp(ends[i], text, bytes) == 0)
                qnnrt_llm_graph__gguf_end(facts, number);
    return QNNRT_OK;
}

/* Set the order of the rows of queries and keys in all layers. */
static qnnrt_result qnnrt_llm_graph__gguf_unpair(const qnnrt_llm_graph *model,
                                                 qnnrt_weights *weights, qnnrt_error *err)
{
    static const char *const tails[] = { "attn_q.weight", "attn_k.weight", "attn_q.bias",
                                         "attn_k.bias" };
    uint32_t layer;
    size_t i;
    for (layer = 0; layer < model->layers; ++layer)
        for (i = 0; i < 4; ++i) {
            char name[64];
            qnnrt_result result;
            snprintf(name, sizeof name, "blk.%u.%s", (unsigned)layer, tails[i]);
            if (qnnrt_weights_find(weights, name) == NULL) continue;
            result = qnnrt_weights_unpair(weights, name,
                                          i % 2 == 0 ? model->heads : model->kv_heads, err);
            if (result != QNNRT_OK) return result;
        }
    return QNNRT_OK;
}

/* Fill a model. */
static qnnrt_result qnnrt_llm_graph__gguf_read(qnnrt_weights *weights, qnnrt_llm_graph *out,
                                               qnnrt_error *err)
{
    static const qnnrt_llm_graph__name known[] = {
        { "LlamaForCausalLM", "llama" }, { "Qwen2ForCausalLM", "qwen2" },
        { "Qwen3ForCausalLM", "qwen3" }
    };
    const qnnrt_weight *table = qnnrt_weights_find(weights, "token_embd.weight");
    qnnrt_llm_graph__facts facts;
    qnnrt_llm_graph__word name, type;
    qnnrt_result result;
    size_t i;
    memset(&facts, 0, sizeof(facts));
    facts.file = "metadata";
    facts.bos = -1;
    if (!qnnrt_llm_graph__gguf_text(qnnrt_weights_get_value(weights, "general.architecture"),
                                    &name))
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "metadata: \"general.architecture\" is "
                               "missing, expected llama, qwen2 or qwen3");
    if (qnnrt_llm_graph__gguf_text(qnnrt_weights_get_value(weights, "general.type"), &type) &&
        strcmp(type.text, "model") != 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "metadata: "
                                                "\"general.type\" is \"%s\", expected model",
                                                type.text), "Name the file of the model that it "
                                "belongs to.");
    for (i = 0; i < 3 && facts.gguf == NULL; ++i)
        if (strcmp(name.text, known[i].gguf) == 0) {
            facts.gguf = known[i].gguf;
            snprintf(facts.architecture.text, sizeof facts.architecture.text, "%s",
                     known[i].config);
        }
    if (facts.gguf == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "metadata: the "
                                                "architecture is \"%s\"; known are llama, qwen2 "
                                                "and qwen3", name.text), "Compile the folder of "
                                "the checkpoint that it was made from.");
    if (table == NULL || table->rank != 2)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "the weight \"token_embd.weight\" is missing, "
                               "or has other than 2 dims");
    result = qnnrt_llm_graph__gguf_numbers(weights, &facts, err);
    qnnrt_llm_graph__read_settled(&facts);
    facts.vocabulary.given = table->dims[0] <= 1 << 22;
    facts.vocabulary.value = (double)table->dims[0];
    if (result == QNNRT_OK && !facts.epsilon.given)
        result = qnnrt_error_set(err, QNNRT_E_FORMAT, "metadata: "
                                 "\"%s.attention.layer_norm_rms_epsilon\" is missing", facts.gguf);
    if (result == QNNRT_OK && !facts.head_dim.given) {   /* the default of qwen3's configs is 128 */
        facts.head_dim.given = facts.heads.value > 0;
        if (facts.head_dim.given) facts.head_dim.value = floor(facts.width.value /
                                                               facts.heads.value);
    }
    if (result == QNNRT_OK) result = qnnrt_llm_graph__gguf_refuse(weights, &facts, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__gguf_rope(weights, &facts, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__gguf_tokens(weights, &facts, err);
    facts.tied.given = 1;
    facts.tied.value = qnnrt_weights_find(weights, "output.weight") == NULL;
    if (result == QNNRT_OK) result = qnnrt_llm_graph__limits_fill(&facts, out, err);
    if (result != QNNRT_OK) return result;
    out->gguf = 1;
    out->qkv_bias = qnnrt_weights_find(weights, "blk.0.attn_q.bias") != NULL;
    out->o_bias = qnnrt_weights_find(weights, "blk.0.attn_output.bias") != NULL;
    out->mlp_bias = qnnrt_weights_find(weights, "blk.0.ffn_up.bias") != NULL;
    return strcmp(facts.gguf, "llama") == 0 ? qnnrt_llm_graph__gguf_unpair(out, weights, err)
                                            : QNNRT_OK;
}

/* =====================================================================================
   BUILD                                                                          >>build
   Values and nodes of a graph.
   Needs: >>gguf     Knows nothing of: models
   ===================================================================================== */

enum { QNNRT_LLM_GRAPH__NAME = 96 };

typedef struct qnnrt_llm_graph__shape {
    uint32_t rank;
    int64_t  dims[4];
} qnnrt_llm_graph__shape;

/* A graph while it is made. The first failure sticks. */
typedef struct qnnrt_llm_graph__maker {
    qnnrt_ir                   *ir;
    const qnnrt_llm_graph      *model;
    const qnnrt_llm_graph_desc *desc;
    uint32_t                    tokens, context;
    unsigned long               nodes;
    qnnrt_ir_node              *node;            /* the last one, whose arguments follow */
    qnnrt_ir_value             *table;           /* of embeddings, NULL: not read */
    qnnrt_ir_value              none;            /* these two stand for what was not made */
    qnnrt_ir_node               no_node;
    qnnrt_result                failed;
} qnnrt_llm_graph__maker;

static qnnrt_llm_graph__shape qnnrt_llm_graph__shape_of(uint32_t rank, uint64_t a, uint64_t b,
                                                        uint64_t c, uint64_t d)
{
    qnnrt_llm_graph__shape shape;
    shape.rank = rank;
    shape.dims[0] = (int64_t)a;
    shape.dims[1] = (int64_t)b;
    shape.dims[2] = (int64_t)c;
    shape.dims[3] = (int64_t)d;
    return shape;
}

/* Return the shape of x with another size of one axis. */
static qnnrt_llm_graph__shape qnnrt_llm_graph__sized(const qnnrt_ir_value *x, uint32_t axis,
                                                     uint64_t size)
{
    qnnrt_llm_graph__shape shape;
    shape.rank = x->rank;
    memcpy(shape.dims, x->dims, sizeof(shape.dims));
    shape.dims[axis] = (int64_t)size;
    return shape;
}

/* Return the size of the last axis. */
static uint64_t qnnrt_llm_graph__last(const qnnrt_ir_value *x)
{
    return (uint64_t)x->dims[x->rank - 1];
}

/* Note that something could not be made, unless `good`. */
static void qnnrt_llm_graph__good(qnnrt_llm_graph__maker *g, int good)
{
    if (!good && g->failed == QNNRT_OK) g->failed = QNNRT_E_MEMORY;
}

/* Return a value that was made, or what stands for it. */
static qnnrt_ir_value *qnnrt_llm_graph__made(qnnrt_llm_graph__maker *g, qnnrt_ir_value *value)
{
    qnnrt_llm_graph__good(g, value != NULL);
    return value != NULL ? value : &g->none;
}

/* Return 1 if a tensor may have a shape, and nothing has failed. */
static int qnnrt_llm_graph__fits(qnnrt_llm_graph__maker *g, const qnnrt_llm_graph__shape *shape)
{
    uint64_t elements = 1;
    uint32_t i;
    for (i = 0; i < shape->rank && g->failed == QNNRT_OK; ++i) {     /* each is below 2^40 */
        const uint64_t dim = (uint64_t)shape->dims[i];
        if (dim == 0 || elements > ((uint64_t)1 << 40) / dim) g->failed = QNNRT_E_LIMIT;
        else elements *= dim;
    }
    return g->failed == QNNRT_OK;
}

static qnnrt_ir_value *qnnrt_llm_graph__input(qnnrt_llm_graph__maker *g, const char *name,
                                              qnnrt_llm_graph__shape shape)
{
    const qnnrt_dtype dtype = strcmp(name, "input_ids") == 0 ? QNNRT_DTYPE_I64 : QNNRT_DTYPE_F32;
    if (!qnnrt_llm_graph__fits(g, &shape)) return &g->none;
    return qnnrt_llm_graph__made(g, qnnrt_ir_add_input(g->ir, name, dtype, shape.rank,
                                                       shape.dims));
}

static void qnnrt_llm_graph__output(qnnrt_llm_graph__maker *g, qnnrt_ir_value *value)
{
    qnnrt_llm_graph__good(g, qnnrt_ir_add_output(g->ir, value));
}

/* Add a weight: "model.layers.<layer>." before its name, unless layer is below 0. b 0: a vector.
   typed: with the dtype of the checkpoint, else float32 */
static qnnrt_ir_value *qnnrt_llm_graph__weight(qnnrt_llm_graph__maker *g, int64_t layer,
                                               const char *name, uint64_t a, uint64_t b, int typed)
{
    const qnnrt_llm_graph__shape shape = qnnrt_llm_graph__shape_of(b != 0 ? 2 : 1, a, b, 0, 0);
    char key[QNNRT_LLM_GRAPH__NAME], placeholder[QNNRT_LLM_GRAPH__NAME + 2];
    qnnrt_dtype dtype = QNNRT_DTYPE_F32;
    size_t i;
    if (g->model->gguf) qnnrt_llm_graph__gguf_key(key, sizeof key, layer, name);
    else if (layer >= 0) snprintf(key, sizeof key, "model.layers.%ld.%s", (long)layer, name);
    else snprintf(key, sizeof key, "%s", name);
    if (g->table != NULL && strcmp(g->table->key, key) == 0) return g->table;    /* as the head */
    snprintf(placeholder, sizeof placeholder, "p_%s", key);
    for (i = 0; placeholder[i] != '\0'; ++i) if (placeholder[i] == '.') placeholder[i] = '_';
    if (typed && g->desc->weight_dtype != NULL) dtype = g->desc->weight_dtype(g->desc->weight_user,
                                                                              key);
    if (dtype != QNNRT_DTYPE_BF16 && dtype != QNNRT_DTYPE_F16) dtype = QNNRT_DTYPE_F32;
    if (!qnnrt_llm_graph__fits(g, &shape)) return &g->none;
    return qnnrt_llm_graph__made(g, qnnrt_ir_add_weight(g->ir, placeholder, key, dtype, shape.rank,
                                                        shape.dims));
}

/* Add a node that gives a float32 tensor; g->node takes its arguments. Inputs may be NULL: left
   out. name: of the result, "" for a number */
static qnnrt_ir_value *qnnrt_llm_graph__node(qnnrt_llm_graph__maker *g, const char *op,
                                             const char *name, qnnrt_ir_value *x,
                                             qnnrt_ir_value *y, qnnrt_ir_value *z,
                                             qnnrt_llm_graph__shape shape)
{
    qnnrt_ir_value *inputs[3], *out;
    char numbered[QNNRT_LLM_GRAPH__NAME];
    size_t count = 0;
    snprintf(numbered, sizeof numbered, "%.*s_%lu", (int)strcspn(op, "."), op, g->nodes);
    g->nodes += 1;
    if (x != NULL) inputs[count++] = x;
    if (y != NULL) inputs[count++] = y;
    if (z != NULL) inputs[count++] = z;
    g->node = &g->no_node;
    if (!qnnrt_llm_graph__fits(g, &shape)) return &g->none;
    out = qnnrt_llm_graph__made(g, qnnrt_ir_add_value(g->ir, name[0] != '\0' ? name : numbered,
                                                      QNNRT_DTYPE_F32, shape.rank, shape.dims));
    if (g->failed == QNNRT_OK)
        g->node = qnnrt_ir_add_node(g->ir, NULL, op, inputs, count, &out, 1);
    if (g->node == NULL) g->node = &g->no_node;
    qnnrt_llm_graph__good(g, g->node != &g->no_node);
    return out;
}

static void qnnrt_llm_graph__int(qnnrt_llm_graph__maker *g, const char *name, uint64_t value)
{
    qnnrt_llm_graph__good(g, qnnrt_ir_set_int(g->ir, g->node, name, (int64_t)value));
}

static void qnnrt_llm_graph__real(qnnrt_llm_graph__maker *g, const char *name, double value)
{
    qnnrt_llm_graph__good(g, qnnrt_ir_set_float(g->ir, g->node, name, value));
}

static void qnnrt_llm_graph__ints(qnnrt_llm_graph__maker *g, const char *name,
                                  const int64_t *values, size_t count)
{
    qnnrt_llm_graph__good(g, qnnrt_ir_set_ints(g->ir, g->node, name, values, count));
}

static void qnnrt_llm_graph__text(qnnrt_llm_graph__maker *g, const char *name, const char *value)
{
    qnnrt_llm_graph__good(g, qnnrt_ir_set_text(g->ir, g->node, name, value));
}

/* Add a node that gives a tensor of the shape of x. y may be NULL. */
static qnnrt_ir_value *qnnrt_llm_graph__same(qnnrt_llm_graph__maker *g, const char *op,
                                             qnnrt_ir_value *x, qnnrt_ir_value *y,
                                             const char *name)
{
    return qnnrt_llm_graph__node(g, op, name, x, y, NULL,
                                 qnnrt_llm_graph__sized(x, 0, (uint64_t)x->dims[0]));
}

/* Add x times, divided by or plus a number: op is mul, div or add.Tensor. */
static qnnrt_ir_value *qnnrt_llm_graph__by(qnnrt_llm_graph__maker *g, const char *op,
                                           qnnrt_ir_value *x, double number, const char *name)
{
    qnnrt_ir_value *out = qnnrt_llm_graph__same(g, op, x, NULL, name);
    qnnrt_llm_graph__real(g, "other", number);
    return out;
}

static qnnrt_ir_value *qnnrt_llm_graph__view(qnnrt_llm_graph__maker *g, qnnrt_ir_value *x,
                                             qnnrt_llm_graph__shape shape)
{
    qnnrt_ir_value *out = qnnrt_llm_graph__node(g, "reshape.default", "", x, NULL, NULL, shape);
    qnnrt_llm_graph__ints(g, "shape", shape.dims, shape.rank);
    return out;
}

/* Order four axes anew: 0x0213 is 0, 2, 1, 3. */
static qnnrt_ir_value *qnnrt_llm_graph__permute(qnnrt_llm_graph__maker *g, qnnrt_ir_value *x,
                                                unsigned order, const char *name)
{
    qnnrt_llm_graph__shape shape;
    qnnrt_ir_value *out;
    int64_t dims[4];
    int i;
    shape.rank = 4;
    for (i = 0; i < 4; ++i) {
        dims[i] = order >> (4 * (3 - i)) & 15;
        shape.dims[i] = x->dims[dims[i]];
    }
    out = qnnrt_llm_graph__node(g, "permute.default", name, x, NULL, NULL, shape);
    qnnrt_llm_graph__ints(g, "dims", dims, 4);
    return out;
}

/* Cut from the last axis. */
static qnnrt_ir_value *qnnrt_llm_graph__slice(qnnrt_llm_graph__maker *g, qnnrt_ir_value *x,
                                              uint64_t start, uint64_t end)
{
    qnnrt_ir_value *out = qnnrt_llm_graph__node(g, "slice.Tensor", "", x, NULL, NULL,
                                                qnnrt_llm_graph__sized(x, x->rank - 1,
                                                                       end - start));
    qnnrt_llm_graph__int(g, "dim", x->rank - 1);
    qnnrt_llm_graph__int(g, "start", start);
    qnnrt_llm_graph__int(g, "end", end);
    return out;
}

/* Join two or three values along an axis; c may be NULL. */
static qnnrt_ir_value *qnnrt_llm_graph__join(qnnrt_llm_graph__maker *g, qnnrt_ir_value *a,
                                             qnnrt_ir_value *b, qnnrt_ir_value *c, uint32_t axis)
{
    const int64_t size = a->dims[axis] + b->dims[axis] + (c != NULL ? c->dims[axis] : 0);
    qnnrt_ir_value *out = qnnrt_llm_graph__node(g, "cat.default", "", a, b, c,
                                                qnnrt_llm_graph__sized(a, axis, (uint64_t)size));
    qnnrt_llm_graph__int(g, "dim", axis);
    return out;
}

/* The projections of a layer. */
static const char *const qnnrt_llm_graph__projections[] = {
    "q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "gate_proj", "up_proj", "gate_up_proj",
    "down_proj"
};
enum { QNNRT_LLM_GRAPH__PROJECTIONS = sizeof(qnnrt_llm_graph__projections) /
                                    sizeof(qnnrt_llm_graph__projections[0]) };

/* Return 1 if a model has projection number `i`. */
static int qnnrt_llm_graph__has_projection(const qnnrt_llm_graph *model, size_t i)
{
    const char *name = qnnrt_llm_graph__projections[i];
    if (strcmp(name, "o_proj") == 0 || strcmp(name, "down_proj") == 0) return 1;
    return model->fused == (strcmp(name, "qkv_proj") == 0 || strcmp(name, "gate_up_proj") == 0);
}

/* Return 1 if adapters change a projection, by the last part of its name. */
static int qnnrt_llm_graph__adapts(const qnnrt_llm_graph_desc *desc, const char *name)
{
    const char *at = desc->lora != NULL ? desc->lora : "all", *dot = strrchr(name, '.');
    if (desc->lora_rank == 0) return 0;
    if (dot != NULL) name = dot + 1;
    for (;;) {
        const size_t length = strcspn(at, ",");
        if ((length == strlen(name) && strncmp(at, name, length) == 0) ||
            (length == 3 && strncmp(at, "all", 3) == 0)) return 1;
        if (at[length] == '\0') return 0;
        at += length + 1;
    }
}

/* Check the list of projections that adapters change. */
static qnnrt_result qnnrt_llm_graph__adapts_check(const qnnrt_llm_graph *model,
                                                  const qnnrt_llm_graph_desc *desc,
                                                  qnnrt_error *err)
{
    const char *at = desc->lora != NULL ? desc->lora : "all";
    size_t i, length;
    if (desc->lora_rank == 0) return QNNRT_OK;
    if (desc->lora_rank > 65536)
        return qnnrt_error_set(err, QNNRT_E_ARG, "adapters of rank %u, expected at most 65536",
                               (unsigned)desc->lora_rank);
    for (;; at += length + 1) {
        length = strcspn(at, ",");
        for (i = 0; i < QNNRT_LLM_GRAPH__PROJECTIONS; ++i)
            if (length == strlen(qnnrt_llm_graph__projections[i]) &&
                strncmp(at, qnnrt_llm_graph__projections[i], length) == 0 &&
                qnnrt_llm_graph__has_projection(model, i)) break;
        if (i == QNNRT_LLM_GRAPH__PROJECTIONS && (length != 3 || strncmp(at, "all", 3) != 0)) {
            qnnrt_error_set(err, QNNRT_E_ARG, "the model has no projection \"%.*s\"",
                            (int)(length < 60 ? length : 60), at);
            return qnnrt_error_hint(err, QNNRT_E_ARG, "%s", model->fused ? "Name qkv_proj, o_proj, "
                                    "gate_up_proj, down_proj, or all." : "Name q_proj, k_proj, "
                                    "v_proj, o_proj, gate_proj, up_proj, down_proj, or all.");
        }
        if (at[length] == '\0') return QNNRT_OK;
    }
}

/* Add what an adapter adds to the product y of x: B (A x). */
static qnnrt_ir_value *qnnrt_llm_graph__adapt(qnnrt_llm_graph__maker *g, int64_t layer,
                                              const char *name, qnnrt_ir_value *x,
                                              qnnrt_ir_value *y)
{
    const uint64_t rank = g->desc->lora_rank;
    const uint64_t rows = qnnrt_llm_graph__last(y), columns = qnnrt_llm_graph__last(x);
    qnnrt_ir_value *part[2], *out;
    char text[QNNRT_LLM_GRAPH__NAME];
    int i;
    for (i = 0; i < 2; ++i) {
        snprintf(text, sizeof text, "model.layers.%ld.%.40s.lora_%c.weight", (long)layer, name,
                 "AB"[i]);
        part[i] = qnnrt_llm_graph__input(g, text,
                                         qnnrt_llm_graph__shape_of(2, i == 0 ? rank : rows,
                                                                   i == 0 ? columns : rank, 0, 0));
    }
    out = qnnrt_llm_graph__node(g, "linear.default", "", x, part[0], NULL,
                                qnnrt_llm_graph__sized(x, x->rank - 1, rank));
    out = qnnrt_llm_graph__node(g, "linear.default", "", out, part[1], NULL,
                                qnnrt_llm_graph__sized(y, y->rank - 1, rows));
    return qnnrt_llm_graph__same(g, "add.Tensor", y, out, "");
}

/* Add a product with a weight "<name>.weight" [rows, columns] and, if biased, "<name>.bias". */
static qnnrt_ir_value *qnnrt_llm_graph__linear(qnnrt_llm_graph__maker *g, int64_t layer,
                                               const char *name, qnnrt_ir_value *x, uint64_t rows,
                                               int biased, const char *out_name)
{
    qnnrt_ir_value *weight, *bias = NULL, *out;
    char text[QNNRT_LLM_GRAPH__NAME];
    snprintf(text, sizeof text, "%.60s.weight", name);
    weight = qnnrt_llm_graph__weight(g, layer, text, rows, qnnrt_llm_graph__last(x), 0);
    snprintf(text, sizeof text, "%.60s.bias", name);
    if (biased) bias = qnnrt_llm_graph__weight(g, layer, text, rows, 0, 0);
    out = qnnrt_llm_graph__node(g, "linear.default", out_name, x, weight, bias,
                                qnnrt_llm_graph__sized(x, x->rank - 1, rows));
    if (layer < 0 || !qnnrt_llm_graph__adapts(g->desc, name)) return out;
    return qnnrt_llm_graph__adapt(g, layer, name, x, out);
}

/* =====================================================================================
   LAYER                                                                          >>layer
   A layer of the model: norms, attention with its cache, and the MLP.
   Needs: >>build     Knows nothing of: files, parts
   ===================================================================================== */

/* Inputs that all layers read. */
typedef struct qnnrt_llm_graph__shared {
    qnnrt_ir_value *mask[2];                     /* without and with a window */
    qnnrt_ir_value *tall[2];                     /* the same, for heads as rows; NULL: not yet */
    qnnrt_ir_value *cosine, *sine;
} qnnrt_llm_graph__shared;

/* Add x / sqrt(mean(x^2) + epsilon) times a weight, or times 1 + weight. */
static qnnrt_ir_value *qnnrt_llm_graph__norm(qnnrt_llm_graph__maker *g, int64_t layer,
                                             const char *name, qnnrt_ir_value *x,
                                             const char *out_name)
{
    const int64_t size = x->dims[x->rank - 1];
    const int plus_one = g->model->plus_one;
    qnnrt_ir_value *out, *weight = qnnrt_llm_graph__weight(g, layer, name, (uint64_t)size, 0,
                                                           plus_one);
    if (weight->dtype != QNNRT_DTYPE_F32) {
        weight = qnnrt_llm_graph__same(g, "to.dtype", weight, NULL, "");
        qnnrt_llm_graph__text(g, "dtype", "torch.float32");
    }
    if (plus_one) weight = qnnrt_llm_graph__by(g, "add.Tensor", weight, 1, "");
    out = qnnrt_llm_graph__same(g, "rms_norm.default", x, weight, out_name);
    qnnrt_llm_graph__ints(g, "normalized_shape", &size, 1);
    qnnrt_llm_graph__real(g, "eps", g->model->epsilon);
    return out;
}

/* Rotate heads [1, n, heads, D] or what has this shape: pairs of values are half a head apart. */
static qnnrt_ir_value *qnnrt_llm_graph__rotate(qnnrt_llm_graph__maker *g, qnnrt_ir_value *x,
                                               const qnnrt_llm_graph__shared *shared)
{
    const uint64_t half = g->model->rotary / 2, all = g->model->head_dim;
    qnnrt_ir_value *low = qnnrt_llm_graph__slice(g, x, 0, half);
    qnnrt_ir_value *high = qnnrt_llm_graph__slice(g, x, half, 2 * half);
    qnnrt_ir_value *c = shared->cosine, *s = shared->sine;
    qnnrt_ir_value *low_c = qnnrt_llm_graph__same(g, "mul.Tensor", low, c, "");
    qnnrt_ir_value *high_s = qnnrt_llm_graph__same(g, "mul.Tensor", high, s, "");
    qnnrt_ir_value *high_c = qnnrt_llm_graph__same(g, "mul.Tensor", high, c, "");
    qnnrt_ir_value *low_s = qnnrt_llm_graph__same(g, "mul.Tensor", low, s, "");
    qnnrt_ir_value *first = qnnrt_llm_graph__same(g, "sub.Tensor", low_c, high_s, "");
    qnnrt_ir_value *second = qnnrt_llm_graph__same(g, "add.Tensor", high_c, low_s, "");
    qnnrt_ir_value *rest = 2 * half < all ? qnnrt_llm_graph__slice(g, x, 2 * half, all) : NULL;
    return qnnrt_llm_graph__join(g, first, second, rest, 3);
}

/* Add cap * tanh(x / cap). */
static qnnrt_ir_value *qnnrt_llm_graph__cap(qnnrt_llm_graph__maker *g, qnnrt_ir_value *x,
                                            double cap, const char *name)
{
    qnnrt_ir_value *out = qnnrt_llm_graph__by(g, "div.Tensor", x, cap, "");
    out = qnnrt_llm_graph__same(g, "tanh.default", out, NULL, "");
    return qnnrt_llm_graph__by(g, "mul.Tensor", out, cap, name);
}

/* Return the mask for `share` heads as rows of one matrix. */
static qnnrt_ir_value *qnnrt_llm_graph__tall(qnnrt_llm_graph__maker *g,
                                             qnnrt_llm_graph__shared *shared, int windowed,
                                             uint64_t share)
{
    qnnrt_ir_value *mask = shared->mask[windowed], **tall = &shared->tall[windowed];
    int64_t times[4] = { 1, 1, 0, 1 };
    if (share == 1 || g->tokens == 1) return mask;
    if (*tall != NULL) return *tall;
    times[2] = (int64_t)share;
    *tall = qnnrt_llm_graph__node(g, "repeat.default", "", mask, NULL, NULL,
                                  qnnrt_llm_graph__sized(mask, 2, share * g->tokens));
    qnnrt_llm_graph__ints(g, "repeats", times, 4);
    return *tall;
}

/* Add attention whose scores have a cap: heads that share a key are rows of one matrix.
   q: [1, heads, n, D]; k: [KV, 1, D, context]; v: [KV, 1, context, D] */
static qnnrt_ir_value *qnnrt_llm_graph__capped(qnnrt_llm_graph__maker *g,
                                               qnnrt_llm_graph__shared *shared, int windowed,
                                               qnnrt_ir_value *q, qnnrt_ir_value *k,
                                               qnnrt_ir_value *v)
{
    const qnnrt_llm_graph *m = g->model;
    const uint64_t n = g->tokens, kv = m->kv_heads, share = m->heads / m->kv_heads;
    const qnnrt_llm_graph__shape rows = qnnrt_llm_graph__shape_of(4, kv, 1, share * n,
                                                                  m->head_dim);
    qnnrt_ir_value *x = qnnrt_llm_graph__view(g, q, rows);
    x = qnnrt_llm_graph__node(g, "matmul.default", "", x, k, NULL,
                              qnnrt_llm_graph__sized(x, 3, g->context));
    x = qnnrt_llm_graph__by(g, "mul.Tensor", x, m->score_scale, "");
    x = qnnrt_llm_graph__cap(g, x, m->score_cap, "");
    x = qnnrt_llm_graph__same(g, "add.Tensor", x, qnnrt_llm_graph__tall(g, shared, windowed, share),
                              "");
    x = qnnrt_llm_graph__same(g, "softmax.int", x, NULL, "");
    qnnrt_llm_graph__int(g, "dim", 3);
    x = qnnrt_llm_graph__node(g, "matmul.default", "", x, v, NULL, rows);
    return qnnrt_llm_graph__view(g, x, qnnrt_llm_graph__shape_of(4, 1, m->heads, n, m->head_dim));
}

/* Add attention without a cap. */
static qnnrt_ir_value *qnnrt_llm_graph__attend(qnnrt_llm_graph__maker *g, qnnrt_ir_value *mask,
                                               qnnrt_ir_value *q, qnnrt_ir_value *k,
                                               qnnrt_ir_value *v)
{
    const qnnrt_llm_graph *m = g->model;
    qnnrt_ir_value *keys = qnnrt_llm_graph__permute(g, k, 0x1032, "");
    qnnrt_ir_value *values = qnnrt_llm_graph__permute(g, v, 0x1023, "");
    qnnrt_ir_value *out = qnnrt_llm_graph__node(g, "scaled_dot_product_attention.default", "", q,
                                                keys, values,
                                                qnnrt_llm_graph__sized(q, 0, 1));
    qnnrt_llm_graph__good(g, g->node == &g->no_node ||
                                 qnnrt_ir_set_input(g->ir, g->node, 3, mask));
    qnnrt_llm_graph__real(g, "scale", m->score_scale);
    qnnrt_llm_graph__good(g, qnnrt_ir_set_bool(g->ir, g->node, "enable_gqa",
                                               m->heads != m->kv_heads));
    /* The caller's mask: each row of a token has its own cell, and others do not matter. */
    qnnrt_llm_graph__good(g, qnnrt_ir_set_bool(g->ir, g->node, "nan_rows", 1));
    return out;
}

/* Put new rows after those of the cache, and return both. layer, which: key or value */
static qnnrt_ir_value *qnnrt_llm_graph__cache(qnnrt_llm_graph__maker *g, uint32_t layer,
                                              const char *which, unsigned order, uint32_t axis,
                                              qnnrt_ir_value *rows)
{
    char name[QNNRT_LLM_GRAPH__NAME];
    qnnrt_ir_value *past, *now;
    snprintf(name, sizeof name, "past_%s_%u_out", which, (unsigned)layer);
    now = qnnrt_llm_graph__permute(g, rows, order, name);
    qnnrt_llm_graph__output(g, now);
    snprintf(name, sizeof name, "past_%s_%u_in", which, (unsigned)layer);
    past = qnnrt_llm_graph__input(g, name, qnnrt_llm_graph__sized(now, axis,
                                                                  g->context - g->tokens));
    return qnnrt_llm_graph__join(g, past, now, NULL, axis);
}

/* Add the attention of a layer: from the normed hidden state to what is added to it. */
static qnnrt_ir_value *qnnrt_llm_graph__attention(qnnrt_llm_graph__maker *g, uint32_t layer,
                                                  qnnrt_ir_value *x,
                                                  qnnrt_llm_graph__shared *shared)
{
    static const char *const names[] = { "self_attn.q_proj", "self_attn.k_proj",
                                         "self_attn.v_proj" };
    static const char *const norms[] = { "self_attn.q_norm.weight", "self_attn.k_norm.weight" };
    const qnnrt_llm_graph *m = g->model;
    const uint64_t n = g->tokens, d = m->head_dim;
    const uint64_t rows = (m->heads + 2 * (uint64_t)m->kv_heads) * d;
    const int windowed = m->windowed[layer] && m->window < g->context;
    qnnrt_ir_value *all = NULL, *part[3], *k, *v, *out;
    uint64_t at = 0;
    int i;
    if (m->fused) all = qnnrt_llm_graph__linear(g, layer, "self_attn.qkv_proj", x, rows, 0, "");
    for (i = 0; i < 3; ++i) {
        const uint64_t heads = i == 0 ? m->heads : m->kv_heads;
        out = m->fused ? qnnrt_llm_graph__slice(g, all, at, at + heads * d)
                       : qnnrt_llm_graph__linear(g, layer, names[i], x, heads * d, m->qkv_bias, "");
        at += heads * d;
        out = qnnrt_llm_graph__view(g, out, qnnrt_llm_graph__shape_of(4, 1, n, heads, d));
        if (i < 2 && m->head_norms) out = qnnrt_llm_graph__norm(g, layer, norms[i], out, "");
        out = qnnrt_llm_graph__permute(g, out, 0x0213, "");
        part[i] = i < 2 ? qnnrt_llm_graph__rotate(g, out, shared) : out;
    }
    k = qnnrt_llm_graph__cache(g, layer, "key", 0x1032, 3, part[1]);
    v = qnnrt_llm_graph__cache(g, layer, "value", 0x1023, 2, part[2]);
    out = m->score_cap > 0 ? qnnrt_llm_graph__capped(g, shared, windowed, part[0], k, v)
                           : qnnrt_llm_graph__attend(g, shared->mask[windowed], part[0], k, v);
    out = qnnrt_llm_graph__permute(g, out, 0x0213, "");
    out = qnnrt_llm_graph__view(g, out, qnnrt_llm_graph__shape_of(3, 1, n, m->heads * d, 0));
    return qnnrt_llm_graph__linear(g, layer, "self_attn.o_proj", out, m->width, m->o_bias, "");
}

/* Add the MLP of a layer. */
static qnnrt_ir_value *qnnrt_llm_graph__mlp(qnnrt_llm_graph__maker *g, uint32_t layer,
                                            qnnrt_ir_value *x)
{
    const qnnrt_llm_graph *m = g->model;
    const uint64_t inner = m->inner;
    qnnrt_ir_value *gate, *up;
    if (m->fused) {
        qnnrt_ir_value *both = qnnrt_llm_graph__linear(g, layer, "mlp.gate_up_proj", x, 2 * inner,
                                                       0, "");
        gate = qnnrt_llm_graph__slice(g, both, 0, inner);
        up = qnnrt_llm_graph__slice(g, both, inner, 2 * inner);
    } else {
        gate = qnnrt_llm_graph__linear(g, layer, "mlp.gate_proj", x, inner, m->mlp_bias, "");
        up = qnnrt_llm_graph__linear(g, layer, "mlp.up_proj", x, inner, m->mlp_bias, "");
    }
    gate = qnnrt_llm_graph__same(g, m->act == QNNRT_LLM_GRAPH_SILU ? "silu.default"
                                                                    : "gelu.default", gate, NULL,
                                 "");
    if (m->act != QNNRT_LLM_GRAPH_SILU)
        qnnrt_llm_graph__text(g, "approximate", m->act == QNNRT_LLM_GRAPH_GELU ? "none" : "tanh");
    x = qnnrt_llm_graph__same(g, "mul.Tensor", gate, up, "");
    return qnnrt_llm_graph__linear(g, layer, "mlp.down_proj", x, m->width, m->mlp_bias, "");
}

/* Add a layer. name: of its result */
static qnnrt_ir_value *qnnrt_llm_graph__layer(qnnrt_llm_graph__maker *g, uint32_t layer,
                                              qnnrt_ir_value *hidden,
                                              qnnrt_llm_graph__shared *shared, const char *name)
{
    const int four = g->model->four_norms;
    qnnrt_ir_value *x, *y = qnnrt_llm_graph__norm(g, layer, "input_layernorm.weight", hidden, "");
    y = qnnrt_llm_graph__attention(g, layer, y, shared);
    if (four) y = qnnrt_llm_graph__norm(g, layer, "post_attention_layernorm.weight", y, "");
    x = qnnrt_llm_graph__same(g, "add.Tensor", hidden, y, "");
    y = qnnrt_llm_graph__norm(g, layer, four ? "pre_feedforward_layernorm.weight"
                                             : "post_attention_layernorm.weight", x, "");
    y = qnnrt_llm_graph__mlp(g, layer, y);
    if (four) y = qnnrt_llm_graph__norm(g, layer, "post_feedforward_layernorm.weight", y, "");
    return qnnrt_llm_graph__same(g, "add.Tensor", x, y, name);
}

/* =====================================================================================
   GRAPH                                                                          >>graph
   A part of the model as one graph.
   Needs: >>build >>layer     Knows nothing of: files
   ===================================================================================== */

static uint32_t qnnrt_llm_graph__first(const qnnrt_llm_graph *model, uint32_t part, uint32_t parts)
{
    return (uint32_t)((uint64_t)part * model->layers / parts);
}

/* Return the first layer of a part, which may have none; of part == parts: the number of layers. */
static uint32_t qnnrt_llm_graph__begin_of(const qnnrt_llm_graph *model,
                                          const qnnrt_llm_graph_desc *desc, uint32_t part)
{
    const uint32_t parts = desc->parts;
    if (!desc->ends_apart) return qnnrt_llm_graph__first(model, part, parts);
    if (part == 0) return 0;
    return part + 1 >= parts ? model->layers
                             : qnnrt_llm_graph__first(model, part - 1, parts - 2);
}

/* Name the hidden state before a layer, as Qualcomm's hub does. */
static void qnnrt_llm_graph__hidden(char *out, size_t room, uint32_t layer)
{
    if (layer == 0) snprintf(out, room, "%s", QNNRT_LLM_GRAPH_EMBEDDED);
    else snprintf(out, room, "_model_layers_%u_Add_1_Add_output_0", (unsigned)layer - 1);
}

/* Add the embedding of input_ids. name: of its rows */
static qnnrt_ir_value *qnnrt_llm_graph__embedding(qnnrt_llm_graph__maker *g, const char *name)
{
    const qnnrt_llm_graph *m = g->model;
    qnnrt_ir_value *ids = qnnrt_llm_graph__input(g, "input_ids",
                                                 qnnrt_llm_graph__shape_of(2, 1, g->tokens, 0, 0));
    qnnrt_ir_value *table = qnnrt_llm_graph__weight(g, -1, "model.embed_tokens.weight",
                                                    m->vocabulary, m->width, 0);
    if (table != &g->none) g->table = table;
    return qnnrt_llm_graph__node(g, "embedding.default", name, table, ids, NULL,
                                 qnnrt_llm_graph__shape_of(3, 1, g->tokens, m->width, 0));
}

/* Add the inputs that all layers read. */
static void qnnrt_llm_graph__shared_inputs(qnnrt_llm_graph__maker *g, uint32_t first, uint32_t end,
                                           qnnrt_llm_graph__shared *shared)
{
    static const char *const names[2] = { "attention_mask", "window_attention_mask" };
    const qnnrt_llm_graph *m = g->model;
    const qnnrt_llm_graph__shape mask = qnnrt_llm_graph__shape_of(4, 1, 1, g->tokens, g->context);
    const qnnrt_llm_graph__shape angles = qnnrt_llm_graph__shape_of(4, 1, 1, g->tokens,
                                                                    m->head_dim / 2);
    int has[2] = { 0, 0 }, i;
    uint32_t layer;
    memset(shared, 0, sizeof(*shared));
    for (layer = first; layer < end; ++layer)
        has[m->windowed[layer] && m->window < g->context] = 1;
    for (i = 0; i < 2; ++i)
        if (has[i]) shared->mask[i] = qnnrt_llm_graph__input(g, names[i], mask);
    shared->cosine = qnnrt_llm_graph__input(g, "position_ids_cos", angles);
    shared->sine = qnnrt_llm_graph__input(g, "position_ids_sin", angles);
    if (m->rotary == m->head_dim) return;
    shared->cosine = qnnrt_llm_graph__slice(g, shared->cosine, 0, m->rotary / 2);
    shared->sine = qnnrt_llm_graph__slice(g, shared->sine, 0, m->rotary / 2);
}

/* Add the last norm and the head. */
static void qnnrt_llm_graph__head(qnnrt_llm_graph__maker *g, qnnrt_ir_value *hidden)
{
    const qnnrt_llm_graph *m = g->model;
    const char *name = m->tied ? "model.embed_tokens" : "lm_head";
    const int shown = g->desc->outputs != QNNRT_LLM_GRAPH_LOGITS;
    qnnrt_ir_value *x = qnnrt_llm_graph__norm(g, -1, "model.norm.weight", hidden,
                                              shown ? "last_hidden_state" : "");
    if (shown) qnnrt_llm_graph__output(g, x);
    if (g->desc->outputs == QNNRT_LLM_GRAPH_HIDDEN) return;
    x = qnnrt_llm_graph__linear(g, -1, name, x, m->vocabulary, 0, m->logit_cap > 0 ? "" : "logits");
    if (m->logit_cap > 0) x = qnnrt_llm_graph__cap(g, x, m->logit_cap, "logits");
    qnnrt_llm_graph__output(g, x);
}

/* Add all of the part. */
static void qnnrt_llm_graph__part(qnnrt_llm_graph__maker *g)
{
    const qnnrt_llm_graph *m = g->model;
    const uint32_t part = g->desc->part;
    const uint32_t first = qnnrt_llm_graph__begin_of(m, g->desc, part);
    const uint32_t end = qnnrt_llm_graph__begin_of(m, g->desc, part + 1);
    const int last = part + 1 == g->desc->parts;
    const char *rows = g->desc->ends_apart ? QNNRT_LLM_GRAPH_EMBEDDED : "";
    qnnrt_llm_graph__shared shared;
    qnnrt_ir_value *x;
    char name[QNNRT_LLM_GRAPH__NAME];
    uint32_t layer;
    if (part == 0 && !g->desc->embedded) {
        x = qnnrt_llm_graph__embedding(g, m->embedding_scale > 0 || rows[0] == '\0'
                                          ? QNNRT_LLM_GRAPH_LOOK_UP : rows);
    } else {
        qnnrt_llm_graph__hidden(name, sizeof name, first);
        x = qnnrt_llm_graph__input(g, name, qnnrt_llm_graph__shape_of(3, 1, g->tokens, m->width,
                                                                      0));
    }
    if (part == 0 && m->embedding_scale > 0)
        x = qnnrt_llm_graph__by(g, "mul.Tensor", x, m->embedding_scale, rows);
    if (first < end) qnnrt_llm_graph__shared_inputs(g, first, end, &shared);
    for (layer = first; layer < end && g->failed == QNNRT_OK; ++layer) {
        name[0] = '\0';
        if (layer + 1 == end && !last) qnnrt_llm_graph__hidden(name, sizeof name, end);
        x = qnnrt_llm_graph__layer(g, layer, x, &shared, name);
    }
    if (last) qnnrt_llm_graph__head(g, x);
    else qnnrt_llm_graph__output(g, x);
}

/* =====================================================================================
   SETTINGS                                                                    >>settings
   What a runtime has to know: the object "llm" of qnnrt.json.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

static void qnnrt_llm_graph__setting_text(qnnrt_json_writer *json, const char *key,
                                          const char *text)
{
    qnnrt_json_write_key(json, key);
    qnnrt_json_write_string(json, text);
}

static void qnnrt_llm_graph__setting(qnnrt_json_writer *json, const char *key, double value)
{
    qnnrt_json_write_key(json, key);
    qnnrt_json_write_f64(json, value);
}

/* Write "rope". Its tables have head_dim / 2 columns, of which graphs use the first rotary / 2:
   their angles are right for another theta. */
static void qnnrt_llm_graph__settings_rope(const qnnrt_llm_graph *m, qnnrt_json_writer *json)
{
    static const char *const words[] = { "plain", "linear", "llama3" };
    const double theta = m->rotary == m->head_dim
                         ? m->theta : pow(m->theta, (double)m->head_dim / m->rotary);
    qnnrt_json_write_key(json, "rope");
    qnnrt_json_write_object(json, 1);
    qnnrt_llm_graph__setting(json, "theta", theta);
    if (m->rotary == m->head_dim) {     /* else the tables have more angles than keys turn by */
        qnnrt_llm_graph__setting_text(json, "pairs", "half");
    }
    if (m->scaling != QNNRT_LLM_GRAPH_PLAIN) {
        qnnrt_llm_graph__setting_text(json, "scaling", words[m->scaling]);
        qnnrt_llm_graph__setting(json, "factor", m->factor);
    }
    if (m->scaling == QNNRT_LLM_GRAPH_LLAMA3) {
        qnnrt_llm_graph__setting(json, "low_frequency", m->low_frequency);
        qnnrt_llm_graph__setting(json, "high_frequency", m->high_frequency);
        qnnrt_json_write_key(json, "original_context");
        qnnrt_json_write_u64(json, m->original_context);
    }
    qnnrt_json_write_close(json);
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Public functions.
   Needs: >>models >>read >>limits >>gguf >>build >>graph >>settings     Knows nothing of:
   layers
   ===================================================================================== */

QNNRT_LLM_GRAPH_API const char *qnnrt_llm_graph_known(size_t index)
{
    return index < QNNRT_LLM_GRAPH__MODELS ? qnnrt_llm_graph__models[index].architecture : NULL;
}

QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read(const char *text, size_t bytes,
                                                      qnnrt_llm_graph *out, qnnrt_error *err)
{
    qnnrt_llm_graph__facts facts;
    qnnrt_result result;
    if (text == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_read: text or out is NULL");
    result = qnnrt_llm_graph__read_file("config.json", 1, text, bytes, &facts, err);
    if (result == QNNRT_OK) result = qnnrt_llm_graph__limits_fill(&facts, out, err);
    return result == QNNRT_OK ? qnnrt_error_clear(err) : result;
}

QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read_generation(const char *text, size_t bytes,
                                                                 qnnrt_llm_graph *model,
                                                                 qnnrt_error *err)
{
    qnnrt_llm_graph__facts facts;
    qnnrt_result result;
    if (text == NULL || model == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_read_generation: text or model "
                               "is NULL");
    result = qnnrt_llm_graph__read_file("generation_config.json", 0, text, bytes, &facts, err);
    if (result == QNNRT_OK)
        result = qnnrt_llm_graph__limits_tokens("generation_config.json", &facts, model, err);
    return result == QNNRT_OK ? qnnrt_error_clear(err) : result;
}

QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_read_gguf(qnnrt_weights *weights,
                                                           qnnrt_llm_graph *out, qnnrt_error *err)
{
    qnnrt_result result;
    if (weights == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_read_gguf: weights or out is "
                               "NULL");
    result = qnnrt_llm_graph__gguf_read(weights, out, err);
    return result == QNNRT_OK ? qnnrt_error_clear(err) : result;
}

QNNRT_LLM_GRAPH_API const char *qnnrt_llm_graph_table(const qnnrt_llm_graph *model)
{
    return model != NULL && model->gguf ? "token_embd.weight" : "model.embed_tokens.weight";
}

QNNRT_LLM_GRAPH_API uint32_t qnnrt_llm_graph_first_layer(const qnnrt_llm_graph *model,
                                                         uint32_t part, uint32_t parts)
{
    if (parts == 0) parts = 1;
    return part >= parts ? model->layers : qnnrt_llm_graph__first(model, part, parts);
}

/* Check which graph is asked for, with the defaults filled in. */
static qnnrt_result qnnrt_llm_graph__check(const qnnrt_llm_graph *model,
                                           const qnnrt_llm_graph_desc *desc, qnnrt_error *err)
{
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_create: hooks need alloc and "
                               "free");
    if (model->layers > QNNRT_LLM_GRAPH_LAYERS || model->heads == 0 || model->kv_heads == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_create: the model is not one of "
                               "qnnrt_llm_graph_read()");
    if (desc->ends_apart && (desc->parts < 3 || (desc->part == 0 && desc->embedded)))
        return qnnrt_error_set(err, QNNRT_E_ARG, "a model whose ends are apart has 3 parts or more,"
                               " and with .embedded no part 0, got part %u of %u",
                               (unsigned)desc->part, (unsigned)desc->parts);
    if (desc->parts - (desc->ends_apart ? 2 : 0) > model->layers)
        return qnnrt_error_set(err, QNNRT_E_ARG, "a model of %u layers cannot be cut into %u parts",
                               (unsigned)model->layers, (unsigned)desc->parts);
    if (desc->part >= desc->parts)
        return qnnrt_error_set(err, QNNRT_E_ARG, "part %u of %u does not exist",
                               (unsigned)desc->part, (unsigned)desc->parts);
    if (desc->tokens >= desc->context)
        return qnnrt_error_set(err, QNNRT_E_ARG, "a graph of %u tokens needs a context of more "
                               "than that, got %u", (unsigned)desc->tokens,
                               (unsigned)desc->context);
    if (desc->context > model->positions)
        return qnnrt_error_set(err, QNNRT_E_ARG, "a context of %u is more than "
                               "\"max_position_embeddings\", %u", (unsigned)desc->context,
                               (unsigned)model->positions);
    if ((unsigned)desc->outputs > QNNRT_LLM_GRAPH_BOTH)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_create: unknown desc.outputs");
    return qnnrt_llm_graph__adapts_check(model, desc, err);
}

QNNRT_LLM_GRAPH_API qnnrt_result qnnrt_llm_graph_create(const qnnrt_llm_graph *model,
                                                        const qnnrt_llm_graph_desc *desc,
                                                        qnnrt_ir **out, qnnrt_error *err)
{
    qnnrt_llm_graph_desc full;
    qnnrt_llm_graph__maker g;
    qnnrt_ir_desc empty;
    qnnrt_result result;
    memset(&full, 0, sizeof(full));
    memset(&g, 0, sizeof(g));
    memset(&empty, 0, sizeof(empty));
    if (out != NULL) *out = NULL;
    if (model == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_graph_create: model or out is NULL");
    if (desc != NULL) full = *desc;
    if (full.parts == 0) full.parts = 1;
    if (full.tokens == 0) full.tokens = 1;
    if (full.context == 0) full.context = model->positions;
    result = qnnrt_llm_graph__check(model, &full, err);
    if (result != QNNRT_OK) return result;
    empty.hooks = full.hooks;
    result = qnnrt_ir_create(full.name != NULL ? full.name : "decoder", &empty, &g.ir, err);
    if (result != QNNRT_OK) return result;
    g.model = model;
    g.desc = &full;
    g.tokens = full.tokens;
    g.context = full.context;
    g.none.rank = 4;
    g.none.dims[0] = g.none.dims[1] = g.none.dims[2] = g.none.dims[3] = 1;
    qnnrt_llm_graph__part(&g);
    if (g.failed == QNNRT_OK) {
        *out = g.ir;
        return qnnrt_error_clear(err);
    }
    qnnrt_ir_free(g.ir);
    return qnnrt_error_set(err, g.failed, g.failed == QNNRT_E_LIMIT
                           ? "a tensor of the graph would have more than 2^40 elements"
                           : "out of memory for a graph");
}

QNNRT_LLM_GRAPH_API void qnnrt_llm_graph_settings(const qnnrt_llm_graph *model, uint32_t context,
                                                  qnnrt_json_writer *writer)
{
    uint32_t i;
    int ends = 0, windowed = 0;
    for (i = 0; i < model->eos_count; ++i) ends |= model->eos[i] == model->bos;
    for (i = 0; i < model->layers; ++i) windowed |= model->windowed[i];
    qnnrt_json_write_object(writer, 0);
    qnnrt_llm_graph__settings_rope(model, writer);
    if (model->bos >= 0 && !ends) {
        qnnrt_json_write_key(writer, "bos");
        qnnrt_json_write_i64(writer, model->bos);
    }
    if (model->eos_count > 0) {
        qnnrt_json_write_key(writer, "eos");
        qnnrt_json_write_array(writer, 1);
        for (i = 0; i < model->eos_count; ++i) qnnrt_json_write_i64(writer, model->eos[i]);
        qnnrt_json_write_close(writer);
    }
    if (windowed && model->window < context) {
        qnnrt_json_write_key(writer, "window");
        qnnrt_json_write_u64(writer, model->window);
    }
    qnnrt_json_write_close(writer);
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_LLM_GRAPH__IMPL_ONCE */
#endif /* QNNRT_LLM_GRAPH_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Added  qnnrt_llm_graph_desc.ends_apart.
           Added  qnnrt_llm_graph_read_gguf(), qnnrt_llm_graph_table(), which replaces
           QNNRT_LLM_GRAPH_TABLE.
           Fixed  Keys of config.json count as in transformers 5.23: defaults of each architecture,
           partial_rotary_factor for Phi3 alone, and which of two places counts.
           API: qnnrt_llm_graph_write() is gone. Call qnnrt_llm_graph_create(), then
           qnnrt_ir_write().
   0.4.0   First version. Added: the last hidden state as an output, room for adapters.
   --------------------------------------------------------------------------------------------- */
