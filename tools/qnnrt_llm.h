/* qnnrt_llm.h - v0.5.0 - language models on qnnrt.h: roles, KV cache, masks, decoding

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_llm.h"
       #define QNNRT_SAMPLE_IMPLEMENTATION
       #define QNNRT_LLM_IMPLEMENTATION
       #include "qnnrt_llm.h"
   qnnrt.h, qnnrt_json.h and qnnrt_sample.h lie beside this file or are found by the compiler. Link
   with -ldl.

       qnnrt *model; qnnrt_llm *llm; qnnrt_llm_session *session; qnnrt_error err; int32_t next;
       if (qnnrt_open("model_dir", NULL, &model, &err) != QNNRT_OK ||
           qnnrt_llm_open(model, NULL, &llm, &err) != QNNRT_OK ||
           qnnrt_llm_session_create(&llm, 1, NULL, &session, &err) != QNNRT_OK) {
           puts(err.text); return 1;
       }
       qnnrt_llm_cache *cache = qnnrt_llm_cache_get(session, 0, 0);
       qnnrt_llm_batch batch = {0};                        // every 0 is a default
       batch.tokens = prompt; batch.count = prompt_count;  // any length, done in chunks
       while (qnnrt_llm_decode(cache, &batch) == QNNRT_OK) {
           next = qnnrt_llm_argmax(cache, batch.count - 1);    // what follows the last token
           if (qnnrt_llm_is_eos(llm, next)) break;
           use(next);
           batch.tokens = &next; batch.count = 1;
       }
       if (qnnrt_llm_error(cache)->code != QNNRT_OK) puts(qnnrt_llm_error(cache)->text);
       qnnrt_llm_session_destroy(session); qnnrt_llm_close(llm); qnnrt_close(model);

   Uses     Public names of qnnrt.h, qnnrt_json.h and qnnrt_sample.h, and libc; no libm, no POSIX
   Trust    Names in files, JSON and saved states may be hostile. The caller is trusted.
   Memory   One allocator hook serves every allocation. Decoding allocates only room for logits
            that are read after a batch of several chunks.
   Threads  The header creates none. Any thread may read a qnnrt_llm, and make or destroy sessions
            of it. A session with all its caches belongs to one thread at a time. Close a qnnrt_llm
            when no other thread uses it.
   Globals  Constant tables only. The header prints nothing and never aborts.
   Missing  Tokenizers and chat templates: tokens are numbers. Caches that a graph updates in place.
            Encoder-decoder models.

   WORDS
       step          one call of a model's graphs, of all shards, on some tokens
       AR            tokens that a graph takes per call: 1 to decode, 32 or 128 for prompts
       context       largest number of tokens in one step, cells + AR: the width of the mask
       cell          room for the key and value of one token, in all layers and heads
       cache         cells, their memory and what they hold. A cache belongs to one model of a
                     session; a model may have several caches
       sequence      a text in a cache, numbered from 0 to 63. A cell may belong to several
                     sequences, so that a common prompt is stored once
       position      the place of a token in its text, from 0. RoPE rotates queries and keys by it
       role          what a tensor is for
       row           the place of a token in a batch or a step, from 0. Its logits predict the token
                     that follows it
       smart mask    cells stay where they are. New ones are copied to a free place, and the mask
                     selects the cells that count
       shift pointer the tensors move along the cells instead. Where the layout allows it, graphs
                     compute new rows in their final place. Nothing is copied, but it takes more
                     memory

   BUILD OPTIONS, to define before the header is first included
       QNNRT_LLM_API    replaces the storage and export prefix of all functions (default: QNNRT_API)
       The options of qnnrt.h work here too:
       QNNRT_STATIC     makes every function static: both implementations and all calls in one file
       QNNRT_API        sets the prefix of all functions, for example for hidden visibility
       QNNRT_NO_JSON    builds qnnrt.h without qnnrt_json.h. This header includes it all the same

   MANUAL

   Opening and describing
       qnnrt_llm_open() finds out what each tensor of an opened model is for, wires the shards and
       derives tokens per call, context, layers, heads and vocabulary. To print line by line what
       it found, and why, with your print(user, text):
           qnnrt_llm_describe(llm, print, stdout);
       This needs no backend (qnnrt_desc.inspect) and works with a single shard of a model.
       qnnrt_llm_get_info() returns the same as data.

   Role tables
       Roles come from the names that exporters give, and from the shapes of all graphs together
       where only one candidate remains. An ambiguous model is refused with a list of candidates.
       A role table then decides, in the folder's qnnrt.json
           "llm": { "roles": { "output_1": "key_out 0", "2/output_7": "value_out 11 3" } }
       or from the program:
           static const qnnrt_llm_role_desc table[] = {
               { "output_1",   QNNRT_LLM_ROLE_KEY_OUT,    0, 0 },
               { "2/output_7", QNNRT_LLM_ROLE_VALUE_OUT, 11, 3 }   // in context 2: layer 11, head 3
           };
           qnnrt_llm_desc desc = {0};
           desc.roles = table; desc.role_count = 2;
           qnnrt_llm_open(model, &desc, &llm, &err);

   Prompts and decoding
       qnnrt_llm_decode() takes a prompt of any length, or one token, and keeps it in the cache: all
       of it or, after an error, nothing. A function of yours is called before each shard of each
       chunk, can show the progress, and ends the call if it does not return 0:
           int go_on(void *user, const qnnrt_llm_progress *at)
           {
               printf("%u of %u tokens\r", (unsigned)at->done, (unsigned)at->count);
               return *(volatile int *)user;           // not 0: QNNRT_E_CANCELLED
           }
           qnnrt_llm_session_desc how = {0};
           how.progress = go_on; how.progress_user = &stop_asked;
           qnnrt_llm_session_create(&llm, 1, &how, &session, &err);
       The cache is then as it was before the call. To keep what was computed so far, decode the
       prompt in parts of qnnrt_llm_info.ar tokens, which are the chunks.
       Three functions read logits: qnnrt_llm_stored_logits() in place and as stored,
       qnnrt_llm_logits() as numbers, qnnrt_llm_argmax() the most probable token. They work for all
       rows of a short batch, and for the last row of each sequence and the last chunk of a long
       one. To get logits of other rows, of all chunks, ask for them, and leave batch.logits NULL to
       read them afterwards:
           batch.wanted = wanted;                      // [count], not 0 where logits are wanted
           batch.logits = logits;                      // as many rows of info->vocabulary
           qnnrt_llm_decode(cache, &batch);

   Hidden states and embeddings
       Graphs with an output of the last hidden state, what the head reads, make embeddings of texts
       (qnnrt-run compile --outputs hidden or both; another exporter's output is named
       last_hidden_state, or is given the role last_hidden):
           float *hidden = malloc(prompt_count * info->width * sizeof *hidden);
           float *vector = malloc(info->width * sizeof *vector);
           batch.wanted = wanted;                      // all 1
           batch.hidden = hidden;                      // a row for each token
           qnnrt_llm_decode(cache, &batch);            // eval, if no text follows
           qnnrt_llm_pool_desc pool = { QNNRT_LLM_POOL_MEAN, 0, 1 };   // of sequence 0, length 1
           qnnrt_llm_pool(llm, &batch, &pool, vector, &err);
       Such a model may have no logits. Encoders, whose attention_mask has one number for each
       token, compute one text in each qnnrt_llm_eval(), all of whose tokens see each other. Graphs
       that take the hidden state read rows of embeddings in place of tokens, for example of an
       image:
           batch.tokens = prompt;                      // -1 where a row stands for a token
           batch.embeddings = hidden;                  // [count][info->width]
       The rows of other tokens come from a table: desc.table, or the one of a look-up on the host,
       which sessions then do themselves:
           qnnrt_llm_desc desc = {0};
           desc.embeddings = 1;
           qnnrt_llm_open(model, &desc, &llm, &err);

   Several contexts
       The time of a step grows with its context. A model may have graphs for several (qnnrt-run
       compile --context_lengths 128,512,2048): each step takes the smallest number of tokens
       that is enough and then the shortest context in which the text fits, and the cache stays
       while graphs change. qnnrt_llm_session_runs() tells how often each one ran.

   Graphs by cost
       A bundle has a graph for one token and one for many. By default 2 tokens run on the graph for
       many, even if two steps of the other take less time: on one model, 4 slots of a server took
       2.46 ms a step, and one slot 0.62 ms. With a clock a session measures its graphs, and with
           qnnrt_llm_session_desc how = {0};
           how.clock_ns = now_ns; how.by_cost = 1;
           qnnrt_llm_session_create(&llm, 1, &how, &session, &err);
       runs those that take the least time. qnnrt_llm_cost_get() and qnnrt_llm_cost_set() read and
       set what it measured, to keep it for the next start.

   Adapters (LoRA)
       Graphs may leave room for adapters: projections compute W x + B A x, with A and B that are 0
       and may be updated (qnnrt-run compile --lora 16). The update is qnnrt_update() of
       qnnrt_device.h: open the model with it in qnnrt_llm_desc.update. Files of PEFT have the names
       of A and B; qnnrt_weights.h reads them:
           float lora_a[16][128], lora_b[256][16];     // of rank 16, as in the file
           qnnrt_llm_matrix parts[] = {
               { "model.layers.0.mlp.up_proj.lora_A.weight", QNNRT_DTYPE_F32, 16, 128, lora_a },
               { "model.layers.0.mlp.up_proj.lora_B.weight", QNNRT_DTYPE_F32, 256, 16, lora_b }
           };
           qnnrt_llm_adapter_desc desc = { parts, 2, 32.0 / 16 };      // scale: alpha / rank
           qnnrt_llm_adapter *adapter;
           qnnrt_llm_adapter_create(llm, &desc, &adapter, &err);
           qnnrt_llm_adapter_apply(llm, adapter, &err);        // NULL: none
       An adapter belongs to the model: it holds for all its sessions from the next step on. Keys
       and values depend on it, so a cache that holds text of another adapter refuses to go on:
       clear it, or apply its adapter again, or accept the mix with qnnrt_llm_adapter_mix(). States
       belong to an adapter, too. libQnnRef.so has updates; HTP has none and answers
       QNNRT_E_UNSUPPORTED.

   Sampling
       qnnrt_sample.h, which this header includes, draws tokens from logits as stored:
           qnnrt_llm_sampler_create(info->logits, NULL, &sampler, &err);
           next = qnnrt_llm_sample(sampler, qnnrt_llm_stored_logits(cache, row));

   Several sequences
       Two answers to one prompt: compute and store the prompt once, as sequence 0, copy it, and
       continue both in one step. Bit s of batch.sequences is sequence s.
           qnnrt_llm_decode(cache, &batch);
           qnnrt_llm_sequence_copy(cache, 0, 1, -1, -1);
           int32_t  both[2] = { first, second };
           uint64_t of[2]   = { 1u << 0, 1u << 1 };
           batch.tokens = both; batch.sequences = of; batch.count = 2;
           while (qnnrt_llm_decode(cache, &batch) == QNNRT_OK)
               for (i = 0; i < 2; ++i) both[i] = qnnrt_llm_argmax(cache, i);
       To go back to position 100, to end a sequence, and to close the holes that it left:
           qnnrt_llm_sequence_remove(cache, 0, 100, -1);
           qnnrt_llm_sequence_remove(cache, 1, -1, -1);
           qnnrt_llm_defragment(cache);

   Context shift
       A text that grows beyond its context loses a part, and what follows moves down, as
       llama-server does it. Keys are stored rotated by their positions (RoPE), so a session must be
       told to rotate them again, and be able to:
           qnnrt_llm_session_desc how = {0};
           how.k_shift = 1;
           qnnrt_llm_session_create(&llm, 1, &how, &session, &err);
           cache = qnnrt_llm_cache_get(session, 0, 0);
           if (qnnrt_llm_can_shift(cache)) {
               qnnrt_llm_sequence_remove(cache, 0, 4, 68);     // the first 4 tokens stay
               qnnrt_llm_sequence_shift(cache, 0, 68, -1, -64);
           }
       It needs to know which values of a head RoPE pairs: "pairs" of "rope" in qnnrt.json, or
       desc.rope.pairs. Beside the same text computed at the new positions, keys of 8 bits differed
       by up to 2 steps after one shift and 3 after six, logits by 0.07; in float32 keys by 5e-6.
       A key that the graph clipped stays clipped: on HTP 2.51 two of 2,496 differed by 8 steps.

   Drafts
       qnnrt_llm_eval() computes tokens and keeps none; qnnrt_llm_accept() keeps those that proved
       right. The first token is certain, the others are guesses, for example of a smaller model.
       Graphs for many tokens read fewer cells, so late in the context a step takes fewer guesses:
           size_t most = qnnrt_llm_cache_get_info(cache).at_once;
           if (draft_count > most) draft_count = most;
           batch.tokens = draft; batch.count = draft_count;
           qnnrt_llm_eval(cache, &batch);
           for (kept = 1; kept < draft_count; ++kept)
               if (qnnrt_llm_argmax(cache, kept - 1) != draft[kept]) break;
           next = qnnrt_llm_argmax(cache, kept - 1);
           qnnrt_llm_accept(cache, NULL, kept);
       For a tree of guesses set batch.parents, and give the rows of one path to qnnrt_llm_accept().

   Saving
       A state holds the content of a cache as bytes, for this model in any process:
           bytes = qnnrt_llm_state_bytes(cache);
           data = malloc(bytes);
           qnnrt_llm_state_save(cache, data, bytes, NULL);
           qnnrt_llm_state_restore(cache, data, bytes);
       A state of another model, or one that is damaged or cut short, is refused, and the cache
       stays as it was. To move one text out of a cache in use, and later back in under any number,
       while the others go on:
           bytes = qnnrt_llm_sequence_state_bytes(cache, 2);
           data = malloc(bytes);
           qnnrt_llm_sequence_state_save(cache, 2, data, bytes, NULL);
           qnnrt_llm_sequence_remove(cache, 2, -1, -1);
           qnnrt_llm_sequence_state_restore(cache, 5, data, bytes);

   Two models
       A target and its draft share a backend and the memory of a session; each has its own caches:
           qnnrt_desc shared = {0};
           shared.backend = qnnrt_get_info(model)->backend;
           qnnrt_open("draft_dir", &shared, &draft_model, &err);
           qnnrt_llm_open(draft_model, NULL, &draft_llm, &err);
           qnnrt_llm *both[2] = { llm, draft_llm };
           qnnrt_llm_session_create(both, 2, NULL, &session, &err);
           cache = qnnrt_llm_cache_get(session, 0, 0);
           draft_cache = qnnrt_llm_cache_get(session, 1, 0);
       Close in this order: session, both qnnrt_llm, the draft's model, the target's model.

   Embeddings on the host
       A table of embeddings is large and only a few rows of it are read, so that it may stay out of
       the graphs. They then take the hidden state, and a pipeline begins with a host step that
       looks rows up: qnnrt_llm_embedding(), under the name "embedding". The folder's qnnrt.json
       says so ("program", see qnnrt_manifest.h; 05_make_model --host_embedding writes one):
           qnnrt_host_step look_up = {0};
           qnnrt_manifest_open_desc opening = {0};
           look_up.name = "embedding"; look_up.exec = qnnrt_llm_embedding;
           opening.host_functions = &look_up; opening.host_function_count = 1;
           qnnrt_manifest_open("model_dir", &opening, &program, &err);      // maps the table
       The pipelines of a program, of one or more models, are given in qnnrt_llm_desc.made; so are
       those that qnnrt_pipeline_make() makes:
           const qnnrt_manifest_info *parts = qnnrt_manifest_get_info(program);
           desc.folder = parts->folder;                          // with "llm" in its qnnrt.json
           desc.made   = parts->pipelines; desc.made_count  = parts->pipeline_count;
           desc.models = parts->models;    desc.model_count = parts->model_count;
           qnnrt_llm_open(NULL, &desc, &llm, &err);
       They are run as their author has wired them: edges and constants need no role, and shards no
       equal names.

   RoPE, bos and eos
       They come from the caller, else from genie_config.json, else from qnnrt.json. RoPE is taken
       from one of them as a whole. Without any, theta is 10000 and qnnrt_llm_info.rope_source says
       "the default". A wrong theta gives plausible but wrong text: check it once.

   Errors
       Opening fails with NOT_FOUND (a shard or a role is missing), MISMATCH (ambiguous roles, or
       graphs that do not fit together) or UNSUPPORTED (a layout). The text names tensors, shards
       and candidates; err.hint says what to do.
       Running fails with LIMIT (the context is full: remove old tokens and compute the rest again,
       or begin a new text with qnnrt_llm_clear()), ARG (an invalid batch), STATE (no eval to accept
       from), CANCELLED (by desc.progress) or BACKEND (the vendor's answer, see "Errors" in
       qnnrt.h). qnnrt_llm_error(cache) returns the error. The cache is then as it was before, and
       the next call may succeed.

   ROOMS (search for the tag)
       >>config >>shape >>math >>rope                                               the floor
       >>names >>settings >>items >>group >>layout >>order >>match >>wires
       >>roles >>describe                                                           what tensors are
       >>cells >>rows >>defragment >>kshift >>state >>mask                          one cache
       >>embedding >>plan >>session >>choose >>late >>step >>pool >>adapter         running
       >>public >>manage
*/
#ifndef QNNRT_LLM_H
#define QNNRT_LLM_H

#include "qnnrt.h"
#include "qnnrt_sample.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_llm.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_LLM_API
#define QNNRT_LLM_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- roles -- */

/* X(NAME, text, layer) layer: 1 for roles that each layer has. Role tables use these texts, up to
   "unused"; edge and constant are found in pipelines that their author has wired. */
#define QNNRT_LLM_ROLES(X) \
    X(UNKNOWN,     "unknown",     0) \
    X(TOKENS,      "tokens",      0)   /* in  [.., AR] ids                                      */ \
    X(POSITIONS,   "positions",   0)   /* in  [.., AR] integers                                 */ \
    X(ROPE_COS,    "rope_cos",    0)   /* in or edge [.., AR, n], n: head_dim / 2 or head_dim   */ \
    X(ROPE_SIN,    "rope_sin",    0) \
    X(MASK,        "mask",        0)   /* in  [.., AR, context]                                 */ \
    X(WINDOW_MASK, "window_mask", 0)   /* in  the same, for layers with a sliding window        */ \
    X(KEY_IN,      "key_in",      1)   /* in  pieces of cells: qnnrt_llm_info.layout           */ \
    X(VALUE_IN,    "value_in",    1) \
    X(KEY_OUT,     "key_out",     1)   /* out for the new tokens, or for the whole context      */ \
    X(VALUE_OUT,   "value_out",   1) \
    X(HIDDEN,      "hidden",      0)   /* out of a shard, in of the next one [.., AR, width]    */ \
    X(LOGITS,      "logits",      0)   /* out [.., AR, vocabulary]                              */ \
    X(LAST_HIDDEN, "last_hidden", 0)   /* out [.., AR, width], what the head reads              */ \
    X(PADDING,     "padding",     0)   /* in  [.., AR] of encoders: 1 for tokens, 0 after them  */ \
    X(TOKEN_TYPES, "token_types", 0)   /* in  [.., AR] of encoders: 0                           */ \
    X(UNUSED,      "unused",      0)   /* an output that nothing reads                          */ \
    X(EDGE,        "edge",        0)   /* out or in, where the pipeline's author has wired it   */ \
    X(CONSTANT,    "constant",    0)   /* in  its value was given with the pipeline             */

typedef enum qnnrt_llm_role {
#define QNNRT_LLM_X(name, text, layer) QNNRT_LLM_ROLE_##name,
    QNNRT_LLM_ROLES(QNNRT_LLM_X)
#undef QNNRT_LLM_X
    QNNRT_LLM_ROLE_COUNT
} qnnrt_llm_role;

/* Return "tokens", "key_in", ...; "unknown" for any other number. */
QNNRT_LLM_API const char *qnnrt_llm_role_name(qnnrt_llm_role role);

/* One line of a role table. */
typedef struct qnnrt_llm_role_desc {
    const char    *tensor;        /* its name, or "<context>/<name>" where shards use one name for
                                     different tensors; the same in all graphs */
    qnnrt_llm_role role;
    uint32_t       layer;         /* for keys and values: layer, counted from 0 */
    uint32_t       head;          /* for caches with one tensor per head (default 0) */
} qnnrt_llm_role_desc;

/* How positions rotate queries and keys, where graphs take cos and sin as inputs. */
typedef enum qnnrt_llm_rope_scaling {
    QNNRT_LLM_ROPE_PLAIN = 0,     /* angle(position, i) = position * theta ^ (-i / n), n angles */
    QNNRT_LLM_ROPE_LINEAR,        /* ... / factor */
    QNNRT_LLM_ROPE_LLAMA3         /* divides low frequencies by factor, keeps high ones, blends the
                                     others: "rope_type": "llama3" of Llama 3.1's config */
} qnnrt_llm_rope_scaling;

/* Which two values of a head RoPE rotates by angle i of n. */
typedef enum qnnrt_llm_rope_pairs {
    QNNRT_LLM_ROPE_UNKNOWN = 0,
    QNNRT_LLM_ROPE_HALF,          /* i and n + i: Hugging Face's Llama and Qwen, GPT-NeoX */
    QNNRT_LLM_ROPE_INTERLEAVED    /* 2 * i and 2 * i + 1: Meta's Llama, GPT-J */
} qnnrt_llm_rope_pairs;

typedef struct qnnrt_llm_rope {
    double                 theta;              /* (default 0: from the files, else 10000) */
    qnnrt_llm_rope_scaling scaling;
    double                 factor;             /* LINEAR, LLAMA3 (default 0: 1; LLAMA3: 8) */
    double                 low_frequency;      /* LLAMA3 (default 0: 1) */
    double                 high_frequency;     /* LLAMA3 (default 0: 4) */
    uint32_t               original_context;   /* LLAMA3 (default 0: 8192) */
    qnnrt_llm_rope_pairs   pairs;              /* for desc.k_shift of a session (default 0: from
                                                  the files; HALF where rows of cos have each angle
                                                  twice) */
} qnnrt_llm_rope;

typedef struct qnnrt_llm_desc {
    const char                *folder;         /* with qnnrt.json and genie_config.json, both
                                                  optional (default NULL: the model's own folder;
                                                  "": read no file) */
    const char                *config;         /* text of a qnnrt.json, instead of the folder's */
    size_t                     config_bytes;
    const qnnrt_llm_role_desc *roles;          /* override those of qnnrt.json; both override names
                                                  and shapes */
    size_t                     role_count;
    const char *const         *pipelines;      /* names of pipelines to use (default NULL: all) */
    size_t                     pipeline_count;
    const qnnrt_pipeline *const *made;         /* pipelines of the caller to use instead, wired as
                                                  they are; they must outlive *out. With .models:
                                                  the list of the only one is as none (default
                                                  NULL: those of the model) */
    size_t                     made_count;
    qnnrt *const              *models;         /* [model_count] whose graphs .made has, such as
                                                  those of a program (default NULL: the model) */
    size_t                     model_count;
    qnnrt_llm_rope             rope;           /* if .theta is set, this replaces all of the files'
                                                  rope settings; else all fields but .pairs must
                                                  be 0 */
    const int32_t             *eos;            /* tokens that end a text (default NULL: from the
                                                  files) */
    size_t                     eos_count;
    const int32_t             *bos;            /* the token that begins a text (default NULL: from
                                                  the files) */
    uint32_t                   window;         /* for WINDOW_MASK: tokens that each token attends
                                                  to, itself included (default 0: from the files) */
    float                      masked;         /* value of the mask where attention is forbidden
                                                  (default 0: the lowest code of a quantized mask,
                                                  -10000 of a float mask) */
    qnnrt_hooks                hooks;          /* alloc and free are used (default: those of the
                                                  model's backend) */
    int                        embeddings;     /* 1: where a pipeline begins with a look-up of rows
                                                  on the host, sessions do it themselves, so that
                                                  batches may have .embeddings (default 0) */
    const qnnrt_tensor_info   *table;          /* for graphs that take the hidden state: rows of the
                                                  tokens, [words, width], of the types of
                                                  qnnrt_llm_embedding(): name, dtype, dims, quant
                                                  and bytes; borrowed, as the data (default NULL:
                                                  that of the look-up, see .embeddings, or none) */
    const void                *table_data;
    /* Gives a tensor of a graph new data: qnnrt_update of qnnrt_device.h (default NULL: there are
       no adapters). */
    qnnrt_result             (*update)(qnnrt *model, size_t context, const char *graph,
                                       const char *tensor, const void *data, size_t bytes,
                                       qnnrt_error *err);
} qnnrt_llm_desc;

typedef struct qnnrt_llm_tensor_info {
    const qnnrt_tensor_info *tensor;
    uint32_t                 step;             /* of the pipeline: index of the shard */
    int                      output;
    qnnrt_llm_role           role;
    uint32_t                 layer, head;
    const char              *reason;           /* "role table", "named past_key_<l>_in", ... */
} qnnrt_llm_tensor_info;

typedef struct qnnrt_llm_graph_info {          /* one pipeline: one graph of every shard */
    const char                  *name;
    uint32_t                     ar, context;  /* it reads context - ar cells */
    size_t                       tensor_count;
    const qnnrt_llm_tensor_info *tensors;      /* shard by shard, inputs before outputs */
} qnnrt_llm_graph_info;

typedef struct qnnrt_llm_info {
    uint32_t                    ar;            /* largest number of tokens per step */
    uint32_t                    context;       /* largest context of any graph */
    uint32_t                    cells;         /* cells of a cache: the largest context - ar */
    uint32_t                    layers;        /* layers with keys and values, in this model or in
                                                  this part of a model */
    uint32_t                    heads;         /* heads of keys and values in a layer */
    uint32_t                    key_dim, value_dim;   /* of a head in the first layer */
    uint32_t                    vocabulary;    /* 0: the graphs have no logits */
    const qnnrt_tensor_info    *logits;        /* the first graph's; NULL: no graph has logits */
    size_t                      logits_bytes;  /* of one token's logits, as stored */
    qnnrt_dtype                 cache_dtype;   /* UNDEFINED: no cache */
    const char                 *layout;        /* such as "one tensor per layer, keys transposed" */
    qnnrt_llm_rope              rope;          /* in use; .theta 0: no graph takes cos and sin */
    const char                 *rope_source;   /* "the caller", "genie_config.json", "qnnrt.json",
                                                  "the default" */
    const int32_t              *eos;
    size_t                      eos_count;
    int32_t                     bos;           /* -1: none */
    uint32_t                    window;        /* 0: none */
    uint64_t                    fingerprint;   /* of the model, written into saved states */
    size_t                      graph_count;
    const qnnrt_llm_graph_info *graphs;        /* sorted by ar, then by context */
    uint32_t                    words;         /* number of tokens: rows of the table of embeddings,
                                                  else the vocabulary, else as the range of the
                                                  input says; 0: nothing tells */
    uint32_t                    width;         /* of .hidden and .embeddings, 0: it has neither */
    const qnnrt_tensor_info    *hidden;        /* the first graph's output of last hidden states;
                                                  NULL: no graph has it */
    const qnnrt_tensor_info    *embeddings;    /* its input for batches' embeddings; NULL: none */
    size_t                      adapter_tensors;   /* of adapters in the graphs, each name once; 0:
                                                  they have no room for adapters */
    uint32_t                    adapter_rank;  /* largest rank that they have room for */
} qnnrt_llm_info;

typedef struct qnnrt_llm qnnrt_llm;

/* Find out what each tensor of a model is for, and wire its shards accordingly.

   A tensor gets its role from the first of these that knows it: the caller's table; the object
   "llm" of qnnrt.json; the names that exporters give (Qualcomm's hub and Genie, ExecuTorch, mllm,
   ONNX Runtime); the shapes of all graphs together, when only one candidate remains. Nothing is
   guessed: an input that stays unknown, or a tensor with two candidates, is an error that lists
   them. A part of a model (one shard) can be opened to inspect it; running needs the whole model.

       "llm": { "roles": { "output_1": "key_out 0", "2/output_7": "value_out 11 3" },
                "rope": { "theta": 500000, "scaling": "llama3", "factor": 8, "low_frequency": 1,
                          "high_frequency": 4, "original_context": 8192, "pairs": "half" },
                "bos": 1, "eos": [2, 3], "window": 4096 }

   model    must outlive *out; may be opened with desc.inspect. NULL with desc.models
   desc     NULL for the default; may live on the stack, everything is copied
   out      receives the language model, or NULL on failure

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (no such pipeline or tensor, or a role is missing);
            QNNRT_E_MISMATCH (roles are ambiguous, or graphs disagree about a cache, a cut between
            shards or a type); QNNRT_E_FORMAT (JSON); QNNRT_E_UNSUPPORTED (a layout that this
            version does not run); QNNRT_E_IO, QNNRT_E_LIMIT, QNNRT_E_MEMORY, QNNRT_E_ARG
   Frees    qnnrt_llm_close(), which returns QNNRT_E_BUSY while a session or adapter uses it; NULL
            is allowed
   Threads  any */
QNNRT_LLM_API qnnrt_result qnnrt_llm_open(qnnrt *model, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                          qnnrt_error *err);
QNNRT_LLM_API qnnrt_result qnnrt_llm_close(qnnrt_llm *llm);

/* Return the facts about a model, valid until qnnrt_llm_close(); NULL for NULL. */
QNNRT_LLM_API const qnnrt_llm_info *qnnrt_llm_get_info(const qnnrt_llm *llm);

/* Return 1 if the token ends a text, else 0. */
QNNRT_LLM_API int qnnrt_llm_is_eos(const qnnrt_llm *llm, int32_t token);

/* Call line() with each line of a description, without newlines: the model, every tensor of every
   graph with its role and the reason, the cuts between shards. */
QNNRT_LLM_API void qnnrt_llm_describe(const qnnrt_llm *llm,
                                      void (*line)(void *user, const char *text), void *user);

/* ----------------------------------------------------------------------------------- session -- */

typedef enum qnnrt_llm_kv {
    QNNRT_LLM_SMART_MASK = 0,
    QNNRT_LLM_SHIFT_POINTER
} qnnrt_llm_kv;

typedef struct qnnrt_llm_session qnnrt_llm_session;
typedef struct qnnrt_llm_cache   qnnrt_llm_cache;

/* How far a decode or an eval is. */
typedef struct qnnrt_llm_progress {
    const qnnrt_llm_cache *cache;
    size_t   done, count;          /* tokens of the batch: computed so far, and all */
    uint32_t step, steps;          /* of this chunk: steps of the pipeline that are done, and all. A
                                      shard is a step */
    uint32_t ar;                   /* tokens that the graph of this chunk takes */
} qnnrt_llm_progress;

typedef struct qnnrt_llm_session_desc {
    size_t        caches;          /* caches per model (default 0: 1) */
    qnnrt_llm_kv  kv;              /* how caches move (default 0: smart mask) */
    uint32_t      positions;       /* limit of a text's length (default 0: the model's context) */
    uint64_t    (*clock_ns)(void *user);   /* monotonic clock for .exec_ns and .host_ns below
                                              (default NULL: none) */
    void         *clock_user;
    qnnrt_mem_kind mem_kind;       /* what its memory is made of (default 0: plain
                                      memory); see "Shared memory" of qnnrt.h */
    int         (*progress)(void *user, const qnnrt_llm_progress *at);   /* called before each step
                                      of each chunk. If it does not return 0, the decode or eval
                                      ends with QNNRT_E_CANCELLED. It must not use the session
                                      (default NULL: not called) */
    void         *progress_user;
    int           by_cost;         /* 1: run the graphs that cost the least time, see
                                      qnnrt_llm_cost_get(). A batch that one graph could take may
                                      then be several chunks (default 0: the smallest graph that
                                      takes all remaining tokens, else the largest) */
    int           k_shift;         /* 1: qnnrt_llm_sequence_shift() rotates stored keys to their new
                                      positions where it can, see qnnrt_llm_can_shift() (default 0:
                                      it refuses) */
    qnnrt_mem_provider mem_provider;   /* for .mem_kind, see qnnrt_mem_desc.provider */
} qnnrt_llm_session_desc;

/* Make models ready to run: allocate their caches, and one memory for the graphs of all of them.
   The steps of a session run one after the other, so all graphs share their scratch memory.

   models   [model_count], for example a target and its draft; they must outlive the session. All
            use one backend: open the second with desc.backend = qnnrt_get_info(first)->backend and
            close it before the first
   desc     NULL for the default
   out      receives the session, or NULL on failure

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (a model without tokens, logits or mask, named in the
            text); QNNRT_E_UNSUPPORTED (shift pointer with a model without cells, or a mask of a
            type that has no value to forbid attention); the errors of qnnrt_plan_create(),
            qnnrt_mem_create() and qnnrt_run_create()
   Frees    qnnrt_llm_session_destroy(); NULL is allowed
   Threads  any; sessions of one backend run as in "Threads" of qnnrt.h */
QNNRT_LLM_API qnnrt_result qnnrt_llm_session_create(qnnrt_llm *const *models, size_t model_count,
                                                    const qnnrt_llm_session_desc *desc,
                                                    qnnrt_llm_session **out, qnnrt_error *err);
QNNRT_LLM_API void qnnrt_llm_session_destroy(qnnrt_llm_session *session);

typedef struct qnnrt_llm_session_info {
    uint64_t arena_bytes;          /* of all tensors of graphs, caches included */
    uint64_t naive_bytes;          /* the same with a buffer of its own for every tensor */
    uint64_t cache_bytes;          /* of one cache of the first model */
    uint64_t steps, executes;      /* so far; an execute runs one graph: one per shard and step */
    uint64_t exec_ns, host_ns;     /* time inside and outside of qnnrt_exec(), with a clock */
    qnnrt_mem_kind mem_kind;       /* what its memory is */
    const char *mem_reason;        /* why it is not shared, or ""; see qnnrt_mem_info.reason */
    size_t tensors, registered;    /* of the steps of all graphs; and of these, those that the
                                      device uses in place. Tensors of a cache count from its first
                                      step */
    const char *mem_name;          /* of its memory, see qnnrt_mem_info.name */
} qnnrt_llm_session_info;

/* Return sizes and counts of a session; all 0 for NULL. */
QNNRT_LLM_API qnnrt_llm_session_info qnnrt_llm_session_get_info(const qnnrt_llm_session *session);

/* Return how often a graph of a model has run in a session: graph `graph` of qnnrt_llm_info.graphs.
   0 for one that does not exist. */
QNNRT_LLM_API uint64_t qnnrt_llm_session_runs(const qnnrt_llm_session *session, size_t model,
                                              size_t graph);

/* The cost of a graph (its index in qnnrt_llm_info.graphs): the shortest time of a qnnrt_exec() of
   it so far, if the session has a clock. With desc.by_cost, a batch runs on the graphs whose costs
   have the lowest sum: 3 tokens of 3 texts on the graph for one token, if 3 of its steps cost less
   than a step of the graph for 32 tokens. A graph whose cost is still unknown runs first; without a
   clock all costs must be set, else desc.by_cost does nothing.

   get   returns the cost in ns, 0: unknown, or no such graph
   set   replaces it, and it stays so; with 0 it is unknown and measured again. Returns QNNRT_OK;
         QNNRT_E_ARG (no such graph) */
QNNRT_LLM_API uint64_t     qnnrt_llm_cost_get(const qnnrt_llm_session *session, size_t model,
                                              size_t graph);
QNNRT_LLM_API qnnrt_result qnnrt_llm_cost_set(qnnrt_llm_session *session, size_t model,
                                              size_t graph, uint64_t ns);

/* Return cache `index` of model `model` of a session; NULL if the session has no such cache. */
QNNRT_LLM_API qnnrt_llm_cache *qnnrt_llm_cache_get(qnnrt_llm_session *session, size_t model,
                                                   size_t index);

/* Return the error of the last call on this cache that failed, with code QNNRT_OK if none has
   failed; never NULL. A call that succeeds does not change it. */
QNNRT_LLM_API const qnnrt_error *qnnrt_llm_error(const qnnrt_llm_cache *cache);

/* -------------------------------------------------------------------------------------- step -- */

enum { QNNRT_LLM_SEQUENCES = 64 };     /* in one cache */

/* Tokens to compute. With only .tokens and .count set, they continue sequence 0. */
typedef struct qnnrt_llm_batch {
    const int32_t       *tokens;       /* [count]; with .embeddings it may be NULL, or -1 for a row
                                          of them */
    size_t               count;
    uint32_t             sequence;     /* the sequence that all tokens continue */
    const uint64_t      *sequences;    /* [count] sequences of each token, bit s for sequence s. If
                                          it has several, they must hold the same text so far
                                          (default NULL: .sequence) */
    const int32_t       *positions;    /* [count] each is above all positions in its sequences; gaps
                                          are allowed (default NULL: the next position, or the one
                                          after its parent) */
    const int32_t       *parents;      /* [count] for a tree of drafts: the token that each token
                                          follows, as an index in this batch; -1: the last token in
                                          the cache (default NULL: each token follows all earlier
                                          tokens of its sequences) */
    const unsigned char *wanted;       /* [count] not 0: this token's results are wanted (default
                                          NULL: the last token's). Without .logits, .stored and
                                          .hidden, qnnrt_llm_logits() has them after the call */
    float               *logits;       /* [wanted][vocabulary] receives logits, or NULL */
    void                *stored;       /* receives logits as they are stored, or NULL */
    const float         *embeddings;   /* [count][width] rows instead of tokens, where
                                          qnnrt_llm_info.embeddings is not NULL; the rows of tokens
                                          that are not -1 are not read (default NULL: tokens) */
    float               *hidden;       /* [wanted][width] receives last hidden states, or NULL */
} qnnrt_llm_batch;

/* Compute a batch of any length, in chunks, and keep its tokens in the cache: all of them or, after
   a failure, none.

   Returns  QNNRT_OK; QNNRT_E_ARG (empty batch, token out of range, invalid sequence, position or
            parent, a token of sequences that hold different texts, embeddings or results that the
            graphs do not have); QNNRT_E_LIMIT (the context is full:
            qnnrt_llm_sequence_remove() and qnnrt_llm_clear() make room); QNNRT_E_CANCELLED
            (desc.progress of the session ended it); QNNRT_E_MEMORY (for logits of earlier chunks);
            QNNRT_E_BACKEND and the other errors of qnnrt_exec(). Text: qnnrt_llm_error()
   Threads  one thread per session at a time
   Cost     executes one pipeline per chunk, the smallest that takes all remaining tokens, else the
            largest (but see desc.by_cost of the session), and copies new keys and values. When the
            graph changes, the cells in use move from one stride to another */
QNNRT_LLM_API qnnrt_result qnnrt_llm_decode(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch);

/* Compute tokens in one step and keep none, for drafts and for the last token of a full context.
   The cache does not change.
   Returns  as qnnrt_llm_decode(); QNNRT_E_LIMIT for more tokens than .at_once of
            qnnrt_llm_cache_info */
QNNRT_LLM_API qnnrt_result qnnrt_llm_eval(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch);

/* Keep tokens of the batch that qnnrt_llm_eval() computed last in this session. This works once per
   eval. The logits stay available, under the indices of the batch.

   rows     [count] ascending indices into that batch (NULL: the first `count`); count may be 0
   Returns  QNNRT_OK; QNNRT_E_STATE (no eval, or another step or a change of this cache since then);
            QNNRT_E_ARG; QNNRT_E_LIMIT (too few free cells) */
QNNRT_LLM_API qnnrt_result qnnrt_llm_accept(qnnrt_llm_cache *cache, const uint32_t *rows,
                                            size_t count);

/* Return the logits that predict what follows token `row` of the last batch, valid until the next
   step of the session. All rows of a batch of up to qnnrt_llm_info.ar tokens have them, in however
   many chunks it was computed. A longer one has those of its last chunk, and of the last token of
   each sequence. Instead of these two, batch.wanted says which rows of earlier chunks are kept, if
   the batch has no buffer for them.

   stored_logits   as stored, of the type of qnnrt_llm_info.logits; NULL on failure
   logits          as numbers, into values [vocabulary]; QNNRT_E_STATE or QNNRT_E_ARG on failure
   argmax          the most probable token, the lowest of equals; -1 on failure
   qnnrt_llm_error() has the error. */
QNNRT_LLM_API const void *qnnrt_llm_stored_logits(qnnrt_llm_cache *cache, size_t row);
QNNRT_LLM_API qnnrt_result qnnrt_llm_logits(qnnrt_llm_cache *cache, size_t row, float *values);
QNNRT_LLM_API int32_t qnnrt_llm_argmax(qnnrt_llm_cache *cache, size_t row);

/* Return the last hidden state of token `row` of the last batch, as numbers, into values [width];
   for the same rows as qnnrt_llm_logits().
   Returns  QNNRT_OK; QNNRT_E_STATE, QNNRT_E_ARG; QNNRT_E_UNSUPPORTED (the graphs have no such
            output). Text: qnnrt_llm_error() */
QNNRT_LLM_API qnnrt_result qnnrt_llm_hidden(qnnrt_llm_cache *cache, size_t row, float *values);

typedef enum qnnrt_llm_pooling {
    QNNRT_LLM_POOL_MEAN = 0,       /* of all tokens: of most encoders */
    QNNRT_LLM_POOL_LAST            /* of the last token: of most decoders */
} qnnrt_llm_pooling;

typedef struct qnnrt_llm_pool_desc {
    qnnrt_llm_pooling pooling;
    uint32_t          sequence;    /* whose tokens to pool (default 0) */
    int               normalize;   /* 1: to length 1; zeros stay zeros (default 0) */
} qnnrt_llm_pool_desc;

/* Make one vector of the hidden states that a batch received: the embedding of a text.

   batch    after a decode or eval with .hidden. POOL_MEAN takes all tokens of the sequence, and all
            must have been wanted; POOL_LAST the last one
   desc     NULL for the default
   values   [qnnrt_llm_info.width] receives the vector

   Returns  QNNRT_OK; QNNRT_E_ARG (no .hidden; a token was not wanted; no token is of the sequence;
            an unknown pooling); QNNRT_E_UNSUPPORTED (the model has no hidden states)
   Threads  any
   Cost     adds up in double; allocates nothing */
QNNRT_LLM_API qnnrt_result qnnrt_llm_pool(const qnnrt_llm *llm, const qnnrt_llm_batch *batch,
                                          const qnnrt_llm_pool_desc *desc, float *values,
                                          qnnrt_error *err);

/* ------------------------------------------------------------------------------------- cache -- */

typedef struct qnnrt_llm_cache_info {
    uint32_t cells, used;          /* all cells, and those in use */
    uint32_t end;                  /* index after the last cell in use: graphs must read so many */
    uint32_t at_once;              /* most tokens that qnnrt_llm_eval() takes now. Graphs for many
                                      tokens read fewer cells */
} qnnrt_llm_cache_info;

/* Return counts of a cache; all 0 for NULL. */
QNNRT_LLM_API qnnrt_llm_cache_info qnnrt_llm_cache_get_info(const qnnrt_llm_cache *cache);

/* Change the sequences of a cache; names and meaning are llama.cpp's. A range of positions is
   [begin, end); a negative begin means 0, a negative end means infinity.

   clear     free all cells, for a new text. The memory keeps its bytes, which nothing reads
   remove    take cells out of a sequence (-1: of every sequence): rewind, truncate or make a hole.
             Cells that belong to no sequence are free
   copy      add the cells of `from` to sequence `to`; no memory is copied
   keep      remove all other sequences
   shift     add delta to positions. Cells whose positions would fall below 0 become free.
             QNNRT_E_UNSUPPORTED where keys are stored rotated by their positions (RoPE), as in
             every model that takes positions, unless no cell would change, or
             qnnrt_llm_can_shift()
   first, last   return the lowest and highest position of a sequence, -1: it is empty

   Returns   QNNRT_OK; QNNRT_E_ARG (no such sequence, or a position would be too high);
             QNNRT_E_UNSUPPORTED */
QNNRT_LLM_API void         qnnrt_llm_clear(qnnrt_llm_cache *cache);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_remove(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_copy(qnnrt_llm_cache *cache, int from, int to,
                                                   int32_t begin, int32_t end);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_keep(qnnrt_llm_cache *cache, int sequence);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_shift(qnnrt_llm_cache *cache, int sequence,
                                                    int32_t begin, int32_t end, int32_t delta);
QNNRT_LLM_API int32_t      qnnrt_llm_sequence_first(const qnnrt_llm_cache *cache, int sequence);
QNNRT_LLM_API int32_t      qnnrt_llm_sequence_last(const qnnrt_llm_cache *cache, int sequence);

/* Return 1 if qnnrt_llm_sequence_shift() can change positions: keys are not rotated by them; or
   desc.k_shift of the session is set, and the pairs of values, the angles and the type of keys
   are known. A shift then decodes the keys of each cell, rotates them by delta times each
   frequency, and encodes them again. This costs a rounding: at most half a step for each value and
   call, more where a rotated value is beyond the range of the type; of float32 about 1e-7 of its
   size. Values do not change; nor do they know that the text before them is another one now, so
   that results after a shift differ from those of the shorter text, as in llama.cpp. Where keys
   were changed after RoPE (another rotation, such as Hadamard's), do not set desc.k_shift.
   0: qnnrt_llm_error() says why after a shift was refused. */
QNNRT_LLM_API int          qnnrt_llm_can_shift(const qnnrt_llm_cache *cache);

/* Close the holes that removed cells have left: cells move to the front and keep their order. A
   cache with a lower end can run graphs that read fewer cells, and steps of one text fill masks
   faster. A decode does this when it needs to; call it where there is time for it. Results do not
   change, except for the rounding of a backend whose sums depend on where cells are.
   Returns  the cells by which the end fell; 0: there were no holes
   Cost     moves the cells after the first hole */
QNNRT_LLM_API uint32_t     qnnrt_llm_defragment(qnnrt_llm_cache *cache);

/* Replace the content of a cache by the content of another cache of the same model, of any session.
   Returns   QNNRT_OK; QNNRT_E_ARG (another model); QNNRT_E_LIMIT (too few cells, or positions are
             too high here). On failure nothing has changed */
QNNRT_LLM_API qnnrt_result qnnrt_llm_cache_copy(qnnrt_llm_cache *to, const qnnrt_llm_cache *from);

/* Write the content of a cache into memory, and restore it: in this process or another one, with
   smart mask or shift pointer. All sequences come back under their numbers; the former content of
   the cache is lost. A checksum covers the whole state, and a fingerprint refuses states of other
   models and adapters. On failure the cache is as it was.

   state_bytes   return the number of bytes that qnnrt_llm_state_save() would write now
   capacity      bytes of data; *bytes (may be NULL) receives the number written, 0 on failure
   Returns       QNNRT_OK; QNNRT_E_ARG (capacity is too small); QNNRT_E_FORMAT (damaged, cut short,
                 or not a state); QNNRT_E_MISMATCH (of another model); QNNRT_E_LIMIT (more cells or
                 higher positions than the cache takes) */
QNNRT_LLM_API size_t       qnnrt_llm_state_bytes(const qnnrt_llm_cache *cache);
QNNRT_LLM_API qnnrt_result qnnrt_llm_state_save(qnnrt_llm_cache *cache, void *data, size_t capacity,
                                                size_t *bytes);
QNNRT_LLM_API qnnrt_result qnnrt_llm_state_restore(qnnrt_llm_cache *cache, const void *data,
                                                   size_t bytes);

/* The same for one sequence: save it, and replace a sequence of any number by it, in this cache or
   another one of the model. The other sequences stay as they are; cells that they share with the
   replaced one stay theirs. The restored sequence has cells of its own.

   state_bytes   0 if there is no such sequence; the state of an empty sequence has bytes too
   data          the state of one sequence; a whole state will do if it has only one
   Returns       as above, and QNNRT_E_ARG (no such sequence); QNNRT_E_MISMATCH (a state of several
                 sequences); QNNRT_E_LIMIT (too few cells beside the other sequences). On failure
                 the cache is as it was
   Cost          copies the bytes; allocates nothing */
QNNRT_LLM_API size_t       qnnrt_llm_sequence_state_bytes(const qnnrt_llm_cache *cache,
                                                          int sequence);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_state_save(qnnrt_llm_cache *cache, int sequence,
                                                         void *data, size_t capacity,
                                                         size_t *bytes);
QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_state_restore(qnnrt_llm_cache *cache, int sequence,
                                                            const void *data, size_t bytes);

/* ---------------------------------------------------------------------------------- adapters -- */

/* A matrix of an adapter. */
typedef struct qnnrt_llm_matrix {
    const char *name;              /* that of the graphs' tensor, or that after any text and a dot:
                                      "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight" */
    qnnrt_dtype dtype;             /* F32, F16 or BF16 */
    uint32_t    rows, columns;     /* the rank, rows of A and columns of B, may be lower than that
                                      of the graphs */
    const void *data;              /* row-major */
} qnnrt_llm_matrix;

typedef struct qnnrt_llm_adapter_desc {
    const qnnrt_llm_matrix *parts; /* [part_count]; modules that are not listed stay as they are */
    size_t                  part_count;
    double                  scale; /* of every B: alpha / rank (default 0: 1) */
} qnnrt_llm_adapter_desc;

typedef struct qnnrt_llm_adapter qnnrt_llm_adapter;

/* Prepare an adapter for a model: find the tensors of its matrices, fill up lower ranks with zeros,
   scale and convert. The model stays as it is.

   desc     may be freed after the call
   out      receives the adapter, or NULL on failure

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (no qnnrt_llm_desc.update; the graphs have no room for
            adapters, or not in the type of a matrix); QNNRT_E_NOT_FOUND (no tensor for a matrix);
            QNNRT_E_MISMATCH (a shape, a rank that is too high, A without B, a tensor with two
            matrices); QNNRT_E_MEMORY; QNNRT_E_ARG
   Frees    qnnrt_llm_adapter_destroy(), before qnnrt_llm_close(); QNNRT_E_BUSY while it is applied
   Threads  any */
QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_create(qnnrt_llm *llm,
                                                    const qnnrt_llm_adapter_desc *desc,
                                                    qnnrt_llm_adapter **out, qnnrt_error *err);
QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_destroy(qnnrt_llm_adapter *adapter);

/* Let a model compute with an adapter from the next step on, in all its sessions, instead of the
   one that was applied before. Apply it again after qnnrt_context_load() and qnnrt_model_recover().

   adapter  NULL: none, the model itself

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (the library has no updates, such as libQnnHtp.so) and the
            other errors of qnnrt_update(). After a failure the former adapter holds; if not even
            that could be restored, steps fail with QNNRT_E_STATE until another call succeeds
   Threads  no session of the model steps meanwhile
   Cost     one qnnrt_update() for each tensor of it and of the former one, in each graph */
QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_apply(qnnrt_llm *llm, const qnnrt_llm_adapter *adapter,
                                                   qnnrt_error *err);

/* Return the adapter that is applied; NULL: none. */
QNNRT_LLM_API const qnnrt_llm_adapter *qnnrt_llm_adapter_applied(const qnnrt_llm *llm);

/* Accept that a cache holds text which was computed with another adapter: later tokens attend to
   its keys and values as they are. */
QNNRT_LLM_API void qnnrt_llm_adapter_mix(qnnrt_llm_cache *cache);

/* -------------------------------------------------------------------------------- embeddings -- */

/* Look up the embeddings of tokens: a host function, for models whose graphs take the hidden state.
   It copies row ids[i] of the table to row i of the output, and converts values if the types or
   encodings differ. See "Embeddings on the host".

   user     is not used
   step     has two inputs, in any order, and one output:
                ids     [.., n]           int32, uint32 or int64
                table   [.., rows, width] float32, float16, bfloat16, or quantized, with one scale
                output  [.., n, width]    the same types
   Returns  QNNRT_OK; QNNRT_E_ARG (an id below 0 or not below `rows`: the text names the step, the
            id and its place); QNNRT_E_MISMATCH (other shapes); QNNRT_E_UNSUPPORTED (other types).
            On failure the output is as it was
   Threads  any
   Cost     reads n rows of the table: a mapped table costs memory for the rows that were read */
QNNRT_LLM_API qnnrt_result qnnrt_llm_embedding(void *user, const qnnrt_graph_info *step,
                                               const void *const *inputs, void *const *outputs,
                                               qnnrt_error *err);

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_LLM_H */

#ifdef QNNRT_LLM_IMPLEMENTATION
#ifndef QNNRT_LLM__IMPL_ONCE
#define QNNRT_LLM__IMPL_ONCE

/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#if defined(QNNRT_NO_JSON) && !defined(QNNRT_JSON_IMPLEMENTATION)
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Errors of memory and counts, for every room.
   Needs: nothing     Knows nothing of: language models
   ===================================================================================== */

/* Marks functions that every token runs through. Compilers put them side by side: after an execute
   none of this code is in the processor's caches, and each of its pages has to be loaded again. */
#define QNNRT_LLM__HOT __attribute__((hot))

/* Marks each turn of loops that a hostile model could make long. Tests define it to count them. */
#ifndef QNNRT_LLM__STEP
#define QNNRT_LLM__STEP() ((void)0)
#endif

static qnnrt_result qnnrt_llm__fail_memory(qnnrt_error *err, const char *what)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for %s", what);
}

/* Return an arena with a block for each object: few, and often large. */
static qnnrt_arena qnnrt_llm__arena(const qnnrt_hooks *hooks)
{
    const qnnrt_arena arena = { *hooks, 0, 1, 0, QNNRT_OK, NULL };
    return arena;
}

/* Add `by` to a count of users, from any thread, and return the new count. */
static uint32_t qnnrt_llm__count(uint32_t *users, int by)
{
    return __sync_add_and_fetch(users, (uint32_t)by);
}

/* =====================================================================================
   SHAPE                                                                          >>shape
   Facts about a language model: >>roles fills them, all rooms below it use them.
   Needs: >>config     Knows nothing of: names, memory of caches, steps
   ===================================================================================== */

/* One tensor of keys or values, the same in all graphs of the model. It holds
   [outer][cells][inner] elements: each cell has `outer` pieces of `inner` elements.

       keys   [heads, 1, head_dim, cells]      outer = heads * head_dim, inner = 1
       values [heads, 1, cells, head_dim]      outer = heads, inner = head_dim
       keys   [1, head_dim, cells], one head   outer = head_dim, inner = 1                     */
typedef struct qnnrt_llm__kv {
    qnnrt_llm_role role;                /* KEY_IN or VALUE_IN */
    uint32_t       layer, head;         /* head: 0 if a tensor holds all heads */
    uint32_t       outer, inner;
    uint32_t       element;             /* bytes of one element */
    const qnnrt_tensor_info *tensor;    /* of the first graph; all have its type and encoding */
} qnnrt_llm__kv;

/* The two ends of it in a graph. */
typedef struct qnnrt_llm__ends {
    const qnnrt_slot *in;               /* [outer][graph.cells][inner]; NULL: ar == context, so
                                           the graph reads no cache */
    const qnnrt_slot *out;              /* [outer][out_cells][inner] */
    uint32_t   out_cells;               /* ar, or context if the output is the whole cache */
    uint32_t   out_first;               /* cell of `out` with the first new token: 0 or
                                           out_cells - ar */
} qnnrt_llm__ends;

typedef struct qnnrt_llm__slots {       /* several if shards name one input differently */
    const qnnrt_slot **slots;
    size_t      count;
} qnnrt_llm__slots;

typedef struct qnnrt_llm__graph {
    const qnnrt_pipeline *pipeline;
    qnnrt_pipeline       *made;         /* same as pipeline if it was made here; NULL if the model
                                           owns it */
    const char           *name;
    uint32_t              ar, context, cells;   /* cells = context - ar */
    qnnrt_llm__slots      inputs[QNNRT_LLM_ROLE_COUNT];   /* TOKENS, POSITIONS, ROPE_COS, ROPE_SIN,
                                                             MASK, WINDOW_MASK: the host fills */
    const qnnrt_slot *logits;           /* NULL: none */
    const qnnrt_slot *hidden;           /* the last hidden state; NULL: none */
    qnnrt_llm__ends      *kv;           /* [llm.kv_count] */
} qnnrt_llm__graph;

struct qnnrt_llm {
    qnnrt           **models;           /* [model_count], those of pipelines */
    size_t            model_count;
    qnnrt_llm_info    info;
    qnnrt_llm__graph *graphs;           /* [info.graph_count], as info.graphs */
    qnnrt_llm__kv    *kv;               /* [kv_count] by layer, keys before values, head */
    size_t            kv_count;
    float             masked;           /* desc.masked, 0: depends on the type */
    qnnrt_llm_rope    turned;           /* how keys are rotated; theta 0: unknown */
    const qnnrt_tensor_info *table;     /* rows of tokens, for graphs that take the hidden state;
                                           NULL: none */
    const void       *table_data;
    const qnnrt_llm_adapter *adapter;   /* that is applied; NULL: none */
    uint64_t          adapter_key;      /* of its values; 0: none */
    qnnrt_result    (*update)(qnnrt *model, size_t context, const char *graph, const char *tensor,
                              const void *data, size_t bytes, qnnrt_error *err);   /* of desc */
    int               adapter_lost;     /* 1: neither it nor another one is in all graphs */
    qnnrt_arena       arena;            /* which holds it */
    uint32_t          sessions;         /* sessions on this model; any thread may change it */
};

QNNRT_LLM_API const char *qnnrt_llm_role_name(qnnrt_llm_role role)
{
    static const char *const names[] = {
#define QNNRT_LLM_X(name, text, layer) text,
        QNNRT_LLM_ROLES(QNNRT_LLM_X)
#undef QNNRT_LLM_X
    };
    return (size_t)role < sizeof names / sizeof names[0] ? names[role] : names[0];
}

/* Return 1 for a role that each layer has. */
static int qnnrt_llm__layered(qnnrt_llm_role role)
{
    static const unsigned char layered[] = {
#define QNNRT_LLM_X(name, text, layer) layer,
        QNNRT_LLM_ROLES(QNNRT_LLM_X)
#undef QNNRT_LLM_X
    };
    return (size_t)role < sizeof layered && layered[role];
}

/* Return what a state belongs to: the model, and the adapter that computed it. */
static uint64_t qnnrt_llm__stamp(const qnnrt_llm *llm, uint64_t adapter_key)
{
    return llm->info.fingerprint ^ adapter_key * UINT64_C(0x9E3779B97F4A7C15);
}

/* =====================================================================================
   MATHEMATICS                                                                    >>math
   Sine, cosine, exponential and logarithm with the same bits on every machine, without libm.
   Needs: nothing     Knows nothing of: models
   ===================================================================================== */

/* A compiler may fuse a product and the addition after it into one operation, which rounds once
   instead of twice. Therefore every product here that is added to something is exact, or is divided
   first. Results also depend on double having no excess precision (32-bit x86: build with SSE2). */

/* pi / 2 in three pieces of at most 29 bits, and log(2) in two of 31 bits. Their products with a
   number of 23 bits are exact. */
#define QNNRT_LLM__HALF_PI_1 1.570796325802803
#define QNNRT_LLM__HALF_PI_2 9.920935739593517e-10
#define QNNRT_LLM__HALF_PI_3 5.721188722588272e-18
#define QNNRT_LLM__LOG_2_1   0.6931471801362932
#define QNNRT_LLM__LOG_2_2   4.2365213637554633e-10

/* Return sin(x + quarters * pi / 2) for |x| up to 1e7, with an error below 1e-15. */
static double qnnrt_llm__math_turn(double x, int64_t quarters)
{
    /* Find the nearest multiple of pi / 2 from eighths of a turn: cut x * (4 / pi), then halve. */
    const int64_t eighths = (int64_t)(x * 1.2732395447351628);
    const int64_t nearest = (eighths + (eighths < 0 ? -1 : 1)) / 2;
    const double k = (double)nearest;
    const double r = x - k * QNNRT_LLM__HALF_PI_1 - k * QNNRT_LLM__HALF_PI_2
                       - k * QNNRT_LLM__HALF_PI_3;
    const double square = r * r;
    const int64_t quarter = (nearest + quarters) & 3;
    double sum = 1.0;
    int n;
    /* Sum the power series from its far end. As |r| < 0.79, the first missing term is < 1e-17. */
    if ((quarter & 1) != 0) {
        for (n = 16; n > 0; n -= 2) sum = 1.0 - square * sum / (double)(n * (n - 1));
    } else {
        for (n = 17; n > 1; n -= 2) sum = 1.0 - square * sum / (double)(n * (n - 1));
        sum *= r;
    }
    return quarter >= 2 ? -sum : sum;
}

static double qnnrt_llm__math_sin(double x) { return qnnrt_llm__math_turn(x, 0); }
static double qnnrt_llm__math_cos(double x) { return qnnrt_llm__math_turn(x, 1); }

/* Return e ^ x with a relative error below 1e-15. x is clamped to -700 ... 700. */
static double qnnrt_llm__math_exp(double x)
{
    double k, r, power, sum = 1.0;
    int64_t n;
    uint64_t bits;
    int i;
    x = x < -700.0 ? -700.0 : x > 700.0 ? 700.0 : x;
    n = (int64_t)(x * 1.4426950408889634);
    k = (double)n;
    r = x - k * QNNRT_LLM__LOG_2_1 - k * QNNRT_LLM__LOG_2_2;
    for (i = 20; i > 1; --i) sum = 1.0 + r * sum / (double)i;
    sum = 1.0 + (r + r) * sum / 2.0;
    bits = (uint64_t)(n + 1023) << 52;      /* 2 ^ n */
    memcpy(&power, &bits, sizeof power);
    return power * sum;
}

/* Return the natural logarithm of a normal number above 0. */
static double qnnrt_llm__math_log(double x)
{
    double m, s, square, sum = 1.0, k;
    uint64_t bits;
    int n;
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
    for (n = 23; n > 1; n -= 2) sum = 1.0 + square * sum * (double)(n - 2) / (double)n;
    s = (m - 1.0) * sum / ((m + 1.0) / 2.0);
    return (s + k * QNNRT_LLM__LOG_2_2) + k * QNNRT_LLM__LOG_2_1;
}

/* =====================================================================================
   ROTARY POSITIONS                                                               >>rope
   Tables of cos and sin by position, in the type of the tensors that take them.
   Needs: >>config >>math     Knows nothing of: graphs, caches
   ===================================================================================== */

/* The largest angle that >>math computes exactly. */
#define QNNRT_LLM__ROPE_ANGLE 1e7

static const char *const qnnrt_llm__rope_words[] = { "plain", "linear", "llama3" };
static const char *const qnnrt_llm__rope_pair_words[] = { "unknown", "half", "interleaved" };

/* Return the factor from a position to angle i of n. */
static double qnnrt_llm__rope_frequency(const qnnrt_llm_rope *rope, uint32_t i, uint32_t n)
{
    const double f = qnnrt_llm__math_exp(-(double)i / (double)n * qnnrt_llm__math_log(rope->theta));
    double turns, smooth, width;
    if (rope->scaling == QNNRT_LLM_ROPE_PLAIN) return f;
    if (rope->scaling == QNNRT_LLM_ROPE_LINEAR) return f / rope->factor;
    /* Full turns within the context that the model was first trained with. */
    turns = (double)rope->original_context * f / 6.283185307179586;
    if (turns >= rope->high_frequency) return f;
    if (turns <= rope->low_frequency) return f / rope->factor;
    width  = rope->high_frequency - rope->low_frequency;
    smooth = turns - rope->low_frequency;
    return f * (width - smooth) / width / rope->factor + f * smooth / width;
}

/* Fill in the defaults and check all fields. Return `wrong` for a bad one; the text names
   `source`. */
static qnnrt_result qnnrt_llm__rope_resolve(qnnrt_llm_rope *rope, const char *source,
                                            qnnrt_result wrong, qnnrt_error *err)
{
    const int llama3 = rope->scaling == QNNRT_LLM_ROPE_LLAMA3;
    if (rope->theta == 0) rope->theta = 10000.0;
    if (rope->factor == 0) rope->factor = llama3 ? 8.0 : 1.0;
    if (rope->low_frequency == 0) rope->low_frequency = 1.0;
    if (rope->high_frequency == 0) rope->high_frequency = 4.0;
    if (rope->original_context == 0) rope->original_context = 8192;
    /* These conditions refuse a NaN too. */
    if ((int)rope->scaling < 0 || (int)rope->scaling > (int)QNNRT_LLM_ROPE_LLAMA3)
        return qnnrt_error_set(err, wrong, "%s: rope.scaling is %d, expected 0 to %d", source,
                               (int)rope->scaling, (int)QNNRT_LLM_ROPE_LLAMA3);
    if (!(rope->theta >= 1.0 && rope->theta <= 1e30))
        return qnnrt_error_set(err, wrong, "%s: rope.theta is %g, expected 1 to 1e30", source,
                               rope->theta);
    if (rope->scaling != QNNRT_LLM_ROPE_PLAIN && !(rope->factor >= 1e-6 && rope->factor <= 1e6))
        return qnnrt_error_set(err, wrong, "%s: rope.factor is %g, expected 1e-6 to 1e6", source,
                               rope->factor);
    if (llama3 && !(rope->low_frequency > 0 && rope->high_frequency > rope->low_frequency &&
                    rope->high_frequency <= 1e30))
        return qnnrt_error_set(err, wrong, "%s: rope.low_frequency is %g and rope.high_frequency "
                               "is %g, expected 0 < low < high <= 1e30", source,
                               rope->low_frequency, rope->high_frequency);
    return QNNRT_OK;
}

/* Make a table of cos (sine: sin) for positions 0 ... positions - 1, as `tensor` stores values.

   width     values of a row: the tensor's last dimension
   angles    different angles of a row: width, or width / 2 if the row holds each angle twice
   out       receives [positions][width] elements; free with qnnrt_hooks_free()

   Returns   QNNRT_OK; QNNRT_E_ARG (invalid rope or sizes); QNNRT_E_LIMIT (angles too large to be
             exact); QNNRT_E_UNSUPPORTED (how the tensor stores values); QNNRT_E_MEMORY */
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
    qnnrt_result result = qnnrt_llm__rope_resolve(&rope, "the caller", QNNRT_E_ARG, err);
    uint32_t i, row;

    *out = NULL;
    if (result != QNNRT_OK) return result;
    if (angles == 0 || positions == 0 || (width != angles && width != (uint64_t)angles * 2))
        return qnnrt_error_set(err, QNNRT_E_ARG, "tensor \"%s\" has %u values in a row, expected "
                               "%u or %u for %u angles (%u positions)", tensor->name, width, angles,
                               angles * 2, angles, positions);
    element = tensor->count != 0 ? tensor->bytes / tensor->count : 0;
    if (element == 0 || element > 8 || tensor->bytes != element * tensor->count ||
        (tensor->quant.encoding != QNNRT_ENCODING_NONE &&
         tensor->quant.encoding != QNNRT_ENCODING_PER_TENSOR))
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": cannot store cos and sin "
                               "as %s in this encoding", tensor->name,
                               qnnrt_dtype_name(tensor->dtype));

    /* Convert a few thousand values at a time. */
    rows = width < 4096 ? 4096 / width : 1;
    if (rows > positions) rows = positions;
    frequencies = (double *)qnnrt_hooks_alloc(hooks, angles, sizeof *frequencies);
    values = (float *)qnnrt_hooks_alloc(hooks, (uint64_t)rows * width, sizeof *values);
    table = (unsigned char *)qnnrt_hooks_alloc(hooks, (uint64_t)positions * width, (size_t)element);
    if (frequencies == NULL || values == NULL || table == NULL) {
        result = qnnrt_llm__fail_memory(err, "tables of cos and sin");
        goto done;
    }
    for (i = 0; i < angles; ++i) {
        frequencies[i] = qnnrt_llm__rope_frequency(&rope, i, angles);
        if (frequencies[i] * (double)(positions - 1) > QNNRT_LLM__ROPE_ANGLE) {
            result = qnnrt_error_set(err, QNNRT_E_LIMIT, "tensor \"%s\": the angle of position %u "
                                     "is above %g", tensor->name, positions - 1,
                                     QNNRT_LLM__ROPE_ANGLE);
            goto done;
        }
    }
    piece.rank = 2;
    piece.dims = dims;
    piece.dynamic_dims = NULL;
    dims[1] = width;
    for (done = 0; done < positions; done += rows) {
        if (rows > positions - done) rows = positions - done;
        for (row = 0; row < rows; ++row) {
            float *to = values + (size_t)row * width;
            for (i = 0; i < angles; ++i) {
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
            qnnrt_error_set(err, result, "tensor \"%s\": cannot store cos and sin as %s",
                            tensor->name, qnnrt_dtype_name(tensor->dtype));
            goto done;
        }
    }
    *out = table;
    table = NULL;
done:
    qnnrt_hooks_free(hooks, table);
    qnnrt_hooks_free(hooks, values);
    qnnrt_hooks_free(hooks, frequencies);
    return result;
}

/* =====================================================================================
   NAMES                                                                         >>names
   Patterns of the names that exporters give to tensors of a language model.
   Needs: >>config     Knows nothing of: shapes, JSON
   ===================================================================================== */

enum { QNNRT_LLM__IN = 1, QNNRT_LLM__OUT = 2, QNNRT_LLM__INOUT = 3 };

enum {
    QNNRT_LLM__NAMED = 0,       /* the name gives role, layer and head */
    QNNRT_LLM__ARGS,            /* a cache input; <j> gives layer and head, see >>order */
    QNNRT_LLM__ORDERED          /* a cache output; the order of <o> gives layer and head */
};

typedef struct qnnrt_llm__names_found {
    qnnrt_llm_role role;        /* UNKNOWN: no pattern matches */
    int            how;
    uint32_t       layer, head;
    uint32_t       place;       /* <i> */
    uint32_t       number;      /* <j> or <o> */
    const char    *reason;
} qnnrt_llm__names_found;

/* In a pattern <l> is a layer, <h> a head, <i> the number of an input, <j> the number of an
   argument, <n> any number, <o> an underscore and a number, or nothing (0), <k> an underscore or @
   and a number, and * any text. The first pattern that matches is used. The pattern begins at the
   7th byte of a text; the whole text is the reason that qnnrt_llm_tensor_info shows. */
static const struct qnnrt_llm__names_pattern {
    int            ends;        /* QNNRT_LLM__IN, OUT or INOUT */
    qnnrt_llm_role role;
    int            how;
    const char    *text;
} qnnrt_llm__names_table[] = {
#define QNNRT_LLM_X(ends, role, how, pattern) \
    { QNNRT_LLM__##ends, QNNRT_LLM_ROLE_##role, QNNRT_LLM__##how, "named " pattern },
    /* Qualcomm's hub and Genie */
    QNNRT_LLM_X(IN,    TOKENS,      NAMED, "input_ids")
    QNNRT_LLM_X(IN,    POSITIONS,   NAMED, "position_ids")
    QNNRT_LLM_X(IN,    ROPE_COS,    NAMED, "position_ids_cos")
    QNNRT_LLM_X(IN,    ROPE_SIN,    NAMED, "position_ids_sin")
    QNNRT_LLM_X(IN,    MASK,        NAMED, "attention_mask")
    QNNRT_LLM_X(IN,    TOKEN_TYPES, NAMED, "token_type_ids")
    QNNRT_LLM_X(IN,    MASK,        NAMED, "attention_bias")
    QNNRT_LLM_X(IN,    KEY_IN,      NAMED, "past_key_<l>_in")
    QNNRT_LLM_X(IN,    VALUE_IN,    NAMED, "past_value_<l>_in")
    QNNRT_LLM_X(OUT,   KEY_OUT,     NAMED, "past_key_<l>_out")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   NAMED, "past_value_<l>_out")
    QNNRT_LLM_X(IN,    KEY_IN,      NAMED, "past_key_<l>_h<h>_in")
    QNNRT_LLM_X(IN,    VALUE_IN,    NAMED, "past_value_<l>_h<h>_in")
    QNNRT_LLM_X(OUT,   KEY_OUT,     NAMED, "past_key_<l>_h<h>_out")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   NAMED, "past_value_<l>_h<h>_out")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_embed_tokens_Gather_output_<n>")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_model_embed_tokens_Gather_output_<n>")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_layers_<n>_Add_<n>_output_<n>")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_layers_<n>_Add_<n>_Add_output_<n>")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_model_layers_<n>_Add_<n>_output_<n>")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "_model_model_layers_<n>_Add_<n>_Add_output_<n>")
    QNNRT_LLM_X(IN,    HIDDEN,      NAMED, "inputs_embeds")
    QNNRT_LLM_X(IN,    HIDDEN,      NAMED, "input_embeds")
    QNNRT_LLM_X(INOUT, HIDDEN,      NAMED, "hidden_states")
    QNNRT_LLM_X(OUT,   LOGITS,      NAMED, "logits")
    QNNRT_LLM_X(OUT,   LAST_HIDDEN, NAMED, "last_hidden_state")
    QNNRT_LLM_X(OUT,   LAST_HIDDEN, NAMED, "token_embeddings")
    /* mllm */
    QNNRT_LLM_X(IN,    KEY_IN,      NAMED, "past_key_<l>")
    QNNRT_LLM_X(IN,    VALUE_IN,    NAMED, "past_value_<l>")
    QNNRT_LLM_X(OUT,   KEY_OUT,     NAMED, "present_key_<l>")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   NAMED, "present_value_<l>")
    /* ONNX Runtime; converters replace dots by underscores */
    QNNRT_LLM_X(IN,    KEY_IN,      NAMED, "past_key_values_<l>_key")
    QNNRT_LLM_X(IN,    VALUE_IN,    NAMED, "past_key_values_<l>_value")
    QNNRT_LLM_X(OUT,   KEY_OUT,     NAMED, "present_<l>_key")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   NAMED, "present_<l>_value")
    QNNRT_LLM_X(IN,    KEY_IN,      NAMED, "past_key_values.<l>.key")
    QNNRT_LLM_X(IN,    VALUE_IN,    NAMED, "past_key_values.<l>.value")
    QNNRT_LLM_X(OUT,   KEY_OUT,     NAMED, "present.<l>.key")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   NAMED, "present.<l>.value")
    /* ExecuTorch */
    QNNRT_LLM_X(IN,    TOKENS,      NAMED, "input_<i>_tokens<k>")
    QNNRT_LLM_X(IN,    POSITIONS,   NAMED, "input_<i>_input_pos<k>")
    QNNRT_LLM_X(IN,    WINDOW_MASK, NAMED, "*window*mask*")
    QNNRT_LLM_X(IN,    MASK,        NAMED, "*atten_mask*")
    QNNRT_LLM_X(IN,    KEY_IN,      ARGS,  "input_<i>_args_<j><k>")
    QNNRT_LLM_X(IN,    HIDDEN,      NAMED, "*fallback*")
    QNNRT_LLM_X(IN,    ROPE_COS,    NAMED, "input_<i>_aten_view_copy_default<k>")
    QNNRT_LLM_X(IN,    ROPE_SIN,    NAMED, "input_<i>_aten_view_copy_default_1<k>")
    QNNRT_LLM_X(IN,    ROPE_COS,    NAMED, "input_<i>_aten_select_copy_int<k>")
    QNNRT_LLM_X(IN,    ROPE_SIN,    NAMED, "input_<i>_aten_select_copy_int_1<k>")
    QNNRT_LLM_X(OUT,   ROPE_COS,    NAMED,
                "output_quantized_decomposed_dequantize_per_tensor_tensor<k>")
    QNNRT_LLM_X(OUT,   ROPE_SIN,    NAMED,
                "output_quantized_decomposed_dequantize_per_tensor_tensor_1<k>")
    QNNRT_LLM_X(OUT,   KEY_OUT,     ORDERED, "output_aten_permute_copy_default<o><k>")
    QNNRT_LLM_X(OUT,   VALUE_OUT,   ORDERED, "output_aten_view_copy_default<o><k>")
    QNNRT_LLM_X(OUT,   HIDDEN,      NAMED, "output_aten_add_tensor<o><k>")
    QNNRT_LLM_X(OUT,   LOGITS,      NAMED, "output_aten_squeeze_copy_dims<o><k>")
#undef QNNRT_LLM_X
};

/* Read digits as a number of 32 bits and step over them. Return 0 if there are none or too many. */
static int qnnrt_llm__names_number(const char **text, uint32_t *out)
{
    uint64_t value = 0;
    const char *at = *text;
    while (*at >= '0' && *at <= '9' && value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*at++ - '0');
    if (at == *text || value > UINT32_MAX) return 0;
    *out = (uint32_t)value;
    *text = at;
    return 1;
}

/* Return 1 if a name matches, 0 if not, and -1 if it would not match either when an earlier * took
   more of it: so each * looks at every byte once. Calls itself for each * and <o> of a pattern. */
static int qnnrt_llm__names_match(const char *pattern, const char *name,
                                  qnnrt_llm__names_found *found)
{
    for (; *pattern != '\0'; ++pattern) {
        uint32_t number;
        const char *from = name;
        QNNRT_LLM__STEP();
        if (*pattern == '*') {
            for (;; ++name) {
                const int match = qnnrt_llm__names_match(pattern + 1, name, found);
                if (match != 0) return match;
                if (*name == '\0') return -1;
            }
        }
        if (*pattern != '<') {
            if (*name++ != *pattern) return 0;
            continue;
        }
        if (pattern[1] == 'o') {
            found->number = 0;
            if (*from++ == '_' && qnnrt_llm__names_number(&from, &number) &&
                qnnrt_llm__names_match(pattern + 3, from, found) > 0) {
                found->number = number;
                return 1;
            }
        } else {
            if (pattern[1] == 'k' && *name != '_' && *name != '@') return 0;
            if (pattern[1] == 'k') ++name;
            if (!qnnrt_llm__names_number(&name, &number)) return 0;
            if (pattern[1] == 'l') found->layer = number;
            if (pattern[1] == 'h') found->head = number;
            if (pattern[1] == 'i') found->place = number;
            if (pattern[1] == 'j') found->number = number;
        }
        pattern += 2;
    }
    return *name == '\0';
}

/* Find the first pattern that matches a name. */
static void qnnrt_llm__names_find(const char *name, int output, qnnrt_llm__names_found *found)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_llm__names_table / sizeof qnnrt_llm__names_table[0]; ++i) {
        const struct qnnrt_llm__names_pattern *pattern = &qnnrt_llm__names_table[i];
        memset(found, 0, sizeof *found);
        if (!(pattern->ends & (output ? QNNRT_LLM__OUT : QNNRT_LLM__IN)) ||
            qnnrt_llm__names_match(pattern->text + 6, name, found) <= 0) continue;
        found->role = pattern->role;
        found->how = pattern->how;
        found->reason = pattern->text;
        return;
    }
    memset(found, 0, sizeof *found);
}

/* =====================================================================================
   SETTINGS                                                                   >>settings
   Reads qnnrt.json and genie_config.json: role table, RoPE, bos and eos, window.
   Needs: >>config >>shape >>rope >>names     Knows nothing of: graphs, tensors
   ===================================================================================== */

typedef struct qnnrt_llm__settings {            /* of one file */
    qnnrt_llm_role_desc *roles;                 /* in the order of the file */
    size_t               role_count, role_room;
    qnnrt_llm_rope       rope;                  /* theta 0: not in the file */
    char                 rope_type[64];         /* an unknown type of Genie, or empty */
    int32_t             *eos;
    size_t               eos_count, eos_room;
    int32_t              bos;                   /* -1: none, or not in the file */
    uint32_t             window;                /* 0: not in the file */
} qnnrt_llm__settings;

typedef struct qnnrt_llm__settings_reader {
    qnnrt_json_reader    json;
    const char          *file;                  /* for messages */
    int                  genie;                 /* 1: genie_config.json, with other members too */
    qnnrt_arena         *arena;                 /* owns the settings */
    qnnrt_llm__settings *settings;
    qnnrt_error         *err;
    uint32_t             seen;                  /* bit k: member k of the table below */
    qnnrt_llm_rope       backend;               /* of Genie's backend, where older files have it;
                                                   used if the model has none */
    qnnrt_llm_rope      *rope;                  /* the rope that is being read */
} qnnrt_llm__settings_reader;

enum { QNNRT_LLM__SETTINGS_BYTES = 16777216, QNNRT_LLM__SETTINGS_EOS = 4096 };

/* Objects in the files. */
enum {
    QNNRT_LLM__AT_OWN, QNNRT_LLM__AT_LLM, QNNRT_LLM__AT_ROLES, QNNRT_LLM__AT_ROPE,
    QNNRT_LLM__AT_GENIE, QNNRT_LLM__AT_DIALOG, QNNRT_LLM__AT_CONTEXT, QNNRT_LLM__AT_ENGINE,
    QNNRT_LLM__AT_MODEL, QNNRT_LLM__AT_ENCODING, QNNRT_LLM__AT_BACKEND, QNNRT_LLM__AT_HTP,
    QNNRT_LLM__AT_GENIE_SCALING,
    /* Values in these objects. */
    QNNRT_LLM__AT_BOS, QNNRT_LLM__AT_EOS, QNNRT_LLM__AT_WINDOW, QNNRT_LLM__AT_THETA,
    QNNRT_LLM__AT_SCALING, QNNRT_LLM__AT_FACTOR, QNNRT_LLM__AT_LOW, QNNRT_LLM__AT_HIGH,
    QNNRT_LLM__AT_ORIGINAL, QNNRT_LLM__AT_PAIRS
};

static const struct qnnrt_llm__settings_member { int in; const char *key; int is; }
qnnrt_llm__settings_members[] = {
#define QNNRT_LLM_X(in, key, is) { QNNRT_LLM__AT_##in, key, QNNRT_LLM__AT_##is },
    QNNRT_LLM_X(OWN,           "llm",                              LLM)
    QNNRT_LLM_X(LLM,           "roles",                            ROLES)
    QNNRT_LLM_X(LLM,           "rope",                             ROPE)
    QNNRT_LLM_X(LLM,           "bos",                              BOS)
    QNNRT_LLM_X(LLM,           "eos",                              EOS)
    QNNRT_LLM_X(LLM,           "window",                           WINDOW)
    QNNRT_LLM_X(ROPE,          "theta",                            THETA)
    QNNRT_LLM_X(ROPE,          "scaling",                          SCALING)
    QNNRT_LLM_X(ROPE,          "factor",                           FACTOR)
    QNNRT_LLM_X(ROPE,          "low_frequency",                    LOW)
    QNNRT_LLM_X(ROPE,          "high_frequency",                   HIGH)
    QNNRT_LLM_X(ROPE,          "original_context",                 ORIGINAL)
    QNNRT_LLM_X(ROPE,          "pairs",                            PAIRS)
    QNNRT_LLM_X(GENIE,         "dialog",                           DIALOG)
    QNNRT_LLM_X(DIALOG,        "context",                          CONTEXT)
    QNNRT_LLM_X(CONTEXT,       "bos-token",                        BOS)
    QNNRT_LLM_X(CONTEXT,       "eos-token",                        EOS)
    QNNRT_LLM_X(DIALOG,        "engine",                           ENGINE)
    QNNRT_LLM_X(ENGINE,        "model",                            MODEL)
    QNNRT_LLM_X(MODEL,         "positional-encoding",              ENCODING)
    QNNRT_LLM_X(ENCODING,      "rope-theta",                       THETA)
    QNNRT_LLM_X(ENCODING,      "rope-scaling",                     GENIE_SCALING)
    QNNRT_LLM_X(ENGINE,        "backend",                          BACKEND)
    QNNRT_LLM_X(BACKEND,       "QnnHtp",                           HTP)
    QNNRT_LLM_X(HTP,           "rope-theta",                       THETA)
    QNNRT_LLM_X(HTP,           "rope-scaling",                     GENIE_SCALING)
    QNNRT_LLM_X(GENIE_SCALING, "rope-type",                        SCALING)
    QNNRT_LLM_X(GENIE_SCALING, "factor",                           FACTOR)
    QNNRT_LLM_X(GENIE_SCALING, "low-freq-factor",                  LOW)
    QNNRT_LLM_X(GENIE_SCALING, "high-freq-factor",                 HIGH)
    QNNRT_LLM_X(GENIE_SCALING, "original-max-position-embeddings", ORIGINAL)
#undef QNNRT_LLM_X
};

enum { QNNRT_LLM__SETTINGS_MEMBERS = sizeof qnnrt_llm__settings_members /
                                     sizeof qnnrt_llm__settings_members[0] };

/* Fail at the value that was read last, or with the reader's own error. */
static qnnrt_result qnnrt_llm__settings_wrong(qnnrt_llm__settings_reader *r, const char *what)
{
    char name[80];
    if (r->json.error != NULL)
        return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: byte %llu: %s", r->file,
                               (unsigned long long)r->json.error_at, r->json.error);
    snprintf(name, sizeof name, "%.*s", (int)(r->json.key.bytes < 70 ? r->json.key.bytes : 70),
             r->json.key.text != NULL ? r->json.key.text : "");
    return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: \"%s\": %s", r->file, name, what);
}

/* Read a number above 0. */
static qnnrt_result qnnrt_llm__settings_real(qnnrt_llm__settings_reader *r, double *out)
{
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_NUMBER ||
        !qnnrt_json_f64(&r->json.value, out) || !(*out > 0))
        return qnnrt_llm__settings_wrong(r, "expected a number above 0");
    return QNNRT_OK;
}

/* Read a whole number above 0. */
static qnnrt_result qnnrt_llm__settings_count(qnnrt_llm__settings_reader *r, uint32_t *out)
{
    uint64_t value;
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_NUMBER ||
        !qnnrt_json_u64(&r->json.value, &value) || value == 0 || value > INT32_MAX)
        return qnnrt_llm__settings_wrong(r, "expected a whole number from 1 to 2147483647");
    *out = (uint32_t)value;
    return QNNRT_OK;
}

/* Store the value that was read as a token; -1 means no token. */
static qnnrt_result qnnrt_llm__settings_token(qnnrt_llm__settings_reader *r, int32_t *out)
{
    int64_t value;
    if (r->json.type != QNNRT_JSON_NUMBER || !qnnrt_json_i64(&r->json.value, &value) ||
        value < -1 || value > INT32_MAX)
        return qnnrt_llm__settings_wrong(r, "expected a token: a whole number, or -1 for none");
    *out = (int32_t)value;
    return QNNRT_OK;
}

/* Read a token or a list of tokens. */
static qnnrt_result qnnrt_llm__settings_eos(qnnrt_llm__settings_reader *r)
{
    qnnrt_llm__settings *s = r->settings;
    const int list = qnnrt_json_value(&r->json) == QNNRT_JSON_ARRAY;
    while (!list || qnnrt_json_more(&r->json)) {
        int32_t token = -1, *eos;
        qnnrt_result result;
        if (list) qnnrt_json_value(&r->json);
        result = qnnrt_llm__settings_token(r, &token);
        if (result != QNNRT_OK) return result;
        if (token >= 0) {
            if (s->eos_count >= QNNRT_LLM__SETTINGS_EOS)
                return qnnrt_error_set(r->err, QNNRT_E_LIMIT, "%s: more than %d eos tokens",
                                       r->file, (int)QNNRT_LLM__SETTINGS_EOS);
            eos = (int32_t *)qnnrt_arena_more(r->arena, s->eos, s->eos_count, &s->eos_room,
                                              sizeof *eos);
            if (eos == NULL) return qnnrt_llm__fail_memory(r->err, "a model's settings");
            s->eos = eos;
            s->eos[s->eos_count++] = token;
        }
        if (!list) break;
    }
    return QNNRT_OK;
}

/* Read a member of "roles", such as "output_7": "value_out 11 3". */
static qnnrt_result qnnrt_llm__settings_role(qnnrt_llm__settings_reader *r)
{
    qnnrt_llm__settings *s = r->settings;
    qnnrt_llm_role_desc *list;
    qnnrt_json_text key = r->json.key;
    char text[64], *name;
    const char *at = text;
    uint32_t numbers[2] = { 0, 0 };
    int role, count = 0, good;
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_STRING || r->json.value.bytes >= sizeof text)
        return qnnrt_llm__settings_wrong(r, "expected a role, such as \"mask\" or \"key_in 0\"");
    good = qnnrt_json_copy(&r->json.value, text) == strlen(text);
    while (*at != '\0' && *at != ' ') ++at;
    for (role = 1; role <= (int)QNNRT_LLM_ROLE_UNUSED; ++role) {    /* others: pipelines decide */
        const char *known = qnnrt_llm_role_name((qnnrt_llm_role)role);
        if (strlen(known) == (size_t)(at - text) && memcmp(known, text, strlen(known)) == 0) break;
    }
    for (; good && *at == ' ' && count < 2; ++count) {
        ++at;
        good = qnnrt_llm__names_number(&at, &numbers[count]);
    }
    if (!good || *at != '\0' || role > (int)QNNRT_LLM_ROLE_UNUSED ||
        (count > 0) != qnnrt_llm__layered((qnnrt_llm_role)role))
        return qnnrt_error_hint(r->err, qnnrt_llm__settings_wrong(r, "unknown role"),
                                "Use tokens, positions, rope_cos, rope_sin, mask, window_mask, "
                                "hidden, logits or unused; or, with a layer and optionally a head "
                                "as in \"key_in 0\", key_in, key_out, value_in or value_out.");
    list = (qnnrt_llm_role_desc *)qnnrt_arena_more(r->arena, s->roles, s->role_count,
                                                   &s->role_room, sizeof *list);
    name = (char *)qnnrt_arena_get(r->arena, (uint64_t)key.bytes + 1, 1);
    if (list == NULL || name == NULL) return qnnrt_llm__fail_memory(r->err, "a model's settings");
    s->roles = list;
    if (qnnrt_json_copy(&key, name) != strlen(name))
        return qnnrt_llm__settings_wrong(r, "the name contains a NUL");
    list += s->role_count++;
    list->tensor = name;
    list->role = (qnnrt_llm_role)role;
    list->layer = numbers[0];
    list->head = numbers[1];
    return QNNRT_OK;
}

/* Read a type of RoPE scaling. Genie says "default" for "plain"; unknown types of Genie are
   kept. */
static qnnrt_result qnnrt_llm__settings_scaling(qnnrt_llm__settings_reader *r)
{
    const qnnrt_json_text *word = &r->json.value;
    int i;
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_STRING)
        return qnnrt_llm__settings_wrong(r, "expected a string");
    for (i = 0; i <= (int)QNNRT_LLM_ROPE_LLAMA3; ++i)
        if (qnnrt_json_is(word, r->genie && i == 0 ? "default" : qnnrt_llm__rope_words[i])) {
            r->rope->scaling = (qnnrt_llm_rope_scaling)i;
            return QNNRT_OK;
        }
    if (!r->genie)
        return qnnrt_llm__settings_wrong(r, "expected \"plain\", \"linear\" or \"llama3\"");
    if (word->bytes >= sizeof r->settings->rope_type)
        return qnnrt_llm__settings_wrong(r, "the string is too long");
    qnnrt_json_copy(word, r->settings->rope_type);      /* refused if this rope is used */
    return QNNRT_OK;
}

/* Read which values RoPE rotates together. */
static qnnrt_result qnnrt_llm__settings_pairs(qnnrt_llm__settings_reader *r)
{
    int i;
    if (qnnrt_json_value(&r->json) == QNNRT_JSON_STRING)
        for (i = 1; i <= (int)QNNRT_LLM_ROPE_INTERLEAVED; ++i)
            if (qnnrt_json_is(&r->json.value, qnnrt_llm__rope_pair_words[i])) {
                r->rope->pairs = (qnnrt_llm_rope_pairs)i;
                return QNNRT_OK;
            }
    return qnnrt_llm__settings_wrong(r, "expected \"half\" or \"interleaved\"");
}

/* Read the value of a known member. */
static qnnrt_result qnnrt_llm__settings_value(qnnrt_llm__settings_reader *r, int what)
{
    qnnrt_llm_rope *rope = r->rope;
    switch (what) {
    case QNNRT_LLM__AT_BOS:
        qnnrt_json_value(&r->json);
        return qnnrt_llm__settings_token(r, &r->settings->bos);
    case QNNRT_LLM__AT_EOS:      return qnnrt_llm__settings_eos(r);
    case QNNRT_LLM__AT_WINDOW:   return qnnrt_llm__settings_count(r, &r->settings->window);
    case QNNRT_LLM__AT_THETA:    return qnnrt_llm__settings_real(r, &rope->theta);
    case QNNRT_LLM__AT_SCALING:  return qnnrt_llm__settings_scaling(r);
    case QNNRT_LLM__AT_PAIRS:    return qnnrt_llm__settings_pairs(r);
    case QNNRT_LLM__AT_FACTOR:   return qnnrt_llm__settings_real(r, &rope->factor);
    case QNNRT_LLM__AT_LOW:      return qnnrt_llm__settings_real(r, &rope->low_frequency);
    case QNNRT_LLM__AT_HIGH:     return qnnrt_llm__settings_real(r, &rope->high_frequency);
    case QNNRT_LLM__AT_ORIGINAL: return qnnrt_llm__settings_count(r, &rope->original_context);
    default: qnnrt_json_skip(&r->json); return QNNRT_OK;
    }
}

/* Read an object. It calls itself for objects inside, at most seven deep. Unknown members are an
   error in the object "llm" of qnnrt.json, and skipped in a genie_config.json; so is a list of
   engines (a target and its draft), which does not belong to one model. */
static qnnrt_result qnnrt_llm__settings_object(qnnrt_llm__settings_reader *r, int in)
{
    const struct qnnrt_llm__settings_member *members = qnnrt_llm__settings_members;
    qnnrt_result result = QNNRT_OK;
    if (in == QNNRT_LLM__AT_ENCODING) r->rope = &r->settings->rope;
    if (in == QNNRT_LLM__AT_HTP) r->rope = &r->backend;
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_OBJECT) {
        if (!r->genie) return qnnrt_llm__settings_wrong(r, "expected an object");
        qnnrt_json_skip(&r->json);
        return QNNRT_OK;
    }
    while (result == QNNRT_OK && qnnrt_json_more(&r->json)) {
        int k = 0;
        if (in == QNNRT_LLM__AT_ROLES) {
            result = qnnrt_llm__settings_role(r);
            continue;
        }
        while (k < QNNRT_LLM__SETTINGS_MEMBERS &&
               (members[k].in != in || !qnnrt_json_is(&r->json.key, members[k].key))) ++k;
        if (k == QNNRT_LLM__SETTINGS_MEMBERS) {
            if (in == QNNRT_LLM__AT_LLM || in == QNNRT_LLM__AT_ROPE)
                return qnnrt_error_hint(r->err, qnnrt_llm__settings_wrong(r, "unknown member"),
                                        "%s", in == QNNRT_LLM__AT_LLM ? "Use roles, rope, bos, eos "
                                        "and window in \"llm\"." : "Use theta, scaling, factor, "
                                        "low_frequency, high_frequency, original_context and pairs "
                                        "in \"rope\".");
            qnnrt_json_skip(&r->json);
            continue;
        }
        if (!r->genie && (r->seen >> k & 1) != 0)
            return qnnrt_llm__settings_wrong(r, "this member occurs twice");
        r->seen |= (uint32_t)1 << k;
        result = members[k].is < QNNRT_LLM__AT_BOS
                     ? qnnrt_llm__settings_object(r, members[k].is)
                     : qnnrt_llm__settings_value(r, members[k].is);
    }
    if (in == QNNRT_LLM__AT_ROPE && result == QNNRT_OK && r->json.error == NULL &&
        r->settings->rope.theta == 0 &&
        (r->settings->rope.pairs == QNNRT_LLM_ROPE_UNKNOWN ||
         r->settings->rope.scaling != QNNRT_LLM_ROPE_PLAIN || r->settings->rope.factor != 0 ||
         r->settings->rope.low_frequency != 0 || r->settings->rope.high_frequency != 0 ||
         r->settings->rope.original_context != 0))
        result = qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: \"rope\" lacks \"theta\"", r->file);
    return result;
}

/* Read the text of a file. */
static qnnrt_result qnnrt_llm__settings_text(qnnrt_llm__settings_reader *r,
                                             qnnrt_llm__settings *out, int genie, const char *text,
                                             size_t bytes)
{
    qnnrt_result result;
    r->settings = out;
    r->genie = genie;
    r->file = genie ? "genie_config.json" : "qnnrt.json";
    r->seen = 0;
    r->rope = &out->rope;
    memset(&r->backend, 0, sizeof r->backend);
    qnnrt_json_begin(&r->json, text, bytes, NULL);
    result = qnnrt_llm__settings_object(r, genie ? QNNRT_LLM__AT_GENIE : QNNRT_LLM__AT_OWN);
    if (genie && !(out->rope.theta > 0)) out->rope = r->backend;
    if (result == QNNRT_OK && !qnnrt_json_end(&r->json))
        result = qnnrt_llm__settings_wrong(r, "text after the end of the document");
    return result;
}

/* Read a file of the folder if it exists. */
static qnnrt_result qnnrt_llm__settings_file(qnnrt_llm__settings_reader *r,
                                             qnnrt_llm__settings *out, int genie,
                                             const char *folder)
{
    const char *name = genie ? "genie_config.json" : "qnnrt.json";
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = (char *)qnnrt_arena_get(r->arena, room, 1), *text;
    uint64_t bytes, again;
    qnnrt_result result;
    if (path == NULL) return qnnrt_llm__fail_memory(r->err, "a model's settings");
    snprintf(path, room, "%s/%s", folder, name);
    result = qnnrt_file_read(path, NULL, 0, &bytes, r->err);
    if (result == QNNRT_E_NOT_FOUND) {
        qnnrt_error_clear(r->err);
        if (qnnrt_file_read(folder, NULL, 0, &bytes, NULL) != QNNRT_OK) return QNNRT_OK;
        return qnnrt_error_set(r->err, QNNRT_E_IO, "cannot read %s: %s is a file, not a folder",
                               path, folder);
    }
    if (result != QNNRT_OK) return result;
    if (bytes > QNNRT_LLM__SETTINGS_BYTES)
        return qnnrt_error_set(r->err, QNNRT_E_LIMIT, "%s has %llu bytes, more than %d", path,
                               (unsigned long long)bytes, (int)QNNRT_LLM__SETTINGS_BYTES);
    text = (char *)qnnrt_arena_get(r->arena, bytes, 1);
    if (text == NULL) return qnnrt_llm__fail_memory(r->err, "a model's settings");
    result = qnnrt_file_read(path, text, (size_t)bytes, &again, r->err);
    if (result == QNNRT_E_NOT_FOUND || (result == QNNRT_OK && again != bytes))
        return qnnrt_error_set(r->err, QNNRT_E_IO, "%s changed while it was read", path);
    if (result != QNNRT_OK) return result;
    return qnnrt_llm__settings_text(r, out, genie, text, (size_t)bytes);
}

/* Read both files of desc->folder ("": none). own: from qnnrt.json, or from desc->config. */
static qnnrt_result qnnrt_llm__settings_read(const qnnrt_llm_desc *desc, qnnrt_llm__settings *own,
                                             qnnrt_llm__settings *genie, qnnrt_arena *arena,
                                             qnnrt_error *err)
{
    qnnrt_llm__settings_reader r;
    qnnrt_result result = QNNRT_OK;
    memset(&r, 0, sizeof r);
    memset(own, 0, sizeof *own);
    memset(genie, 0, sizeof *genie);
    own->bos = genie->bos = -1;
    r.arena = arena;
    r.err = err;
    if (desc->config != NULL)
        result = qnnrt_llm__settings_text(&r, own, 0, desc->config, desc->config_bytes);
    if (desc->folder[0] == '\0') return result;
    if (desc->config == NULL) result = qnnrt_llm__settings_file(&r, own, 0, desc->folder);
    if (result == QNNRT_OK) result = qnnrt_llm__settings_file(&r, genie, 1, desc->folder);
    return result;
}

/* =====================================================================================
   ITEMS                                                                         >>items
   Tensors of all graphs during the search for their roles: the role that the role table or the name
   gives to a tensor, and the number of tokens per call on which the tensors of a graph agree.
   Needs: >>config >>shape >>settings >>names     Knows nothing of: shapes of caches, wiring
   ===================================================================================== */

/* A key or value of a graph, with both its ends. */
typedef struct qnnrt_llm__items_pair {
    qnnrt_llm_role               role;      /* KEY_IN or VALUE_IN */
    uint32_t                     layer, head;
    const qnnrt_llm_tensor_info *in, *out;  /* either may be NULL */
} qnnrt_llm__items_pair;

/* One tensor of each role in a step. */
typedef struct qnnrt_llm__items_has {
    const qnnrt_llm_tensor_info *of[QNNRT_LLM_ROLE_COUNT][2];      /* [role][output] */
} qnnrt_llm__items_has;

typedef struct qnnrt_llm__items_graph {
    const qnnrt_pipeline   *pipeline;       /* of the model; NULL: joined here */
    qnnrt_pipeline         *made;
    const char             *name;
    const qnnrt_step_info  *steps;
    size_t                  step_count;
    qnnrt_llm_tensor_info  *tensors;        /* [count] shard by shard, inputs before outputs */
    qnnrt_llm__names_found *found;          /* [count] */
    size_t                  count;
    size_t                 *first;          /* [step_count + 1] index of a step's first tensor */
    size_t                 *shard;          /* [step_count] its context; the number of contexts for
                                               a step without one */
    int                     wired;          /* 1: the pipeline's author has wired it */
    qnnrt_llm__items_pair  *pairs;          /* by layer, keys before values, head */
    size_t                  pair_count;
    qnnrt_llm__items_has   *has;            /* [step_count + 1], the last for all steps together;
                                               only >>match uses it */
    uint32_t                ar;
    uint32_t                context;        /* 0: still unknown */
} qnnrt_llm__items_graph;

typedef struct qnnrt_llm__items_entry {     /* a line of a role table */
    const qnnrt_llm_role_desc *line;
    int                        source;      /* 0: the caller, 1: qnnrt.json */
    int                        used;
} qnnrt_llm__items_entry;

typedef struct qnnrt_llm__items {
    qnnrt_llm               *llm;
    const qnnrt_llm_desc    *desc;
    qnnrt_llm__settings      own, genie;
    qnnrt_llm__items_entry  *entries;       /* [table_count] */
    const void             **table;         /* [table_count] entries by name, then source */
    size_t                   table_count;
    qnnrt_llm__items_graph  *graphs;
    size_t                   graph_count;
    size_t                  *before;        /* [model_count] contexts of the models before it */
    size_t                   contexts;      /* of all models */
    size_t                  *readers;       /* [contexts][2] for keys and for values: the first
                                               graph of a context that may read them */
    qnnrt_arena              scratch;
    char                    *address;       /* "<context>/<name>" or "<step>/<name>" */
    size_t                   address_room;
    char                     texts[4][768];
    unsigned                 text;
    qnnrt_error             *err;
} qnnrt_llm__items;

static qnnrt_result qnnrt_llm__items_memory(qnnrt_llm__items *work)
{
    return qnnrt_llm__fail_memory(work->err, "the roles of a model's tensors");
}

/* Take the models, and count their contexts. */
static qnnrt_result qnnrt_llm__items_models(qnnrt_llm__items *work, qnnrt *const *models,
                                            size_t count)
{
    qnnrt_llm *llm = work->llm;
    size_t m;
    llm->models = (qnnrt **)qnnrt_arena_get(&llm->arena, count, sizeof *llm->models);
    work->before = (size_t *)qnnrt_arena_get(&work->scratch, count, sizeof *work->before);
    if (llm->models == NULL || work->before == NULL) return qnnrt_llm__items_memory(work);
    for (m = 0; m < count; ++m) {
        if (models[m] == NULL)
            return qnnrt_error_set(work->err, QNNRT_E_ARG, "qnnrt_llm_open: desc.models[%u] is"
                                   " NULL", (unsigned)m);
        llm->models[m] = models[m];
        work->before[m] = work->contexts;
        work->contexts += qnnrt_get_info(models[m])->context_count;
    }
    llm->model_count = count;
    return QNNRT_OK;
}

/* Return the number of a model. */
static size_t qnnrt_llm__model_at(const qnnrt_llm *llm, const qnnrt *model)
{
    size_t m = 0;
    while (m < llm->model_count && llm->models[m] != model) ++m;
    return m;
}

/* ---- texts ---- */

/* Append a line, which begins with a newline, to an error if there is room for it and for
   "and <n> more". Return 0 if there is not. */
__attribute__((format(printf, 2, 3)))
static int qnnrt_llm__items_add(qnnrt_error *err, const char *format, ...)
{
    enum { MORE = 40 };
    size_t used, room;
    va_list args;
    int need;
    if (err == NULL) return 1;
    used = strlen(err->text);
    if (used + MORE >= sizeof err->text) return 0;
    room = sizeof err->text - MORE - used;
    va_start(args, format);
    need = vsnprintf(err->text + used, room, format, args);
    va_end(args);
    if (need >= 0 && (size_t)need < room) {
        qnnrt_text_clean(err->text + used + (err->text[used] == '\n'));
        return 1;
    }
    err->text[used] = '\0';
    return 0;
}

/* Append "and <n> more" unless nothing is left. */
static void qnnrt_llm__items_more(qnnrt_error *err, size_t left)
{
    if (left > 0) qnnrt_error_add(err, "\n  and %llu more", (unsigned long long)left);
}

/* Write 'forward_1.bin, graph "decode"', the file without its folder, or 'host "embedding"'. */
static const char *qnnrt_llm__items_step(const qnnrt_step_info *step, char *text, size_t room)
{
    const char *file, *slash;
    if (step->kind != QNNRT_STEP_GRAPH) return qnnrt_step_text(step, text, room);
    file = qnnrt_get_info(step->model)->contexts[step->context].file;
    slash = strrchr(file, '/');
    snprintf(text, room, "%.80s, graph \"%.80s\"",
             slash != NULL && slash[1] != '\0' ? slash + 1 : file, step->graph->name);
    return text;
}

/* Return a buffer for a part of a message. It stays valid until this was called three more
   times. */
static char *qnnrt_llm__items_text(qnnrt_llm__items *work)
{
    return work->texts[work->text++ % (sizeof work->texts / sizeof work->texts[0])];
}

/* Return 'input "x" of step 1 (forward_1.bin, graph "decode"), ufixed8[1,4]'. */
static const char *qnnrt_llm__items_say(qnnrt_llm__items *work, const qnnrt_llm__items_graph *graph,
                                        const qnnrt_llm_tensor_info *t)
{
    char facts[256], step[256], *out = qnnrt_llm__items_text(work);
    snprintf(out, sizeof work->texts[0], "%s \"%.100s\" of step %u (%s), %s",
             t->output ? "output" : "input", t->tensor->name, (unsigned)t->step,
             qnnrt_llm__items_step(&graph->steps[t->step], step, sizeof step),
             qnnrt_tensor_text(t->tensor, facts, sizeof facts));
    return out;
}

/* Return "key_in of layer 3, head 1". */
static const char *qnnrt_llm__items_what(qnnrt_llm__items *work, qnnrt_llm_role role,
                                         uint32_t layer, uint32_t head)
{
    const char *name = qnnrt_llm_role_name(role);
    char *out = qnnrt_llm__items_text(work);
    if (!qnnrt_llm__layered(role)) return name;
    snprintf(out, sizeof work->texts[0], head > 0 ? "%s of layer %u, head %u" : "%s of layer %u",
             name, (unsigned)layer, (unsigned)head);
    return out;
}

/* Fill an error about a graph. Its name comes first. */
__attribute__((format(printf, 4, 5)))
static qnnrt_result qnnrt_llm__items_fail(qnnrt_llm__items *work,
                                          const qnnrt_llm__items_graph *graph, qnnrt_result code,
                                          const char *format, ...)
{
    char text[sizeof work->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qnnrt_error_set(work->err, code, "\"%.100s\": %s", graph->name, text);
}

/* Add the general hint for roles that cannot be found. */
static qnnrt_result qnnrt_llm__items_hint(qnnrt_llm__items *work, qnnrt_result result)
{
    return qnnrt_error_hint(work->err, result, "Add a role table, in qnnrt.json {\"llm\": "
                            "{\"roles\": {\"NAME\": \"key_out 0\"}}} or in desc.roles.");
}

/* ---- the role table ---- */

/* Return the ends that a role can have. */
static int qnnrt_llm__items_ends(qnnrt_llm_role role)
{
    switch (role) {
    case QNNRT_LLM_ROLE_TOKENS: case QNNRT_LLM_ROLE_POSITIONS: case QNNRT_LLM_ROLE_MASK:
    case QNNRT_LLM_ROLE_WINDOW_MASK: case QNNRT_LLM_ROLE_KEY_IN: case QNNRT_LLM_ROLE_VALUE_IN:
    case QNNRT_LLM_ROLE_PADDING: case QNNRT_LLM_ROLE_TOKEN_TYPES:
        return QNNRT_LLM__IN;
    case QNNRT_LLM_ROLE_KEY_OUT: case QNNRT_LLM_ROLE_VALUE_OUT: case QNNRT_LLM_ROLE_LOGITS:
    case QNNRT_LLM_ROLE_LAST_HIDDEN: case QNNRT_LLM_ROLE_UNUSED:
        return QNNRT_LLM__OUT;
    case QNNRT_LLM_ROLE_ROPE_COS: case QNNRT_LLM_ROLE_ROPE_SIN: case QNNRT_LLM_ROLE_HIDDEN:
        return QNNRT_LLM__INOUT;
    default: return 0;
    }
}

static qnnrt_llm__items_entry *qnnrt_llm__items_entry_at(const qnnrt_llm__items *work, size_t at)
{
    return &work->entries[(const qnnrt_llm__items_entry *)work->table[at] - work->entries];
}

static int qnnrt_llm__items_entry_order(const void *a, const void *b)
{
    const qnnrt_llm__items_entry *x = (const qnnrt_llm__items_entry *)a;
    const qnnrt_llm__items_entry *y = (const qnnrt_llm__items_entry *)b;
    int order = strcmp(x->line->tensor, y->line->tensor);
    return order != 0 ? order : x->source - y->source;
}

/* Collect and sort the role tables of the caller and of qnnrt.json. */
static qnnrt_result qnnrt_llm__items_table(qnnrt_llm__items *work)
{
    const qnnrt_llm_desc *desc = work->desc;
    size_t i, k, count = desc->role_count + work->own.role_count;
    qnnrt_llm__items_entry *entries =
        (qnnrt_llm__items_entry *)qnnrt_arena_get(&work->scratch, count, sizeof *entries);
    work->entries = entries;
    work->table = (const void **)qnnrt_arena_get(&work->scratch, count, sizeof *work->table);
    if (entries == NULL || work->table == NULL) return qnnrt_llm__items_memory(work);
    work->table_count = count;
    for (i = 0; i < count; ++i) {
        entries[i].source = i >= desc->role_count;
        entries[i].line = entries[i].source ? &work->own.roles[i - desc->role_count]
                                            : &desc->roles[i];
        work->table[i] = &entries[i];
        if (entries[i].line->tensor == NULL || qnnrt_llm__items_ends(entries[i].line->role) == 0)
            return qnnrt_error_set(work->err, QNNRT_E_ARG, "line %llu of the role table lacks a "
                                   "tensor or a role", (unsigned long long)i);
    }
    qnnrt_sort(work->table, count, qnnrt_llm__items_entry_order);
    /* If a name has three lines, two of them are for the same end, so only neighbours are
       compared. */
    for (i = 0; i + 1 < count; ++i)
        for (k = i + 1; k < count && k < i + 3; ++k) {
            const qnnrt_llm__items_entry *a = qnnrt_llm__items_entry_at(work, i);
            const qnnrt_llm__items_entry *b = qnnrt_llm__items_entry_at(work, k);
            if (a->source == b->source && strcmp(a->line->tensor, b->line->tensor) == 0 &&
                (qnnrt_llm__items_ends(a->line->role) & qnnrt_llm__items_ends(b->line->role)))
                return qnnrt_error_set(work->err, a->source ? QNNRT_E_FORMAT : QNNRT_E_ARG,
                                       "the role table%s lists \"%.200s\" twice, as %s and as %s",
                                       a->source ? " of qnnrt.json" : "", a->line->tensor,
                                       qnnrt_llm_role_name(a->line->role),
                                       qnnrt_llm_role_name(b->line->role));
        }
    return QNNRT_OK;
}

/* Find the line of the table for a name. The caller's line comes first. */
static qnnrt_llm__items_entry *qnnrt_llm__items_line(qnnrt_llm__items *work, const char *text,
                                                     int output)
{
    size_t low = 0, high = work->table_count;
    qnnrt_llm__items_entry *found = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        QNNRT_LLM__STEP();
        if (strcmp(qnnrt_llm__items_entry_at(work, middle)->line->tensor, text) < 0)
            low = middle + 1;
        else high = middle;
    }
    for (; low < work->table_count; ++low) {
        qnnrt_llm__items_entry *entry = qnnrt_llm__items_entry_at(work, low);
        QNNRT_LLM__STEP();
        if (strcmp(entry->line->tensor, text) != 0) break;
        if (!(qnnrt_llm__items_ends(entry->line->role) & (output ? QNNRT_LLM__OUT : QNNRT_LLM__IN)))
            continue;
        entry->used = 1;
        if (found == NULL) found = entry;
    }
    return found;
}

/* Refuse lines of the role table that match no tensor. */
static qnnrt_result qnnrt_llm__items_leftover(qnnrt_llm__items *work)
{
    size_t i, listed = 0, left = 0;
    for (i = 0; i < work->table_count; ++i) {
        const qnnrt_llm__items_entry *entry = qnnrt_llm__items_entry_at(work, i);
        if (entry->used) continue;
        if (listed++ == 0)
            qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "the role table lists tensors that the "
                            "model does not have:");
        if (left > 0 || !qnnrt_llm__items_add(work->err, "\n  %s \"%.200s\" as %s%s",
                                              qnnrt_llm__items_ends(entry->line->role) ==
                                                      QNNRT_LLM__IN ? "input" :
                                              qnnrt_llm__items_ends(entry->line->role) ==
                                                      QNNRT_LLM__OUT ? "output" : "tensor",
                                              entry->line->tensor,
                                              qnnrt_llm_role_name(entry->line->role),
                                              entry->source ? ", in qnnrt.json" : "")) ++left;
    }
    qnnrt_llm__items_more(work->err, left);
    return listed > 0 ? QNNRT_E_NOT_FOUND : QNNRT_OK;
}

/* Write the address of a tensor into work->address. Return 0 without memory. */
static int qnnrt_llm__items_address(qnnrt_llm__items *work, size_t number, const char *name)
{
    size_t need = strlen(name) + 24;
    if (need > work->address_room) {
        char *more = (char *)qnnrt_arena_get(&work->scratch, (uint64_t)need * 2, 1);
        if (more == NULL) return 0;
        work->address = more;
        work->address_room = need * 2;
    }
    snprintf(work->address, work->address_room, "%llu/%s", (unsigned long long)number, name);
    return 1;
}

/* Give a tensor the role that the pipeline demands, whatever its name says. */
static void qnnrt_llm__items_settle(qnnrt_llm__items_graph *graph, size_t at, qnnrt_llm_role role,
                                    const char *reason)
{
    qnnrt_llm_tensor_info *t = &graph->tensors[at];
    memset(&graph->found[at], 0, sizeof graph->found[at]);
    t->role = role;
    t->layer = t->head = 0;
    t->reason = reason;
}

/* ---- a tensor by itself: table, then name ---- */

/* Find the role of a tensor from the role table, else from its name. */
static qnnrt_result qnnrt_llm__items_first(qnnrt_llm__items *work, size_t context,
                                           const qnnrt_tensor_info *tensor, int output,
                                           qnnrt_llm__names_found *found)
{
    qnnrt_llm__items_entry *entry = NULL, *plain;
    if (work->table_count > 0) {
        if (!qnnrt_llm__items_address(work, context, tensor->name))
            return qnnrt_llm__items_memory(work);
        entry = qnnrt_llm__items_line(work, work->address, output);
        plain = qnnrt_llm__items_line(work, tensor->name, output);
        if (entry == NULL || (plain != NULL && plain->source < entry->source)) entry = plain;
    }
    if (entry == NULL) {
        qnnrt_llm__names_find(tensor->name, output, found);
        return QNNRT_OK;
    }
    memset(found, 0, sizeof *found);
    found->role = entry->line->role;
    found->layer = entry->line->layer;
    found->head = entry->line->head;
    found->reason = entry->source ? "role table of qnnrt.json" : "role table";
    return QNNRT_OK;
}

/* Mark the tensors whose values come from the pipeline: the ends of edges, and constants. */
static qnnrt_result qnnrt_llm__items_wired(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
    const qnnrt_graph_info *from, *to;
    size_t e, i;
    for (i = 0; i < graph->count; ++i) {
        qnnrt_llm_tensor_info *t = &graph->tensors[i];
        const qnnrt_slot *slot;
        if (t->output) continue;
        if (!qnnrt_llm__items_address(work, t->step, t->tensor->name))
            return qnnrt_llm__items_memory(work);
        if (qnnrt_slot_find(graph->pipeline, work->address, QNNRT_ROLE_CONSTANT, &slot, NULL) ==
            QNNRT_OK)
            qnnrt_llm__items_settle(graph, i, QNNRT_LLM_ROLE_CONSTANT,
                                    "its value was given with the pipeline");
    }
    for (e = 0; e < info->edge_count; ++e) {
        const qnnrt_edge_info *edge = &info->edges[e];
        from = graph->steps[edge->from_step].graph;
        to = graph->steps[edge->to_step].graph;
        qnnrt_llm__items_settle(graph, graph->first[edge->from_step] + from->input_count +
                                           (size_t)(edge->from - from->outputs),
                                QNNRT_LLM_ROLE_EDGE, "the pipeline wires it");
        qnnrt_llm__items_settle(graph, graph->first[edge->to_step] +
                                           (size_t)(edge->to - to->inputs),
                                QNNRT_LLM_ROLE_EDGE, "the pipeline wires it");
    }
    return QNNRT_OK;
}

/* List the tensors of a graph, each with the role that table or name give it. */
static qnnrt_result qnnrt_llm__items_graph_begin(qnnrt_llm__items *work,
                                                 qnnrt_llm__items_graph *graph)
{
    size_t s, i, at = 0;
    graph->count = 0;
    for (s = 0; s < graph->step_count; ++s)
        graph->count += graph->steps[s].graph->input_count + graph->steps[s].graph->output_count;
    graph->tensors = (qnnrt_llm_tensor_info *)qnnrt_arena_get(&work->llm->arena, graph->count,
                                                              sizeof *graph->tensors);
    graph->found = (qnnrt_llm__names_found *)qnnrt_arena_get(&work->scratch, graph->count,
                                                             sizeof *graph->found);
    graph->first =
        (size_t *)qnnrt_arena_get(&work->scratch, graph->step_count + 1, sizeof *graph->first);
    graph->shard =
        (size_t *)qnnrt_arena_get(&work->scratch, graph->step_count, sizeof *graph->shard);
    if (graph->tensors == NULL || graph->found == NULL || graph->first == NULL ||
        graph->shard == NULL)
        return qnnrt_llm__items_memory(work);
    for (s = 0; s < graph->step_count; ++s) {
        const qnnrt_step_info *step = &graph->steps[s];
        const qnnrt_graph_info *g = step->graph;
        graph->first[s] = at;
        graph->shard[s] = work->contexts;
        if (step->kind == QNNRT_STEP_GRAPH)
            graph->shard[s] = work->before[qnnrt_llm__model_at(work->llm, step->model)] +
                              step->context;
        for (i = 0; i < g->input_count + g->output_count; ++i, ++at) {
            qnnrt_llm_tensor_info *t = &graph->tensors[at];
            qnnrt_result result;
            t->output = i >= g->input_count;
            t->tensor = t->output ? &g->outputs[i - g->input_count] : &g->inputs[i];
            t->step = (uint32_t)s;
            result = qnnrt_llm__items_first(work, graph->shard[s], t->tensor, t->output,
                                            &graph->found[at]);
            if (result != QNNRT_OK) return result;
            t->reason = graph->found[at].reason;
            if (graph->found[at].how != QNNRT_LLM__NAMED) continue;
            t->role = graph->found[at].role;
            t->layer = graph->found[at].layer;
            t->head = graph->found[at].head;
        }
    }
    graph->first[s] = at;
    return graph->wired ? qnnrt_llm__items_wired(work, graph) : QNNRT_OK;
}

/* ---- AR and context ---- */

/* Return the tokens per call that a tensor's shape gives, or 0. *context receives the context that
   a mask's shape gives; 0 for other tensors. */
static uint32_t qnnrt_llm__items_ar(const qnnrt_llm_tensor_info *t, uint32_t *context)
{
    const qnnrt_tensor_info *tensor = t->tensor;
    *context = 0;
    switch (t->role) {
    case QNNRT_LLM_ROLE_TOKENS: case QNNRT_LLM_ROLE_POSITIONS: case QNNRT_LLM_ROLE_PADDING:
    case QNNRT_LLM_ROLE_TOKEN_TYPES:
        return tensor->count <= UINT32_MAX ? (uint32_t)tensor->count : 0;
    case QNNRT_LLM_ROLE_MASK: case QNNRT_LLM_ROLE_WINDOW_MASK:
        if (tensor->rank < 2) return 0;
        *context = tensor->dims[tensor->rank - 1];
        return tensor->dims[tensor->rank - 2];
    case QNNRT_LLM_ROLE_HIDDEN: case QNNRT_LLM_ROLE_ROPE_COS: case QNNRT_LLM_ROLE_ROPE_SIN:
    case QNNRT_LLM_ROLE_LAST_HIDDEN:
        return tensor->rank >= 2 ? tensor->dims[tensor->rank - 2] : 0;
    default: return 0;
    }
}

/* Tell the masks of encoders, one number for each token, from those of decoders, which have a row
   for each: they have one name. */
static void qnnrt_llm__items_padding(qnnrt_llm__items_graph *graph)
{
    uint64_t tokens = 0;
    size_t i;
    for (i = 0; i < graph->count; ++i)
        if (graph->tensors[i].role == QNNRT_LLM_ROLE_TOKENS)
            tokens = graph->tensors[i].tensor->count;
    for (i = 0; i < graph->count && tokens > 1; ++i) {
        qnnrt_llm_tensor_info *t = &graph->tensors[i];
        if (t->role != QNNRT_LLM_ROLE_MASK || t->tensor->count != tokens || t->tensor->rank > 2 ||
            t->tensor->rank == 0 || t->tensor->dims[t->tensor->rank - 1] != tokens) continue;
        t->role = QNNRT_LLM_ROLE_PADDING;
        t->reason = "named as a mask, and has one number for each token";
    }
}

/* Set a graph's tokens per call and context. All its tensors must agree on them. */
static qnnrt_result qnnrt_llm__items_measure(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const qnnrt_llm_tensor_info *first = NULL, *mask = NULL;
    size_t i;
    qnnrt_llm__items_padding(graph);
    graph->ar = graph->context = 0;
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        uint32_t context, ar = qnnrt_llm__items_ar(t, &context);
        if ((ar == 0 || context == 0) && (t->role == QNNRT_LLM_ROLE_MASK ||
                                          t->role == QNNRT_LLM_ROLE_WINDOW_MASK))
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED,
                                         "%s: expected a mask of tokens by context",
                                         qnnrt_llm__items_say(work, graph, t));
        if (ar == 0) continue;
        if (first == NULL) { first = t; graph->ar = ar; }
        if (ar != graph->ar)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                         "%s takes %u tokens per call, but %s takes %u",
                                         qnnrt_llm__items_say(work, graph, first),
                                         (unsigned)graph->ar, qnnrt_llm__items_say(work, graph, t),
                                         (unsigned)ar);
        if (context == 0) continue;
        if (mask == NULL) { mask = t; graph->context = context; }
        if (t->tensor->count != (uint64_t)ar * context)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED,
                                         "%s: expected a mask with one row for each token",
                                         qnnrt_llm__items_say(work, graph, t));
        if (context != graph->context)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                         "the masks %s and %s differ in width",
                                         qnnrt_llm__items_say(work, graph, mask),
                                         qnnrt_llm__items_say(work, graph, t));
    }
    if (mask != NULL && graph->context < graph->ar)
        return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                     "%s has a context below its %u tokens per call",
                                     qnnrt_llm__items_say(work, graph, mask), (unsigned)graph->ar);
    return QNNRT_OK;
}

/* ---- comparisons ---- */

/* Return 1 for a role of values. */
static int qnnrt_llm__items_value(qnnrt_llm_role role)
{
    return role == QNNRT_LLM_ROLE_VALUE_IN || role == QNNRT_LLM_ROLE_VALUE_OUT;
}

/* Return the pair of a role, with both ends empty. */
static qnnrt_llm__items_pair qnnrt_llm__items_pair_of(qnnrt_llm_role role, uint32_t layer,
                                                      uint32_t head)
{
    qnnrt_llm__items_pair pair;
    pair.role = qnnrt_llm__items_value(role) ? QNNRT_LLM_ROLE_VALUE_IN : QNNRT_LLM_ROLE_KEY_IN;
    pair.layer = layer;
    pair.head = head;
    pair.in = pair.out = NULL;
    return pair;
}

/* Compare pairs by layer, keys before values, then head. */
static int qnnrt_llm__items_pair_order(const qnnrt_llm__items_pair *a,
                                       const qnnrt_llm__items_pair *b)
{
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    if (a->role != b->role) return a->role == QNNRT_LLM_ROLE_KEY_IN ? -1 : 1;
    return a->head < b->head ? -1 : a->head > b->head;
}

/* Return 1 for equal dims, type and encoding. */
static int qnnrt_llm__items_same_facts(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->vendor_format == b->vendor_format &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0) &&
           qnnrt_quant_equal(&a->quant, &b->quant);
}

/* =====================================================================================
   GROUP                                                                         >>group
   Chooses the graphs: the pipelines of the model or, if no names join its shards, graphs of all
   shards with equal tokens per call and context.
   Needs: >>config >>shape >>names >>items     Knows nothing of: caches, wiring
   ===================================================================================== */

typedef struct qnnrt_llm__group_part {
    const qnnrt_graph_info *graph;
    size_t                  context;
    uint32_t                ar, columns;    /* columns: of its mask */
} qnnrt_llm__group_part;

/* Find tokens per call and columns of the mask of a single graph; 0: no tensor gives them. */
static qnnrt_result qnnrt_llm__group_part_ar(qnnrt_llm__items *work, qnnrt_llm__group_part *part)
{
    const qnnrt_graph_info *g = part->graph;
    size_t i;
    for (i = 0; i < g->input_count + g->output_count && (part->ar == 0 || part->columns == 0);
         ++i) {
        qnnrt_llm__names_found found;
        qnnrt_llm_tensor_info t;
        uint32_t context, ar;
        qnnrt_result result;
        memset(&t, 0, sizeof t);
        t.output = i >= g->input_count;
        t.tensor = t.output ? &g->outputs[i - g->input_count] : &g->inputs[i];
        result = qnnrt_llm__items_first(work, part->context, t.tensor, t.output, &found);
        if (result != QNNRT_OK) return result;
        t.role = found.role;
        ar = qnnrt_llm__items_ar(&t, &context);
        if (part->ar == 0) part->ar = ar;
        if (part->columns == 0) part->columns = context;
    }
    return QNNRT_OK;
}

static int qnnrt_llm__group_part_order(const void *a, const void *b)
{
    const qnnrt_llm__group_part *x = (const qnnrt_llm__group_part *)a;
    const qnnrt_llm__group_part *y = (const qnnrt_llm__group_part *)b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->ar != y->ar) return x->ar < y->ar ? -1 : 1;
    return x->columns < y->columns ? -1 : x->columns > y->columns;
}

/* Join graphs of all contexts by their tokens per call and the columns of their masks, because
   their names do not join them. A shard without a mask has one graph for each number of tokens. */
static qnnrt_result qnnrt_llm__group_join(qnnrt_llm__items *work)
{
    const qnnrt *model = work->llm->models[0];
    const qnnrt_context_info *context = qnnrt_get_info(model)->contexts;
    const size_t contexts = qnnrt_get_info(model)->context_count;
    size_t c, i, g, count = 0, each;
    qnnrt_llm__group_part *parts;
    const void **order;
    for (c = 0; c < contexts; ++c) count += context[c].graph_count;
    each = context[0].graph_count;
    parts = (qnnrt_llm__group_part *)qnnrt_arena_get(&work->scratch, count, sizeof *parts);
    order = (const void **)qnnrt_arena_get(&work->scratch, count, sizeof *order);
    work->graphs = (qnnrt_llm__items_graph *)qnnrt_arena_get(&work->scratch, each,
                                                             sizeof *work->graphs);
    if (parts == NULL || order == NULL || work->graphs == NULL)
        return qnnrt_llm__items_memory(work);
    for (c = 0, i = 0; c < contexts; ++c)
        for (g = 0; g < context[c].graph_count; ++g, ++i) {
            qnnrt_result result;
            parts[i].graph = &context[c].graphs[g];
            parts[i].context = c;
            order[i] = &parts[i];
            result = qnnrt_llm__group_part_ar(work, &parts[i]);
            if (result != QNNRT_OK) return result;
        }
    qnnrt_sort(order, count, qnnrt_llm__group_part_order);
    for (i = 0; i < count; ++i) {
        const qnnrt_llm__group_part *part = (const qnnrt_llm__group_part *)order[i];
        const qnnrt_llm__group_part *same = (const qnnrt_llm__group_part *)order[i % each];
        const qnnrt_llm__group_part *last =
            i % each != 0 ? (const qnnrt_llm__group_part *)order[i - 1] : NULL;
        if (count == each * contexts && part->context == i / each && part->ar == same->ar &&
            (part->columns == same->columns || part->columns == 0 || same->columns == 0) &&
            part->ar != 0 &&
            (last == NULL || part->ar != last->ar || part->columns != last->columns)) continue;
        return qnnrt_error_hint(work->err,
                                qnnrt_error_set(work->err, QNNRT_E_MISMATCH,
                                                "cannot join the graphs of %u contexts: neither "
                                                "their names nor their tokens per call match at "
                                                "\"%.200s\" of %.200s (%u tokens per call)",
                                                (unsigned)contexts, part->graph->name,
                                                context[part->context].file, (unsigned)part->ar),
                                "Choose with desc.pipelines from the pipelines that names join, or "
                                "remove the contexts that are not shards of this model.");
    }
    for (g = 0; g < each; ++g) {
        qnnrt_llm__items_graph *graph = &work->graphs[g];
        qnnrt_step_info *steps =
            (qnnrt_step_info *)qnnrt_arena_get(&work->scratch, contexts, sizeof *steps);
        if (steps == NULL) return qnnrt_llm__items_memory(work);
        for (c = 0; c < contexts; ++c) {
            const qnnrt_llm__group_part *part = (const qnnrt_llm__group_part *)order[c * each + g];
            steps[c].model = model;
            steps[c].context = c;
            steps[c].graph = part->graph;
        }
        graph->name = steps[0].graph->name;
        graph->steps = steps;
        graph->step_count = contexts;
    }
    work->graph_count = each;
    return QNNRT_OK;
}

/* Find a pipeline of desc.pipelines. */
static qnnrt_result qnnrt_llm__group_named(qnnrt_llm__items *work, size_t index,
                                           const qnnrt_pipeline **out)
{
    const qnnrt_info *info = qnnrt_get_info(work->llm->models[0]);
    const char *name = work->desc->pipelines[index];
    qnnrt_result result = QNNRT_OK;
    size_t k;
    if (name == NULL)
        return qnnrt_error_set(work->err, QNNRT_E_ARG, "desc.pipelines[%llu] is NULL",
                               (unsigned long long)index);
    for (k = 0; k < info->pipeline_count && *out == NULL; ++k)
        if (strcmp(qnnrt_pipeline_get_info(info->pipelines[k])->name, name) == 0)
            *out = info->pipelines[k];
    if (*out == NULL) result = qnnrt_pipeline_find(work->llm->models[0], name, out, work->err);
    for (k = 0; k < index && result == QNNRT_OK; ++k)
        if (work->graphs[k].pipeline == *out)
            return qnnrt_error_set(work->err, QNNRT_E_ARG, "desc.pipelines lists \"%.200s\" twice",
                                   name);
    return result;
}

/* Take the look-up of rows, with which a pipeline begins, out of it: sessions will do it. */
static qnnrt_result qnnrt_llm__group_look_up(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                             const qnnrt_pipeline_info *info)
{
    const qnnrt_graph_info *step = info->steps[0].graph;
    const qnnrt_slot *table = NULL;
    size_t i, first = 1;
    while (first < info->step_count && info->steps[first].kind == QNNRT_STEP_DERIVED) ++first;
    for (i = 0; i < step->input_count && table == NULL; ++i) {
        if (!qnnrt_llm__items_address(work, 0, step->inputs[i].name))
            return qnnrt_llm__items_memory(work);
        if (qnnrt_slot_find(graph->pipeline, work->address, QNNRT_ROLE_CONSTANT, &table, NULL) !=
            QNNRT_OK) table = NULL;
    }
    for (i = first; i < info->step_count; ++i)
        if (info->steps[i].kind != QNNRT_STEP_GRAPH) table = NULL;
    if (table == NULL || step->input_count != 2 || step->output_count != 1 ||
        first == info->step_count)
        return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED, "cannot take embeddings:"
                                     " expected a look-up of rows in a constant table, then graphs"
                                     " alone");
    if (work->llm->table == NULL) {
        work->llm->table = table->tensor;
        work->llm->table_data = table->constant;
    }
    graph->pipeline = NULL;                     /* >>wires makes one of the graphs */
    graph->wired = 0;
    graph->steps = info->steps + first;
    graph->step_count = info->step_count - first;
    return QNNRT_OK;
}

/* Take the steps of a graph's pipeline. */
static qnnrt_result qnnrt_llm__group_steps(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
    size_t s;
    graph->name = info->name;
    graph->steps = info->steps;
    graph->step_count = info->step_count;
    graph->wired = work->desc->made_count > 0;
    if (work->desc->embeddings && info->step_count > 0 && info->steps[0].kind == QNNRT_STEP_HOST) {
        qnnrt_result result = qnnrt_llm__group_look_up(work, graph, info);
        if (result != QNNRT_OK) return result;
    }
    for (s = 0; s < graph->step_count; ++s)
        if (graph->steps[s].kind == QNNRT_STEP_GRAPH &&
            qnnrt_llm__model_at(work->llm, graph->steps[s].model) == work->llm->model_count)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_ARG, "step %u is a graph of another"
                                         " model", (unsigned)s);
    return QNNRT_OK;
}

/* List the graphs of the model: desc.made or desc.pipelines, else all pipelines, else joined
   graphs. */
static qnnrt_result qnnrt_llm__group_pipelines(qnnrt_llm__items *work)
{
    const qnnrt_info *model = qnnrt_get_info(work->llm->models[0]);
    const qnnrt_llm_desc *desc = work->desc;
    const size_t all = model->pipeline_count, contexts = model->context_count;
    const size_t given = desc->made_count > 0 ? desc->made_count : desc->pipeline_count;
    const size_t count = given > 0 ? given : all;
    qnnrt_result result = QNNRT_OK;
    int joined = contexts == 1;
    size_t i;
    work->graphs = (qnnrt_llm__items_graph *)qnnrt_arena_get(&work->scratch, count,
                                                             sizeof *work->graphs);
    if (work->graphs == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < contexts && given == 0; ++i)
        if (model->contexts[i].failure != NULL)
            return qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "a shard is missing, %s did not "
                                   "load: %s", model->contexts[i].file,
                                   model->contexts[i].failure->text);
    for (i = 0; i < all && given == 0; ++i) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(model->pipelines[i]);
        joined |= info->step_count == contexts;
    }
    if (given == 0 && !joined && all > 0) return qnnrt_llm__group_join(work);
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        qnnrt_llm__items_graph *graph = &work->graphs[i];
        if (given == 0) graph->pipeline = model->pipelines[i];
        else if (desc->made_count == 0)
            result = qnnrt_llm__group_named(work, i, &graph->pipeline);
        else if (desc->made[i] != NULL) graph->pipeline = desc->made[i];
        else
            result = qnnrt_error_set(work->err, QNNRT_E_ARG, "desc.made[%llu] is NULL",
                                     (unsigned long long)i);
        if (result == QNNRT_OK) result = qnnrt_llm__group_steps(work, graph);
    }
    work->graph_count = count;
    return result;
}

/* =====================================================================================
   LAYOUT                                                                       >>layout
   Pairs the ends of keys and values and compares all graphs: axis of the cells, layers, types.
   Needs: >>config >>shape >>items     Knows nothing of: names, wiring
   ===================================================================================== */

/* Compare tensors of keys and values as their pairs, inputs before outputs. */
static int qnnrt_llm__layout_order(const void *a, const void *b)
{
    const qnnrt_llm_tensor_info *x = (const qnnrt_llm_tensor_info *)a;
    const qnnrt_llm_tensor_info *y = (const qnnrt_llm_tensor_info *)b;
    const qnnrt_llm__items_pair p = qnnrt_llm__items_pair_of(x->role, x->layer, x->head);
    const qnnrt_llm__items_pair q = qnnrt_llm__items_pair_of(y->role, y->layer, y->head);
    const int order = qnnrt_llm__items_pair_order(&p, &q);
    if (order != 0) return order;
    if (x->output != y->output) return x->output - y->output;
    return x < y ? -1 : x > y;
}

/* List the keys and values of a graph, each with its input and its output. */
static qnnrt_result qnnrt_llm__layout_pairs(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const qnnrt_llm_tensor_info **list;
    size_t i, count = 0;
    for (i = 0; i < graph->count; ++i) count += (size_t)qnnrt_llm__layered(graph->tensors[i].role);
    list = (const qnnrt_llm_tensor_info **)qnnrt_arena_get(&work->scratch, count, sizeof *list);
    graph->pairs = (qnnrt_llm__items_pair *)qnnrt_arena_get(&work->scratch, count,
                                                            sizeof *graph->pairs);
    graph->pair_count = 0;
    if (list == NULL || graph->pairs == NULL) return qnnrt_llm__items_memory(work);
    for (i = count = 0; i < graph->count; ++i)
        if (qnnrt_llm__layered(graph->tensors[i].role)) list[count++] = &graph->tensors[i];
    qnnrt_sort((const void **)list, count, qnnrt_llm__layout_order);
    for (i = 0; i < count; ++i) {
        const qnnrt_llm_tensor_info *t = list[i];
        const qnnrt_llm__items_pair key = qnnrt_llm__items_pair_of(t->role, t->layer, t->head);
        qnnrt_llm__items_pair *pair = graph->pair_count > 0 ? &graph->pairs[graph->pair_count - 1]
                                                            : NULL;
        if (i > 0 && t->role == list[i - 1]->role && t->layer == list[i - 1]->layer &&
            t->head == list[i - 1]->head)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                         "two tensors have the role %s: %s (%s) and %s (%s)",
                                         qnnrt_llm__items_what(work, t->role, t->layer, t->head),
                                         qnnrt_llm__items_say(work, graph, list[i - 1]),
                                         list[i - 1]->reason, qnnrt_llm__items_say(work, graph, t),
                                         t->reason);
        if (pair == NULL || qnnrt_llm__items_pair_order(pair, &key) != 0) {
            pair = &graph->pairs[graph->pair_count++];
            *pair = key;
        }
        if (t->output) pair->out = t;
        else pair->in = t;
    }
    return QNNRT_OK;
}

/* Return 1 if `axis` can be the axis of the cells in this graph. An unknown context follows from
   the cells. Set *in_place if it would be, with an output of as many cells as the input. */
static int qnnrt_llm__layout_axis_fits(const qnnrt_llm__items_graph *graph,
                                      const qnnrt_llm__items_pair *pair, uint32_t axis,
                                      int *in_place)
{
    const qnnrt_tensor_info *in = pair->in != NULL ? pair->in->tensor : NULL;
    const qnnrt_tensor_info *out = pair->out != NULL ? pair->out->tensor : NULL;
    uint32_t context = graph->context, i;
    if (in != NULL) {
        if (axis >= in->rank) return 0;
        if (context == 0) context = in->dims[axis] <= UINT32_MAX - graph->ar
                                        ? in->dims[axis] + graph->ar : 0;
        if (context == 0 || in->dims[axis] != context - graph->ar) return 0;
    }
    if (context == 0) context = graph->ar;
    if (out == NULL) return 1;
    if (axis >= out->rank || (in != NULL && in->rank != out->rank)) return 0;
    for (i = 0; in != NULL && i < in->rank; ++i)
        if (i != axis && in->dims[i] != out->dims[i]) return 0;
    if (out->dims[axis] == graph->ar || out->dims[axis] == context) return 1;
    if (in != NULL && out->dims[axis] == in->dims[axis]) *in_place = 1;
    return 0;
}

/* Return 1 if all dims of two pairs are equal, except the cells. */
static int qnnrt_llm__layout_same_rest(const qnnrt_llm__items_pair *a,
                                      const qnnrt_llm__items_pair *b, uint32_t axis)
{
    const qnnrt_tensor_info *x = (a->in != NULL ? a->in : a->out)->tensor;
    const qnnrt_tensor_info *y = (b->in != NULL ? b->in : b->out)->tensor;
    uint32_t i;
    if (x->rank != y->rank) return 0;
    for (i = 0; i < x->rank; ++i)
        if (i != axis && x->dims[i] != y->dims[i]) return 0;
    return 1;
}

/* Find the axis of the cells of key or value k: the only one that every graph allows. */
static qnnrt_result qnnrt_llm__layout_axis(qnnrt_llm__items *work, size_t k, uint32_t *out)
{
    const qnnrt_llm__items_graph *first = &work->graphs[0];
    const qnnrt_llm__items_pair *pair = &first->pairs[k];
    const qnnrt_llm_tensor_info *t = pair->in != NULL ? pair->in : pair->out;
    uint32_t axis, found = 0;
    int in_place = 0, fits = 0;
    const char *what;
    size_t g;
    for (axis = 0; axis < t->tensor->rank; ++axis) {
        int all = 1, place = 0;
        for (g = 0; g < work->graph_count && (all || place); ++g) {
            const qnnrt_llm__items_graph *graph = &work->graphs[g];
            int here = 0;
            if (!qnnrt_llm__layout_same_rest(pair, &graph->pairs[k], axis)) {
                all = place = 0;
                break;
            }
            if (qnnrt_llm__layout_axis_fits(graph, &graph->pairs[k], axis, &here)) continue;
            all = 0;
            place = here;
        }
        in_place |= place;
        if (!all) continue;
        ++fits;
        found = axis;
    }
    *out = found;
    if (fits == 1) return QNNRT_OK;
    what = qnnrt_llm__items_what(work, pair->role, pair->layer, pair->head);
    if (fits == 0 && in_place)
        return qnnrt_error_set(work->err, QNNRT_E_UNSUPPORTED, "%s: the output of %s has as many "
                               "cells as its input; caches that graphs update in place are not "
                               "supported", what, qnnrt_llm__items_say(work, first, t));
    qnnrt_error_set(work->err, QNNRT_E_MISMATCH, "%s: %s", what, fits == 0 ?
                    "no axis holds the cells in all graphs" : "several axes can hold the cells");
    for (g = 0; g < work->graph_count; ++g) {
        const qnnrt_llm__items_graph *graph = &work->graphs[g];
        const qnnrt_llm__items_pair *p = &graph->pairs[k];
        if (!qnnrt_llm__items_add(work->err, "\n  %u tokens per call, context %u%s:",
                                  (unsigned)graph->ar, (unsigned)graph->context,
                                  graph->context == 0 ? " (no mask)" : "")) break;
        if (p->in != NULL)
            qnnrt_llm__items_add(work->err, "\n    %s", qnnrt_llm__items_say(work, graph, p->in));
        if (p->out != NULL)
            qnnrt_llm__items_add(work->err, "\n    %s", qnnrt_llm__items_say(work, graph, p->out));
    }
    return QNNRT_E_MISMATCH;
}

/* Refuse keys and values that lack an end, or that some graphs lack. */
static qnnrt_result qnnrt_llm__layout_agree(qnnrt_llm__items *work)
{
    const qnnrt_llm__items_graph *first = &work->graphs[0];
    size_t g, k;
    for (g = 0; g < work->graph_count; ++g) {
        const qnnrt_llm__items_graph *graph = &work->graphs[g];
        size_t reads = 0;
        for (k = 0; k < graph->pair_count; ++k) reads += graph->pairs[k].in != NULL;
        for (k = 0; k < graph->pair_count; ++k) {
            const qnnrt_llm__items_pair *pair = &graph->pairs[k];
            qnnrt_llm_role lacks = pair->role;
            if (pair->out == NULL)
                lacks = pair->role == QNNRT_LLM_ROLE_KEY_IN ? QNNRT_LLM_ROLE_KEY_OUT
                                                            : QNNRT_LLM_ROLE_VALUE_OUT;
            else if (pair->in != NULL || reads == 0) continue;
            return qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "\"%.100s\" lacks %s, but has %s",
                                   graph->name,
                                   qnnrt_llm__items_what(work, lacks, pair->layer, pair->head),
                                   qnnrt_llm__items_say(work, graph, pair->in != NULL ? pair->in :
                                                        pair->out));
        }
        for (k = 0; k < graph->pair_count || k < first->pair_count; ++k) {
            const qnnrt_llm__items_pair *a = k < first->pair_count ? &first->pairs[k] : NULL;
            const qnnrt_llm__items_pair *b = k < graph->pair_count ? &graph->pairs[k] : NULL;
            const int order = a == NULL ? 1 : b == NULL ? -1 : qnnrt_llm__items_pair_order(a, b);
            const int other = order > 0;
            if (order == 0) continue;
            /* If two pairs differ, the lower one is missing in the other graph. */
            if (other) a = b;
            return qnnrt_error_set(work->err, QNNRT_E_MISMATCH, "graphs disagree: \"%.100s\" has "
                                   "%s, \"%.100s\" lacks it", other ? graph->name : first->name,
                                   qnnrt_llm__items_what(work, a->role, a->layer, a->head), other ?
                                   first->name : graph->name);
        }
    }
    return QNNRT_OK;
}

/* Check that each layer has as many keys as values, and heads from 0 without gaps. */
static qnnrt_result qnnrt_llm__layout_layers(qnnrt_llm__items *work)
{
    const qnnrt_llm__items_graph *graph = &work->graphs[0];
    size_t k = 0;
    work->llm->info.layers = 0;
    while (k < graph->pair_count) {
        uint32_t layer = graph->pairs[k].layer, heads[2] = { 0, 0 };
        for (; k < graph->pair_count && graph->pairs[k].layer == layer; ++k) {
            int value = graph->pairs[k].role == QNNRT_LLM_ROLE_VALUE_IN;
            if (graph->pairs[k].head != heads[value]++)
                return qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "layer %u has %s of head %u, "
                                       "but not of head %u", (unsigned)layer, value ? "values" :
                                       "keys", (unsigned)graph->pairs[k].head,
                                       (unsigned)(heads[value] - 1));
        }
        if (heads[0] != heads[1])
            return qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "layer %u has %u tensors of keys, "
                                   "but %u of values", (unsigned)layer, (unsigned)heads[0],
                                   (unsigned)heads[1]);
        work->llm->info.layers += 1;
    }
    return QNNRT_OK;
}

/* Check that the cache has one type, and each of its tensors one encoding in all graphs. */
static qnnrt_result qnnrt_llm__layout_types(qnnrt_llm__items *work)
{
    const qnnrt_llm_tensor_info *first = NULL;
    const qnnrt_llm__items_graph *first_graph = NULL;
    size_t g, k;
    int end;
    for (k = 0; k < work->graphs[0].pair_count; ++k) {
        const qnnrt_llm_tensor_info *same = NULL;
        const qnnrt_llm__items_graph *same_graph = NULL;
        for (g = 0; g < work->graph_count; ++g)
            for (end = 0; end < 2; ++end) {
                const qnnrt_llm__items_graph *graph = &work->graphs[g];
                const qnnrt_llm_tensor_info *t = end ? graph->pairs[k].out : graph->pairs[k].in;
                uint64_t element;
                if (t == NULL) continue;
                if (first == NULL) { first = t; first_graph = graph; }
                if (same == NULL) { same = t; same_graph = graph; }
                element = t->tensor->count > 0 ? t->tensor->bytes / t->tensor->count : 0;
                if (t->tensor->dtype != first->tensor->dtype)
                    return qnnrt_error_set(work->err, QNNRT_E_MISMATCH, "keys and values differ in "
                                           "type: %s and %s",
                                           qnnrt_llm__items_say(work, first_graph, first),
                                           qnnrt_llm__items_say(work, graph, t));
                if ((element != 1 && element != 2 && element != 4) ||
                    t->tensor->count > UINT32_MAX || t->tensor->vendor_format != 0 ||
                    t->tensor->bytes != t->tensor->count * element)
                    return qnnrt_error_set(work->err, QNNRT_E_UNSUPPORTED, "%s: expected keys and "
                                           "values as plain tensors with elements of 1, 2 or 4 "
                                           "bytes", qnnrt_llm__items_say(work, graph, t));
                if (!qnnrt_quant_equal(&t->tensor->quant, &same->tensor->quant))
                    return qnnrt_error_set(work->err, QNNRT_E_MISMATCH, "the encodings of one "
                                           "cache differ: %s and %s",
                                           qnnrt_llm__items_say(work, same_graph, same),
                                           qnnrt_llm__items_say(work, graph, t));
            }
    }
    return QNNRT_OK;
}

/* Fill llm.kv, and the contexts of graphs without a mask. */
static qnnrt_result qnnrt_llm__layout_deliver(qnnrt_llm__items *work)
{
    qnnrt_llm *llm = work->llm;
    const qnnrt_llm__items_graph *first = &work->graphs[0];
    size_t g, k;
    llm->kv_count = first->pair_count;
    llm->kv = (qnnrt_llm__kv *)qnnrt_arena_get(&llm->arena, llm->kv_count, sizeof *llm->kv);
    if (llm->kv == NULL) return qnnrt_llm__items_memory(work);
    for (k = 0; k < llm->kv_count; ++k) {
        const qnnrt_llm__items_pair *pair = &first->pairs[k];
        const qnnrt_tensor_info *tensor = (pair->in != NULL ? pair->in : pair->out)->tensor;
        qnnrt_llm__kv *kv = &llm->kv[k];
        uint64_t heads = 1, dim = 1;
        uint32_t axis, i, last;
        qnnrt_result result = qnnrt_llm__layout_axis(work, k, &axis);
        if (result != QNNRT_OK) return result;
        kv->role = pair->role;
        kv->layer = pair->layer;
        kv->head = pair->head;
        kv->tensor = tensor;
        kv->element = (uint32_t)(tensor->bytes / tensor->count);
        kv->outer = kv->inner = 1;
        last = tensor->rank > 1 ? axis == tensor->rank - 1 ? axis - 1 : tensor->rank - 1 : axis;
        for (i = 0; i < tensor->rank; ++i) {        /* no product exceeds tensor->count */
            if (i == axis) continue;
            if (i < axis) kv->outer *= tensor->dims[i];
            else kv->inner *= tensor->dims[i];
            if (i == last) dim = tensor->dims[i];
            else heads *= tensor->dims[i];
        }
        if (pair->layer == first->pairs[0].layer) {
            if (pair->role == QNNRT_LLM_ROLE_KEY_IN) {
                llm->info.heads += (uint32_t)heads;
                llm->info.key_dim = (uint32_t)dim;
            } else llm->info.value_dim = (uint32_t)dim;
        }
        for (g = 0; g < work->graph_count; ++g) {
            qnnrt_llm__items_graph *graph = &work->graphs[g];
            const qnnrt_llm_tensor_info *in = graph->pairs[k].in;
            if (graph->context == 0)
                graph->context = graph->ar + (in != NULL ? in->tensor->dims[axis] : 0);
            if (in == NULL && graph->context != graph->ar)
                return qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "\"%.100s\" reads no cache, "
                                       "but its context %u is above its %u tokens per call",
                                       graph->name, (unsigned)graph->context, (unsigned)graph->ar);
        }
        llm->info.cache_dtype = tensor->dtype;
    }
    for (g = 0; g < work->graph_count; ++g)
        if (work->graphs[g].context == 0) work->graphs[g].context = work->graphs[g].ar;
    return QNNRT_OK;
}

/* =====================================================================================
   ORDER                                                                         >>order
   Layers and heads of ExecuTorch's caches, which follow from numbers in the names of inputs
   and from the order of outputs.
   Needs: >>config >>shape >>names >>items >>layout     Knows nothing of: shapes of tensors, wiring
   ===================================================================================== */

/* An input identified by its <j>, or an output identified by its order. */
typedef struct qnnrt_llm__order_numbered {
    qnnrt_llm_tensor_info  *t;
    qnnrt_llm__names_found *found;
} qnnrt_llm__order_numbered;

static int qnnrt_llm__order_by_number(const void *a, const void *b)
{
    const qnnrt_llm__order_numbered *x = (const qnnrt_llm__order_numbered *)a;
    const qnnrt_llm__order_numbered *y = (const qnnrt_llm__order_numbered *)b;
    return x->found->number < y->found->number ? -1 : x->found->number > y->found->number;
}

static int qnnrt_llm__order_by_place(const void *a, const void *b)
{
    const qnnrt_llm__order_numbered *x = (const qnnrt_llm__order_numbered *)a;
    const qnnrt_llm__order_numbered *y = (const qnnrt_llm__order_numbered *)b;
    if (x->t->step != y->t->step) return x->t->step < y->t->step ? -1 : 1;
    return x->found->place < y->found->place ? -1 : x->found->place > y->found->place;
}

/* List the tensors from begin to end whose layer and head come from numbers of this kind (`how`).
   role UNKNOWN: tensors of any role. */
static qnnrt_result qnnrt_llm__order_list(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                          size_t begin, size_t end, int how, qnnrt_llm_role role,
                                          const void ***out, size_t *count)
{
    qnnrt_llm__order_numbered *items;
    size_t i, n = 0;
    for (i = begin; i < end; ++i) {
        QNNRT_LLM__STEP();
        n += graph->found[i].how == how && (role == QNNRT_LLM_ROLE_UNKNOWN ||
                                            graph->found[i].role == role);
    }
    *count = n;
    items = (qnnrt_llm__order_numbered *)qnnrt_arena_get(&work->scratch, n, sizeof *items);
    *out = (const void **)qnnrt_arena_get(&work->scratch, n, sizeof **out);
    if (items == NULL || *out == NULL) return qnnrt_llm__items_memory(work);
    for (i = begin, n = 0; i < end; ++i) {
        if (graph->found[i].how != how || (role != QNNRT_LLM_ROLE_UNKNOWN &&
                                           graph->found[i].role != role)) continue;
        items[n].t = &graph->tensors[i];
        items[n].found = &graph->found[i];
        (*out)[n] = &items[n];
        ++n;
    }
    return QNNRT_OK;
}

/* Find role, layer and head of inputs input_<i>_args_<j>. <j> counts the keys of all layers and
   heads, then the values. By <i>, a shard lists the values of a layer, then its keys, then the next
   layer: the length of such a run is the number of heads. This works for a single shard too. */
static qnnrt_result qnnrt_llm__order_args(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const void **items;
    size_t count, half, i, run, heads = 0;
    uint32_t distance;
    qnnrt_result result = qnnrt_llm__order_list(work, graph, 0, graph->count, QNNRT_LLM__ARGS,
                                                QNNRT_LLM_ROLE_UNKNOWN, &items, &count);
    if (result != QNNRT_OK || count == 0) return result;
    half = count / 2;
    qnnrt_sort(items, count, qnnrt_llm__order_by_number);
#define QNNRT_LLM_X(i) ((const qnnrt_llm__order_numbered *)items[i])
    distance = QNNRT_LLM_X(half)->found->number - QNNRT_LLM_X(0)->found->number;
    for (i = 0; i < count; ++i) {
        qnnrt_llm_tensor_info *t = QNNRT_LLM_X(i)->t;
        uint32_t number = QNNRT_LLM_X(i)->found->number;
        if (i > 0 && number == QNNRT_LLM_X(i - 1)->found->number) break;
        if (i < half && QNNRT_LLM_X(i + half)->found->number - number != distance) break;
        if (count % 2 != 0 || (i < half && number >= distance)) break;
        t->role = i < half ? QNNRT_LLM_ROLE_KEY_IN : QNNRT_LLM_ROLE_VALUE_IN;
        t->reason = i < half ? "named input_<i>_args_<j><k>, <j> of a key"
                             : "named input_<i>_args_<j><k>, <j> of a value";
        t->layer = i < half ? number : number - distance;      /* replaced below */
    }
    if (i < count)
        return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH, "the numbers of %u inputs"
                                     " input_<i>_args_<j> do not give as many values as keys: see"
                                     " %s", (unsigned)count,
                                     qnnrt_llm__items_say(work, graph, QNNRT_LLM_X(i)->t));
    qnnrt_sort(items, count, qnnrt_llm__order_by_place);
    for (i = 0; i < count; i = run) {
        const qnnrt_llm_tensor_info *t = QNNRT_LLM_X(i)->t;
        for (run = i; run < count && QNNRT_LLM_X(run)->t->step == t->step &&
                      QNNRT_LLM_X(run)->t->role == t->role;) ++run;
        if (heads == 0) heads = run - i;
        if (run - i != heads)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH, "unknown number of heads:"
                                         " %u inputs input_<i>_args_<j> of one kind follow each"
                                         " other, but %u from %s", (unsigned)heads,
                                         (unsigned)(run - i), qnnrt_llm__items_say(work, graph, t));
    }
    for (i = 0; i < count; ++i) {
        qnnrt_llm_tensor_info *t = QNNRT_LLM_X(i)->t;
        uint32_t number = t->layer;
        t->layer = number / (uint32_t)heads;
        t->head = number % (uint32_t)heads;
        if (i % heads != 0 && t->layer != QNNRT_LLM_X(i - 1)->t->layer)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                         "the inputs input_<i>_args_<j> are out of order at %s",
                                         qnnrt_llm__items_say(work, graph, t));
    }
#undef QNNRT_LLM_X
    return QNNRT_OK;
}

/* List the inputs of a role in one context of a graph, by layer and head; open: only those whose
   output is unknown. */
static qnnrt_result qnnrt_llm__order_inputs(qnnrt_llm__items *work,
                                            const qnnrt_llm__items_graph *graph, size_t context,
                                            qnnrt_llm_role in, qnnrt_llm_role out, int open,
                                            const void ***items, size_t *count)
{
    const void **list;
    size_t s, i, n = 0, kept = 0;
    for (s = 0; s < graph->step_count; ++s) {
        QNNRT_LLM__STEP();
        if (graph->shard[s] != context) continue;
        for (i = graph->first[s]; i < graph->first[s + 1]; ++i) {
            QNNRT_LLM__STEP();
            n += graph->tensors[i].role == in || graph->tensors[i].role == out;
        }
    }
    *items = list = (const void **)qnnrt_arena_get(&work->scratch, n, sizeof *list);
    *count = 0;
    if (list == NULL) return qnnrt_llm__items_memory(work);
    for (s = 0, n = 0; s < graph->step_count; ++s) {
        if (graph->shard[s] != context) continue;
        for (i = graph->first[s]; i < graph->first[s + 1]; ++i)
            if (graph->tensors[i].role == in || graph->tensors[i].role == out)
                list[n++] = &graph->tensors[i];
    }
    qnnrt_sort(list, n, qnnrt_llm__layout_order);
    for (i = 0; i < n; ++i) {
        const qnnrt_llm_tensor_info *t = (const qnnrt_llm_tensor_info *)list[i];
        const qnnrt_llm_tensor_info *next =
            i + 1 < n ? (const qnnrt_llm_tensor_info *)list[i + 1] : NULL;
        if (t->output || (open && next != NULL && next->output && next->layer == t->layer &&
                          next->head == t->head)) continue;
        list[kept++] = t;
    }
    *count = kept;
    return QNNRT_OK;
}

/* Find layer and head of outputs that their order identifies: the outputs of a shard, by number,
   are its caches by layer and head. For a graph that reads no cache, another graph of the same
   shard gives the caches. */
static qnnrt_result qnnrt_llm__order_ordered(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                             qnnrt_llm_role in, qnnrt_llm_role out)
{
    size_t s, g, i, count, inputs, *reader;
    const void **items, **caches;
    for (s = 0; s < graph->step_count; ++s) {
        const char *reason = out == QNNRT_LLM_ROLE_KEY_OUT
                                 ? "named output_aten_permute_copy_default, in order"
                                 : "named output_aten_view_copy_default, in order";
        qnnrt_result result =
            qnnrt_llm__order_list(work, graph, graph->first[s], graph->first[s + 1],
                                  QNNRT_LLM__ORDERED, out, &items, &count);
        if (result != QNNRT_OK) return result;
        if (count == 0) continue;
        qnnrt_sort(items, count, qnnrt_llm__order_by_number);
        result = qnnrt_llm__order_inputs(work, graph, graph->shard[s], in, out, 1, &caches,
                                         &inputs);
        reader = &work->readers[graph->shard[s] * 2 + (in == QNNRT_LLM_ROLE_VALUE_IN)];
        for (g = *reader; g < work->graph_count && result == QNNRT_OK && inputs == 0; ++g) {
            *reader = g;
            result = qnnrt_llm__order_inputs(work, &work->graphs[g], graph->shard[s], in, out, 0,
                                             &caches, &inputs);
        }
        if (result != QNNRT_OK) return result;
        for (i = 0; i < count; ++i) {
            const qnnrt_llm__order_numbered *item = (const qnnrt_llm__order_numbered *)items[i];
            const qnnrt_llm__order_numbered *last =
                i > 0 ? (const qnnrt_llm__order_numbered *)items[i - 1] : NULL;
            if (count != inputs || (last != NULL && last->found->number == item->found->number)) {
                const char *say = qnnrt_llm__items_say(work, graph, item->t);
                qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH, "%s: %u outputs of this kind,"
                                      " expected one %s for each of %u inputs", say,
                                      (unsigned)count, qnnrt_llm_role_name(out), (unsigned)inputs);
                return qnnrt_llm__items_hint(work, QNNRT_E_MISMATCH);
            }
            item->t->role = out;
            item->t->layer = ((const qnnrt_llm_tensor_info *)caches[i])->layer;
            item->t->head = ((const qnnrt_llm_tensor_info *)caches[i])->head;
            item->t->reason = reason;
        }
    }
    return QNNRT_OK;
}

/* =====================================================================================
   MATCH                                                                         >>match
   Finds a tensor's role by its shape, if all graphs together leave one candidate. Otherwise the
   error lists the candidates.
   Needs: >>config >>shape >>names (which ends) >>items >>layout     Knows nothing of: wiring
   ===================================================================================== */

/* The most comparisons in one search, which take about a second. A test makes it smaller. */
#ifndef QNNRT_LLM__LOOKS
#define QNNRT_LLM__LOOKS 20000000
#endif

/* A role that may be missing, and the number of tensors that fit it. */
typedef struct qnnrt_llm__match_choice {
    qnnrt_llm_role role;
    uint32_t       layer, head;
    size_t         context;             /* of the shard, except for caches. head is 1 for the output
                                           HIDDEN */
    size_t         takers;
} qnnrt_llm__match_choice;

typedef struct qnnrt_llm__match_member {        /* a tensor of a graph without a role */
    qnnrt_llm__items_graph *graph;
    qnnrt_llm_tensor_info  *t;
} qnnrt_llm__match_member;

/* A tensor without a role in all graphs that have it: equal context, end and name. */
typedef struct qnnrt_llm__match_unknown {
    const qnnrt_llm__match_member **members;
    size_t                          count;
    size_t                          choices;
    qnnrt_llm__match_choice        *last;
} qnnrt_llm__match_unknown;

/* All tensors without a role, and all roles that may be missing. */
typedef struct qnnrt_llm__match_puzzle {
    qnnrt_llm__match_unknown  *unknown;
    size_t                     unknown_count;
    qnnrt_llm__match_choice   *open;            /* [open_room] choices of all graphs */
    size_t                     open_room;
    const void               **choices;         /* each of them once, keys and values first */
    size_t                     choice_count;
} qnnrt_llm__match_puzzle;

static qnnrt_llm__match_choice *qnnrt_llm__match_choice_at(const qnnrt_llm__match_puzzle *puzzle,
                                                           size_t at)
{
    return &puzzle->open[(const qnnrt_llm__match_choice *)puzzle->choices[at] - puzzle->open];
}

static size_t qnnrt_llm__match_context(const qnnrt_llm__match_member *m)
{
    return m->graph->shard[m->t->step];
}

static int qnnrt_llm__match_member_order(const void *a, const void *b)
{
    const qnnrt_llm__match_member *x = (const qnnrt_llm__match_member *)a;
    const qnnrt_llm__match_member *y = (const qnnrt_llm__match_member *)b;
    size_t c = qnnrt_llm__match_context(x), d = qnnrt_llm__match_context(y);
    int order;
    if (c != d) return c < d ? -1 : 1;
    if (x->t->output != y->t->output) return x->t->output - y->t->output;
    order = strcmp(x->t->tensor->name, y->t->tensor->name);
    if (order != 0) return order;
    return x < y ? -1 : x > y;
}

static int qnnrt_llm__match_choice_order(const void *a, const void *b)
{
    const qnnrt_llm__match_choice *x = (const qnnrt_llm__match_choice *)a;
    const qnnrt_llm__match_choice *y = (const qnnrt_llm__match_choice *)b;
    int layered = qnnrt_llm__layered(x->role);
    if (layered != qnnrt_llm__layered(y->role)) return layered ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    if (x->role != y->role) return x->role < y->role ? -1 : 1;
    return x->head < y->head ? -1 : x->head > y->head;
}

/* Find the key or value of a choice in a graph; NULL if it has none. */
static const qnnrt_llm__items_pair *qnnrt_llm__match_pair_of(const qnnrt_llm__items_graph *graph,
                                                             const qnnrt_llm__match_choice *choice)
{
    const qnnrt_llm__items_pair key =
        qnnrt_llm__items_pair_of(choice->role, choice->layer, choice->head);
    size_t low = 0, high = graph->pair_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const qnnrt_llm__items_pair *p = &graph->pairs[middle];
        int order = qnnrt_llm__items_pair_order(p, &key);
        if (order == 0) return p;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Return 1 if these can be the two ends of a key or value: they differ in one axis at most, and the
   output has the new cells or all cells. */
static int qnnrt_llm__match_ends_fit(const qnnrt_tensor_info *in, const qnnrt_tensor_info *out,
                                     uint32_t ar)
{
    uint32_t i, differ = 0, good = 0;
    if (in->dtype != out->dtype || in->rank != out->rank ||
        !qnnrt_quant_equal(&in->quant, &out->quant)) return 0;
    for (i = 0; i < in->rank; ++i) {
        if (in->dims[i] != out->dims[i]) ++differ;
        else if (out->dims[i] != ar) continue;
        good |= out->dims[i] == ar || (out->dims[i] > ar && out->dims[i] - ar == in->dims[i]);
    }
    return differ <= 1 && good;
}

/* Return 1 for a type that can hold tokens. */
static int qnnrt_llm__match_integer(const qnnrt_tensor_info *t)
{
    return t->dtype == QNNRT_DTYPE_I32 || t->dtype == QNNRT_DTYPE_I64 ||
           t->dtype == QNNRT_DTYPE_U32 || t->dtype == QNNRT_DTYPE_U64;
}

/* Record a tensor of each role among the tensors from begin to end. */
static void qnnrt_llm__match_summary(const qnnrt_llm__items_graph *graph, size_t begin, size_t end,
                                     const qnnrt_llm_tensor_info *has[QNNRT_LLM_ROLE_COUNT][2])
{
    size_t i;
    memset(has, 0, sizeof(const qnnrt_llm_tensor_info *) * QNNRT_LLM_ROLE_COUNT * 2);
    for (i = begin; i < end; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        has[t->role][t->output] = t;
    }
}

/* Record the roles of each step of a graph, and after the last step those of all steps together. */
static qnnrt_result qnnrt_llm__match_summaries(qnnrt_llm__items *work,
                                               qnnrt_llm__items_graph *graph)
{
    size_t s;
    if (graph->has == NULL)
        graph->has = (qnnrt_llm__items_has *)qnnrt_arena_get(&work->scratch, graph->step_count + 1,
                                                             sizeof *graph->has);
    if (graph->has == NULL) return qnnrt_llm__items_memory(work);
    for (s = 0; s < graph->step_count; ++s)
        qnnrt_llm__match_summary(graph, graph->first[s], graph->first[s + 1], graph->has[s].of);
    qnnrt_llm__match_summary(graph, 0, graph->count, graph->has[s].of);
    return QNNRT_OK;
}

/* List the roles that may be missing in a graph, and return their number. out may be NULL. */
static size_t qnnrt_llm__match_open_choices(const qnnrt_llm__items_graph *graph,
                                            qnnrt_llm__match_choice *out)
{
    static const struct { qnnrt_llm_role role; int output; } each[] = {
        { QNNRT_LLM_ROLE_TOKENS, 0 }, { QNNRT_LLM_ROLE_POSITIONS, 0 }, { QNNRT_LLM_ROLE_MASK, 0 },
        { QNNRT_LLM_ROLE_ROPE_COS, 0 }, { QNNRT_LLM_ROLE_ROPE_SIN, 0 },
        { QNNRT_LLM_ROLE_HIDDEN, 0 }, { QNNRT_LLM_ROLE_HIDDEN, 1 }, { QNNRT_LLM_ROLE_LOGITS, 1 }
    };
    const qnnrt_llm__items_has *all = &graph->has[graph->step_count];
    int angles = all->of[QNNRT_LLM_ROLE_ROPE_COS][0] != NULL ||
                 all->of[QNNRT_LLM_ROLE_ROPE_SIN][0] != NULL;
    int positions = all->of[QNNRT_LLM_ROLE_POSITIONS][0] != NULL;
    int tokens = all->of[QNNRT_LLM_ROLE_TOKENS][0] != NULL;
    int logits = all->of[QNNRT_LLM_ROLE_LOGITS][1] != NULL;
    size_t n = 0, s, i, k;
    for (k = 0; k < graph->pair_count; ++k) {
        const qnnrt_llm__items_pair *pair = &graph->pairs[k];
        int key = pair->role == QNNRT_LLM_ROLE_KEY_IN;
        if (pair->in != NULL && pair->out != NULL) continue;
        if (out != NULL) {
            out[n].role = pair->in == NULL ? pair->role
                          : key ? QNNRT_LLM_ROLE_KEY_OUT : QNNRT_LLM_ROLE_VALUE_OUT;
            out[n].layer = pair->layer;
            out[n].head = pair->head;
        }
        ++n;
    }
    for (s = 0; s < graph->step_count; ++s)
        for (i = 0; i < sizeof each / sizeof each[0]; ++i) {
            qnnrt_llm_role role = each[i].role;
            int output = each[i].output, last = s + 1 == graph->step_count;
            if (graph->has[s].of[role][output] != NULL) continue;
            if (role == QNNRT_LLM_ROLE_HIDDEN && graph->wired) continue;
            if (role == QNNRT_LLM_ROLE_TOKENS &&
                (s > 0 || tokens || graph->has[0].of[QNNRT_LLM_ROLE_HIDDEN][0] != NULL)) continue;
            if (role == QNNRT_LLM_ROLE_POSITIONS && (s > 0 || positions || angles)) continue;
            if ((role == QNNRT_LLM_ROLE_ROPE_COS || role == QNNRT_LLM_ROLE_ROPE_SIN) && positions &&
                !angles) continue;
            if (role == QNNRT_LLM_ROLE_HIDDEN && !output && s == 0 && tokens) continue;
            if (role == QNNRT_LLM_ROLE_HIDDEN && output && last && logits) continue;
            if (role == QNNRT_LLM_ROLE_LOGITS && (!last || logits)) continue;
            if (out != NULL) {
                out[n].role = role;
                out[n].context = graph->shard[s];
                out[n].head = (uint32_t)output;
            }
            ++n;
        }
    return n;
}

/* Return 1 if a step has a tensor without a role and with these facts. */
static int qnnrt_llm__match_partner(const qnnrt_llm__items_graph *graph, size_t step, int output,
                                    const qnnrt_tensor_info *like, uint64_t *looks)
{
    size_t i;
    for (i = graph->first[step]; i < graph->first[step + 1]; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        QNNRT_LLM__STEP();
        ++*looks;
        if (t->role == QNNRT_LLM_ROLE_UNKNOWN && t->output == output &&
            qnnrt_llm__items_same_facts(t->tensor, like)) return 1;
    }
    return 0;
}

/* Return 1 if a tensor can be the hidden state. */
static int qnnrt_llm__match_hidden_fits(const qnnrt_llm__match_member *m, int output,
                                        uint64_t *looks)
{
    const qnnrt_llm__items_graph *graph = m->graph;
    const qnnrt_tensor_info *t = m->t->tensor;
    size_t s = m->t->step;
    const qnnrt_llm_tensor_info *other;
    if (output ? s + 1 < graph->step_count : s > 0) {
        size_t neighbour = output ? s + 1 : s - 1;
        other = graph->has[neighbour].of[QNNRT_LLM_ROLE_HIDDEN][!output];
        return other != NULL ? qnnrt_llm__items_same_facts(other->tensor, t)
                             : qnnrt_llm__match_partner(graph, neighbour, !output, t, looks);
    }
    /* The first input and the last output have the width of the hidden state at the other side of
       the step. */
    other = graph->has[s].of[QNNRT_LLM_ROLE_HIDDEN][!output];
    if (t->rank < 2 || t->dims[t->rank - 2] != graph->ar ||
        t->count != (uint64_t)graph->ar * t->dims[t->rank - 1]) return 0;
    return other == NULL || other->tensor->count == t->count;
}

/* Return 1 if a width fits the caches. mask: cells + AR; else cos or sin: head_dim or half of
   it. */
static int qnnrt_llm__match_width_fits(const qnnrt_llm__items_graph *graph, uint32_t width,
                                       int mask)
{
    const qnnrt_tensor_info *t;
    uint32_t i;
    if (mask && graph->context != 0) return width == graph->context;
    if (graph->pair_count == 0) return 0;
    if (graph->pairs[0].in == NULL && mask) return width == graph->ar;
    t = (graph->pairs[0].in != NULL ? graph->pairs[0].in : graph->pairs[0].out)->tensor;
    for (i = 0; i < t->rank; ++i)
        if (mask ? width > graph->ar && width - graph->ar == t->dims[i]
                 : width == t->dims[i] || (t->dims[i] % 2 == 0 && width == t->dims[i] / 2))
            return 1;
    return 0;
}

/* Return 1 if a tensor fits a choice. Count comparisons in *looks. */
static int qnnrt_llm__match_fits(qnnrt_llm__items *work, const qnnrt_llm__match_member *m,
                                 const qnnrt_llm__match_choice *choice, uint64_t *looks)
{
    const qnnrt_llm__items_graph *graph = m->graph;
    const qnnrt_tensor_info *t = m->t->tensor;
    const qnnrt_llm__items_pair *pair;
    const qnnrt_llm_tensor_info *other;
    uint32_t last = t->rank > 0 ? t->dims[t->rank - 1] : 0;
    int rows = t->rank >= 2 && t->dims[t->rank - 2] == graph->ar;
    size_t g;
    QNNRT_LLM__STEP();
    ++*looks;
    if (!(qnnrt_llm__items_ends(choice->role) & (m->t->output ? QNNRT_LLM__OUT : QNNRT_LLM__IN)) ||
        graph->ar == 0) return 0;
    if (qnnrt_llm__layered(choice->role)) {
        pair = qnnrt_llm__match_pair_of(graph, choice);
        for (g = 0; pair == NULL && g < work->graph_count; ++g)
            if (&work->graphs[g] != graph) {
                ++*looks;
                pair = qnnrt_llm__match_pair_of(&work->graphs[g], choice);
                if (pair == NULL) continue;
                /* This graph reads no cache: another graph gives all facts except the cells. */
                other = m->t->output ? pair->in : pair->out;
                return other != NULL && other->tensor->dtype == t->dtype &&
                       other->tensor->rank == t->rank &&
                       qnnrt_quant_equal(&other->tensor->quant, &t->quant);
            }
        if (pair == NULL || (m->t->output ? pair->out : pair->in) != NULL) return 0;
        other = m->t->output ? pair->in : pair->out;
        if (other == NULL) return 0;
        return m->t->output ? qnnrt_llm__match_ends_fit(other->tensor, t, graph->ar)
                            : qnnrt_llm__match_ends_fit(t, other->tensor, graph->ar);
    }
    if (choice->context != qnnrt_llm__match_context(m)) return 0;
    if (choice->role == QNNRT_LLM_ROLE_TOKENS || choice->role == QNNRT_LLM_ROLE_POSITIONS)
        return qnnrt_llm__match_integer(t) && t->count == graph->ar;
    if (qnnrt_llm__match_integer(t)) return 0;
    switch (choice->role) {
    case QNNRT_LLM_ROLE_MASK:
        return rows && t->count == (uint64_t)graph->ar * last &&
               qnnrt_llm__match_width_fits(graph, last, 1);
    case QNNRT_LLM_ROLE_ROPE_COS: case QNNRT_LLM_ROLE_ROPE_SIN:
        other = graph->has[m->t->step].of[choice->role == QNNRT_LLM_ROLE_ROPE_COS
                                              ? QNNRT_LLM_ROLE_ROPE_SIN
                                              : QNNRT_LLM_ROLE_ROPE_COS][0];
        if (other != NULL) return qnnrt_llm__items_same_facts(other->tensor, t);
        return rows && t->count == (uint64_t)graph->ar * last &&
               qnnrt_llm__match_width_fits(graph, last, 0);
    case QNNRT_LLM_ROLE_HIDDEN:
        return (uint32_t)m->t->output == choice->head &&
               qnnrt_llm__match_hidden_fits(m, m->t->output, looks);
    case QNNRT_LLM_ROLE_LOGITS:
        return t->count == (uint64_t)last * graph->ar && (rows || graph->ar == 1);
    default: return 0;
    }
}

/* Collect the tensors without a role, by context, end and name. */
static qnnrt_result qnnrt_llm__match_collect(qnnrt_llm__items *work,
                                             qnnrt_llm__match_puzzle *puzzle)
{
    qnnrt_llm__match_member *members;
    const qnnrt_llm__match_member **order;
    size_t g, i, count = 0;
    for (g = 0; g < work->graph_count; ++g)
        for (i = 0; i < work->graphs[g].count; ++i)
            count += work->graphs[g].tensors[i].role == QNNRT_LLM_ROLE_UNKNOWN;
    members = (qnnrt_llm__match_member *)qnnrt_arena_get(&work->scratch, count, sizeof *members);
    order = (const qnnrt_llm__match_member **)qnnrt_arena_get(&work->scratch, count, sizeof *order);
    puzzle->unknown = (qnnrt_llm__match_unknown *)qnnrt_arena_get(&work->scratch, count,
                                                                  sizeof *puzzle->unknown);
    puzzle->unknown_count = 0;
    if (members == NULL || order == NULL || puzzle->unknown == NULL)
        return qnnrt_llm__items_memory(work);
    for (g = 0, count = 0; g < work->graph_count; ++g)
        for (i = 0; i < work->graphs[g].count; ++i) {
            if (work->graphs[g].tensors[i].role != QNNRT_LLM_ROLE_UNKNOWN) continue;
            members[count].graph = &work->graphs[g];
            members[count].t = &work->graphs[g].tensors[i];
            order[count] = &members[count];
            ++count;
        }
    qnnrt_sort((const void **)order, count, qnnrt_llm__match_member_order);
    for (i = 0; i < count; ++i) {
        const qnnrt_llm__match_member *m = order[i], *before = i > 0 ? order[i - 1] : NULL;
        int same = before != NULL &&
                   qnnrt_llm__match_context(before) == qnnrt_llm__match_context(m) &&
                   before->t->output == m->t->output &&
                   strcmp(before->t->tensor->name, m->t->tensor->name) == 0;
        if (!same) puzzle->unknown[puzzle->unknown_count++].members = &order[i];
        puzzle->unknown[puzzle->unknown_count - 1].count += 1;
    }
    return QNNRT_OK;
}

/* Collect the roles that may be missing, each once. */
static qnnrt_result qnnrt_llm__match_choices(qnnrt_llm__items *work,
                                             qnnrt_llm__match_puzzle *puzzle)
{
    size_t g, i, count = 0, kept = 0;
    qnnrt_result result = QNNRT_OK;
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__match_summaries(work, &work->graphs[g]);
        if (result == QNNRT_OK) count += qnnrt_llm__match_open_choices(&work->graphs[g], NULL);
    }
    if (result != QNNRT_OK) return result;
    if (puzzle->choices == NULL || count > puzzle->open_room) {
        puzzle->open_room = count * 2;
        puzzle->open = (qnnrt_llm__match_choice *)qnnrt_arena_get(&work->scratch, puzzle->open_room,
                                                                  sizeof *puzzle->open);
        puzzle->choices = (const void **)qnnrt_arena_get(&work->scratch, puzzle->open_room,
                                                         sizeof *puzzle->choices);
        if (puzzle->open == NULL || puzzle->choices == NULL) return qnnrt_llm__items_memory(work);
    }
    memset(puzzle->open, 0, count * sizeof *puzzle->open);
    for (g = 0, count = 0; g < work->graph_count; ++g)
        count += qnnrt_llm__match_open_choices(&work->graphs[g], &puzzle->open[count]);
    for (i = 0; i < count; ++i) puzzle->choices[i] = &puzzle->open[i];
    qnnrt_sort(puzzle->choices, count, qnnrt_llm__match_choice_order);
    for (i = 0; i < count; ++i)
        if (i == 0 ||
            qnnrt_llm__match_choice_order(puzzle->choices[kept - 1], puzzle->choices[i]) != 0)
            puzzle->choices[kept++] = puzzle->choices[i];
    puzzle->choice_count = kept;
    return QNNRT_OK;
}

/* Find the first choice from `at` on that a tensor fits in all graphs; choice_count: none. */
static size_t qnnrt_llm__match_next(qnnrt_llm__items *work, const qnnrt_llm__match_puzzle *puzzle,
                                    const qnnrt_llm__match_unknown *u, size_t at, uint64_t *looks)
{
    size_t context = qnnrt_llm__match_context(u->members[0]), i;
    for (; at < puzzle->choice_count; ++at) {
        const qnnrt_llm__match_choice *choice = qnnrt_llm__match_choice_at(puzzle, at);
        if (!qnnrt_llm__layered(choice->role) && choice->context != context) {
            size_t high = puzzle->choice_count;         /* go on to the choices of its own shard */
            if (choice->context > context) return puzzle->choice_count;
            while (at < high) {
                size_t middle = at + (high - at) / 2;
                if (qnnrt_llm__match_choice_at(puzzle, middle)->context < context) at = middle + 1;
                else high = middle;
            }
            --at;
            continue;
        }
        for (i = 0; i < u->count; ++i)
            if (!qnnrt_llm__match_fits(work, u->members[i], choice, looks)) break;
        if (i == u->count) return at;
        if (*looks > QNNRT_LLM__LOOKS) return puzzle->choice_count;
    }
    return at;
}

/* Compare by order in the first graph. */
static int qnnrt_llm__match_unknown_order(const void *a, const void *b)
{
    const qnnrt_llm__match_member *x = ((const qnnrt_llm__match_unknown *)a)->members[0];
    const qnnrt_llm__match_member *y = ((const qnnrt_llm__match_unknown *)b)->members[0];
    return x < y ? -1 : x > y;
}

/* Refuse inputs without a role, and outputs that fit one. Other outputs are unused. */
static qnnrt_result qnnrt_llm__match_refuse(qnnrt_llm__items *work, qnnrt_llm__match_puzzle *puzzle)
{
    size_t k, i, listed = 0, left = 0;
    uint64_t looks = 0;
    const void **order =
        (const void **)qnnrt_arena_get(&work->scratch, puzzle->unknown_count, sizeof *order);
    if (order == NULL) return qnnrt_llm__items_memory(work);
    for (k = 0; k < puzzle->unknown_count; ++k) order[k] = &puzzle->unknown[k];
    qnnrt_sort(order, puzzle->unknown_count, qnnrt_llm__match_unknown_order);
    for (k = 0; k < puzzle->unknown_count; ++k) {
        const qnnrt_llm__match_unknown *u = (const qnnrt_llm__match_unknown *)order[k];
        const qnnrt_llm__match_member *m = u->members[0];
        const qnnrt_llm__match_choice *choice;
        char line[512], facts[160];
        size_t at, shown = 0;
        if (m->t->role != QNNRT_LLM_ROLE_UNKNOWN) continue;
        if (m->t->output && u->choices == 0) {
            for (i = 0; i < u->count; ++i) {
                u->members[i]->t->role = QNNRT_LLM_ROLE_UNUSED;
                u->members[i]->t->reason = "it fits no missing role";
            }
            continue;
        }
        if (listed++ == 0)
            qnnrt_llm__items_hint(work, qnnrt_error_set(work->err, QNNRT_E_MISMATCH,
                                                        "names and shapes do not give the roles of "
                                                        "these tensors:"));
        if (left > 0) { ++left; continue; }
        snprintf(line, sizeof line, "\n  %s \"%.100s\" of step %u, %.100s: ",
                 m->t->output ? "output" : "input", m->t->tensor->name, (unsigned)m->t->step,
                 qnnrt_tensor_text(m->t->tensor, facts, sizeof facts));
        for (at = 0; shown < 3; ++at, ++shown) {
            at = qnnrt_llm__match_next(work, puzzle, u, at, &looks);
            if (at == puzzle->choice_count) break;
            choice = qnnrt_llm__match_choice_at(puzzle, at);
            qnnrt_text_append(line, sizeof line, "%s%s", shown > 0 ? ", " : "",
                              qnnrt_llm__items_what(work, choice->role, choice->layer,
                                                    choice->head));
        }
        if (u->choices == 0) qnnrt_text_append(line, sizeof line, "no role fits");
        else if (u->choices > shown)
            qnnrt_text_append(line, sizeof line, " or %llu more",
                              (unsigned long long)(u->choices - shown));
        else if (u->choices == 1)
            qnnrt_text_append(line, sizeof line, ", which %llu other%s too",
                              (unsigned long long)(u->last->takers - 1),
                              u->last->takers == 2 ? " fits" : "s fit");
        if (!qnnrt_llm__items_add(work->err, "%s", line)) ++left;
    }
    qnnrt_llm__items_more(work->err, left);
    return listed > 0 ? QNNRT_E_MISMATCH : QNNRT_OK;
}

/* Give each tensor the role that is the only one to fit it in all graphs, if no other tensor fits
   that role. Each role that is found may decide another one, so this repeats. */
static qnnrt_result qnnrt_llm__match_shapes(qnnrt_llm__items *work)
{
    qnnrt_llm__match_puzzle puzzle;
    size_t g, k, i, at, found;
    uint64_t looks = 0;
    qnnrt_result result;
    memset(&puzzle, 0, sizeof puzzle);
    result = qnnrt_llm__match_collect(work, &puzzle);
    if (result != QNNRT_OK || puzzle.unknown_count == 0) return result;
    do {                /* each round except the last finds a role; `looks` limits the work */
        result = qnnrt_llm__match_choices(work, &puzzle);
        if (result != QNNRT_OK) return result;
        for (k = 0; k < puzzle.unknown_count; ++k) {
            qnnrt_llm__match_unknown *u = &puzzle.unknown[k];
            u->choices = 0;
            if (u->members[0]->t->role != QNNRT_LLM_ROLE_UNKNOWN) continue;
            for (at = 0; (at = qnnrt_llm__match_next(work, &puzzle, u, at, &looks)) <
                         puzzle.choice_count; ++at) {
                u->choices += 1;
                u->last = qnnrt_llm__match_choice_at(&puzzle, at);
                u->last->takers += 1;
            }
            if (looks > QNNRT_LLM__LOOKS)
                return qnnrt_llm__items_hint(
                    work, qnnrt_error_set(work->err, QNNRT_E_LIMIT,
                                          "too many tensors without a known name to compare "
                                          "shapes: %llu tensors, %llu roles",
                                          (unsigned long long)puzzle.unknown_count,
                                          (unsigned long long)puzzle.choice_count));
        }
        for (k = 0, found = 0; k < puzzle.unknown_count; ++k) {
            qnnrt_llm__match_unknown *u = &puzzle.unknown[k];
            if (u->choices != 1 || u->last->takers != 1) continue;
            ++found;
            for (i = 0; i < u->count; ++i) {
                qnnrt_llm_tensor_info *t = u->members[i]->t;
                t->role = u->last->role;
                t->layer = u->last->layer;
                t->head = qnnrt_llm__layered(t->role) ? u->last->head : 0;
                t->reason = "only this role fits its shape";
            }
        }
        for (g = 0; g < work->graph_count && found > 0; ++g) {
            result = qnnrt_llm__items_measure(work, &work->graphs[g]);
            if (result == QNNRT_OK) result = qnnrt_llm__layout_pairs(work, &work->graphs[g]);
            if (result != QNNRT_OK) return result;
        }
    } while (found > 0);
    return qnnrt_llm__match_refuse(work, &puzzle);
}

/* =====================================================================================
   WIRES                                                                         >>wires
   Makes the edges between shards that roles demand, and finds the slots of tensors with a role.
   Needs: >>config >>shape >>items     Knows nothing of: how roles were found
   ===================================================================================== */

/* The outputs that later shards read, by step. */
typedef struct qnnrt_llm__wires_cuts {
    const qnnrt_llm_tensor_info *hidden, *hidden_in, *cos, *sin;
} qnnrt_llm__wires_cuts;

/* Refuse two tensors with the same role and end in a step, and results in several steps. */
static qnnrt_result qnnrt_llm__wires_once(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    const qnnrt_llm_tensor_info *seen[QNNRT_LLM_ROLE_COUNT][2], *results[2] = { NULL, NULL };
    size_t s, i;
    for (s = 0; s < graph->step_count; ++s) {
        memset(seen, 0, sizeof seen);
        for (i = graph->first[s]; i < graph->first[s + 1]; ++i) {
            const qnnrt_llm_tensor_info *t = &graph->tensors[i], *other;
            const int result = t->role == QNNRT_LLM_ROLE_LOGITS        ? 0
                               : t->role == QNNRT_LLM_ROLE_LAST_HIDDEN ? 1 : -1;
            if (qnnrt_llm__layered(t->role) || t->role == QNNRT_LLM_ROLE_UNKNOWN ||
                (size_t)t->role >= QNNRT_LLM_ROLE_UNUSED) continue;
            other = seen[t->role][t->output];
            if (result >= 0 && results[result] != NULL) other = results[result];
            if (other != NULL)
                return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                             "two tensors have the role %s: %s (%s) and %s (%s)",
                                             qnnrt_llm_role_name(t->role),
                                             qnnrt_llm__items_say(work, graph, other),
                                             other->reason, qnnrt_llm__items_say(work, graph, t),
                                             t->reason);
            seen[t->role][t->output] = t;
            if (result >= 0) results[result] = t;
        }
    }
    return QNNRT_OK;
}

/* Fill an edge between two tensors with equal facts. */
static qnnrt_result qnnrt_llm__wires_edge(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                          const qnnrt_llm_tensor_info *from,
                                          const qnnrt_llm_tensor_info *to, qnnrt_edge_desc *edge)
{
    if (!qnnrt_llm__items_same_facts(from->tensor, to->tensor))
        return qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH, "the cut between steps %u and"
                                     " %u (%s) has different tensors: %s and %s",
                                     (unsigned)from->step, (unsigned)to->step,
                                     qnnrt_llm_role_name(to->role),
                                     qnnrt_llm__items_say(work, graph, from),
                                     qnnrt_llm__items_say(work, graph, to));
    edge->from_step = from->step;
    edge->from = from->tensor->name;
    edge->to_step = to->step;
    edge->to = to->tensor->name;
    return QNNRT_OK;
}

/* Refuse a cut that lacks a shard: if names differ at it, the layers must follow each other. */
static qnnrt_result qnnrt_llm__wires_gap(qnnrt_llm__items *work,
                                         const qnnrt_llm__items_graph *graph,
                                         const qnnrt_llm_tensor_info *from,
                                         const qnnrt_llm_tensor_info *to)
{
    uint32_t last = 0, next = UINT32_MAX;
    int before = 0;
    size_t i;
    if (strcmp(from->tensor->name, to->tensor->name) == 0) return QNNRT_OK;
    for (i = graph->first[from->step]; i < graph->first[from->step + 1]; ++i)
        if (qnnrt_llm__layered(graph->tensors[i].role)) {
            before = 1;
            if (graph->tensors[i].layer > last) last = graph->tensors[i].layer;
        }
    for (i = graph->first[to->step]; i < graph->first[to->step + 1]; ++i)
        if (qnnrt_llm__layered(graph->tensors[i].role) && graph->tensors[i].layer < next)
            next = graph->tensors[i].layer;
    if (!before || next == UINT32_MAX || next <= last || next - last == 1) return QNNRT_OK;
    return qnnrt_llm__items_fail(work, graph, QNNRT_E_NOT_FOUND, "a shard is missing, with layers"
                                 " %u to %u between %s and %s", (unsigned)(last + 1),
                                 (unsigned)(next - 1), qnnrt_llm__items_say(work, graph, from),
                                 qnnrt_llm__items_say(work, graph, to));
}

/* List the edges that roles demand. */
static qnnrt_result qnnrt_llm__wires_edges(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                           qnnrt_edge_desc *edges, size_t *count)
{
    qnnrt_llm__wires_cuts *cuts = (qnnrt_llm__wires_cuts *)qnnrt_arena_get(&work->scratch,
                                                                           graph->step_count,
                                                                           sizeof *cuts);
    const qnnrt_llm_tensor_info *cos = NULL, *sin = NULL;
    qnnrt_result result = QNNRT_OK;
    char step[256];
    size_t s, i;
    *count = 0;
    if (cuts == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        if (t->role == QNNRT_LLM_ROLE_HIDDEN && t->output) cuts[t->step].hidden = t;
        if (t->role == QNNRT_LLM_ROLE_HIDDEN && !t->output) cuts[t->step].hidden_in = t;
        if (t->role == QNNRT_LLM_ROLE_ROPE_COS && t->output) cuts[t->step].cos = t;
        if (t->role == QNNRT_LLM_ROLE_ROPE_SIN && t->output) cuts[t->step].sin = t;
    }
    for (s = 0; s < graph->step_count; ++s) {
        const qnnrt_llm_tensor_info *to = cuts[s].hidden_in;
        if (s > 0 && (to == NULL || cuts[s - 1].hidden == NULL)) {
            size_t k = to == NULL ? s : s - 1;
            qnnrt_llm__items_fail(work, graph, QNNRT_E_NOT_FOUND, "step %u (%s) %s", (unsigned)k,
                                         qnnrt_llm__items_step(&graph->steps[k], step, sizeof step),
                                         to == NULL ? "lacks an input for the hidden state"
                                                    : "lacks an output for the hidden state");
            return qnnrt_error_hint(work->err, QNNRT_E_NOT_FOUND, "Remove the file if it is not a "
                                    "shard of this model, or name its tensor as hidden in a role "
                                    "table.");
        }
        for (i = graph->first[s]; i < graph->first[s + 1] && s > 0; ++i) {
            const qnnrt_llm_tensor_info *t = &graph->tensors[i], *from = NULL;
            if (t->output) continue;
            if (t->role == QNNRT_LLM_ROLE_HIDDEN) from = cuts[s - 1].hidden;
            if (t->role == QNNRT_LLM_ROLE_ROPE_COS) from = cos;
            if (t->role == QNNRT_LLM_ROLE_ROPE_SIN) from = sin;
            if (from == NULL) continue;
            if (t->role == QNNRT_LLM_ROLE_HIDDEN)
                result = qnnrt_llm__wires_gap(work, graph, from, t);
            if (result == QNNRT_OK)
                result = qnnrt_llm__wires_edge(work, graph, from, t, &edges[*count]);
            if (result != QNNRT_OK) return result;
            ++*count;
        }
        if (cuts[s].cos != NULL) cos = cuts[s].cos;
        if (cuts[s].sin != NULL) sin = cuts[s].sin;
    }
    return QNNRT_OK;
}

/* Return 1 if a pipeline has these edges and no others. */
static int qnnrt_llm__wires_wired(const qnnrt_pipeline *pipeline, const qnnrt_edge_desc *edges,
                                  size_t count)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    size_t e, k;
    if (info->failure != NULL || info->edge_count != count) return 0;
    for (e = 0; e < count; ++e) {
        for (k = 0; k < count; ++k) {
            QNNRT_LLM__STEP();
            if (info->edges[k].from_step == edges[e].from_step &&
                info->edges[k].to_step == edges[e].to_step &&
                strcmp(info->edges[k].from->name, edges[e].from) == 0 &&
                strcmp(info->edges[k].to->name, edges[e].to) == 0) break;
        }
        if (k == count) return 0;
    }
    return 1;
}

static int qnnrt_llm__wires_name_order(const void *a, const void *b)
{
    const qnnrt_llm_tensor_info *x = (const qnnrt_llm_tensor_info *)a;
    const qnnrt_llm_tensor_info *y = (const qnnrt_llm_tensor_info *)b;
    int order = strcmp(x->tensor->name, y->tensor->name);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* List inputs that share a name in several steps but not their content: different roles, or caches
   of shards that each count layers from 0. */
static qnnrt_result qnnrt_llm__wires_apart(qnnrt_llm__items *work,
                                           const qnnrt_llm__items_graph *graph,
                                           qnnrt_use_desc **out, size_t *count)
{
    const void **list = (const void **)qnnrt_arena_get(&work->scratch, graph->count, sizeof *list);
    size_t i, begin, n = 0;
    *out = (qnnrt_use_desc *)qnnrt_arena_get(&work->scratch, graph->count, sizeof **out);
    *count = 0;
    if (list == NULL || *out == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < graph->count; ++i)
        if (!graph->tensors[i].output) list[n++] = &graph->tensors[i];
    qnnrt_sort(list, n, qnnrt_llm__wires_name_order);
    for (begin = 0; begin < n; begin = i) {
        const qnnrt_llm_tensor_info *first = (const qnnrt_llm_tensor_info *)list[begin];
        int differ = 0;
        for (i = begin; i < n; ++i) {
            const qnnrt_llm_tensor_info *t = (const qnnrt_llm_tensor_info *)list[i];
            if (strcmp(t->tensor->name, first->tensor->name) != 0) break;
            differ |= t != first && (t->role != first->role || qnnrt_llm__layered(t->role));
        }
        for (; differ && begin < i; ++begin) {
            const qnnrt_llm_tensor_info *t = (const qnnrt_llm_tensor_info *)list[begin];
            (*out)[*count].step = t->step;
            (*out)[*count].tensor = t->tensor->name;
            (*out)[(*count)++].apart = 1;
        }
    }
    return QNNRT_OK;
}

/* Use the model's pipeline if its author has wired it or its edges are right, else make another
   one. */
static qnnrt_result qnnrt_llm__wires_wire(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    qnnrt_pipeline_desc desc;
    qnnrt_edge_desc *edges = (qnnrt_edge_desc *)qnnrt_arena_get(&work->scratch,
                                                                (uint64_t)graph->step_count * 3,
                                                                sizeof *edges);
    qnnrt_step_desc *steps =
        (qnnrt_step_desc *)qnnrt_arena_get(&work->scratch, graph->step_count, sizeof *steps);
    qnnrt_use_desc *apart;
    qnnrt_result result;
    size_t count, apart_count, s;
    if (graph->wired) return QNNRT_OK;
    if (edges == NULL || steps == NULL) return qnnrt_llm__items_memory(work);
    result = qnnrt_llm__wires_edges(work, graph, edges, &count);
    if (result == QNNRT_OK) result = qnnrt_llm__wires_apart(work, graph, &apart, &apart_count);
    if (result != QNNRT_OK) return result;
    if (graph->pipeline != NULL && apart_count == 0 &&
        qnnrt_llm__wires_wired(graph->pipeline, edges, count)) return QNNRT_OK;
    memset(&desc, 0, sizeof desc);
    for (s = 0; s < graph->step_count; ++s) {
        steps[s].model = graph->steps[s].model;
        steps[s].context = graph->steps[s].context;
        steps[s].graph = graph->steps[s].graph->name;
    }
    desc.name = graph->name;
    desc.steps = steps;
    desc.step_count = graph->step_count;
    desc.edges = edges;
    desc.edge_count = count;
    desc.edges_only = 1;
    desc.uses = apart;
    desc.use_count = apart_count;
    result = qnnrt_pipeline_make(&desc, &graph->made, work->err);
    if (result == QNNRT_OK) graph->pipeline = graph->made;
    return result;
}

/* ---- slots ---- */

/* Find the slot of a tensor. */
static qnnrt_result qnnrt_llm__wires_slot(qnnrt_llm__items *work, const qnnrt_pipeline *pipeline,
                                          const qnnrt_llm_tensor_info *t, const qnnrt_slot **out)
{
    if (!qnnrt_llm__items_address(work, t->step, t->tensor->name))
        return qnnrt_llm__items_memory(work);
    return qnnrt_slot_find(pipeline, work->address,
                           t->output ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT, out, work->err);
}

/* Return 1 for an input that the caller fills: neither an edge nor a constant. */
static int qnnrt_llm__wires_from_caller(const qnnrt_llm__items_graph *graph,
                                        const qnnrt_llm_tensor_info *t, const unsigned char *fed)
{
    return !t->output && !fed[t - graph->tensors] && t->role != QNNRT_LLM_ROLE_CONSTANT;
}

/* Mark the inputs that edges fill. */
static qnnrt_result qnnrt_llm__wires_fed(qnnrt_llm__items *work,
                                         const qnnrt_llm__items_graph *graph, unsigned char **out)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
    size_t e;
    *out = (unsigned char *)qnnrt_arena_get(&work->scratch, graph->count, 1);
    if (*out == NULL) return qnnrt_llm__items_memory(work);
    for (e = 0; e < info->edge_count; ++e) {
        const qnnrt_edge_info *edge = &info->edges[e];
        const qnnrt_graph_info *g = graph->steps[edge->to_step].graph;
        (*out)[graph->first[edge->to_step] + (size_t)(edge->to - g->inputs)] = 1;
    }
    return QNNRT_OK;
}

/* Fill the slots of a graph, each once even if several steps read it. */
static qnnrt_result qnnrt_llm__wires_slots(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                           qnnrt_llm__graph *to)
{
    qnnrt_llm *llm = work->llm;
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
    const qnnrt_llm_tensor_info *other, **seen =
        (const qnnrt_llm_tensor_info **)qnnrt_arena_get(&work->scratch, info->slot_count,
                                                        sizeof *seen);
    unsigned char *fed;
    size_t i, k;
    qnnrt_result result = qnnrt_llm__wires_fed(work, graph, &fed);
    if (result != QNNRT_OK) return result;
    to->logits = to->hidden = NULL;
    to->kv = (qnnrt_llm__ends *)qnnrt_arena_get(&llm->arena, llm->kv_count, sizeof *to->kv);
    for (i = 0; i < QNNRT_LLM_ROLE_COUNT; ++i) {
        size_t most = 0;
        for (k = 0; k < graph->count; ++k) {
            QNNRT_LLM__STEP();
            most += (size_t)graph->tensors[k].role == i && !graph->tensors[k].output;
        }
        if (qnnrt_llm__layered((qnnrt_llm_role)i)) most = 0;
        to->inputs[i].slots = (const qnnrt_slot **)qnnrt_arena_get(&llm->arena, most,
                                                                   sizeof *to->inputs[i].slots);
        if (to->inputs[i].slots == NULL) return qnnrt_llm__items_memory(work);
    }
    if (seen == NULL || to->kv == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        qnnrt_llm__slots *list = &to->inputs[t->role];
        const qnnrt_slot *slot;
        if (t->output ? t->role != QNNRT_LLM_ROLE_LOGITS && t->role != QNNRT_LLM_ROLE_LAST_HIDDEN
                      : !qnnrt_llm__wires_from_caller(graph, t, fed)) continue;
        result = qnnrt_llm__wires_slot(work, graph->pipeline, t, &slot);
        if (result != QNNRT_OK) return result;
        if (t->output) {
            *(t->role == QNNRT_LLM_ROLE_LOGITS ? &to->logits : &to->hidden) = slot;
            continue;
        }
        other = seen[(size_t)(slot - info->slots)];
        if (other == NULL && !qnnrt_llm__layered(t->role)) list->slots[list->count++] = slot;
        if (other != NULL && (other->role != t->role || qnnrt_llm__layered(t->role)))
            return qnnrt_error_hint(work->err,
                                    qnnrt_llm__items_fail(work, graph, QNNRT_E_MISMATCH,
                                                          "%s (%s) and %s (%s) are one slot of the "
                                                          "pipeline",
                                                          qnnrt_llm__items_say(work, graph, other),
                                                          qnnrt_llm__items_what(work, other->role,
                                                                                other->layer,
                                                                                other->head),
                                                          qnnrt_llm__items_say(work, graph, t),
                                                          qnnrt_llm__items_what(work, t->role,
                                                                                t->layer, t->head)),
                                    "Keep these inputs apart: \"apart\" in qnnrt.json, or "
                                    "qnnrt_use_desc.apart.");
        seen[(size_t)(slot - info->slots)] = t;
    }
    for (k = 0; k < llm->kv_count; ++k) {
        const qnnrt_llm__items_pair *pair = &graph->pairs[k];
        qnnrt_llm__ends *ends = &to->kv[k];
        const qnnrt_llm__kv *kv = &llm->kv[k];
        ends->in = NULL;
        if (pair->in != NULL) {
            result = qnnrt_llm__wires_slot(work, graph->pipeline, pair->in, &ends->in);
            if (result != QNNRT_OK) return result;
        }
        result = qnnrt_llm__wires_slot(work, graph->pipeline, pair->out, &ends->out);
        if (result != QNNRT_OK) return result;
        ends->out_cells = (uint32_t)(pair->out->tensor->count / ((uint64_t)kv->outer * kv->inner));
        ends->out_first = ends->out_cells > graph->ar ? ends->out_cells - graph->ar : 0;
    }
    return QNNRT_OK;
}

/* =====================================================================================
   ROLES                                                                         >>roles
   Opens a language model: gives every tensor its role, and derives the facts about the model.
   Needs: >>config >>shape >>rope >>settings >>items >>group >>layout >>order >>match >>wires
   Knows nothing of: memory of caches, steps
   ===================================================================================== */

/* Take vocabulary, type and encoding from the logits of a graph. */
static qnnrt_result qnnrt_llm__roles_logits(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    qnnrt_llm_info *info = &work->llm->info;
    size_t i;
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        uint32_t last = t->tensor->rank > 0 ? t->tensor->dims[t->tensor->rank - 1] : 0;
        if (t->role != QNNRT_LLM_ROLE_LOGITS) continue;
        if (last == 0 || t->tensor->count != (uint64_t)last * graph->ar)
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED,
                                         "%s: expected logits of each of %u tokens per call",
                                         qnnrt_llm__items_say(work, graph, t), (unsigned)graph->ar);
        if (t->tensor->bytes < t->tensor->count)     /* a row could end within a byte */
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED,
                                         "%s: expected logits of 8 bits or more",
                                         qnnrt_llm__items_say(work, graph, t));
        if (info->logits == NULL) {
            info->logits = t->tensor;
            info->vocabulary = last;
            info->logits_bytes = (size_t)(t->tensor->bytes / graph->ar);
        } else if (last != info->vocabulary || t->tensor->dtype != info->logits->dtype ||
                   !qnnrt_quant_equal(&t->tensor->quant, &info->logits->quant))
            return qnnrt_error_set(work->err, QNNRT_E_MISMATCH, "graphs disagree on logits: "
                                   "\"%.100s\" has %s, unlike \"%s\" of another graph", graph->name,
                                   qnnrt_llm__items_say(work, graph, t), info->logits->name);
    }
    return QNNRT_OK;
}

/* Take the width from the last hidden state of a graph, and from its input for embeddings. */
static qnnrt_result qnnrt_llm__roles_hidden(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph)
{
    qnnrt_llm_info *info = &work->llm->info;
    size_t i;
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        const int in = t->role == QNNRT_LLM_ROLE_HIDDEN && !t->output && t->step == 0;
        const qnnrt_tensor_info **known = in ? &info->embeddings : &info->hidden;
        uint32_t last = t->tensor->rank > 0 ? t->tensor->dims[t->tensor->rank - 1] : 0;
        if (!in && t->role != QNNRT_LLM_ROLE_LAST_HIDDEN) continue;
        if (last == 0 || t->tensor->count != (uint64_t)last * graph->ar ||
            (info->width != 0 && info->width != last))
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED, "%s: expected a row"
                                         " of %u values for each of %u tokens per call",
                                         qnnrt_llm__items_say(work, graph, t),
                                         (unsigned)(info->width != 0 ? info->width : last),
                                         (unsigned)graph->ar);
        info->width = last;
        if (*known == NULL) *known = t->tensor;
    }
    return QNNRT_OK;
}

/* Check the tensors of cos and sin: they have one angle per pair of elements, or each angle twice.
   *taken receives 1 when the host gives them. */
static qnnrt_result qnnrt_llm__roles_angles(qnnrt_llm__items *work, qnnrt_llm__items_graph *graph,
                                            int *taken)
{
    uint32_t dim = work->llm->info.key_dim;
    size_t i;
    int given = 0;
    for (i = 0; i < graph->count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        uint32_t n = t->tensor->rank > 0 ? t->tensor->dims[t->tensor->rank - 1] : 0;
        if (t->role != QNNRT_LLM_ROLE_ROPE_COS && t->role != QNNRT_LLM_ROLE_ROPE_SIN) continue;
        if (t->tensor->count != (uint64_t)n * graph->ar ||
            (dim != 0 && n != dim && (uint64_t)n * 2 != dim))
            return qnnrt_llm__items_fail(work, graph, QNNRT_E_UNSUPPORTED, "%s: expected %s with %u"
                                         " angles or half as many for each of %u tokens per call",
                                         qnnrt_llm__items_say(work, graph, t),
                                         qnnrt_llm_role_name(t->role), (unsigned)dim,
                                         (unsigned)graph->ar);
        given |= t->output;
        if (!t->output && !given) *taken = 1;
    }
    return QNNRT_OK;
}

/* Take RoPE, bos, eos and window from the caller, genie_config.json, qnnrt.json or defaults. */
static qnnrt_result qnnrt_llm__roles_settings(qnnrt_llm__items *work, int angles)
{
    const qnnrt_llm_desc *desc = work->desc;
    qnnrt_llm_info *info = &work->llm->info;
    const qnnrt_llm__settings *genie = &work->genie, *own = &work->own;
    const int32_t *eos = desc->eos_count > 0 ? desc->eos
                                             : genie->eos_count > 0 ? genie->eos : own->eos;
    size_t count = desc->eos_count > 0 ? desc->eos_count
                                       : genie->eos_count > 0 ? genie->eos_count : own->eos_count;
    size_t i;
    int32_t *copy;
    qnnrt_result result, wrong = QNNRT_E_ARG;
    info->rope = desc->rope;
    info->rope_source = "the caller";
    if (desc->rope.theta == 0) {
        info->rope = genie->rope.theta > 0 ? genie->rope : own->rope;
        info->rope_source = genie->rope.theta > 0 ? "genie_config.json"
                            : own->rope.theta > 0 ? "qnnrt.json" : "the default";
        wrong = QNNRT_E_FORMAT;
        if (angles && genie->rope.theta > 0 && genie->rope_type[0] != '\0')
            return qnnrt_error_hint(work->err,
                                    qnnrt_error_set(work->err, QNNRT_E_UNSUPPORTED,
                                                    "genie_config.json: rope-type \"%s\", expected "
                                                    "default, linear or llama3", genie->rope_type),
                                    "Set desc.rope to what the model was trained with.");
    }
    result = qnnrt_llm__rope_resolve(&info->rope, info->rope_source, wrong, work->err);
    if (result != QNNRT_OK) return result;
    /* Pairs may stand alone, as Genie's files lack them. */
    info->rope.pairs = desc->rope.pairs != QNNRT_LLM_ROPE_UNKNOWN ? desc->rope.pairs
                                                                  : own->rope.pairs;
    work->llm->turned = info->rope;
    if (!angles && (strcmp(info->rope_source, "the default") == 0 ||
                    (desc->rope.theta == 0 && genie->rope_type[0] != '\0')))
        work->llm->turned.theta = 0;
    if (!angles) {
        memset(&info->rope, 0, sizeof info->rope);
        info->rope.pairs = work->llm->turned.pairs;
    }
    copy = (int32_t *)qnnrt_arena_get(&work->llm->arena, count, sizeof *copy);
    if (copy == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < count; ++i) {
        copy[i] = eos[i];
        if (eos[i] < 0)
            return qnnrt_error_set(work->err, QNNRT_E_ARG, "desc.eos: %d is not a token",
                                   (int)eos[i]);
    }
    info->eos = copy;
    info->eos_count = count;
    if (desc->bos != NULL && *desc->bos < 0)
        return qnnrt_error_set(work->err, QNNRT_E_ARG, "desc.bos: %d is not a token",
                               (int)*desc->bos);
    info->bos = desc->bos != NULL ? *desc->bos : genie->bos >= 0 ? genie->bos : own->bos;
    info->window = desc->window > 0 ? desc->window : own->window;
    return QNNRT_OK;
}

/* Continue a hash (FNV-1a). */
static uint64_t qnnrt_llm__roles_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    while (bytes-- > 0) hash = (hash ^ *at++) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t qnnrt_llm__roles_hash_tensor(uint64_t hash, const qnnrt_tensor_info *t)
{
    uint32_t facts[8];
    facts[0] = (uint32_t)t->dtype;
    facts[1] = t->rank;
    facts[2] = (uint32_t)t->quant.encoding;
    facts[3] = t->quant.bitwidth;
    facts[4] = (uint32_t)t->quant.offset;
    facts[5] = (uint32_t)t->quant.axis;
    facts[6] = t->quant.count;
    memcpy(&facts[7], &t->quant.scale, sizeof facts[7]);
    hash = qnnrt_llm__roles_hash(hash, t->name, strlen(t->name) + 1);
    hash = qnnrt_llm__roles_hash(hash, facts, sizeof facts);
    hash = qnnrt_llm__roles_hash(hash, t->dims, t->rank * sizeof *t->dims);
    if (t->quant.encoding != QNNRT_ENCODING_PER_AXIS) return hash;
    hash = qnnrt_llm__roles_hash(hash, t->quant.scales, t->quant.count * sizeof *t->quant.scales);
    if (t->quant.offsets == NULL) return hash;
    return qnnrt_llm__roles_hash(hash, t->quant.offsets, t->quant.count * sizeof *t->quant.offsets);
}

/* Continue a hash with 64 pieces of a constant: tables may be large, and mapped. */
static uint64_t qnnrt_llm__roles_hash_constant(uint64_t hash, const void *constant, uint64_t bytes)
{
    enum { PIECES = 64, PIECE = 64 };
    const unsigned char *data = (const unsigned char *)constant;
    uint64_t i;
    if (bytes <= PIECES * PIECE) return qnnrt_llm__roles_hash(hash, data, (size_t)bytes);
    for (i = 0; i < PIECES; ++i)
        hash = qnnrt_llm__roles_hash(hash, data + (bytes - PIECE) / (PIECES - 1) * i, PIECE);
    return hash;
}

static uint64_t qnnrt_llm__roles_hash_context(uint64_t hash, const qnnrt_context_info *context)
{
    uint64_t sizes[3];
    sizes[0] = context->file_bytes;
    sizes[1] = context->blob_bytes;
    sizes[2] = context->fingerprint;
    hash = qnnrt_llm__roles_hash(hash, sizes, sizeof sizes);
    if (context->build_id == NULL) return hash;     /* the shard did not load */
    return qnnrt_llm__roles_hash(hash, context->build_id, strlen(context->build_id) + 1);
}

/* Return a hash of all contexts, tensors, roles and constants. */
static uint64_t qnnrt_llm__roles_fingerprint(const qnnrt_llm__items *work)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    size_t g, i;
    const qnnrt_pipeline_info *pipeline;
    for (g = 0; g < work->llm->model_count; ++g) {
        const qnnrt_info *model = qnnrt_get_info(work->llm->models[g]);
        for (i = 0; i < model->context_count; ++i)
            hash = qnnrt_llm__roles_hash_context(hash, &model->contexts[i]);
    }
    for (g = 0; g < work->graph_count; ++g)
        for (i = 0; i < work->graphs[g].count; ++i) {
            const qnnrt_llm_tensor_info *t = &work->graphs[g].tensors[i];
            uint32_t facts[5];
            facts[0] = t->step;
            facts[1] = (uint32_t)t->output;
            facts[2] = (uint32_t)t->role;
            facts[3] = t->layer;
            facts[4] = t->head;
            hash = qnnrt_llm__roles_hash(hash, facts, sizeof facts);
            hash = qnnrt_llm__roles_hash_tensor(hash, t->tensor);
        }
    for (g = 0; g < work->graph_count; ++g) {
        pipeline = qnnrt_pipeline_get_info(work->graphs[g].pipeline);
        for (i = 0; i < pipeline->slot_count; ++i)
            if (pipeline->slots[i].constant != NULL)
                hash = qnnrt_llm__roles_hash_constant(hash, pipeline->slots[i].constant,
                                                      pipeline->slots[i].tensor->bytes);
    }
    if (work->llm->table_data != NULL)
        hash = qnnrt_llm__roles_hash_constant(hash, work->llm->table_data, work->llm->table->bytes);
    return hash;
}

/* Write the layout in words. */
static qnnrt_result qnnrt_llm__roles_layout(qnnrt_llm__items *work)
{
    qnnrt_llm *llm = work->llm;
    const qnnrt_llm__kv *keys = NULL, *values = NULL;
    int per_head = 0, whole = 0;
    size_t k;
    char text[128];
    for (k = 0; k < llm->kv_count; ++k) {
        if (llm->kv[k].head > 0) per_head = 1;
        if (keys == NULL && llm->kv[k].role == QNNRT_LLM_ROLE_KEY_IN) keys = &llm->kv[k];
        if (values == NULL && llm->kv[k].role == QNNRT_LLM_ROLE_VALUE_IN) values = &llm->kv[k];
        if (llm->graphs[0].kv[k].out_cells > llm->graphs[0].ar) whole = 1;
    }
    if (keys == NULL || values == NULL) snprintf(text, sizeof text, "no cache");
    else
        snprintf(text, sizeof text, "one tensor per %s, %s%s", per_head ? "head" : "layer",
                 (keys->inner == 1) == (values->inner == 1) ? "keys like values"
                 : keys->inner == 1 ? "keys transposed" : "values transposed",
                 whole ? ", the whole cache comes out" : "");
    llm->info.layout = qnnrt_arena_text(&llm->arena, text, strlen(text));
    return llm->info.layout != NULL ? QNNRT_OK : qnnrt_llm__items_memory(work);
}

/* ---- all of it ---- */

static int qnnrt_llm__roles_graph_order(const void *a, const void *b)
{
    const qnnrt_llm__items_graph *x = (const qnnrt_llm__items_graph *)a;
    const qnnrt_llm__items_graph *y = (const qnnrt_llm__items_graph *)b;
    if (x->ar != y->ar) return x->ar < y->ar ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Find how many tokens there are. */
static void qnnrt_llm__roles_words(qnnrt_llm *llm)
{
    const qnnrt_tensor_info *table = llm->table;
    const qnnrt_llm__slots *in = &llm->graphs[0].inputs[QNNRT_LLM_ROLE_TOKENS];
    const qnnrt_pipeline_info *first = qnnrt_pipeline_get_info(llm->graphs[0].pipeline);
    size_t i;
    llm->info.words = llm->info.vocabulary;
    for (i = 0; i < first->slot_count && llm->info.words == 0; ++i)     /* of a host's look-up */
        if (first->slots[i].constant != NULL && first->slots[i].first == 0 &&
            first->steps[0].kind == QNNRT_STEP_HOST && first->slots[i].tensor->rank == 2)
            llm->info.words = first->slots[i].tensor->dims[0];
    if (table != NULL && table->rank >= 2) llm->info.words = table->dims[table->rank - 2];
    if (llm->info.words == 0 && in->count > 0 && in->slots[0]->has_range &&
        in->slots[0]->low == 0 && in->slots[0]->high > 0 && in->slots[0]->high < INT32_MAX)
        llm->info.words = (uint32_t)in->slots[0]->high + 1;
}

/* Move the graphs into the model. */
static qnnrt_result qnnrt_llm__roles_deliver(qnnrt_llm__items *work)
{
    qnnrt_llm *llm = work->llm;
    qnnrt_llm_graph_info *infos;
    qnnrt_result result = QNNRT_OK;
    size_t g;
    llm->graphs = (qnnrt_llm__graph *)qnnrt_arena_get(&llm->arena, work->graph_count,
                                                      sizeof *llm->graphs);
    infos = (qnnrt_llm_graph_info *)qnnrt_arena_get(&llm->arena, work->graph_count, sizeof *infos);
    if (llm->graphs == NULL || infos == NULL) return qnnrt_llm__items_memory(work);
    llm->info.graphs = infos;
    for (g = 0; g < work->graph_count; ++g) {
        qnnrt_llm__items_graph *from = &work->graphs[g];
        qnnrt_llm__graph *to = &llm->graphs[g];
        if (g > 0 && from->ar == from[-1].ar && from->context == from[-1].context)
            return qnnrt_error_hint(work->err,
                                    qnnrt_error_set(work->err, QNNRT_E_MISMATCH,
                                                    "\"%.200s\" and \"%.200s\" both take %u tokens "
                                                    "per call with a context of %u", from[-1].name,
                                                    from->name, (unsigned)from->ar,
                                                    (unsigned)from->context),
                                    "Choose one with desc.pipelines.");
        to->pipeline = from->pipeline;
        to->name = from->name;
        to->ar = from->ar;
        to->context = from->context;
        to->cells = from->context - from->ar;
        result = qnnrt_llm__wires_slots(work, from, to);
        if (result != QNNRT_OK) return result;
        infos[g].name = from->name;
        infos[g].ar = from->ar;
        infos[g].context = from->context;
        infos[g].tensor_count = from->count;
        infos[g].tensors = from->tensors;
        if (to->ar > llm->info.ar) llm->info.ar = to->ar;
        if (to->context > llm->info.context) llm->info.context = to->context;
        if (to->cells > llm->info.cells) llm->info.cells = to->cells;
        to->made = from->made;              /* the model owns it now */
        from->made = NULL;
        llm->info.graph_count = g + 1;
    }
    qnnrt_llm__roles_words(llm);
    return qnnrt_llm__roles_layout(work);
}

/* Give roles by table, names and ExecuTorch's numbers, and measure all graphs. */
static qnnrt_result qnnrt_llm__roles_name(qnnrt_llm__items *work)
{
    qnnrt_result result = QNNRT_OK;
    size_t g;
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__items_graph_begin(work, &work->graphs[g]);
        if (result == QNNRT_OK) result = qnnrt_llm__order_args(work, &work->graphs[g]);
    }
    if (result == QNNRT_OK) result = qnnrt_llm__items_leftover(work);
    work->readers = (size_t *)qnnrt_arena_get(&work->scratch, (uint64_t)work->contexts + 1,
                                              2 * sizeof *work->readers);
    if (result == QNNRT_OK && work->readers == NULL) return qnnrt_llm__items_memory(work);
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__order_ordered(work, &work->graphs[g], QNNRT_LLM_ROLE_KEY_IN,
                                          QNNRT_LLM_ROLE_KEY_OUT);
        if (result == QNNRT_OK)
            result = qnnrt_llm__order_ordered(work, &work->graphs[g], QNNRT_LLM_ROLE_VALUE_IN,
                                              QNNRT_LLM_ROLE_VALUE_OUT);
    }
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__items_measure(work, &work->graphs[g]);
        if (result == QNNRT_OK) result = qnnrt_llm__layout_pairs(work, &work->graphs[g]);
    }
    return result;
}

/* Wire all graphs. */
static qnnrt_result qnnrt_llm__roles_wire(qnnrt_llm__items *work)
{
    qnnrt_result result = QNNRT_OK;
    size_t g;
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__wires_once(work, &work->graphs[g]);
        if (result == QNNRT_OK) result = qnnrt_llm__wires_wire(work, &work->graphs[g]);
        if (result == QNNRT_OK && work->graphs[g].ar == 0)
            result = qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "\"%.200s\": unknown number of "
                                     "tokens per call", work->graphs[g].name);
    }
    return result;
}

/* Sort graphs by AR, then context. */
static qnnrt_result qnnrt_llm__roles_sort(qnnrt_llm__items *work)
{
    size_t i;
    const void **order =
        (const void **)qnnrt_arena_get(&work->scratch, work->graph_count, sizeof *order);
    qnnrt_llm__items_graph *sorted = (qnnrt_llm__items_graph *)qnnrt_arena_get(&work->scratch,
                                                                               work->graph_count,
                                                                               sizeof *sorted);
    if (order == NULL || sorted == NULL) return qnnrt_llm__items_memory(work);
    for (i = 0; i < work->graph_count; ++i) order[i] = &work->graphs[i];
    qnnrt_sort(order, work->graph_count, qnnrt_llm__roles_graph_order);
    for (i = 0; i < work->graph_count; ++i) memcpy(&sorted[i], order[i], sizeof *sorted);
    work->graphs = sorted;
    return QNNRT_OK;
}

/* Find everything, in this order. */
static qnnrt_result qnnrt_llm__roles_find(qnnrt_llm__items *work)
{
    qnnrt_llm *llm = work->llm;
    qnnrt_result result;
    int angles = 0;
    size_t g;
    result = qnnrt_llm__settings_read(work->desc, &work->own, &work->genie, &work->scratch,
                                      work->err);
    if (result == QNNRT_OK) result = qnnrt_llm__items_table(work);
    if (result == QNNRT_OK) result = qnnrt_llm__group_pipelines(work);
    if (result == QNNRT_OK && work->graph_count == 0)
        result = qnnrt_error_set(work->err, QNNRT_E_NOT_FOUND, "the model has no graphs");
    if (result == QNNRT_OK) result = qnnrt_llm__roles_name(work);
    if (result == QNNRT_OK) result = qnnrt_llm__match_shapes(work);
    if (result == QNNRT_OK) result = qnnrt_llm__roles_wire(work);
    if (result == QNNRT_OK) result = qnnrt_llm__layout_agree(work);
    if (result == QNNRT_OK) result = qnnrt_llm__layout_layers(work);
    if (result == QNNRT_OK) result = qnnrt_llm__layout_types(work);
    if (result == QNNRT_OK) result = qnnrt_llm__layout_deliver(work);
    if (result == QNNRT_OK) result = qnnrt_llm__roles_sort(work);
    for (g = 0; g < work->graph_count && result == QNNRT_OK; ++g) {
        result = qnnrt_llm__roles_logits(work, &work->graphs[g]);
        if (result == QNNRT_OK) result = qnnrt_llm__roles_hidden(work, &work->graphs[g]);
        if (result == QNNRT_OK) result = qnnrt_llm__roles_angles(work, &work->graphs[g], &angles);
    }
    if (result == QNNRT_OK) result = qnnrt_llm__roles_settings(work, angles);
    if (result == QNNRT_OK) result = qnnrt_llm__roles_deliver(work);
    if (result == QNNRT_OK) llm->info.fingerprint = qnnrt_llm__roles_fingerprint(work);
    return result;
}

/* Free a model. */
static void qnnrt_llm__roles_free(qnnrt_llm *llm)
{
    qnnrt_arena arena = llm->arena;     /* it holds llm */
    size_t g;
    for (g = 0; g < llm->info.graph_count; ++g) qnnrt_pipeline_destroy(llm->graphs[g].made);
    qnnrt_arena_free(&arena);
}

/* Make a language model of an opened model. */
static qnnrt_result qnnrt_llm__roles_open(qnnrt *model, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                          qnnrt_error *err)
{
    qnnrt_llm__items work;
    const qnnrt_info *info = qnnrt_get_info(model != NULL ? model : desc->models[0]);
    qnnrt_llm_desc with;
    qnnrt_arena arena;
    qnnrt_result result;
    size_t g;
    memset(&work, 0, sizeof work);
    with = *desc;
    if (with.folder == NULL) with.folder = info->folder;
    if (with.hooks.alloc == NULL && info->backend != NULL)
        with.hooks = *qnnrt_backend_get_info(info->backend)->hooks;
    work.desc = &with;
    work.err = err;
    arena = work.scratch = qnnrt_llm__arena(&with.hooks);
    work.llm = (qnnrt_llm *)qnnrt_arena_get(&arena, 1, sizeof *work.llm);
    if (work.llm == NULL) return qnnrt_llm__fail_memory(err, "a model");
    work.llm->arena = arena;
    work.llm->masked = desc->masked;
    work.llm->table = desc->table;
    work.llm->table_data = desc->table_data;
    work.llm->update = desc->update;
    work.llm->info.bos = -1;
    work.llm->info.cache_dtype = QNNRT_DTYPE_UNDEFINED;
    if (model == NULL && desc->model_count == 1 &&
        desc->made == qnnrt_get_info(desc->models[0])->pipelines) {
        model = desc->models[0];                /* a folder without a program */
        with.made = NULL;
        with.made_count = 0;
    }
    result = model != NULL ? qnnrt_llm__items_models(&work, &model, 1)
                           : qnnrt_llm__items_models(&work, desc->models, desc->model_count);
    if (result == QNNRT_OK) result = qnnrt_llm__roles_find(&work);
    for (g = 0; g < work.graph_count; ++g) qnnrt_pipeline_destroy(work.graphs[g].made);
    qnnrt_arena_free(&work.scratch);
    if (result == QNNRT_OK) *out = work.llm;
    else qnnrt_llm__roles_free(work.llm);
    return result;
}

/* =====================================================================================
   DESCRIBE                                                                   >>describe
   Describes a language model in lines of text.
   Needs: >>shape >>rope (its words)     Knows nothing of: how roles were found
   ===================================================================================== */

typedef struct qnnrt_llm__describe_to {
    void (*line)(void *user, const char *text);
    void *user;
} qnnrt_llm__describe_to;

__attribute__((format(printf, 2, 3)))
static void qnnrt_llm__describe_line(const qnnrt_llm__describe_to *to, const char *format, ...)
{
    char text[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    qnnrt_text_clean(text);
    to->line(to->user, text);
}

static void qnnrt_llm__describe_model(const qnnrt_llm__describe_to *to, const qnnrt_llm_info *info)
{
    char text[256];
    size_t i;
    qnnrt_llm__describe_line(to, "%u graph%s, %u tokens per call at most, context %u, cache of %u"
                             " cells", (unsigned)info->graph_count,
                             info->graph_count == 1 ? "" : "s", (unsigned)info->ar,
                             (unsigned)info->context, (unsigned)info->cells);
    qnnrt_llm__describe_line(to, "%u layers, %u heads of keys and values, head_dim %u%s%s, %s",
                             (unsigned)info->layers, (unsigned)info->heads, (unsigned)info->key_dim,
                             info->layers > 0 ? ", " : "",
                             info->layers > 0 ? qnnrt_dtype_name(info->cache_dtype) : "",
                             info->layout);
    if (info->value_dim != info->key_dim)
        qnnrt_llm__describe_line(to, "head_dim of values %u", (unsigned)info->value_dim);
    if (info->vocabulary > 0)
        qnnrt_llm__describe_line(to, "vocabulary %u, logits %s", (unsigned)info->vocabulary,
                                 qnnrt_dtype_name(info->logits->dtype));
    else if (info->hidden == NULL)
        qnnrt_llm__describe_line(to, "no logits: a part of a model");
    if (info->hidden != NULL)
        qnnrt_llm__describe_line(to, "last hidden state of %u values, %s%s", (unsigned)info->width,
                                 qnnrt_dtype_name(info->hidden->dtype),
                                 info->vocabulary > 0 ? "" : ", no logits");
    if (info->embeddings != NULL)
        qnnrt_llm__describe_line(to, "takes embeddings of %u values, %s", (unsigned)info->width,
                                 qnnrt_dtype_name(info->embeddings->dtype));
    if (info->adapter_tensors > 0)
        qnnrt_llm__describe_line(to, "room for adapters of rank %u at most, %lu tensors",
                                 (unsigned)info->adapter_rank,
                                 (unsigned long)info->adapter_tensors);
    if (info->rope.theta > 0) {
        qnnrt_llm__describe_line(to, "RoPE theta %g, %s, from %s%s%s", info->rope.theta,
                                 qnnrt_llm__rope_words[info->rope.scaling], info->rope_source,
                                 info->rope.pairs != QNNRT_LLM_ROPE_UNKNOWN ? ", pairs " : "",
                                 info->rope.pairs != QNNRT_LLM_ROPE_UNKNOWN
                                     ? qnnrt_llm__rope_pair_words[info->rope.pairs] : "");
        if (info->rope.scaling != QNNRT_LLM_ROPE_PLAIN)
            qnnrt_llm__describe_line(to, "RoPE factor %g, frequencies %g to %g, original context"
                                     " %u", info->rope.factor, info->rope.low_frequency,
                                     info->rope.high_frequency,
                                     (unsigned)info->rope.original_context);
    }
    text[0] = '\0';
    for (i = 0; i < info->eos_count && strlen(text) < sizeof text - 32; ++i)
        qnnrt_text_append(text, sizeof text, "%s%d", i > 0 ? ", " : "", (int)info->eos[i]);
    if (info->bos >= 0) qnnrt_llm__describe_line(to, "bos %d", (int)info->bos);
    qnnrt_llm__describe_line(to, "eos %s%s", info->eos_count > 0 ? text : "none",
                             i < info->eos_count ? ", ..." : "");
    if (info->window > 0) qnnrt_llm__describe_line(to, "window %u", (unsigned)info->window);
    qnnrt_llm__describe_line(to, "fingerprint %016llx", (unsigned long long)info->fingerprint);
}

static void qnnrt_llm__describe_step(const qnnrt_llm__describe_to *to, uint32_t number,
                                     const qnnrt_step_info *step)
{
    char text[512];
    if (step->kind == QNNRT_STEP_GRAPH)
        qnnrt_llm__describe_line(to, "  step %u: %.300s, graph \"%.300s\"", (unsigned)number,
                                 qnnrt_get_info(step->model)->contexts[step->context].file,
                                 step->graph->name);
    else
        qnnrt_llm__describe_line(to, "  step %u: %s", (unsigned)number,
                                 qnnrt_step_text(step, text, sizeof text));
}

static void qnnrt_llm__describe_graph(const qnnrt_llm__describe_to *to,
                                      const qnnrt_llm_graph_info *graph,
                                      const qnnrt_pipeline_info *pipeline)
{
    size_t i, e, name = 6;
    uint32_t step = UINT32_MAX;
    for (i = 0; i < graph->tensor_count; ++i) {
        size_t bytes = strlen(graph->tensors[i].tensor->name);
        if (bytes > name) name = bytes < 60 ? bytes : 60;
    }
    qnnrt_llm__describe_line(to, "graph \"%.300s\": %u tokens per call, context %u", graph->name,
                             (unsigned)graph->ar, (unsigned)graph->context);
    for (i = 0; i < graph->tensor_count; ++i) {
        const qnnrt_llm_tensor_info *t = &graph->tensors[i];
        char facts[256], role[64];
        if (t->step != step) {
            step = t->step;
            qnnrt_llm__describe_step(to, step, &pipeline->steps[step]);
        }
        if (!qnnrt_llm__layered(t->role))
            snprintf(role, sizeof role, "%s", qnnrt_llm_role_name(t->role));
        else if (t->head > 0)
            snprintf(role, sizeof role, "%s %u head %u", qnnrt_llm_role_name(t->role),
                     (unsigned)t->layer, (unsigned)t->head);
        else
            snprintf(role, sizeof role, "%s %u", qnnrt_llm_role_name(t->role), (unsigned)t->layer);
        qnnrt_llm__describe_line(to, "    %-3s %-*.300s  %-16s %s (%s)", t->output ? "out" : "in",
                                 (int)name, t->tensor->name, role,
                                 qnnrt_tensor_text(t->tensor, facts, sizeof facts), t->reason);
    }
    for (e = 0; e < pipeline->edge_count; ++e)
        qnnrt_llm__describe_line(to, "  cut %u to %u: \"%.200s\" is \"%.200s\" (%s)",
                                 (unsigned)pipeline->edges[e].from_step,
                                 (unsigned)pipeline->edges[e].to_step,
                                 pipeline->edges[e].from->name, pipeline->edges[e].to->name,
                                 pipeline->edges[e].reason);
}

static void qnnrt_llm__describe(const qnnrt_llm *llm, void (*line)(void *user, const char *text),
                                void *user)
{
    qnnrt_llm__describe_to to;
    size_t g;
    to.line = line;
    to.user = user;
    qnnrt_llm__describe_model(&to, &llm->info);
    for (g = 0; g < llm->info.graph_count; ++g)
        qnnrt_llm__describe_graph(&to, &llm->info.graphs[g],
                                  qnnrt_pipeline_get_info(llm->graphs[g].pipeline));
}

/* =====================================================================================
   CELLS                                                                         >>cells
   Keeps track of the cells in use, their positions and their sequences.
   Needs: >>config     Knows nothing of: tensors, memory of keys and values
   ===================================================================================== */

typedef struct qnnrt_llm__cells {
    uint32_t  count;                    /* number of cells */
    uint32_t  used;                     /* cells that belong to a sequence */
    uint32_t  end;                      /* index after the last cell in use */
    int32_t  *positions;                /* [count] */
    uint64_t *sequences;                /* [count] bit s: sequence s; 0: free */
    uint32_t  members[QNNRT_LLM_SEQUENCES];   /* number of cells of each sequence */
    int32_t   last[QNNRT_LLM_SEQUENCES];      /* its highest position, -1: empty */
} qnnrt_llm__cells;

/* In this room sequences are 0 to 63 and cells are below count: callers check that. The struct is
   exact after every call. */

/* Free all cells. */
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

/* Make `count` free cells. Return 0 without memory. */
static int qnnrt_llm__cells_make(qnnrt_llm__cells *cells, qnnrt_arena *arena, uint32_t count)
{
    memset(cells, 0, sizeof(*cells));
    cells->positions = (int32_t *)qnnrt_arena_get(arena, count, sizeof(*cells->positions));
    cells->sequences = (uint64_t *)qnnrt_arena_get(arena, count, sizeof(*cells->sequences));
    if (arena->failed) return 0;
    cells->count = count;
    qnnrt_llm__cells_clear(cells);
    return 1;
}

/* Find the n lowest free cells, ascending. Return 0 if there are fewer. */
QNNRT_LLM__HOT
static int qnnrt_llm__cells_find(const qnnrt_llm__cells *cells, uint32_t n, uint32_t *out)
{
    uint32_t cell = 0, found = 0;
    if (n > cells->count - cells->used) return 0;
    if (cells->used == cells->end) cell = cells->end;          /* without holes */
    for (; found < n; ++cell)
        if (cell >= cells->end || cells->sequences[cell] == 0) out[found++] = cell;
    return 1;
}

/* Add a cell at this position to the sequences in bits. */
static void qnnrt_llm__cells_join(qnnrt_llm__cells *cells, uint64_t bits, int32_t position)
{
    int s;
    for (s = 0; bits != 0; ++s, bits >>= 1) {
        if ((bits & 1) == 0) continue;
        ++cells->members[s];
        if (cells->last[s] < position) cells->last[s] = position;
    }
}

/* Put a token into a free cell. position >= 0, sequences not 0. */
QNNRT_LLM__HOT
static void qnnrt_llm__cells_set(qnnrt_llm__cells *cells, uint32_t cell, int32_t position,
                                 uint64_t sequences)
{
    cells->positions[cell] = position;
    cells->sequences[cell] = sequences;
    ++cells->used;
    if (cells->end <= cell) cells->end = cell + 1;
    qnnrt_llm__cells_join(cells, sequences, position);
}

/* Remove a cell from the sequences in bits. Return the sequences that lose their last position with
   it, for qnnrt_llm__cells_settle(), which must follow. */
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

/* Find the end and the last positions of the sequences in stale again, after changes. None of them
   is above `most`, so the search stops at a cell with that position. */
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

/* Free a cell. */
static void qnnrt_llm__cells_unset(qnnrt_llm__cells *cells, uint32_t cell)
{
    qnnrt_llm__cells_settle(cells, qnnrt_llm__cells_leave(cells, cell, ~(uint64_t)0), INT32_MAX);
}

/* Return 1 if a cell belongs to one of the sequences in bits and lies in [begin, end). A negative
   begin means 0, a negative end means infinity: unlike llama.cpp's largest number, infinity is
   above every position. */
static int qnnrt_llm__cells_within(const qnnrt_llm__cells *cells, uint32_t cell, uint64_t bits,
                                   int32_t begin, int32_t end)
{
    /* In most cases the position alone decides. */
    const int32_t position = cells->positions[cell];
    return position >= begin && (end < 0 || position < end) &&
           (cells->sequences[cell] & bits) != 0;
}

/* Remove the cells of [begin, end) from a sequence, or from all sequences if it is -1. */
static void qnnrt_llm__cells_remove(qnnrt_llm__cells *cells, int sequence, int32_t begin,
                                    int32_t end)
{
    uint64_t bits = sequence < 0 ? ~(uint64_t)0 : (uint64_t)1 << sequence, stale = 0;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        if (qnnrt_llm__cells_within(cells, cell, bits, begin, end))
            stale |= qnnrt_llm__cells_leave(cells, cell, bits);
    /* A sequence that lost its last position has no cell left from begin on. */
    qnnrt_llm__cells_settle(cells, stale, begin > 0 ? begin - 1 : -1);
}

/* Add the cells of [begin, end) of a sequence to another sequence. */
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

/* Remove all other sequences. */
static void qnnrt_llm__cells_keep(qnnrt_llm__cells *cells, int sequence)
{
    uint64_t others = ~((uint64_t)1 << sequence), stale = 0;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        stale |= qnnrt_llm__cells_leave(cells, cell, others);
    qnnrt_llm__cells_settle(cells, stale, INT32_MAX);
}

/* Return the highest position of a sequence in [begin, end); -1 if it has none. */
static int32_t qnnrt_llm__cells_highest(const qnnrt_llm__cells *cells, int sequence, int32_t begin,
                                        int32_t end)
{
    int32_t highest = -1;
    uint32_t cell;
    for (cell = 0; cell < cells->end; ++cell)
        if (qnnrt_llm__cells_within(cells, cell, (uint64_t)1 << sequence, begin, end) &&
            cells->positions[cell] > highest)
            highest = cells->positions[cell];
    return highest;
}

/* Add delta to positions. A cell has one position, so all sequences that share it move. A cell
   whose position would fall below 0 becomes free.

   turned   1 if keys are stored rotated by their position
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (turned, and a cell would change); QNNRT_E_ARG (a position
            would be too large). On failure nothing has changed */
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

/* Return the lowest (first) or the highest (last) position of a sequence; -1 if it is empty. */
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
   The memory of keys and values: copies new ones in, moves cells, changes strides.
   Needs: >>config >>shape     Knows nothing of: sequences, graphs
   ===================================================================================== */

/* The memory of one cache. Piece o of cell c of tensor k begins at element

       ((lead + o) * stride + c) * inner

   of range k. With smart mask (lead 0) a graph reads the range from its beginning. With shift
   pointer (lead 1) its tensor begins `moved` cells later, so that cell c is in its column
   c - moved + stride: cells keep their addresses while the tensor moves along them.
*/
typedef struct qnnrt_llm__store {
    const qnnrt_llm__kv *kv;            /* [kv_count] */
    size_t               kv_count;
    unsigned char       *data;
    uint64_t            *ranges;        /* [kv_count] offset of each tensor's range in data */
    uint32_t             stride;        /* cells per row now, as in the graph that ran last */
    uint32_t             lead;
} qnnrt_llm__store;

/* Return a * b; 0 if no memory is that large. */
static uint64_t qnnrt_llm__rows_times(uint64_t a, uint64_t b)
{
    return b != 0 && a > (uint64_t)SIZE_MAX / 2 / b ? 0 : a * b;
}

/* Return the bytes of one tensor's range: rows of cells_most cells, then the cells that a step
   computes in place. Return 0 if no memory is that large. */
static uint64_t qnnrt_llm__rows_bytes(const qnnrt_llm__kv *kv, uint32_t cells_most,
                                      uint32_t ar_most, uint32_t lead)
{
    uint64_t cells = qnnrt_llm__rows_times((uint64_t)lead + kv->outer, cells_most);
    uint64_t piece = qnnrt_llm__rows_times(kv->inner, kv->element);
    if (cells == 0 || kv->outer == 0) return 0;
    return qnnrt_llm__rows_times(cells + ar_most, piece);
}

/* Return the bytes of one cell in one row. */
static size_t qnnrt_llm__rows_piece(const qnnrt_llm__kv *kv)
{
    return (size_t)kv->inner * kv->element;
}

/* Return the address of a cell in a row of tensor k. */
static unsigned char *qnnrt_llm__rows_at(const qnnrt_llm__store *store, size_t k, uint32_t row,
                                         uint32_t cell)
{
    size_t cells = ((size_t)store->lead + row) * store->stride + cell;
    return store->data + (size_t)store->ranges[k] + cells * qnnrt_llm__rows_piece(&store->kv[k]);
}

/* Copy `count` pieces that begin a step apart. The usual sizes are constants for the compiler,
   which then calls no function: decoding spends its time in these loops. */
QNNRT_LLM__HOT
static void qnnrt_llm__rows_spread(unsigned char *to, size_t to_step, const unsigned char *from,
                                   size_t from_step, size_t bytes, size_t count)
{
    size_t i;
    if (bytes == 1) {       /* quantized keys, the most frequent: avoid the switch's jump table */
        for (i = 0; i < count; ++i, to += to_step, from += from_step) *to = *from;
        return;
    }
    switch (bytes) {
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

/* Where new cells of a tensor come from, and everything needed to store them: a step reads a list
   of these and nothing else. */
typedef struct qnnrt_llm__fresh {
    const unsigned char *from;          /* new cell 0 */
    size_t               from_step;     /* bytes from one piece of a cell to the next */
    size_t               range;         /* offset of the tensor in a store */
    uint32_t             piece, outer;  /* bytes of a piece, and pieces of a cell */
} qnnrt_llm__fresh;

/* Describe the new cells in [outer][out_cells][inner], from cell `first` on. */
static qnnrt_llm__fresh qnnrt_llm__rows_fresh(const qnnrt_llm__store *store, size_t k,
                                              const void *out, uint32_t out_cells, uint32_t first)
{
    const size_t piece = qnnrt_llm__rows_piece(&store->kv[k]);
    qnnrt_llm__fresh fresh;
    fresh.from = (const unsigned char *)out + first * piece;
    fresh.from_step = out_cells * piece;
    fresh.range = (size_t)store->ranges[k];
    fresh.piece = (uint32_t)piece;
    fresh.outer = store->kv[k].outer;
    return fresh;
}

/* Copy new cells row .. row + count - 1 to cells cell .. cell + count - 1. */
static void qnnrt_llm__rows_store(const qnnrt_llm__store *store, const qnnrt_llm__fresh *fresh,
                                  uint32_t row, uint32_t cell, uint32_t count)
{
    const size_t piece = fresh->piece, stride = store->stride;
    qnnrt_llm__rows_spread(store->data + fresh->range + (store->lead * stride + cell) * piece,
                           stride * piece, fresh->from + row * piece, fresh->from_step,
                           count * piece, fresh->outer);
}

/* Copy `count` cells of [outer][out_cells][inner], from cell `from` on, to cells of tensor k from
   cell `cell` on. */
static void qnnrt_llm__rows_put(const qnnrt_llm__store *store, size_t k, const void *out,
                                uint32_t out_cells, uint32_t from, uint32_t cell, uint32_t count)
{
    const qnnrt_llm__fresh fresh = qnnrt_llm__rows_fresh(store, k, out, out_cells, from);
    qnnrt_llm__rows_store(store, &fresh, 0, cell, count);
}

/* Copy cells of a store to memory outside it: the opposite of qnnrt_llm__rows_put(). */
static void qnnrt_llm__rows_get(const qnnrt_llm__store *store, size_t k, void *out,
                                uint32_t out_cells, uint32_t from, uint32_t cell, uint32_t count)
{
    const qnnrt_llm__kv *kv = &store->kv[k];
    const size_t piece = qnnrt_llm__rows_piece(kv);
    qnnrt_llm__rows_spread((unsigned char *)out + from * piece, out_cells * piece,
                           qnnrt_llm__rows_at(store, k, 0, cell), store->stride * piece,
                           count * piece, kv->outer);
}

/* Change the stride of all tensors in place. Cells below end move; end is at most either stride.
   Rows move in an order in which no row overwrites another: towards the front the first row moves
   first, towards the back the last row moves first. */
QNNRT_LLM__HOT
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
        for (i = lead == 0; i < outer; ++i) {          /* if lead is 0, row 0 stays */
            row = lead + (stride < before ? i : outer - 1 - i + (lead == 0));
            memmove(data + (size_t)row * stride * piece, data + (size_t)row * before * piece,
                    bytes);
        }
    }
}

/* Move cells from .. from + count - 1 of all tensors to `to`; the two may overlap. */
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

/* Copy the cells below end of all tensors from another store of the same model, with any stride and
   lead. */
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

/* Fill `bytes` of tensor k's range, a multiple of its element, with one element. The source of each
   copy stays short, so that the processor's caches hold it. */
static void qnnrt_llm__rows_fill(const qnnrt_llm__store *store, size_t k, uint64_t bytes,
                                 const void *zero)
{
    unsigned char *data = store->data + (size_t)store->ranges[k];
    size_t size = (size_t)bytes, step = store->kv[k].element, done;
    if (size == 0) return;
    memcpy(data, zero, step);
    for (done = step; done < size; done += step) {
        if (step < 4096) step = done;
        memcpy(data + done, data, step < size - done ? step : size - done);
    }
}

/* =====================================================================================
   DEFRAGMENT                                                               >>defragment
   Closes holes between cells.
   Needs: >>cells >>rows     Knows nothing of: graphs, states
   ===================================================================================== */

/* Move the cells in use to the front, run by run. They keep their order, so that sums over them
   have the same order. */
static void qnnrt_llm__defragment(qnnrt_llm__cells *cells, const qnnrt_llm__store *store)
{
    uint32_t from, to = 0, run;
    for (from = 0; from < cells->end; from += run) {
        const int used = cells->sequences[from] != 0;
        for (run = 1; from + run < cells->end; ++run)
            if ((cells->sequences[from + run] != 0) != used) break;
        if (!used) continue;
        if (from != to) {
            qnnrt_llm__rows_move(store, from, to, run);
            memmove(cells->positions + to, cells->positions + from, run * sizeof *cells->positions);
            memmove(cells->sequences + to, cells->sequences + from, run * sizeof *cells->sequences);
        }
        to += run;
    }
    memset(cells->sequences + to, 0, (cells->end - to) * sizeof *cells->sequences);
    cells->end = to;
}

/* =====================================================================================
   K-SHIFT                                                                      >>kshift
   Rotates stored keys to other positions (RoPE).
   Needs: >>config >>shape >>math >>rope >>rows     Knows nothing of: sequences, graphs that run
   ===================================================================================== */

/* What it takes to turn the keys of a model. */
typedef struct qnnrt_llm__kshift {
    const char    *why;                 /* keys cannot be turned; NULL: they can */
    const char    *hint;
    uint32_t       angles, head;        /* different angles; values of a head */
    double        *cosines, *sines;     /* [angles] of the present shift */
    float         *values;              /* [outer * inner] of a cell */
    unsigned char *stored;              /* the same as stored */
} qnnrt_llm__kshift;

/* Return the values of a head in a tensor of keys. A cell without strides is [heads][values], in
   every layout. */
static uint32_t qnnrt_llm__kshift_head(const qnnrt_llm__kv *kv)
{
    const qnnrt_tensor_info *tensor = kv->tensor;
    if (tensor->rank < 2) return 0;
    return tensor->dims[tensor->rank - (kv->inner == 1 ? 2 : 1)];
}

/* Convert the keys of a cell of tensor k; back: to integers. */
static qnnrt_result qnnrt_llm__kshift_convert(const qnnrt_llm__kshift *kshift,
                                              const qnnrt_llm__kv *kv, int back)
{
    qnnrt_tensor_info cell = *kv->tensor;
    const uint32_t dims[1] = { kv->outer * kv->inner };
    cell.rank = 1;
    cell.dims = dims;
    cell.dynamic_dims = NULL;
    cell.count = dims[0];
    cell.bytes = cell.count * kv->element;
    return back ? qnnrt_encode_f32(&cell, kshift->values, kshift->stored)
                : qnnrt_decode_f32(&cell, kshift->stored, kshift->values);
}

/* Find out what is unknown about the keys of a model, and how many angles there are. */
static void qnnrt_llm__kshift_ask(qnnrt_llm__kshift *kshift, const qnnrt_llm *llm, uint64_t *most)
{
    const qnnrt_llm__slots *cosines = &llm->graphs[0].inputs[QNNRT_LLM_ROLE_ROPE_COS];
    const qnnrt_llm__slots *windows = &llm->graphs[0].inputs[QNNRT_LLM_ROLE_WINDOW_MASK];
    qnnrt_llm_rope_pairs pairs = llm->turned.pairs;
    size_t k;
    *most = 1;
    kshift->head = 0;
    kshift->why = "its layers have keys of several widths";
    kshift->hint = "Compute the tokens again.";
    for (k = 0; k < llm->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &llm->kv[k];
        const uint64_t count = (uint64_t)kv->outer * kv->inner;
        if (kv->role != QNNRT_LLM_ROLE_KEY_IN) continue;
        if (kshift->head == 0) kshift->head = qnnrt_llm__kshift_head(kv);
        if (kshift->head != qnnrt_llm__kshift_head(kv) || kshift->head == 0 ||
            count % kshift->head != 0 || count > UINT32_MAX) return;
        if (count > *most) *most = count;
    }
    kshift->angles = kshift->head / 2;
    if (cosines->count > 0) {
        const qnnrt_tensor_info *tensor = cosines->slots[0]->tensor;
        const uint32_t width = tensor->dims[tensor->rank - 1];
        if (width == kshift->head && pairs == QNNRT_LLM_ROPE_UNKNOWN) pairs = QNNRT_LLM_ROPE_HALF;
        if (width != kshift->head) kshift->angles = width;
    }
    kshift->hint = "Set \"pairs\" of \"rope\" in qnnrt.json, or desc.rope.pairs, to \"half\" or"
                 " \"interleaved\".";
    kshift->why = "which of their values RoPE pairs is unknown";
    if (pairs == QNNRT_LLM_ROPE_UNKNOWN) return;
    kshift->hint = "Set \"rope\" in qnnrt.json, or desc.rope, to what the model was trained with.";
    kshift->why = "the angles of RoPE are computed in the graphs, and unknown";
    if (!(llm->turned.theta > 0)) return;
    kshift->hint = "Compute the tokens again.";
    kshift->why = "layers with a sliding window may have other angles, computed in the graphs";
    if (cosines->count == 0 && windows->count > 0) return;
    kshift->why = "cos has more values than half a head";
    if (kshift->angles == 0 || kshift->angles > kshift->head / 2) return;
    kshift->why = NULL;
}

/* Prepare to turn the keys of a model. Where that is not possible kshift->why says why.
   Returns  QNNRT_OK; QNNRT_E_MEMORY */
static qnnrt_result qnnrt_llm__kshift_make(qnnrt_llm__kshift *kshift, qnnrt_arena *arena,
                                           const qnnrt_llm *llm, qnnrt_error *err)
{
    uint64_t most;
    size_t k;
    qnnrt_llm__kshift_ask(kshift, llm, &most);
    if (kshift->why != NULL) return QNNRT_OK;
    kshift->cosines = (double *)qnnrt_arena_get(arena, kshift->angles, sizeof *kshift->cosines);
    kshift->sines = (double *)qnnrt_arena_get(arena, kshift->angles, sizeof *kshift->sines);
    kshift->values = (float *)qnnrt_arena_get(arena, most, sizeof *kshift->values);
    kshift->stored = (unsigned char *)qnnrt_arena_get(arena, most, 8);
    if (arena->failed) return qnnrt_llm__fail_memory(err, "turned keys");
    for (k = 0; k < llm->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &llm->kv[k];
        const qnnrt_encoding encoding = kv->tensor->quant.encoding;
        if (kv->role == QNNRT_LLM_ROLE_KEY_IN &&
            (kv->element > 8 ||
             (encoding != QNNRT_ENCODING_NONE && encoding != QNNRT_ENCODING_PER_TENSOR) ||
             qnnrt_llm__kshift_convert(kshift, kv, 0) != QNNRT_OK ||
             qnnrt_llm__kshift_convert(kshift, kv, 1) != QNNRT_OK))
            kshift->why = "their type or encoding has no conversion from numbers";
    }
    return QNNRT_OK;
}

/* Begin a shift by delta. Return QNNRT_E_LIMIT if an angle is too large to be exact. */
static qnnrt_result qnnrt_llm__kshift_begin(qnnrt_llm__kshift *kshift, const qnnrt_llm_rope *rope,
                                            int32_t delta)
{
    uint32_t i;
    for (i = 0; i < kshift->angles; ++i) {
        const double angle = (double)delta * qnnrt_llm__rope_frequency(rope, i, kshift->angles);
        if (angle > QNNRT_LLM__ROPE_ANGLE || angle < -QNNRT_LLM__ROPE_ANGLE) return QNNRT_E_LIMIT;
        kshift->cosines[i] = qnnrt_llm__math_cos(angle);
        kshift->sines[i] = qnnrt_llm__math_sin(angle);
    }
    return QNNRT_OK;
}

/* Turn the keys of one cell in all layers. */
static void qnnrt_llm__kshift_cell(const qnnrt_llm__kshift *kshift, const qnnrt_llm_rope *rope,
                                   const qnnrt_llm__store *store, uint32_t cell)
{
    const int apart = rope->pairs == QNNRT_LLM_ROPE_INTERLEAVED;
    const size_t step = apart ? 2 : 1, other = apart ? 1 : kshift->angles;
    uint32_t h, i;
    size_t k;
    for (k = 0; k < store->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &store->kv[k];
        if (kv->role != QNNRT_LLM_ROLE_KEY_IN) continue;
        qnnrt_llm__rows_get(store, k, kshift->stored, 1, 0, cell, 1);
        (void)qnnrt_llm__kshift_convert(kshift, kv, 0);         /* it was tried before */
        for (h = 0; h < kv->outer * kv->inner; h += kshift->head)
            for (i = 0; i < kshift->angles; ++i) {
                float *a = kshift->values + h + i * step, *b = a + other;
                const double u = *a, v = *b, c = kshift->cosines[i], s = kshift->sines[i];
                *a = (float)(u * c - v * s);
                *b = (float)(v * c + u * s);
            }
        (void)qnnrt_llm__kshift_convert(kshift, kv, 1);
        qnnrt_llm__rows_put(store, k, kshift->stored, 1, 0, cell, 1);
    }
}

/* =====================================================================================
   STATE                                                                         >>state
   Writes a cache, or one sequence of it, as bytes, and restores it.
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
          4n  of each cell, in the order of cells: position, >= 0
          8n  of each cell: sequences, bit s for sequence s, at least one
              of each tensor: [outer][n][inner] elements
          8   checksum of everything before it

   A state has neither holes nor strides. A state of one sequence has the cells of this sequence,
   with its bit alone. The checksum is FNV-1a's step on words of 8 bytes, with a
   larger factor and the upper half folded into the lower one. Four sums run side by side, each on
   every fourth word (zeros after the end); the same step joins them with the length. Each step is
   one to one, so that it detects all damage within one word.                                  */
enum { QNNRT_LLM__STATE_HEAD = 40, QNNRT_LLM__STATE_TENSOR = 12, QNNRT_LLM__STATE_CELL = 12,
       QNNRT_LLM__STATE_SUM = 8, QNNRT_LLM__STATE_VERSION = 1 };

static const char qnnrt_llm__state_magic[8] = { 'q', 'n', 'n', 'r', 't', '-', 'k', 'v' };

/* Write a number. */
static void qnnrt_llm__state_put(unsigned char *at, uint64_t value, int bytes)
{
    int i;
    for (i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> (8 * i));
}

/* Read a number. */
static uint32_t qnnrt_llm__state_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Read a number. Compilers make one load of a single expression. */
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

/* Return the checksum. */
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

/* Return the bytes of a state with so many cells; 0 if no memory is that large. */
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

/* Return the number of cells of the sequences in bits. */
static uint32_t qnnrt_llm__state_count(const qnnrt_llm__cells *cells, uint64_t bits)
{
    uint32_t cell, count = 0;
    for (cell = 0; cell < cells->end; ++cell) count += (cells->sequences[cell] & bits) != 0;
    return count;
}

/* Return the bytes of a state of the sequences in bits. */
static size_t qnnrt_llm__state_bytes(const qnnrt_llm__cells *cells, const qnnrt_llm__store *store,
                                     uint64_t bits)
{
    return qnnrt_llm__state_size(store, qnnrt_llm__state_count(cells, bits));
}

/* Write a state of the sequences in bits, without the others, into data, which has room for
   qnnrt_llm__state_bytes(). */
static void qnnrt_llm__state_save(const qnnrt_llm__cells *cells, const qnnrt_llm__store *store,
                                  uint64_t bits, uint64_t fingerprint, void *data)
{
    unsigned char *head = (unsigned char *)data, *at = head + QNNRT_LLM__STATE_HEAD;
    const uint32_t n = qnnrt_llm__state_count(cells, bits);
    const size_t bytes = qnnrt_llm__state_size(store, n);
    const uint64_t *const sequences = cells->sequences;
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
        if ((sequences[cell] & bits) == 0) continue;
        qnnrt_llm__state_put(at + (size_t)to * 4, (uint32_t)cells->positions[cell], 4);
        qnnrt_llm__state_put(at + (size_t)n * 4 + (size_t)to * 8, sequences[cell] & bits, 8);
        ++to;
    }
    at += (size_t)n * QNNRT_LLM__STATE_CELL;
    for (k = 0; k < store->kv_count; ++k) {
        for (cell = to = 0; to < n; cell += count) {       /* copy runs of cells */
            for (count = 0; cell < cells->end && (sequences[cell] & bits) == 0; ++cell) {}
            while (cell + count < cells->end && (sequences[cell + count] & bits) != 0) ++count;
            qnnrt_llm__rows_get(store, k, at, n, to, cell, count);
            to += count;
        }
        at += (size_t)store->kv[k].outer * n * qnnrt_llm__rows_piece(&store->kv[k]);
    }
    qnnrt_llm__state_put(at, qnnrt_llm__state_sum(head, bytes - QNNRT_LLM__STATE_SUM), 8);
}

/* Check the cells of a state: positions are below `positions`, and each has a sequence. */
static qnnrt_result qnnrt_llm__state_cells(const unsigned char *at, uint32_t n, uint32_t positions,
                                           qnnrt_error *err)
{
    uint32_t i, position;
    for (i = 0; i < n; ++i) {
        position = qnnrt_llm__state_u32(at + (size_t)i * 4);
        if (position > INT32_MAX)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: cell %u has a negative position",
                                   (unsigned)i);
        if (position >= positions)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "state: cell %u has position %u, expected "
                                   "below %u", (unsigned)i, (unsigned)position,
                                   (unsigned)positions);
        if (qnnrt_llm__state_u64(at + (size_t)n * 4 + (size_t)i * 8) == 0)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: cell %u has no sequence",
                                   (unsigned)i);
    }
    return QNNRT_OK;
}

/* Check that a state is whole and fits this model and cache. */
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
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: not a saved state (%llu bytes)",
                               (unsigned long long)bytes);
    if (qnnrt_llm__state_u32(data + 8) != QNNRT_LLM__STATE_VERSION)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: version %u, expected %d",
                               (unsigned)qnnrt_llm__state_u32(data + 8), QNNRT_LLM__STATE_VERSION);
    if (qnnrt_llm__state_u64(data + 24) != bytes)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: %llu bytes, expected %llu",
                               (unsigned long long)bytes,
                               (unsigned long long)qnnrt_llm__state_u64(data + 24));
    if (qnnrt_llm__state_sum(data, bytes - QNNRT_LLM__STATE_SUM) !=
        qnnrt_llm__state_u64(data + bytes - QNNRT_LLM__STATE_SUM))
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: wrong checksum");
    if (qnnrt_llm__state_u64(data + 16) != fingerprint)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "state: fingerprint %016llx of another model "
                               "or adapter, expected %016llx",
                               (unsigned long long)qnnrt_llm__state_u64(data + 16),
                               (unsigned long long)fingerprint);
    if (qnnrt_llm__state_u32(data + 36) != store->kv_count)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "state: %u tensors of keys and values, "
                               "expected %llu", (unsigned)qnnrt_llm__state_u32(data + 36),
                               (unsigned long long)store->kv_count);
    n = qnnrt_llm__state_u32(data + 12);
    if (n > cells->count)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "state: %u cells, expected at most %u",
                               (unsigned)n, (unsigned)cells->count);
    if (bytes != qnnrt_llm__state_size(store, n) || qnnrt_llm__state_u32(data + 32) != 0)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "state: %llu bytes are the wrong size for %u "
                               "cells", (unsigned long long)bytes, (unsigned)n);
    for (k = 0; k < store->kv_count; ++k, at += QNNRT_LLM__STATE_TENSOR)
        if (qnnrt_llm__state_u32(at) != store->kv[k].outer ||
            qnnrt_llm__state_u32(at + 4) != store->kv[k].inner ||
            qnnrt_llm__state_u32(at + 8) != store->kv[k].element)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "state: shape of tensor %llu of keys and "
                                   "values differs", (unsigned long long)k);
    return qnnrt_llm__state_cells(at, n, positions, err);
}

/* Check that a state holds one sequence, and that it fits beside the other sequences of a cache
   after it has replaced this one. */
static qnnrt_result qnnrt_llm__state_one(const qnnrt_llm__cells *cells,
                                         const qnnrt_llm__store *store, int sequence,
                                         const unsigned char *data, qnnrt_error *err)
{
    const uint32_t n = qnnrt_llm__state_u32(data + 12);
    const unsigned char *at = data + QNNRT_LLM__STATE_HEAD + (size_t)n * 4 +
                              store->kv_count * QNNRT_LLM__STATE_TENSOR;
    const uint64_t first = n > 0 ? qnnrt_llm__state_u64(at) : 1;
    uint32_t i, room = cells->count - cells->used;
    for (i = 0; i < n; ++i)
        if (qnnrt_llm__state_u64(at + (size_t)i * 8) != first || (first & (first - 1)) != 0)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "state: cell %u shows that it holds "
                                   "several sequences, expected one", (unsigned)i);
    for (i = 0; i < cells->end; ++i) room += cells->sequences[i] == (uint64_t)1 << sequence;
    if (n > room)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "state: %u cells, expected at most %u: the "
                               "cache has %u, and other sequences use %u", (unsigned)n,
                               (unsigned)room, (unsigned)cells->count,
                               (unsigned)(cells->count - room));
    return QNNRT_OK;
}

/* Replace the content of a cache by a state, with all cells at the front; or replace one sequence
   by a state of one sequence, in the lowest cells that are free then, and leave the others as they
   are. If the stride is too small, it becomes cells->count, for which the ranges have room.

   sequence    -1: all, else the sequence to replace
   positions   limit of a text's length
   places      [cells->count] receives the cells of the state
   Returns     QNNRT_OK; QNNRT_E_FORMAT (not a state, or damaged); QNNRT_E_MISMATCH (of another
               model, or not of one sequence); QNNRT_E_LIMIT (too many cells, or too high
               positions). On failure nothing has changed */
static qnnrt_result qnnrt_llm__state_restore(qnnrt_llm__cells *cells, qnnrt_llm__store *store,
                                             int sequence, uint64_t fingerprint,
                                             uint32_t positions, uint32_t *places,
                                             const void *data, size_t bytes, qnnrt_error *err)
{
    const unsigned char *at = (const unsigned char *)data;
    uint32_t n, i, run;
    size_t k;
    qnnrt_result result = qnnrt_llm__state_check(cells, store, fingerprint, positions, at, bytes,
                                                 err);
    if (result == QNNRT_OK && sequence >= 0)
        result = qnnrt_llm__state_one(cells, store, sequence, at, err);
    if (result != QNNRT_OK) return result;
    n = qnnrt_llm__state_u32(at + 12);
    at += QNNRT_LLM__STATE_HEAD + store->kv_count * QNNRT_LLM__STATE_TENSOR;
    if (sequence < 0) qnnrt_llm__cells_clear(cells);
    else qnnrt_llm__cells_remove(cells, sequence, -1, -1);
    if (n == 0) return QNNRT_OK;
    (void)qnnrt_llm__cells_find(cells, n, places);      /* there are so many: it was checked */
    if (places[n - 1] >= store->stride)
        qnnrt_llm__rows_arrange(store, cells->count, cells->end);
    for (i = 0; i < n; ++i)
        qnnrt_llm__cells_set(cells, places[i],
                             (int32_t)qnnrt_llm__state_u32(at + (size_t)i * 4),
                             sequence < 0
                                 ? qnnrt_llm__state_u64(at + (size_t)n * 4 + (size_t)i * 8)
                                 : (uint64_t)1 << sequence);
    at += (size_t)n * QNNRT_LLM__STATE_CELL;
    for (k = 0; k < store->kv_count; ++k) {
        for (i = 0; i < n; i += run) {                  /* copy runs of cells */
            for (run = 1; i + run < n && places[i + run] == places[i] + run;) ++run;
            qnnrt_llm__rows_put(store, k, at, n, i, places[i], run);
        }
        at += (size_t)store->kv[k].outer * n * qnnrt_llm__rows_piece(&store->kv[k]);
    }
    return QNNRT_OK;
}

/* Copy another cache of the same model, holes included. Return QNNRT_E_LIMIT, with nothing changed,
   if this one has too few cells. */
static qnnrt_result qnnrt_llm__state_copy(qnnrt_llm__cells *cells, qnnrt_llm__store *store,
                                          const qnnrt_llm__cells *from_cells,
                                          const qnnrt_llm__store *from, qnnrt_error *err)
{
    const uint32_t end = from_cells->end;
    if (cells == from_cells) return QNNRT_OK;
    if (end > cells->count)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "cache: %u cells, expected at most %u",
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
   Fills attention masks: which cells and new tokens each token may attend to.
   Needs: >>config >>cells     Knows nothing of: caches, graphs
   ===================================================================================== */

/* The two values of a mask, as bits of its elements. */
typedef struct qnnrt_llm__mask_values {
    uint32_t element;                   /* bytes of one: 1, 2 or 4 */
    uint32_t attend, masked;
} qnnrt_llm__mask_values;

/* A mask in memory that only this room writes. Of the cached tokens, its first row attends to the
   columns from begin to end and to no others; begin == end: the columns are unknown. */
typedef struct qnnrt_llm__mask {
    void                 *data;
    qnnrt_llm__mask_values values;
    uint32_t              window;       /* tokens that a token attends to, with itself; 0: all */
    uint32_t              begin, end;
} qnnrt_llm__mask;

/* The tokens of one call. */
typedef struct qnnrt_llm__mask_rows {
    uint32_t        count;
    const int32_t  *positions;          /* [count] */
    const uint64_t *sequences;          /* [count] */
    const int32_t  *parents;            /* [count] or NULL */
} qnnrt_llm__mask_rows;

/* The mask of one call: [ar][context]. The last ar columns are the new tokens, the others are
   cells, cell 0 in column `first`. All cells in use are in columns from 0 on. */
typedef struct qnnrt_llm__mask_form {
    uint32_t ar, context;
    int64_t  first;
} qnnrt_llm__mask_form;

/* Find the bits of `value` in a tensor of this type and encoding. */
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

/* Find the two values of a mask. Attention is allowed by 0 and forbidden by `masked`; if that is 0,
   by the lowest code of a quantized mask, or by -10000, which half precision can still add to a
   score. Boolean masks have 1 and 0. */
static qnnrt_result qnnrt_llm__mask_values_of(const qnnrt_tensor_info *tensor, float masked,
                                             qnnrt_llm__mask_values *values, qnnrt_error *err)
{
    const qnnrt_quant *quant = &tensor->quant;
    const uint64_t bytes = tensor->count > 0 ? tensor->bytes / tensor->count : 0;
    int truth = 0;
    qnnrt_result result;
    if (bytes != 1 && bytes != 2 && bytes != 4)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "mask \"%s\" is %s, expected elements of "
                               "1, 2 or 4 bytes", tensor->name, qnnrt_dtype_name(tensor->dtype));
    switch (tensor->dtype) {
    case QNNRT_DTYPE_F32: case QNNRT_DTYPE_F16: case QNNRT_DTYPE_BF16:
        if (masked == 0.0f) masked = -10000.0f;
        break;
    case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_U16Q: case QNNRT_DTYPE_S8Q: case QNNRT_DTYPE_S16Q:
        if (quant->encoding != QNNRT_ENCODING_PER_TENSOR)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "mask \"%s\": expected an encoding "
                                   "with one scale", tensor->name);
        if (masked == 0.0f) masked = -3.0e38f;
        break;
    case QNNRT_DTYPE_BOOL8: case QNNRT_DTYPE_U8: case QNNRT_DTYPE_I8: case QNNRT_DTYPE_I32:
    case QNNRT_DTYPE_U32: case QNNRT_DTYPE_U16: case QNNRT_DTYPE_I16:
        truth = 1;
        break;
    default:
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "mask \"%s\" has the unsupported type %s",
                               tensor->name, qnnrt_dtype_name(tensor->dtype));
    }
    values->element = (uint32_t)bytes;
    result = qnnrt_llm__mask_encode(tensor, truth ? 1.0f : 0.0f, &values->attend);
    if (result == QNNRT_OK)
        result = qnnrt_llm__mask_encode(tensor, truth ? 0.0f : masked, &values->masked);
    if (result != QNNRT_OK)
        return qnnrt_error_set(err, result, "mask \"%s\": cannot convert numbers to its type",
                               tensor->name);
    if (values->attend == values->masked)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "mask \"%s\" has no value below 0 to forbid "
                               "attention (scale %g, offset %d)", tensor->name,
                               (double)quant->scale, (int)quant->offset);
    return QNNRT_OK;
}

/* Fill elements from begin to end of a row. */
QNNRT_LLM__HOT
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

/* Return 1 if a token at position `from` may attend to one at position `to`. */
static int qnnrt_llm__mask_sees(const qnnrt_llm__mask *mask, int32_t from, int32_t to)
{
    return to <= from && (mask->window == 0 || (int64_t)from - to < (int64_t)mask->window);
}

/* Return 1 if all cells belong to this one sequence and are at most at `position`, as usual. */
static int qnnrt_llm__mask_all(const qnnrt_llm__cells *cells, uint64_t sequences, int32_t position)
{
    uint32_t s;
    if ((sequences & (sequences - 1)) != 0) return 0;
    for (s = 0; (sequences >> s & 1) == 0; ++s) {}
    return cells->members[s] == cells->end && cells->last[s] <= position;
}

/* Fill the past of one row. In the first row, columns that attend already stay: while a text grows
   token by token, a mask of one row gains one column each time. */
static void qnnrt_llm__mask_past(const qnnrt_llm__mask_form *form, qnnrt_llm__mask *mask,
                                 const qnnrt_llm__cells *cells,
                                 const qnnrt_llm__mask_rows *rows, uint32_t i, void *row)
{
    const uint32_t past = form->context - form->ar, element = mask->values.element;
    const uint32_t attend = mask->values.attend, masked = mask->values.masked;
    const uint32_t known_begin = mask->begin, known_end = mask->end;
    const uint64_t sequences = rows->sequences[i];
    const int32_t position = rows->positions[i];
    uint32_t c, begin, end;
    if (i == 0) mask->begin = mask->end = 0;
    if (mask->window == 0 && cells->end > 0 && qnnrt_llm__mask_all(cells, sequences, position)) {
        begin = (uint32_t)form->first;
        end = begin + cells->end;
        if (i == 0) {
            mask->begin = begin;
            mask->end = end;
            if (begin <= known_begin && known_begin < known_end && known_end <= end) {
                qnnrt_llm__mask_fill(row, element, begin, known_begin, attend);
                qnnrt_llm__mask_fill(row, element, known_end, end, attend);
                return;
            }
        }
        qnnrt_llm__mask_fill(row, element, 0, begin, masked);
        qnnrt_llm__mask_fill(row, element, begin, end, attend);
        qnnrt_llm__mask_fill(row, element, end, past, masked);
        return;
    }
    qnnrt_llm__mask_fill(row, element, 0, past, masked);
    for (c = 0; c < cells->end; c = end) {
        int sees = (cells->sequences[c] & sequences) != 0 &&
                   qnnrt_llm__mask_sees(mask, position, cells->positions[c]);
        for (end = c + 1; end < cells->end; ++end)
            if (((cells->sequences[end] & sequences) != 0 &&
                 qnnrt_llm__mask_sees(mask, position, cells->positions[end])) != sees) break;
        if (sees)
            qnnrt_llm__mask_fill(row, element, (uint32_t)(form->first + c),
                                 (uint32_t)(form->first + end), attend);
    }
}

/* Fill a mask. Rows after the last token attend only to themselves, so that their results, which
   are not used, are finite. */
QNNRT_LLM__HOT
static void qnnrt_llm__mask_write(const qnnrt_llm__mask_form *form, qnnrt_llm__mask *mask,
                                  const qnnrt_llm__cells *cells, const qnnrt_llm__mask_rows *rows)
{
    const qnnrt_llm__mask_values *values = &mask->values;
    const uint32_t past = form->context - form->ar, element = values->element;
    const size_t width = (size_t)form->context * element;
    uint32_t i, j;
    for (i = 0; i < form->ar; ++i) {
        unsigned char *row = (unsigned char *)mask->data + i * width;
        unsigned char *own = row + (size_t)past * element;
        if (i >= rows->count) {
            qnnrt_llm__mask_fill(row, element, 0, form->context, values->masked);
        } else {
            /* Copy the row above if both attend to the same cells. */
            if (i > 0 && mask->window == 0 && rows->sequences[i] == rows->sequences[i - 1] &&
                qnnrt_llm__mask_all(cells, rows->sequences[i], rows->positions[i - 1]) &&
                rows->positions[i] >= rows->positions[i - 1])
                memcpy(row, row - width, (size_t)past * element);
            else
                qnnrt_llm__mask_past(form, mask, cells, rows, i, row);
            qnnrt_llm__mask_fill(own, element, 0, form->ar, values->masked);
            if (rows->parents != NULL) {
                for (j = i; rows->parents[j] >= 0;) {
                    j = (uint32_t)rows->parents[j];
                    if (qnnrt_llm__mask_sees(mask, rows->positions[i], rows->positions[j]))
                        qnnrt_llm__mask_fill(own, element, j, j + 1, values->attend);
                }
            } else {
                for (j = 0; j < i; ++j)
                    if ((rows->sequences[j] & rows->sequences[i]) != 0 &&
                        qnnrt_llm__mask_sees(mask, rows->positions[i], rows->positions[j]))
                        qnnrt_llm__mask_fill(own, element, j, j + 1, values->attend);
            }
        }
        qnnrt_llm__mask_fill(own, element, i, i + 1, values->attend);
    }
}

/* =====================================================================================
   EMBEDDING                                                                 >>embedding
   Looks up rows of a table.
   Needs: >>config     Knows nothing of: models, caches
   ===================================================================================== */

/* The tensors of a look-up. */
typedef struct qnnrt_llm__embedding_ends {
    const qnnrt_tensor_info *ids, *table, *to;
    size_t                   ids_at, table_at;      /* indexes of inputs */
    uint64_t                 rows;                  /* of the table */
    uint32_t                 width;
} qnnrt_llm__embedding_ends;

static int qnnrt_llm__embedding_integer(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_I32 || dtype == QNNRT_DTYPE_U32 || dtype == QNNRT_DTYPE_I64;
}

/* Return the bytes of a value, or 0 for a type or encoding without a conversion. */
static size_t qnnrt_llm__embedding_element(const qnnrt_tensor_info *t)
{
    switch ((int)t->dtype) {
    case QNNRT_DTYPE_F32: return 4;
    case QNNRT_DTYPE_F16: case QNNRT_DTYPE_BF16: return 2;
    case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_S8Q:
        return t->quant.encoding == QNNRT_ENCODING_PER_TENSOR ? 1 : 0;
    case QNNRT_DTYPE_U16Q: case QNNRT_DTYPE_S16Q:
        return t->quant.encoding == QNNRT_ENCODING_PER_TENSOR ? 2 : 0;
    default: return 0;
    }
}

/* Find the tensors of a look-up, and check them. */
static qnnrt_result qnnrt_llm__embedding_find(const qnnrt_graph_info *step,
                                              qnnrt_llm__embedding_ends *ends, qnnrt_error *err)
{
    const qnnrt_tensor_info *wrong = NULL;
    char facts[3][160];
    if (step->input_count != 2 || step->output_count != 1)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "host \"%.100s\" has %llu inputs and %llu "
                               "outputs, expected ids, a table and one output", step->name,
                               (unsigned long long)step->input_count,
                               (unsigned long long)step->output_count);
    ends->ids_at = !qnnrt_llm__embedding_integer(step->inputs[0].dtype);
    ends->table_at = 1 - ends->ids_at;
    ends->ids = &step->inputs[ends->ids_at];
    ends->table = &step->inputs[ends->table_at];
    ends->to = &step->outputs[0];
    if (!qnnrt_llm__embedding_integer(ends->ids->dtype)) wrong = ends->ids;
    if (qnnrt_llm__embedding_element(ends->table) == 0) wrong = ends->table;
    if (qnnrt_llm__embedding_element(ends->to) == 0) wrong = ends->to;
    if (wrong != NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "host \"%.100s\": \"%.100s\" is %s, "
                               "expected %s", step->name, wrong->name,
                               qnnrt_tensor_text(wrong, facts[0], sizeof facts[0]), wrong ==
                               ends->ids ? "int32, uint32 or int64" : "float32, float16, bfloat16 "
                               "or quantized to 8 or 16 bits with one scale");
    ends->width = ends->table->rank >= 2 ? ends->table->dims[ends->table->rank - 1] : 0;
    ends->rows = ends->width > 0 ? ends->table->count / ends->width : 0;
    if (ends->rows == 0 || ends->rows != ends->table->dims[ends->table->rank - 2] ||
        ends->to->rank < 1 || ends->to->dims[ends->to->rank - 1] != ends->width ||
        ends->to->count / ends->width != ends->ids->count)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "host \"%.100s\": ids %s, table %s and "
                               "output %s do not fit, expected [n], [rows, width] and [n, width]",
                               step->name, qnnrt_tensor_text(ends->ids, facts[0], sizeof facts[0]),
                               qnnrt_tensor_text(ends->table, facts[1], sizeof facts[1]),
                               qnnrt_tensor_text(ends->to, facts[2], sizeof facts[2]));
    return QNNRT_OK;
}

static int64_t qnnrt_llm__embedding_id(const qnnrt_tensor_info *ids, const void *data, uint64_t i)
{
    const unsigned char *at = (const unsigned char *)data;
    int32_t signed32;
    uint32_t unsigned32;
    int64_t id;
    if (ids->dtype == QNNRT_DTYPE_I32) {
        memcpy(&signed32, at + i * sizeof signed32, sizeof signed32);
        id = signed32;
    } else if (ids->dtype == QNNRT_DTYPE_U32) {
        memcpy(&unsigned32, at + i * sizeof unsigned32, sizeof unsigned32);
        id = unsigned32;
    } else memcpy(&id, at + i * sizeof id, sizeof id);
    return id;
}

/* Convert a row in pieces, through float32. */
static void qnnrt_llm__embedding_convert(const qnnrt_llm__embedding_ends *ends,
                                         const unsigned char *from, unsigned char *to)
{
    enum { PIECE = 256 };
    const size_t from_bytes = qnnrt_llm__embedding_element(ends->table);
    const size_t to_bytes = qnnrt_llm__embedding_element(ends->to);
    qnnrt_tensor_info in = *ends->table, out = *ends->to;
    float values[PIECE];
    uint32_t at, count;
    in.rank = out.rank = 1;
    in.dims = out.dims = &count;
    for (at = 0; at < ends->width; at += count) {
        count = ends->width - at;
        if (count > PIECE) count = PIECE;
        in.count = out.count = count;
        in.bytes = count * from_bytes;
        out.bytes = count * to_bytes;
        qnnrt_decode_f32(&in, from + at * from_bytes, values);
        qnnrt_encode_f32(&out, values, to + at * to_bytes);
    }
}

/* Write a row of the table, of the types of ends, to memory. */
static void qnnrt_llm__embedding_row(const qnnrt_llm__embedding_ends *ends, const void *table,
                                     uint64_t row, unsigned char *to)
{
    const size_t bytes = qnnrt_llm__embedding_element(ends->table) * ends->width;
    const unsigned char *from = (const unsigned char *)table + (size_t)row * bytes;
    if (ends->table->dtype == ends->to->dtype &&
        qnnrt_quant_equal(&ends->table->quant, &ends->to->quant)) memcpy(to, from, bytes);
    else qnnrt_llm__embedding_convert(ends, from, to);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_embedding(void *user, const qnnrt_graph_info *step,
                                               const void *const *inputs, void *const *outputs,
                                               qnnrt_error *err)
{
    qnnrt_llm__embedding_ends ends;
    unsigned char *to;
    size_t to_bytes;
    uint64_t i;
    qnnrt_result result = qnnrt_llm__embedding_find(step, &ends, err);
    (void)user;
    if (result != QNNRT_OK) return result;
    for (i = 0; i < ends.ids->count; ++i) {
        const int64_t id = qnnrt_llm__embedding_id(ends.ids, inputs[ends.ids_at], i);
        if (id < 0 || (uint64_t)id >= ends.rows)
            return qnnrt_error_set(err, QNNRT_E_ARG, "host \"%.100s\": \"%.100s\"[%llu] is %lld, "
                                   "expected 0 to %llu, the rows of \"%.100s\"", step->name,
                                   ends.ids->name, (unsigned long long)i, (long long)id,
                                   (unsigned long long)ends.rows - 1, ends.table->name);
    }
    to = (unsigned char *)outputs[0];
    to_bytes = qnnrt_llm__embedding_element(ends.to) * ends.width;
    for (i = 0; i < ends.ids->count; ++i, to += to_bytes)
        qnnrt_llm__embedding_row(&ends, inputs[ends.table_at],
                                 (uint64_t)qnnrt_llm__embedding_id(ends.ids, inputs[ends.ids_at],
                                                                   i), to);
    return QNNRT_OK;
}

/* =====================================================================================
   PLAN                                                                           >>plan
   What a session is made of, and the plan of its memory.
   Needs: >>config >>shape >>cells >>rows >>kshift >>mask >>embedding
   Knows nothing of: how runs are made
   ===================================================================================== */

enum { QNNRT_LLM__ALIGN = 64 };

/* cos or sin of all positions, as tensors store them. */
typedef struct qnnrt_llm__table {
    const qnnrt_tensor_info *tensor;    /* type and encoding */
    uint32_t                 width;     /* elements of a row */
    int                      sine;
    void                    *rows;      /* [positions][width] */
} qnnrt_llm__table;

typedef struct qnnrt_llm__feed {        /* a tensor that takes rows of a table */
    const unsigned char *table;
    unsigned char       *to;
    size_t               bytes;         /* of a row */
} qnnrt_llm__feed;

typedef struct qnnrt_llm__vectors {     /* an input of embeddings */
    const qnnrt_slot *slot;
    unsigned char            *to;
    size_t                    bytes;    /* of a row */
    qnnrt_llm__embedding_ends look_up;  /* .table NULL: no token has a row */
} qnnrt_llm__vectors;

typedef struct qnnrt_llm__number {      /* an input with a number for each token */
    int32_t       *to;                  /* NULL: of another type, written through the slot */
    const qnnrt_slot *slot;
    qnnrt_llm_role role;                /* TOKENS, POSITIONS, PADDING, TOKEN_TYPES */
} qnnrt_llm__number;

/* A graph ready to run, with copies of everything that a step reads: after an execute the
   processor's caches are empty, and loading a line of memory costs more than many instructions. */
typedef struct qnnrt_llm__run {
    qnnrt_run              *run;
    const qnnrt_llm__graph *graph;
    size_t                  executes;   /* per step, one for each shard */
    uint32_t                steps;      /* of the pipeline */
    uint64_t                cost;       /* ns, 0: unknown */
    int                     cost_set;   /* 1: by the caller */
    const qnnrt_llm_cache  *bound;      /* cache to which its tensors are bound now ... */
    uint32_t                bound_end;  /* ... with shift pointer: at this end */
    qnnrt_llm__number      *numbers;    /* [number_count] */
    size_t                  number_count;
    qnnrt_llm__feed        *feeds;      /* [feed_count] cos and sin */
    size_t                  feed_count;
    qnnrt_llm__mask        *masks;      /* [mask_count] */
    size_t                  mask_count;
    qnnrt_llm__vectors     *vectors;    /* [vector_count] */
    size_t                  vector_count;
    const unsigned char    *logits;     /* NULL: none */
    size_t                  logits_bytes;   /* of a row */
    uint64_t                times;      /* so far */
    qnnrt_llm__fresh       *fresh;      /* [kv_count]; from NULL: computed in place */
} qnnrt_llm__run;

typedef struct qnnrt_llm__part {        /* one model of a session */
    qnnrt_llm        *llm;
    qnnrt_llm__run   *runs;             /* [llm->info.graph_count] */
    qnnrt_llm__table *tables;
    size_t            table_count;
    uint64_t         *ranges;           /* [kv_count] offsets within a buffer */
    uint64_t         *range_bytes;      /* [kv_count] */
    uint64_t          buffer_bytes;     /* of one cache */
    qnnrt_llm_cache  *caches;           /* [session.desc.caches] */
    size_t            first_buffer, first_entry;
    qnnrt_llm__kshift kshift;           /* with desc.k_shift */
} qnnrt_llm__part;

struct qnnrt_llm_cache {
    qnnrt_llm_session   *session;
    qnnrt_llm__part     *part;
    qnnrt_llm__cells     cells;
    qnnrt_llm__store     store;
    uint64_t             offset;        /* where the cache's buffer begins in the session's mem */
    qnnrt_error          error;
    /* The rows of this cache's last step, [info.ar] each: */
    int32_t             *tokens, *positions, *parents, *present;
    uint64_t             adapter_key;   /* of the adapter that computed its cells */
    const float         *vectors;       /* embeddings of the batch, or NULL */
    uint64_t            *sequences;
    uint32_t            *places;        /* cells for them */
    uint32_t            *added;         /* [cells] filled by the batch so far, freed on failure */
};

struct qnnrt_llm_session {
    qnnrt_arena             arena;      /* which holds it */
    qnnrt_llm_session_desc  desc;
    qnnrt_llm__part        *parts;      /* [part_count] */
    size_t                  part_count;
    qnnrt_plan             *plan;
    qnnrt_mem              *mem;
    qnnrt_llm_session_info  info;
    /* The last step: */
    const qnnrt_llm_cache  *stepped;    /* its cache; NULL: none, or it failed */
    const qnnrt_llm__run   *stepped_run;
    size_t                  stepped_first;   /* index in the batch of the token in row 0 */
    uint32_t                stepped_count, stepped_end;   /* end: of the cells at that time */
    int                     pending;    /* 1: may be accepted */
    /* Results of its batch's earlier chunks: */
    size_t                 *kept_rows;  /* [kept_room] indices in the batch, ascending */
    unsigned char          *kept;       /* [kept_room * kept_bytes] hidden states of all, if there
                                           are, and then logits of all */
    size_t                  kept_room, kept_bytes;
    size_t                  kept_count, kept_most;     /* so far, and those asked for */
    qnnrt_llm_progress      at;         /* for desc.progress */
};

/* Return 1 if a graph can compute new cells in their final place: a tensor with one row of
   cells. */
static int qnnrt_llm__plan_in_place(const qnnrt_llm__kv *kv, const qnnrt_llm__graph *graph,
                                    const qnnrt_llm__ends *ends)
{
    return kv->outer == 1 && ends->out_cells == graph->ar && ends->out_first == 0;
}

/* Return 1 if two tensors can share memory and content. */
static int qnnrt_llm__plan_alike(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->dtype == b->dtype && a->count == b->count && a->bytes == b->bytes &&
           qnnrt_quant_equal(&a->quant, &b->quant);
}

/* Check that a model has everything that it needs to run. A part of a model fails this check. */
static qnnrt_result qnnrt_llm__plan_check(const qnnrt_llm *llm, qnnrt_error *err)
{
    size_t g;
    for (g = 0; g < llm->info.graph_count; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        const qnnrt_llm__slots *in = graph->inputs;
        const char *lacks =
            in[QNNRT_LLM_ROLE_TOKENS].count + in[QNNRT_LLM_ROLE_HIDDEN].count == 0
                ? "an input for tokens" :
            graph->logits == NULL &&
                (llm->info.logits != NULL || llm->info.hidden == NULL) ? "an output with logits" :
            graph->hidden == NULL && llm->info.hidden != NULL
                ? "an output with the last hidden state" :
            in[QNNRT_LLM_ROLE_MASK].count + in[QNNRT_LLM_ROLE_WINDOW_MASK].count +
                        in[QNNRT_LLM_ROLE_PADDING].count == 0
                ? "an attention mask" : NULL;
        if (lacks != NULL) {
            qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "graph \"%s\" lacks %s", graph->name, lacks);
            return qnnrt_error_hint(err, QNNRT_E_NOT_FOUND, "Open all shards of the model; if they "
                                    "are all open, look at the roles that qnnrt_llm_describe() "
                                    "lists and correct them with a role table.");
        }
        if (in[QNNRT_LLM_ROLE_HIDDEN].count > 0 &&
            (in[QNNRT_LLM_ROLE_TOKENS].count > 0 || llm->info.embeddings == NULL))
            return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "graph \"%s\" takes a hidden state "
                                   "(embeddings) that no graph gives%s", graph->name,
                                   llm->info.embeddings != NULL ? ", beside token ids" : "");
        if (llm->kv_count == 0 && graph->cells > 0)
            return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "graph \"%s\" takes no keys and values, "
                                   "but its mask has %u columns before its %u tokens", graph->name,
                                   (unsigned)graph->cells, (unsigned)graph->ar);
        if (in[QNNRT_LLM_ROLE_WINDOW_MASK].count > 0 && llm->info.window == 0)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "graph \"%s\" has a "
                                                    "mask for a sliding window of unknown length",
                                                    graph->name), "Set desc.window, or \"window\" "
                                    "in qnnrt.json.");
    }
    return QNNRT_OK;
}

/* Lay out the tensors of one cache within a buffer. */
static qnnrt_result qnnrt_llm__plan_ranges(qnnrt_llm__part *part, uint32_t lead, qnnrt_error *err)
{
    const qnnrt_llm *llm = part->llm;
    size_t k;
    for (k = 0; k < llm->kv_count; ++k) {
        uint64_t bytes = qnnrt_llm__rows_bytes(&llm->kv[k], llm->info.cells, llm->info.ar, lead);
        if (llm->info.cells == 0)               /* nothing is kept, but the buffer exists */
            bytes = llm->kv[k].element;
        if (bytes == 0 || qnnrt_llm__rows_piece(&llm->kv[k]) > UINT32_MAX ||
            bytes > UINT64_MAX / 2 - part->buffer_bytes - QNNRT_LLM__ALIGN)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "the cache is larger than the address "
                                   "space");
        part->ranges[k] = part->buffer_bytes;
        part->range_bytes[k] = bytes;
        part->buffer_bytes += (bytes + QNNRT_LLM__ALIGN - 1) / QNNRT_LLM__ALIGN * QNNRT_LLM__ALIGN;
    }
    return QNNRT_OK;
}

typedef struct qnnrt_llm__wants {       /* descriptors of the plan */
    qnnrt_entry_desc  *entries;
    qnnrt_buffer_desc *buffers;
    qnnrt_place_desc  *places;
    size_t             entry_count, buffer_count, place_count;
} qnnrt_llm__wants;

/* Add a place to the plan. */
static void qnnrt_llm__plan_place(qnnrt_llm__wants *wants, size_t entry, const qnnrt_slot *slot,
                                  int caller_io, size_t buffer, uint64_t offset)
{
    if (wants->places != NULL) {
        qnnrt_place_desc *place = &wants->places[wants->place_count];
        place->entry = entry;
        place->slot = slot;
        place->buffer = buffer;
        place->offset = offset;
        place->caller_io = caller_io;
    }
    ++wants->place_count;
}

/* Add a model to the plan: its graphs, its caches, and one buffer for inputs that shards name
   differently. Steps bind keys and values to their cache. Called twice, to count and to write. */
static void qnnrt_llm__plan_want(const qnnrt_llm_session *session, qnnrt_llm__part *part,
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
            if (ends->in != NULL)
                qnnrt_llm__plan_place(wants, entry, ends->in, 1, 0, 0);
            if (session->desc.kv == QNNRT_LLM_SHIFT_POINTER &&
                qnnrt_llm__plan_in_place(kv, graph, ends))
                qnnrt_llm__plan_place(wants, entry, ends->out, 1, 0, 0);
        }
        for (role = 0; role < QNNRT_LLM_ROLE_COUNT; ++role) {
            const qnnrt_llm__slots *in = &graph->inputs[role];
            const qnnrt_tensor_info *first;
            size_t alike = 1;
            if (in->count < 2) continue;
            first = in->slots[0]->tensor;
            while (alike < in->count && qnnrt_llm__plan_alike(first, in->slots[alike]->tensor))
                ++alike;
            if (alike < in->count) continue;
            if (wants->buffers != NULL) {
                wants->buffers[wants->buffer_count].name =
                    qnnrt_llm_role_name((qnnrt_llm_role)role);
                wants->buffers[wants->buffer_count].bytes = first->bytes;
            }
            for (i = 0; i < in->count; ++i)
                qnnrt_llm__plan_place(wants, entry, in->slots[i], 0, wants->buffer_count, 0);
            ++wants->buffer_count;
        }
    }
}

/* Make the plan and the memory. */
static qnnrt_result qnnrt_llm__plan_make(qnnrt_llm_session *session, qnnrt_error *err)
{
    qnnrt_llm__wants wants;
    qnnrt_plan_desc desc;
    qnnrt_mem_desc mem;
    qnnrt_arena arena = qnnrt_llm__arena(&session->arena.hooks);
    qnnrt_result result;
    size_t p;
    memset(&wants, 0, sizeof wants);
    memset(&desc, 0, sizeof desc);
    memset(&mem, 0, sizeof mem);
    for (p = 0; p < session->part_count; ++p)
        qnnrt_llm__plan_want(session, &session->parts[p], &wants);
    wants.entries = (qnnrt_entry_desc *)qnnrt_arena_get(&arena, wants.entry_count,
                                                        sizeof *wants.entries);
    wants.buffers = (qnnrt_buffer_desc *)qnnrt_arena_get(&arena, wants.buffer_count,
                                                         sizeof *wants.buffers);
    wants.places = (qnnrt_place_desc *)qnnrt_arena_get(&arena, wants.place_count,
                                                       sizeof *wants.places);
    if (arena.failed) {
        qnnrt_arena_free(&arena);
        return qnnrt_llm__fail_memory(err, "a plan");
    }
    wants.entry_count = wants.buffer_count = wants.place_count = 0;
    for (p = 0; p < session->part_count; ++p)
        qnnrt_llm__plan_want(session, &session->parts[p], &wants);
    desc.entries = wants.entries;
    desc.entry_count = wants.entry_count;
    desc.buffers = wants.buffers;
    desc.buffer_count = wants.buffer_count;
    desc.places = wants.places;
    desc.place_count = wants.place_count;
    result = qnnrt_plan_create(&desc, &session->plan, err);
    mem.kind = session->desc.mem_kind;
    mem.provider = session->desc.mem_provider;
    if (result == QNNRT_OK) result = qnnrt_mem_create(session->plan, &mem, &session->mem, err);
    if (result == QNNRT_OK) {
        session->info.arena_bytes = qnnrt_plan_get_info(session->plan)->peak;
        session->info.mem_kind = qnnrt_mem_get_info(session->mem)->kind;
        session->info.mem_name = qnnrt_mem_get_info(session->mem)->name;
        session->info.mem_reason = qnnrt_mem_get_info(session->mem)->reason;
    }
    qnnrt_arena_free(&arena);
    return result;
}

/* =====================================================================================
   SESSION                                                                     >>session
   Makes runs and caches of one or more models.
   Needs: >>config >>shape >>rope >>cells >>rows >>kshift >>mask >>embedding >>plan
   Knows nothing of: steps
   ===================================================================================== */

/* Make a cache. */
static qnnrt_result qnnrt_llm__session_cache(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                             size_t index, qnnrt_error *err)
{
    qnnrt_arena *arena = &session->arena;
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
    if (part->llm->kv_count > 0) {
        const qnnrt_buffer_info *buffer =
            &qnnrt_mem_get_info(session->mem)->buffers[part->first_buffer + index];
        cache->store.data = (unsigned char *)buffer->data;
        cache->offset = buffer->offset;
    }
    cache->tokens = (int32_t *)qnnrt_arena_get(arena, info->ar, sizeof(int32_t));
    cache->positions = (int32_t *)qnnrt_arena_get(arena, info->ar, sizeof(int32_t));
    cache->parents = (int32_t *)qnnrt_arena_get(arena, info->ar, sizeof(int32_t));
    cache->present = (int32_t *)qnnrt_arena_get(arena, info->ar, sizeof(int32_t));
    cache->sequences = (uint64_t *)qnnrt_arena_get(arena, info->ar, sizeof(uint64_t));
    cache->places = (uint32_t *)qnnrt_arena_get(arena, info->ar, sizeof(uint32_t));
    cache->added = (uint32_t *)qnnrt_arena_get(arena, cells, sizeof(uint32_t));
    if (!qnnrt_llm__cells_make(&cache->cells, arena, cells))
        return qnnrt_llm__fail_memory(err, "a cache");
    /* Masked cells still have a small weight, so they must hold 0. Memory begins as zero bytes. */
    for (k = 0; k < part->llm->kv_count; ++k) {
        const qnnrt_tensor_info *tensor = part->llm->kv[k].tensor;
        uint32_t zero = 0;
        qnnrt_result result = qnnrt_llm__mask_encode(tensor, 0.0f, &zero);
        if (result != QNNRT_OK)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "cache tensor \"%s\" is %s, which "
                                   "cannot represent 0", tensor->name,
                                   qnnrt_dtype_name(tensor->dtype));
        if (zero != 0) qnnrt_llm__rows_fill(&cache->store, k, part->range_bytes[k], &zero);
    }
    return QNNRT_OK;
}

/* Find or make the table for a cos or sin tensor: one per type, encoding and width. */
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
            qnnrt_quant_equal(&table->tensor->quant, &tensor->quant)) {
            *rows = table->rows;
            return QNNRT_OK;
        }
    }
    table = &part->tables[part->table_count++];
    table->tensor = tensor;
    table->width = width;
    table->sine = sine;
    result = qnnrt_llm__rope_table(&session->arena.hooks, &part->llm->info.rope, tensor, width,
                                   width == dim && width % 2 == 0 ? width / 2 : width, sine,
                                   session->desc.positions, &table->rows, err);
    *rows = table->rows;
    return result;
}

/* Describe the inputs of embeddings, and check that rows of the table fit. */
static qnnrt_result qnnrt_llm__session_vectors(qnnrt_llm_session *session, const qnnrt_llm *llm,
                                               qnnrt_llm__run *run, qnnrt_error *err)
{
    const qnnrt_llm__slots *in = &run->graph->inputs[QNNRT_LLM_ROLE_HIDDEN];
    const qnnrt_tensor_info *table = llm->table;
    char facts[2][160];
    size_t i;
    run->vectors = (qnnrt_llm__vectors *)qnnrt_arena_get(&session->arena, in->count,
                                                         sizeof *run->vectors);
    if (run->vectors == NULL) return qnnrt_llm__fail_memory(err, "a run");
    for (i = 0; i < in->count; ++i) {
        qnnrt_llm__vectors *vectors = &run->vectors[run->vector_count++];
        const qnnrt_tensor_info *tensor = in->slots[i]->tensor;
        vectors->slot = in->slots[i];
        vectors->to = (unsigned char *)qnnrt_data_slot(run->run, in->slots[i], NULL);
        vectors->bytes = (size_t)(tensor->bytes / run->graph->ar);
        if (table == NULL) continue;
        vectors->look_up.table = table;
        vectors->look_up.to = tensor;
        vectors->look_up.width = llm->info.width;
        if (llm->table_data != NULL && table->rank >= 2 && table->dims[table->rank - 2] > 0 &&
            table->dims[table->rank - 1] == llm->info.width &&
            qnnrt_llm__embedding_element(table) != 0 &&
            qnnrt_llm__embedding_element(tensor) != 0 &&
            table->bytes / table->dims[table->rank - 2] / llm->info.width >=
                qnnrt_llm__embedding_element(table)) continue;
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "graph \"%s\": rows of the table %s do not "
                               "fit \"%s\", %s", run->graph->name,
                               qnnrt_tensor_text(table, facts[0], sizeof facts[0]), tensor->name,
                               qnnrt_tensor_text(tensor, facts[1], sizeof facts[1]));
    }
    return QNNRT_OK;
}

/* Check that tensors of a role can hold all numbers from 0 to `top`: a number that a type cannot
   hold would become another token or position. */
static qnnrt_result qnnrt_llm__session_says(const qnnrt_llm__run *run, qnnrt_llm_role role,
                                            uint32_t top, qnnrt_error *err)
{
    const qnnrt_llm__slots *in = &run->graph->inputs[role];
    const int32_t numbers[2] = { 1, (int32_t)top };
    size_t i;
    int k;
    for (i = 0; i < in->count; ++i)
        for (k = 0; k < 2 && top > 0; ++k) {
            int32_t back = 0;
            float real = 0;
            qnnrt_result result = qnnrt_write_i32(run->run, in->slots[i], 0, &numbers[k], 1);
            if (result == QNNRT_OK)
                result = qnnrt_read_i32(run->run, in->slots[i], 0, &back, 1);
            if (result == QNNRT_OK)
                result = qnnrt_read_f32(run->run, in->slots[i], 0, &real, 1);
            if (result != QNNRT_OK) {
                if (err != NULL) *err = *qnnrt_run_error(run->run);
                return result;
            }
            if (back != numbers[k] || (k == 0 && real != 1.0f))
                return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "graph \"%s\": \"%s\" takes %s up "
                                       "to %lu, but type %s cannot hold %ld", run->graph->name,
                                       in->slots[i]->tensor->name, qnnrt_llm_role_name(role),
                                       (unsigned long)top,
                                       qnnrt_dtype_name(in->slots[i]->tensor->dtype),
                                       (long)numbers[k]);
        }
    return QNNRT_OK;
}

/* Describe the inputs with a number for each token. */
static qnnrt_result qnnrt_llm__session_numbers(qnnrt_llm_session *session, const qnnrt_llm *llm,
                                               qnnrt_llm__run *run, qnnrt_error *err)
{
    static const qnnrt_llm_role roles[4] = { QNNRT_LLM_ROLE_TOKENS, QNNRT_LLM_ROLE_POSITIONS,
                                             QNNRT_LLM_ROLE_PADDING, QNNRT_LLM_ROLE_TOKEN_TYPES };
    size_t i, k, most = 0;
    qnnrt_result result =
        qnnrt_llm__session_says(run, QNNRT_LLM_ROLE_TOKENS,
                                llm->info.words > 0 ? llm->info.words - 1 : 0, err);
    if (result == QNNRT_OK)
        result = qnnrt_llm__session_says(run, QNNRT_LLM_ROLE_POSITIONS,
                                         session->desc.positions - 1, err);
    if (result != QNNRT_OK) return result;
    for (k = 0; k < 4; ++k) most += run->graph->inputs[roles[k]].count;
    run->numbers = (qnnrt_llm__number *)qnnrt_arena_get(&session->arena, most,
                                                        sizeof *run->numbers);
    if (run->numbers == NULL) return qnnrt_llm__fail_memory(err, "a run");
    for (k = 0; k < 4; ++k) {
        const qnnrt_llm__slots *in = &run->graph->inputs[roles[k]];
        for (i = 0; i < in->count; ++i) {
            qnnrt_llm__number *number = &run->numbers[run->number_count++];
            number->slot = in->slots[i];
            number->role = roles[k];
            if (in->slots[i]->tensor->dtype == QNNRT_DTYPE_I32 ||
                roles[k] == QNNRT_LLM_ROLE_TOKEN_TYPES)
                number->to = (int32_t *)qnnrt_data_slot(run->run, in->slots[i], NULL);
        }
    }
    return QNNRT_OK;
}

/* Make a graph ready to run. */
static qnnrt_result qnnrt_llm__session_run(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                           size_t index, qnnrt_error *err)
{
    static const qnnrt_llm_role turns[2] = { QNNRT_LLM_ROLE_ROPE_COS, QNNRT_LLM_ROLE_ROPE_SIN };
    static const qnnrt_llm_role masks[2] = { QNNRT_LLM_ROLE_MASK, QNNRT_LLM_ROLE_WINDOW_MASK };
    const qnnrt_llm *llm = part->llm;
    const qnnrt_llm__graph *graph = &llm->graphs[index];
    const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(graph->pipeline);
    qnnrt_arena *arena = &session->arena;
    qnnrt_llm__run *run = &part->runs[index];
    const qnnrt_tensor_info *tensor;
    qnnrt_result result;
    size_t i, k, most;
    int which;

    run->graph = graph;
    run->steps = (uint32_t)pipeline->step_count;
    for (i = 0; i < pipeline->step_count; ++i)
        run->executes += pipeline->steps[i].kind == QNNRT_STEP_GRAPH;
    result = qnnrt_run_create(session->mem, part->first_entry + index, &run->run, err);
    if (result == QNNRT_OK) result = qnnrt_llm__session_numbers(session, llm, run, err);
    if (result == QNNRT_OK) result = qnnrt_llm__session_vectors(session, llm, run, err);
    if (result != QNNRT_OK) return result;
    most = graph->inputs[turns[0]].count + graph->inputs[turns[1]].count;
    run->feeds = (qnnrt_llm__feed *)qnnrt_arena_get(arena, most, sizeof *run->feeds);
    most = graph->inputs[masks[0]].count + graph->inputs[masks[1]].count;
    run->masks = (qnnrt_llm__mask *)qnnrt_arena_get(arena, most, sizeof *run->masks);
    run->fresh = (qnnrt_llm__fresh *)qnnrt_arena_get(arena, llm->kv_count, sizeof *run->fresh);
    if (arena->failed) return qnnrt_llm__fail_memory(err, "a run");

    for (which = 0; which < 2; ++which) {
        const qnnrt_llm__slots *in = &graph->inputs[turns[which]];
        for (i = 0; i < in->count; ++i) {
            qnnrt_llm__feed *feed = &run->feeds[run->feed_count];
            const void *rows;
            tensor = in->slots[i]->tensor;
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
        for (i = 0; i < in->count; ++i) {
            qnnrt_llm__mask *mask = &run->masks[run->mask_count];
            tensor = in->slots[i]->tensor;
            result = qnnrt_llm__mask_values_of(tensor, llm->masked, &mask->values, err);
            if (result != QNNRT_OK) return result;
            mask->data = qnnrt_data_slot(run->run, in->slots[i], NULL);
            mask->window = which == 1 ? llm->info.window : 0;
            for (k = 0; k < run->mask_count && run->masks[k].data != mask->data; ++k) {}
            if (k == run->mask_count) ++run->mask_count;
        }
    }
    if (graph->logits != NULL) {
        run->logits = (const unsigned char *)qnnrt_data_slot(run->run, graph->logits, NULL);
        run->logits_bytes = (size_t)(graph->logits->tensor->bytes / graph->ar);
    }
    for (k = 0; k < llm->kv_count; ++k)
        if (session->desc.kv != QNNRT_LLM_SHIFT_POINTER ||
            !qnnrt_llm__plan_in_place(&llm->kv[k], graph, &graph->kv[k]))
            run->fresh[k] = qnnrt_llm__rows_fresh(
                &part->caches[0].store, k, qnnrt_data_slot(run->run, graph->kv[k].out, NULL),
                graph->kv[k].out_cells, graph->kv[k].out_first);
    return QNNRT_OK;
}

/* Return the bytes of all tensors with a buffer for each, as without a plan. */
static uint64_t qnnrt_llm__session_naive(const qnnrt_llm *llm)
{
    uint64_t bytes = 0;
    size_t g, i;
    for (g = 0; g < llm->info.graph_count; ++g)
        for (i = 0; i < llm->info.graphs[g].tensor_count; ++i)
            if (llm->info.graphs[g].tensors[i].role != QNNRT_LLM_ROLE_CONSTANT)
                bytes += llm->info.graphs[g].tensors[i].tensor->bytes;
    return bytes;
}

static void qnnrt_llm__session_free(qnnrt_llm_session *session)
{
    qnnrt_arena arena = session->arena;     /* it holds session */
    size_t p, i;
    for (p = 0; p < session->part_count; ++p) {
        qnnrt_llm__part *part = &session->parts[p];
        if (part->llm == NULL) continue;
        for (i = 0; part->runs != NULL && i < part->llm->info.graph_count; ++i)
            qnnrt_run_destroy(part->runs[i].run);
        for (i = 0; i < part->table_count; ++i)
            qnnrt_hooks_free(&arena.hooks, part->tables[i].rows);
        qnnrt_llm__count(&part->llm->sessions, -1);
    }
    qnnrt_mem_destroy(session->mem);
    qnnrt_plan_destroy(session->plan);
    qnnrt_hooks_free(&arena.hooks, session->kept_rows);
    qnnrt_hooks_free(&arena.hooks, session->kept);
    qnnrt_arena_free(&arena);
}

/* Add a model to a session. */
static qnnrt_result qnnrt_llm__session_part(qnnrt_llm_session *session, qnnrt_llm__part *part,
                                            qnnrt_llm *llm, qnnrt_error *err)
{
    qnnrt_arena *arena = &session->arena;
    size_t tables = 0, g;
    qnnrt_result result;
    part->llm = llm;
    qnnrt_llm__count(&llm->sessions, 1);
    result = qnnrt_llm__plan_check(llm, err);
    if (result != QNNRT_OK) return result;
    if (session->desc.kv == QNNRT_LLM_SHIFT_POINTER && llm->info.cells == 0)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "shift pointer needs cells, but the "
                               "graphs take their whole context at once");
    for (g = 0; g < llm->info.graph_count; ++g)
        tables += llm->graphs[g].inputs[QNNRT_LLM_ROLE_ROPE_COS].count +
                  llm->graphs[g].inputs[QNNRT_LLM_ROLE_ROPE_SIN].count;
    part->runs = (qnnrt_llm__run *)qnnrt_arena_get(arena, llm->info.graph_count,
                                                   sizeof *part->runs);
    part->caches = (qnnrt_llm_cache *)qnnrt_arena_get(arena, session->desc.caches,
                                                      sizeof *part->caches);
    part->tables = (qnnrt_llm__table *)qnnrt_arena_get(arena, tables, sizeof *part->tables);
    part->ranges = (uint64_t *)qnnrt_arena_get(arena, llm->kv_count, sizeof *part->ranges);
    part->range_bytes = (uint64_t *)qnnrt_arena_get(arena, llm->kv_count,
                                                    sizeof *part->range_bytes);
    if (arena->failed) return qnnrt_llm__fail_memory(err, "a session");
    if (session->desc.k_shift) result = qnnrt_llm__kshift_make(&part->kshift, arena, llm, err);
    if (result != QNNRT_OK) return result;
    return qnnrt_llm__plan_ranges(part, session->desc.kv == QNNRT_LLM_SHIFT_POINTER, err);
}

/* Make all parts of a session. */
static qnnrt_result qnnrt_llm__session_make(qnnrt_llm_session *session, qnnrt_llm *const *models,
                                            qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    uint32_t positions = session->desc.positions;
    size_t p, i;
    for (p = 0; p < session->part_count && result == QNNRT_OK; ++p)
        result = qnnrt_llm__session_part(session, &session->parts[p], models[p], err);
    if (result == QNNRT_OK) result = qnnrt_llm__plan_make(session, err);
    for (p = 0; p < session->part_count && result == QNNRT_OK; ++p) {
        qnnrt_llm__part *part = &session->parts[p];
        if (positions == 0 && part->llm->info.context > session->desc.positions)
            session->desc.positions = part->llm->info.context;
        if (session->desc.positions > 0x40000000u) session->desc.positions = 0x40000000u;
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
   CHOICE                                                                       >>choose
   Chooses the graph of a step, by size or by cost, and closes holes where that helps.
   Needs: >>shape >>cells >>rows >>defragment >>plan     Knows nothing of: batches, inputs
   ===================================================================================== */

/* Find the smallest graph that takes `count` tokens after `end` cells, else the largest that takes
   fewer; NULL if no graph does. Of equal ones take the shorter context, which is faster. */
QNNRT_LLM__HOT
static qnnrt_llm__run *qnnrt_llm__choose_by_size(const qnnrt_llm_cache *cache, size_t count,
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

/* Return count times cost; the largest number if it is larger. */
static uint64_t qnnrt_llm__choose_times(uint64_t count, uint64_t cost)
{
    return cost > UINT64_MAX / 2 / (count + 1) ? UINT64_MAX / 2 : count * cost;
}

/* Return 1 if a graph reads `end` cells, and no shorter one for as many tokens does. */
static int qnnrt_llm__choose_fits(const qnnrt_llm__part *part, const qnnrt_llm__run *run,
                                  uint32_t end)
{
    return run->graph->cells >= end &&
           (run == part->runs || run[-1].graph->ar != run->graph->ar || run[-1].graph->cells < end);
}

/* Return the cost of so many tokens on the one graph that does them for the least. */
static uint64_t qnnrt_llm__choose_rest(const qnnrt_llm__part *part, uint64_t count, uint32_t end)
{
    uint64_t least = UINT64_MAX / 2;
    size_t g;
    for (g = 0; g < part->llm->info.graph_count && count > 0; ++g) {
        const qnnrt_llm__run *run = &part->runs[g];
        const uint32_t ar = run->graph->ar;
        if (run->cost == 0 || !qnnrt_llm__choose_fits(part, run, end)) continue;
        if (qnnrt_llm__choose_times((count + ar - 1) / ar, run->cost) < least)
            least = qnnrt_llm__choose_times((count + ar - 1) / ar, run->cost);
    }
    return count > 0 ? least : 0;
}

/* Return the graph whose steps, with those of another one for the rest, cost the least for `count`
   tokens. The sum is never higher than that of `run`, which was found without costs, and the graphs
   after it, or of any graph alone. A graph of unknown cost up to `run` is tried; larger ones are
   left out until they were needed. whole: 1 if all tokens must be in one step. */
static qnnrt_llm__run *qnnrt_llm__choose_by_cost(const qnnrt_llm_cache *cache, qnnrt_llm__run *run,
                                                 size_t count, int whole)
{
    const qnnrt_llm_session *session = cache->session;
    qnnrt_llm__part *part = cache->part;
    const uint32_t end = cache->cells.end;
    const int measured = session->desc.clock_ns != NULL;
    qnnrt_llm__run *const found = run;
    uint64_t least = UINT64_MAX;
    size_t g;
    if (!session->desc.by_cost || whole || run == NULL || (run->cost == 0 && measured)) return run;
    for (g = 0; g < part->llm->info.graph_count; ++g) {
        qnnrt_llm__run *one = &part->runs[g];
        const uint32_t ar = one->graph->ar;
        uint64_t sum = one->cost;
        if (!qnnrt_llm__choose_fits(part, one, end) || (one->cost == 0 && one > found)) continue;
        if (one->cost == 0) return measured ? one : found;
        if (count > ar)
            sum = qnnrt_llm__choose_times(count / ar, one->cost) +
                  qnnrt_llm__choose_rest(part, count % ar, end);
        if (sum < least || (sum == least && one <= found)) {     /* of equal ones fewer steps */
            least = sum;
            run = one;
        }
    }
    return run;
}

/* Find the graph for the first step of a batch of `count` tokens; whole: of its only step. First
   remove holes between cells if that allows a larger graph, or makes room to compute new cells in
   place. */
QNNRT_LLM__HOT
static qnnrt_llm__run *qnnrt_llm__choose_first(qnnrt_llm_cache *cache, size_t count, int whole)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    qnnrt_llm__run *run = qnnrt_llm__choose_by_size(cache, count, cells->end);
    if (cells->used < cells->end &&
        (qnnrt_llm__choose_by_size(cache, count, cells->used) != run ||
         (cache->store.lead != 0 && cells->count - cells->end < count))) {
        qnnrt_llm__defragment(&cache->cells, &cache->store);
        run = qnnrt_llm__choose_by_size(cache, count, cells->end);
    }
    return qnnrt_llm__choose_by_cost(cache, run, count, whole);
}

/* Find the graph for the next step, with `count` tokens to go. Cells of the batch must not move, so
   that a failure can free them again. */
QNNRT_LLM__HOT
static qnnrt_llm__run *qnnrt_llm__choose_next(const qnnrt_llm_cache *cache, size_t count)
{
    return qnnrt_llm__choose_by_cost(
        cache, qnnrt_llm__choose_by_size(cache, count, cache->cells.end), count, 0);
}

/* =====================================================================================
   LATE RESULTS                                                                   >>late
   Keeps results of a batch's earlier chunks, so that they can be read after the last one.
   Needs: >>config >>shape >>plan     Knows nothing of: inputs, cells
   ===================================================================================== */

/* Count the tokens before the last one whose results can be read after all chunks of a batch, and
   list them backwards from rows unless that is NULL. */
static size_t qnnrt_llm__late_asked(const qnnrt_llm_batch *batch, uint32_t ar, size_t *rows)
{
    uint64_t later = 0;                 /* sequences that a later token belongs to */
    size_t i, count = 0;
    for (i = batch->count; i > 0; --i) {
        const uint64_t sequences = batch->sequences != NULL ? batch->sequences[i - 1] : 1;
        const int asked = batch->wanted != NULL ? batch->wanted[i - 1] != 0
                                                : batch->count <= ar || (sequences & ~later) != 0;
        later |= sequences;
        if (!asked || i == batch->count) continue;
        if (rows != NULL) *--rows = i - 1;
        ++count;
    }
    return count;
}

/* Make room for results of earlier chunks. */
static qnnrt_result qnnrt_llm__late_reserve(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    qnnrt_llm_session *session = cache->session;
    const qnnrt_llm_info *info = &cache->part->llm->info;
    const qnnrt_hooks *hooks = &session->arena.hooks;
    const size_t count = qnnrt_llm__late_asked(batch, info->ar, NULL);
    const size_t bytes = (info->hidden != NULL ? (size_t)info->width * sizeof(float) : 0) +
                         info->logits_bytes;
    session->kept_count = session->kept_most = 0;
    if (count == 0 || batch->logits != NULL || batch->stored != NULL || batch->hidden != NULL)
        return QNNRT_OK;
    if (count > session->kept_room || bytes > session->kept_bytes) {
        qnnrt_hooks_free(hooks, session->kept_rows);
        qnnrt_hooks_free(hooks, session->kept);
        session->kept_rows = (size_t *)qnnrt_hooks_alloc(hooks, count, sizeof(size_t));
        session->kept = (unsigned char *)qnnrt_hooks_alloc(hooks, count, bytes);
        session->kept_room = 0;
        if (session->kept_rows == NULL || session->kept == NULL)
            return qnnrt_llm__fail_memory(&cache->error, "logits of a batch");
        session->kept_room = count;
        session->kept_bytes = bytes;
    }
    session->kept_most = qnnrt_llm__late_asked(batch, info->ar, session->kept_rows + count);
    return QNNRT_OK;
}

/* Return where the hidden state of token i of those kept is, and where its logits are. */
static float *qnnrt_llm__late_hidden(const qnnrt_llm_cache *cache, size_t i)
{
    return (float *)(void *)cache->session->kept + i * cache->part->llm->info.width;
}

static unsigned char *qnnrt_llm__late_logits(const qnnrt_llm_cache *cache, size_t i)
{
    const qnnrt_llm_session *session = cache->session;
    unsigned char *begin = session->kept;
    if (cache->part->llm->info.hidden != NULL)
        begin = (unsigned char *)qnnrt_llm__late_hidden(cache, session->kept_room);
    return begin + i * session->stepped_run->logits_bytes;
}

/* Keep the results of a chunk that another one follows, if they were asked for. */
static qnnrt_result qnnrt_llm__late_save(qnnrt_llm_cache *cache, size_t first, uint32_t count)
{
    qnnrt_llm_session *session = cache->session;
    const qnnrt_llm__run *run = session->stepped_run;
    const uint32_t width = cache->part->llm->info.width;
    for (; session->kept_count < session->kept_most; ++session->kept_count) {
        const size_t row = session->kept_rows[session->kept_count] - first;
        if (row >= count) break;
        if (run->graph->hidden != NULL) {
            qnnrt_result result = qnnrt_read_f32(
                run->run, run->graph->hidden, (uint64_t)row * width,
                qnnrt_llm__late_hidden(cache, session->kept_count), width);
            if (result != QNNRT_OK) {
                cache->error = *qnnrt_run_error(run->run);
                return result;
            }
        }
        if (run->logits != NULL)
            memcpy(qnnrt_llm__late_logits(cache, session->kept_count),
                   run->logits + row * run->logits_bytes, run->logits_bytes);
    }
    return QNNRT_OK;
}

/* =====================================================================================
   STEP                                                                           >>step
   Runs steps: fills the inputs, executes, keeps new tokens.
   Needs: >>config >>shape >>cells >>rows >>mask >>embedding >>plan >>choose >>late
   Knows nothing of: sampling
   ===================================================================================== */

#define QNNRT_LLM__FAIL(cache, ...) qnnrt_error_set(&(cache)->error, __VA_ARGS__)

/* ---- checking a batch ---- */

/* Check a whole batch before anything changes. */
QNNRT_LLM__HOT
static qnnrt_result qnnrt_llm__step_check(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    const qnnrt_llm *llm = cache->part->llm;
    const qnnrt_llm_info *info = &llm->info;
    const uint32_t words = info->words;
    const char *none;
    size_t i;
    if (llm->adapter_lost)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "the last qnnrt_llm_adapter_apply() failed and"
                               " left the graphs with different adapters");
    if (cache->cells.used == 0) cache->adapter_key = llm->adapter_key;
    if (cache->adapter_key != llm->adapter_key)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "the cache holds %u tokens "
                                                "that were computed with %s adapter",
                                                (unsigned)cache->cells.used, cache->adapter_key == 0
                                                ? "no" : "another"), "Clear the cache, apply that "
                                "adapter again, or call qnnrt_llm_adapter_mix().");
    if (batch->count == 0 || (batch->tokens == NULL && batch->embeddings == NULL))
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the batch has no tokens"),
                                "Begin a text with at least one token, for example bos.");
    if (llm->graphs[0].inputs[QNNRT_LLM_ROLE_PADDING].count > 0) {
        for (i = 1; batch->sequences != NULL && i < batch->count; ++i)
            if (batch->sequences[i] != batch->sequences[0]) break;
        if ((batch->sequences != NULL && i < batch->count) || batch->parents != NULL)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "an encoder takes one text in a batch: all"
                                   " its tokens see each other");
    }
    none = batch->embeddings != NULL && info->embeddings == NULL ? "batch.embeddings: the graphs"
                                                                   " take tokens"
           : (batch->logits != NULL || batch->stored != NULL) && info->logits == NULL
               ? "batch.logits: the graphs have no logits"
           : batch->hidden != NULL && info->hidden == NULL
               ? "batch.hidden: the graphs have no output of the last hidden state" : NULL;
    if (none != NULL)
        return qnnrt_error_hint(&cache->error, QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "%s", none),
                                batch->embeddings != NULL && info->embeddings == NULL ?
                                "Compile the model with --embedding host and open it with "
                                "desc.embeddings." : "Compile the model with --outputs both.");
    if (info->embeddings != NULL && llm->table == NULL && batch->tokens != NULL &&
        batch->embeddings == NULL)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the graphs take embeddings, "
                                                "and there is no table with rows of tokens"),
                                "Set batch.embeddings, or give the table with desc.table of "
                                "qnnrt_llm_open().");
    if (batch->sequences == NULL && batch->sequence >= QNNRT_LLM_SEQUENCES)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "sequence %u, expected 0 to %d",
                               (unsigned)batch->sequence, QNNRT_LLM_SEQUENCES - 1);
    if (batch->parents != NULL && batch->count > info->ar)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "a tree of %lu drafts, expected at most %u,"
                               " which the largest graph takes", (unsigned long)batch->count,
                               (unsigned)info->ar);
    for (i = 0; i < batch->count; ++i) {
        const int32_t token = batch->tokens != NULL ? batch->tokens[i] : -1;
        if ((token < 0 || (words > 0 && (uint32_t)token >= words) ||
             (info->embeddings != NULL && llm->table == NULL)) &&
            (token != -1 || batch->embeddings == NULL))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %ld at place %lu of the batch,"
                                   " expected %d to %ld", (long)token, (unsigned long)i,
                                   batch->embeddings != NULL ? -1 : 0,
                                   info->embeddings != NULL && llm->table == NULL ? -1L
                                   : words > 0 ? (long)words - 1 : (long)INT32_MAX);
        if (batch->sequences != NULL && batch->sequences[i] == 0)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch has no sequence",
                                   (unsigned long)i);
        if (batch->parents != NULL && (batch->parents[i] < -1 || batch->parents[i] >= (int32_t)i))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch has parent %ld,"
                                   " expected an earlier token, or -1 for the cache",
                                   (unsigned long)i, (long)batch->parents[i]);
    }
    return QNNRT_OK;
}

/* Return the highest position of any of these sequences; -1 if all are empty. */
static int32_t qnnrt_llm__step_last(const qnnrt_llm__cells *cells, uint64_t sequences)
{
    int32_t last = -1;
    uint32_t s;
    for (s = 0; sequences != 0; ++s, sequences >>= 1)
        if ((sequences & 1) != 0 && cells->last[s] > last) last = cells->last[s];
    return last;
}

/* Return 1 if these sequences hold the same cells, and the same rows before `row`. A token of
   several sequences must not see a mix of texts, which no backend would notice. */
static int qnnrt_llm__step_coupled(const qnnrt_llm_cache *cache, uint64_t sequences, uint32_t row)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    uint32_t i;
    if ((sequences & (sequences - 1)) == 0) return 1;
    for (i = 0; i < cells->end; ++i)
        if ((cells->sequences[i] & sequences) != 0 &&
            (cells->sequences[i] & sequences) != sequences) return 0;
    for (i = 0; i < row; ++i)
        if ((cache->sequences[i] & sequences) != 0 &&
            (cache->sequences[i] & sequences) != sequences) return 0;
    return 1;
}

/* Refuse to accept the last eval from now on, as its rows or its cache change. */
static void qnnrt_llm__step_forget(qnnrt_llm_cache *cache)
{
    if (cache->session->stepped == cache) cache->session->pending = 0;
}

/* Make token `i` of the batch row `row` of the step, and find its position. */
QNNRT_LLM__HOT
static qnnrt_result qnnrt_llm__step_row(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch,
                                        size_t i, uint32_t row)
{
    const uint64_t sequences = batch->sequences != NULL ? batch->sequences[i]
                                                        : (uint64_t)1 << batch->sequence;
    int32_t before = -1, position;
    uint32_t j;
    if (!qnnrt_llm__step_coupled(cache, sequences, row))
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch has "
                                                "sequences with different texts", (unsigned long)i),
                                "Copy one sequence to the other first, or pass the token once for "
                                "each sequence.");
    cache->tokens[row] = batch->tokens != NULL ? batch->tokens[i] : -1;
    cache->sequences[row] = sequences;
    cache->parents[row] = batch->parents != NULL ? batch->parents[i] : -1;
    if (batch->parents != NULL && batch->parents[i] >= 0) {
        if ((sequences & ~cache->sequences[batch->parents[i]]) != 0)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "token %lu of the batch has sequences that"
                                   " its parent %ld lacks", (unsigned long)i,
                                   (long)batch->parents[i]);
        before = cache->positions[batch->parents[i]];
    } else {
        before = qnnrt_llm__step_last(&cache->cells, sequences);
        if (batch->parents == NULL && row > 0 && cache->sequences[row - 1] == sequences) {
            before = cache->positions[row - 1];      /* positions rise from row to row */
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
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "position %ld of token %lu of the batch,"
                                   " expected above %ld, the highest before it",
                                   (long)position, (unsigned long)i, (long)before);
    }
    if ((uint32_t)position >= cache->session->desc.positions)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "position %ld, expected below %lu"
                               " (desc.positions of the session)", (long)position,
                               (unsigned long)cache->session->desc.positions);
    cache->positions[row] = position;
    return QNNRT_OK;
}

/* ---- one call ---- */

/* Return the address of a cell in the first row of tensor k. */
static unsigned char *qnnrt_llm__step_cell(const qnnrt_llm_cache *cache, size_t k, uint32_t cell)
{
    const qnnrt_llm__store *store = &cache->store;
    const qnnrt_llm__kv *kv = &store->kv[k];
    return store->data + store->ranges[k] +
           ((uint64_t)store->lead * store->stride + cell) * kv->inner * kv->element;
}

/* Bind a graph to this cache. */
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
        if (graph->kv[k].in != NULL)
            result = qnnrt_bind_at(run->run, graph->kv[k].in, cache->session->mem,
                                   begin + moved * kv->inner * kv->element);
        if (result == QNNRT_OK && run->fresh[k].from == NULL)
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

/* Write tokens and positions. */
static qnnrt_result qnnrt_llm__step_numbers(qnnrt_llm_cache *cache, const qnnrt_llm__run *run)
{
    const uint32_t ar = run->graph->ar;
    qnnrt_result result = QNNRT_OK;
    uint32_t r;
    size_t i;
    for (i = 0; i < run->number_count && result == QNNRT_OK; ++i) {
        const qnnrt_llm__number *number = &run->numbers[i];
        const int padding = number->role == QNNRT_LLM_ROLE_PADDING;
        const int32_t *values = padding ? cache->present
                                : number->role == QNNRT_LLM_ROLE_POSITIONS ? cache->positions
                                                                           : cache->tokens;
        if (number->role == QNNRT_LLM_ROLE_TOKEN_TYPES)
            memset(number->to, 0, (size_t)number->slot->tensor->bytes);
        else if (number->to != NULL) memcpy(number->to, values, ar * sizeof *values);
        else if (!padding)
            result = qnnrt_write_i32(run->run, number->slot, 0, values, ar);
        for (r = 0; padding && number->to == NULL && r < ar && result == QNNRT_OK; ++r) {
            const float there = values[r] != 0 ? 1.0f : 0.0f;
            result = qnnrt_write_f32(run->run, number->slot, r, &there, 1);
        }
    }
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

/* Write embeddings: rows of the batch, rows of the table for tokens, and zeros after them. */
static qnnrt_result qnnrt_llm__step_vectors(qnnrt_llm_cache *cache, const qnnrt_llm__run *run,
                                            size_t first, uint32_t count)
{
    const qnnrt_llm *llm = cache->part->llm;
    const uint32_t width = llm->info.width, ar = run->graph->ar;
    static const float zero[64] = { 0 };
    qnnrt_result result = QNNRT_OK;
    uint32_t r, c;
    size_t i;
    for (i = 0; i < run->vector_count; ++i) {
        const qnnrt_llm__vectors *vectors = &run->vectors[i];
        for (r = 0; r < count && result == QNNRT_OK; ++r)
            if (cache->tokens[r] >= 0)
                qnnrt_llm__embedding_row(&vectors->look_up, llm->table_data,
                                         (uint64_t)cache->tokens[r],
                                         vectors->to + r * vectors->bytes);
            else
                result = qnnrt_write_f32(run->run, vectors->slot, (uint64_t)r * width,
                                         cache->vectors + (first + r) * width, width);
        for (; r < ar && result == QNNRT_OK; ++r)
            for (c = 0; c < width && result == QNNRT_OK; c += 64)
                result = qnnrt_write_f32(run->run, vectors->slot, (uint64_t)r * width + c, zero,
                                         width - c < 64 ? width - c : 64);
    }
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

/* Fill all inputs except keys and values. Rows after the last token are token 0 at position 0, or
   zeros. */
static qnnrt_result qnnrt_llm__step_fill(qnnrt_llm_cache *cache, qnnrt_llm__run *run,
                                         size_t first, uint32_t count, const int32_t *parents)
{
    const qnnrt_llm__graph *graph = run->graph;
    qnnrt_llm__mask_form form;
    qnnrt_llm__mask_rows rows;
    qnnrt_result result;
    size_t i, r;
    for (i = count; i < graph->ar; ++i) cache->tokens[i] = cache->positions[i] = 0;
    for (i = 0; i < graph->ar; ++i) cache->present[i] = i < count;
    result = qnnrt_llm__step_numbers(cache, run);
    if (result == QNNRT_OK && run->vector_count > 0)
        result = qnnrt_llm__step_vectors(cache, run, first, count);
    if (result != QNNRT_OK) return result;
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
    for (i = 0; i < run->mask_count; ++i)
        qnnrt_llm__mask_write(&form, &run->masks[i], &cache->cells, &rows);
    return QNNRT_OK;
}

/* Execute the pipeline of a run. With desc.progress the caller hears of each of its steps, and can
   end it before one. */
static qnnrt_result qnnrt_llm__step_exec(qnnrt_llm_cache *cache, const qnnrt_llm__run *run)
{
    qnnrt_llm_session *session = cache->session;
    qnnrt_result result = QNNRT_OK;
    uint32_t step;
    if (session->desc.progress == NULL) result = qnnrt_exec(run->run);
    for (step = 0; session->desc.progress != NULL && step < run->steps && result == QNNRT_OK;
         ++step) {
        session->at.step = step;
        if (session->desc.progress(session->desc.progress_user, &session->at) != 0)
            return qnnrt_error_set(&cache->error, QNNRT_E_CANCELLED, "the caller ended it before"
                                   " step %u of %u", (unsigned)step, (unsigned)run->steps);
        result = qnnrt_exec_steps(run->run, step, 1);
    }
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

/* Fill the inputs for `count` rows and execute. */
QNNRT_LLM__HOT
static qnnrt_result qnnrt_llm__step_run(qnnrt_llm_cache *cache, qnnrt_llm__run *run,
                                        size_t first, uint32_t count, const int32_t *parents)
{
    qnnrt_llm_session *session = cache->session;
    uint64_t (*clock)(void *user) = session->desc.clock_ns;
    uint64_t begin = 0;
    qnnrt_result result;
    session->stepped = NULL;
    if (run->graph->cells > 0)
        qnnrt_llm__rows_arrange(&cache->store, run->graph->cells, cache->cells.end);
    result = qnnrt_llm__step_bind(cache, run);
    if (result == QNNRT_OK) result = qnnrt_llm__step_fill(cache, run, first, count, parents);
    if (result != QNNRT_OK) return result;
    session->at.cache = cache;
    session->at.done = first;
    session->at.steps = run->steps;
    session->at.ar = run->graph->ar;
    if (clock != NULL) begin = clock(session->desc.clock_user);
    result = qnnrt_llm__step_exec(cache, run);
    if (clock != NULL) {
        const uint64_t ns = clock(session->desc.clock_user) - begin;
        session->info.exec_ns += ns;
        if (result == QNNRT_OK && !run->cost_set && (run->cost == 0 || ns < run->cost))
            run->cost = ns > 0 ? ns : 1;
    }
    if (result != QNNRT_OK) return result;
    ++session->info.steps;
    ++run->times;
    session->info.executes += run->executes;
    session->stepped = cache;
    session->stepped_run = run;
    session->stepped_first = first;
    session->stepped_count = count;
    session->stepped_end = cache->cells.end;
    session->pending = 1;
    if (first == 0) session->kept_count = 0;
    return QNNRT_OK;
}

/* ---- keeping tokens ---- */

/* Make rows of cells long enough for `cells` cells, more than the step read. New cells that were
   computed in place, after the end, move first: moving the others would overwrite them. */
static void qnnrt_llm__step_widen(qnnrt_llm_cache *cache, uint32_t cells)
{
    const qnnrt_llm_session *session = cache->session;
    const qnnrt_llm__run *run = session->stepped_run;
    qnnrt_llm__store *store = &cache->store;
    const uint32_t stride = cache->cells.count;
    size_t k;
    if (cells <= store->stride) return;
    for (k = 0; k < store->kv_count; ++k) {
        const qnnrt_llm__kv *kv = &store->kv[k];
        unsigned char *rows = qnnrt_llm__step_cell(cache, k, session->stepped_end);
        if (run->fresh[k].from == NULL)
            memmove(rows + (size_t)(stride - store->stride) * kv->inner * kv->element, rows,
                    (size_t)run->graph->ar * kv->inner * kv->element);
    }
    qnnrt_llm__rows_arrange(store, stride, cache->cells.end);
}

/* Store new keys and values of rows[i] (NULL: row i) in cells places[i], which ascend. */
static void qnnrt_llm__step_keep(qnnrt_llm_cache *cache, const uint32_t *rows, uint32_t count)
{
    const qnnrt_llm__run *run = cache->session->stepped_run;
    const uint32_t *places = cache->places, end = cache->session->stepped_end;
    uint32_t i, n;
    size_t k;
    if (count > 0) qnnrt_llm__step_widen(cache, places[count - 1] + 1);
    for (i = 0; i < count; i += n) {
        const uint32_t row = rows != NULL ? rows[i] : i;
        for (n = 1; i + n < count; ++n)
            if ((rows != NULL ? rows[i + n] : i + n) != row + n || places[i + n] != places[i] + n)
                break;
        for (k = 0; k < cache->store.kv_count; ++k) {
            const qnnrt_llm__fresh *fresh = &run->fresh[k];
            uint32_t j;
            if (fresh->from != NULL) {
                qnnrt_llm__rows_store(&cache->store, fresh, row, places[i], n);
                continue;
            }
            /* The graph wrote these cells after the end; tokens after a refused draft move up. */
            if (places[i] == end + row) continue;
            for (j = 0; j < n; ++j)
                qnnrt_llm__rows_put(&cache->store, k, qnnrt_llm__step_cell(cache, k, end),
                                    run->graph->ar, row + j, places[i] + j, 1);
        }
    }
    for (i = 0; i < count; ++i) {
        const uint32_t row = rows != NULL ? rows[i] : i;
        qnnrt_llm__cells_set(&cache->cells, places[i], cache->positions[row],
                             cache->sequences[row]);
    }
    cache->session->pending = 0;
}

/* Find cells for `count` tokens. With shift pointer use the cells in which the graph writes them,
   if there is room. */
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

/* Keep rows of the last step. */
QNNRT_LLM__HOT
static qnnrt_result qnnrt_llm__step_accept(qnnrt_llm_cache *cache, const uint32_t *rows,
                                           size_t count)
{
    const qnnrt_llm_session *session = cache->session;
    size_t i;
    if (session->stepped != cache || !session->pending)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "nothing to accept: the last "
                                                "step was not an eval of this cache, was accepted "
                                                "already, or the cache has changed since"),
                                "Call qnnrt_llm_eval() directly before qnnrt_llm_accept().");
    if (count > session->stepped_count)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "%lu rows to accept, expected at most %u",
                               (unsigned long)count, (unsigned)session->stepped_count);
    for (i = 0; rows != NULL && i < count; ++i)
        if (rows[i] >= session->stepped_count || (i > 0 && rows[i] <= rows[i - 1]))
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "row %u to accept at place %lu, expected"
                                   " ascending rows below %u", (unsigned)rows[i],
                                   (unsigned long)i, (unsigned)session->stepped_count);
    if (!qnnrt_llm__step_places(cache, (uint32_t)count))
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "the context is full: %u of %u cells are in"
                               " use, %lu more tokens to keep",
                               (unsigned)cache->cells.used, (unsigned)cache->cells.count,
                               (unsigned long)count);
    qnnrt_llm__step_keep(cache, rows, (uint32_t)count);
    return QNNRT_OK;
}

/* Compute a batch in one step. */
static qnnrt_result qnnrt_llm__step_eval(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    const qnnrt_llm_info *info = &cache->part->llm->info;
    qnnrt_llm__run *run;
    uint32_t i;
    qnnrt_result result = qnnrt_llm__step_check(cache, batch);
    if (result != QNNRT_OK) return result;
    if (batch->count > info->ar)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "%lu tokens at once, expected at most %u,"
                               " which the largest graph takes", (unsigned long)batch->count,
                               (unsigned)info->ar);
    qnnrt_llm__step_forget(cache);
    cache->session->at.count = batch->count;
    cache->vectors = batch->embeddings;
    for (i = 0; i < batch->count; ++i) {
        result = qnnrt_llm__step_row(cache, batch, i, i);
        if (result != QNNRT_OK) return result;
    }
    run = qnnrt_llm__choose_first(cache, batch->count, 1);
    if (run == NULL || run->graph->ar < batch->count)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "%lu tokens at once after %u "
                                                "in the cache, expected at most %u",
                                                (unsigned long)batch->count,
                                                (unsigned)cache->cells.used, run != NULL ?
                                                (unsigned)run->graph->ar : 0u),
                                "Pass at most qnnrt_llm_cache_info.at_once tokens, or call "
                                "qnnrt_llm_decode().");
    return qnnrt_llm__step_run(cache, run, 0, (uint32_t)batch->count,
                               batch->parents != NULL ? cache->parents : NULL);
}

/* Copy the wanted results of a chunk into the batch's buffers. */
QNNRT_LLM__HOT
static qnnrt_result qnnrt_llm__step_give(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch,
                                         size_t first, uint32_t count, size_t *given)
{
    const qnnrt_llm__run *run = cache->session->stepped_run;
    const qnnrt_llm_info *info = &cache->part->llm->info;
    uint32_t r;
    if (batch->logits == NULL && batch->stored == NULL && batch->hidden == NULL)
        return first + count < batch->count ? qnnrt_llm__late_save(cache, first, count) : QNNRT_OK;
    for (r = 0; r < count; ++r) {
        const size_t i = first + r;
        qnnrt_result result = QNNRT_OK;
        if (batch->wanted != NULL ? batch->wanted[i] == 0 : i + 1 < batch->count) continue;
        if (batch->stored != NULL)
            memcpy((unsigned char *)batch->stored + *given * run->logits_bytes,
                   run->logits + r * run->logits_bytes, run->logits_bytes);
        if (batch->logits != NULL)
            result = qnnrt_read_f32(run->run, run->graph->logits, (uint64_t)r * info->vocabulary,
                                    batch->logits + *given * info->vocabulary, info->vocabulary);
        if (batch->hidden != NULL && result == QNNRT_OK)
            result = qnnrt_read_f32(run->run, run->graph->hidden, (uint64_t)r * info->width,
                                    batch->hidden + *given * info->width, info->width);
        if (result != QNNRT_OK) {
            cache->error = *qnnrt_run_error(run->run);
            return result;
        }
        ++*given;
    }
    return QNNRT_OK;
}

/* Compute and keep a batch, in chunks. */
static qnnrt_result qnnrt_llm__step_decode(qnnrt_llm_cache *cache, const qnnrt_llm_batch *batch)
{
    qnnrt_llm__cells *cells = &cache->cells;
    size_t done, added = 0, given = 0;
    uint32_t count, i;
    qnnrt_result result = qnnrt_llm__step_check(cache, batch);
    if (result != QNNRT_OK) return result;
    if (batch->count > cells->count && cells->count > 0)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "the batch has %lu tokens, "
                                                "and the context has %u cells",
                                                (unsigned long)batch->count,
                                                (unsigned)cells->count), "Pass at most %u tokens, "
                                "or take a model with a longer context.", (unsigned)cells->count);
    if (batch->count > cells->count - cells->used)
        return qnnrt_error_hint(&cache->error,
                                QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "the context is full: %u of "
                                                "%u cells are in use, the batch has %lu tokens",
                                                (unsigned)cells->used, (unsigned)cells->count,
                                                (unsigned long)batch->count), cells->count == 0 ?
                                "The graphs keep nothing: call qnnrt_llm_eval()." :
                                "Remove old tokens, or begin a new text.");
    qnnrt_llm__step_forget(cache);
    cache->session->at.count = batch->count;
    cache->vectors = batch->embeddings;
    for (done = 0; done < batch->count; done += count) {
        qnnrt_llm__run *run =
            done == 0 ? qnnrt_llm__choose_first(cache, batch->count, batch->parents != NULL)
                      : qnnrt_llm__choose_next(cache, batch->count - done);
        result = QNNRT_OK;
        if (run == NULL || (batch->parents != NULL && run->graph->ar < batch->count)) {
            result = QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "no graph takes %lu tokens after %u"
                                     " in the cache", (unsigned long)(batch->count - done),
                                     (unsigned)cells->used);
            break;
        }
        count = run->graph->ar;
        if (count > batch->count - done) count = (uint32_t)(batch->count - done);
        if (done == 0 && count < batch->count) result = qnnrt_llm__late_reserve(cache, batch);
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
    /* All or nothing: free the cells of earlier chunks. */
    if (result != QNNRT_OK) {
        while (added > 0) qnnrt_llm__cells_unset(cells, cache->added[--added]);
        if (cache->session->stepped == cache) cache->session->stepped = NULL;
    }
    return result;
}

/* =====================================================================================
   POOL                                                                           >>pool
   Makes one vector of the hidden states of a text.
   Needs: >>config     Knows nothing of: models, caches
   ===================================================================================== */

/* Return the root of x, correctly rounded or next to it, without libm. */
static double qnnrt_llm__pool_root(double x)
{
    double root = 1;
    int i;
    if (!(x > 0) || x > 1.0e300) return 0;
    while (root * root < x) root *= 2;
    while (root * root > x * 4) root /= 2;
    for (i = 0; i < 8; ++i) root = (root + x / root) / 2;
    return root;
}

/* Return 1 if token i of a batch belongs to a sequence. */
static int qnnrt_llm__pool_has(const qnnrt_llm_batch *batch, size_t i, uint32_t sequence)
{
    if (batch->sequences == NULL) return batch->sequence == sequence;
    return (batch->sequences[i] >> sequence & 1) != 0;
}

/* Pool the hidden states of a batch. The sum of a column is exact for up to 2^29 floats of like
   size. */
static qnnrt_result qnnrt_llm__pool(const qnnrt_llm_batch *batch, uint32_t width,
                                    const qnnrt_llm_pool_desc *desc, float *values,
                                    qnnrt_error *err)
{
    const uint32_t sequence = desc->sequence;
    size_t i, row, last = batch->count, count = 0;
    double square = 0, root;
    uint32_t c;
    for (i = 0; i < batch->count; ++i) {
        if (!qnnrt_llm__pool_has(batch, i, sequence)) continue;
        last = i;
        ++count;
    }
    if (count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "no token of the batch is of sequence %u",
                               (unsigned)sequence);
    for (i = 0; i < batch->count; ++i) {
        if (!qnnrt_llm__pool_has(batch, i, sequence)) continue;
        if (desc->pooling == QNNRT_LLM_POOL_LAST && i != last) continue;
        if (batch->wanted != NULL ? batch->wanted[i] == 0 : i + 1 < batch->count)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_ARG, "token %lu of the batch is "
                                                    "pooled, but was not wanted", (unsigned long)i),
                                    "Set its batch.wanted before the decode.");
    }
    for (c = 0; c < width; ++c) {
        double sum = 0;
        for (i = 0, row = 0; i < batch->count; ++i) {
            if (batch->wanted != NULL ? batch->wanted[i] == 0 : i + 1 < batch->count) continue;
            if (qnnrt_llm__pool_has(batch, i, sequence) &&
                (desc->pooling == QNNRT_LLM_POOL_MEAN || i == last))
                sum += (double)batch->hidden[row * width + c];
            ++row;
        }
        if (desc->pooling == QNNRT_LLM_POOL_MEAN) sum /= (double)count;
        values[c] = (float)sum;
        square += sum * sum;
    }
    root = desc->normalize ? qnnrt_llm__pool_root(square) : 0;
    for (c = 0; c < width && root > 0; ++c) values[c] = (float)((double)values[c] / root);
    return QNNRT_OK;
}

/* =====================================================================================
   ADAPTER                                                                     >>adapter
   Matrices of adapters as tensors of the graphs that can be updated.
   Needs: >>config >>shape >>items >>state     Knows nothing of: caches, steps
   ===================================================================================== */

/* A tensor of the graphs, by name: all of this name have the same facts. */
typedef struct qnnrt_llm__adapter_part {
    const qnnrt_tensor_info *tensor;
    unsigned char           *data;      /* as stored; NULL: the adapter does not change it */
} qnnrt_llm__adapter_part;

struct qnnrt_llm_adapter {
    qnnrt_llm               *llm;
    qnnrt_llm__adapter_part *parts;     /* [info.adapter_tensors], by name */
    uint64_t                 key;
    qnnrt_arena              arena;     /* which holds it */
};

/* Return "lora_A." or "lora_B." in the name of a tensor of an adapter; NULL for other tensors. */
static const char *qnnrt_llm__adapter_side(const char *name)
{
    const char *at = name;
    while ((at = strstr(at, "lora_")) != NULL) {
        if ((at[5] == 'A' || at[5] == 'B') && (at[6] == '.' || at[6] == '\0')) return at;
        at += 5;
    }
    return NULL;
}

/* Call each() for every tensor of adapters in every graph, until it returns something else than
   OK. */
static qnnrt_result qnnrt_llm__adapter_each(const qnnrt_llm *llm,
                                            qnnrt_result (*each)(void *user,
                                                                 const qnnrt_step_info *step,
                                                                 const qnnrt_tensor_info *tensor),
                                            void *user)
{
    qnnrt_result result = QNNRT_OK;
    size_t g, s, i;
    for (g = 0; g < llm->info.graph_count; ++g) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(llm->graphs[g].pipeline);
        for (s = 0; s < info->step_count; ++s) {
            const qnnrt_graph_info *graph = info->steps[s].graph;
            if (info->steps[s].kind != QNNRT_STEP_GRAPH) continue;
            for (i = 0; i < graph->updateable_count && result == QNNRT_OK; ++i) {
                QNNRT_LLM__STEP();
                if (qnnrt_llm__adapter_side(graph->updateables[i].name) != NULL &&
                    graph->updateables[i].rank == 2 && graph->updateables[i].bytes > 0)
                    result = each(user, &info->steps[s], &graph->updateables[i]);
            }
        }
    }
    return result;
}

/* The tensors of a model's adapters while they are listed. */
typedef struct qnnrt_llm__adapter_list {
    const qnnrt_tensor_info **items;    /* [count]; NULL: count them only */
    size_t                    count;
} qnnrt_llm__adapter_list;

static qnnrt_result qnnrt_llm__adapter_add(void *user, const qnnrt_step_info *step,
                                           const qnnrt_tensor_info *tensor)
{
    qnnrt_llm__adapter_list *list = (qnnrt_llm__adapter_list *)user;
    (void)step;
    if (list->items != NULL) list->items[list->count] = tensor;
    ++list->count;
    return QNNRT_OK;
}

static int qnnrt_llm__adapter_order(const void *a, const void *b)
{
    return strcmp(((const qnnrt_tensor_info *)a)->name, ((const qnnrt_tensor_info *)b)->name);
}

/* List the tensors of all graphs by name, each name once, and check that those of one name are
   alike. *out is in the arena. */
static qnnrt_result qnnrt_llm__adapter_tensors(const qnnrt_llm *llm, qnnrt_arena *arena,
                                               qnnrt_llm__adapter_list *out, qnnrt_error *err)
{
    size_t i, count = 0;
    memset(out, 0, sizeof *out);
    (void)qnnrt_llm__adapter_each(llm, qnnrt_llm__adapter_add, out);
    out->items = (const qnnrt_tensor_info **)qnnrt_arena_get(arena, out->count, sizeof *out->items);
    if (out->items == NULL) return qnnrt_llm__fail_memory(err, "an adapter");
    out->count = 0;
    (void)qnnrt_llm__adapter_each(llm, qnnrt_llm__adapter_add, out);
    qnnrt_sort((const void **)out->items, out->count, qnnrt_llm__adapter_order);
    for (i = 0; i < out->count; ++i) {
        const qnnrt_tensor_info *t = out->items[i];
        const qnnrt_tensor_info *last = count > 0 ? out->items[count - 1] : NULL;
        if (last == NULL || strcmp(last->name, t->name) != 0) out->items[count++] = t;
        else if (!qnnrt_llm__items_same_facts(last, t))
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "graphs disagree on the type or shape of "
                                   "\"%.200s\", a tensor of adapters", t->name);
    }
    out->count = count;
    return QNNRT_OK;
}

/* Find the facts about the room for adapters. */
static qnnrt_result qnnrt_llm__adapter_open(qnnrt_llm *llm, qnnrt_error *err)
{
    qnnrt_llm__adapter_list list;
    qnnrt_arena arena = qnnrt_llm__arena(&llm->arena.hooks);
    size_t i;
    qnnrt_result result = qnnrt_llm__adapter_tensors(llm, &arena, &list, err);
    for (i = 0; i < list.count && result == QNNRT_OK; ++i) {
        const char side = qnnrt_llm__adapter_side(list.items[i]->name)[5];
        const uint32_t rank = list.items[i]->dims[side == 'B'];
        if (rank > llm->info.adapter_rank) llm->info.adapter_rank = rank;
    }
    llm->info.adapter_tensors = result == QNNRT_OK ? list.count : 0;
    qnnrt_arena_free(&arena);
    return result;
}

/* Return the part with a name; NULL: none. */
static qnnrt_llm__adapter_part *qnnrt_llm__adapter_find(const qnnrt_llm_adapter *adapter,
                                                        const char *name)
{
    size_t low = 0, high = adapter->llm->info.adapter_tensors;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(adapter->parts[middle].tensor->name, name);
        QNNRT_LLM__STEP();
        if (order == 0) return &adapter->parts[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Return the part that a matrix is for: of its name, or of what follows a dot in it. */
static qnnrt_llm__adapter_part *qnnrt_llm__adapter_match(const qnnrt_llm_adapter *adapter,
                                                         const char *name)
{
    qnnrt_llm__adapter_part *part = NULL;
    while (name != NULL && part == NULL) {
        part = qnnrt_llm__adapter_find(adapter, name);
        name = strchr(name, '.');
        if (name != NULL) ++name;
    }
    return part;
}

/* Fill a part from a matrix. */
static qnnrt_result qnnrt_llm__adapter_fill(qnnrt_llm_adapter *adapter,
                                            qnnrt_llm__adapter_part *part,
                                            const qnnrt_llm_matrix *from, double scale,
                                            qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &adapter->llm->arena.hooks;
    const qnnrt_tensor_info *to = part->tensor;
    const int side = qnnrt_llm__adapter_side(to->name)[5] == 'B';
    const size_t element = from->dtype == QNNRT_DTYPE_F32 ? 4 : 2;
    float *values, *row;
    qnnrt_tensor_info one = *to;
    qnnrt_result result;
    uint32_t r, c;
    if (from->dtype != QNNRT_DTYPE_F32 && from->dtype != QNNRT_DTYPE_F16 &&
        from->dtype != QNNRT_DTYPE_BF16)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "adapter: \"%.200s\" is %s, expected "
                               "float32, float16 or bfloat16", from->name,
                               qnnrt_dtype_name(from->dtype));
    if ((side ? from->rows != to->dims[0] || from->columns > to->dims[1]
              : from->rows > to->dims[0] || from->columns != to->dims[1]) ||
        from->rows == 0 || from->columns == 0) {
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "adapter: \"%.200s\" is [%u, %u], and the graphs "
                        "have room for [%u, %u], the rank is the %s", from->name,
                        (unsigned)from->rows, (unsigned)from->columns, (unsigned)to->dims[0],
                        (unsigned)to->dims[1], side ? "second" : "first");
        return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Take an adapter of this model, or compile "
                                "the model with a higher --lora RANK.");
    }
    values = (float *)qnnrt_hooks_alloc(hooks, to->count + from->columns, sizeof *values);
    part->data = (unsigned char *)qnnrt_arena_get(&adapter->arena, to->bytes, 1);
    if (values == NULL || part->data == NULL) {
        qnnrt_hooks_free(hooks, values);
        return qnnrt_llm__fail_memory(err, "an adapter");
    }
    row = values + to->count;
    one.dtype = from->dtype;
    one.rank = 1;
    one.dims = &from->columns;
    one.count = from->columns;
    one.bytes = (uint64_t)from->columns * element;
    memset(&one.quant, 0, sizeof one.quant);
    for (r = 0, result = QNNRT_OK; r < from->rows && result == QNNRT_OK; ++r) {
        float *at = values + (size_t)r * to->dims[1];
        result = qnnrt_decode_f32(&one, (const unsigned char *)from->data + (size_t)r * one.bytes,
                                  row);
        for (c = 0; c < from->columns; ++c)
            at[c] = side ? (float)((double)row[c] * scale) : row[c];
    }
    if (result == QNNRT_OK) result = qnnrt_encode_f32(to, values, part->data);
    qnnrt_hooks_free(hooks, values);
    if (result != QNNRT_OK)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "adapter: cannot convert \"%.200s\" to %s",
                               from->name, qnnrt_dtype_name(to->dtype));
    return QNNRT_OK;
}

/* Refuse A without B, and the reverse: the names differ in one letter, and A comes first. */
static qnnrt_result qnnrt_llm__adapter_pairs(const qnnrt_llm_adapter *adapter, qnnrt_error *err)
{
    char other[1024];
    size_t i;
    for (i = 0; i < adapter->llm->info.adapter_tensors; ++i) {
        const char *name = adapter->parts[i].tensor->name, *side = qnnrt_llm__adapter_side(name);
        const qnnrt_llm__adapter_part *part;
        if (adapter->parts[i].data == NULL || strlen(name) >= sizeof other) continue;
        snprintf(other, sizeof other, "%s", name);
        other[side - name + 5] = side[5] == 'A' ? 'B' : 'A';
        part = qnnrt_llm__adapter_find(adapter, other);
        if (part == NULL || part->data == NULL)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "adapter: it has \"%.200s\", but no "
                                   "\"%.200s\"", name, other);
    }
    return QNNRT_OK;
}

/* Make an adapter. */
static qnnrt_result qnnrt_llm__adapter_make(qnnrt_llm_adapter *adapter,
                                            const qnnrt_llm_adapter_desc *desc, qnnrt_error *err)
{
    const qnnrt_llm *llm = adapter->llm;
    qnnrt_llm__adapter_list list;
    qnnrt_result result = qnnrt_llm__adapter_tensors(llm, &adapter->arena, &list, err);
    const double scale = desc->scale != 0 ? desc->scale : 1;
    size_t i;
    if (result != QNNRT_OK) return result;
    adapter->parts = (qnnrt_llm__adapter_part *)qnnrt_arena_get(&adapter->arena,
                                                                list.count, sizeof *adapter->parts);
    if (adapter->parts == NULL) return qnnrt_llm__fail_memory(err, "an adapter");
    for (i = 0; i < list.count; ++i) {
        adapter->parts[i].tensor = list.items[i];
        if (list.items[i]->quant.encoding != QNNRT_ENCODING_NONE)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "adapter: \"%.200s\" of the graphs is "
                                   "quantized, expected floats", list.items[i]->name);
    }
    for (i = 0; i < desc->part_count; ++i) {
        qnnrt_llm__adapter_part *part = qnnrt_llm__adapter_match(adapter, desc->parts[i].name);
        if (part == NULL)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "adapter: the graphs "
                                                    "have no room for \"%.200s\"",
                                                    desc->parts[i].name), "Compile the model with "
                                    "--lora and the projections that the adapter changes.");
        if (part->data != NULL)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "adapter: two matrices are for "
                                   "\"%.200s\"", part->tensor->name);
        result = qnnrt_llm__adapter_fill(adapter, part, &desc->parts[i], scale, err);
        if (result != QNNRT_OK) return result;
    }
    adapter->key = UINT64_C(0xCBF29CE484222325);
    for (i = 0; i < list.count; ++i)
        if (adapter->parts[i].data != NULL) {
            adapter->key = qnnrt_llm__state_mix(adapter->key, i + 1);
            adapter->key = qnnrt_llm__state_mix(
                adapter->key, qnnrt_llm__state_sum(adapter->parts[i].data,
                                                   (size_t)list.items[i]->bytes));
        }
    if (adapter->key == 0) adapter->key = 1;
    return qnnrt_llm__adapter_pairs(adapter, err);
}

/* Tensors of the graphs while they change from one adapter to another. */
typedef struct qnnrt_llm__adapter_change {
    qnnrt_llm               *llm;
    const qnnrt_llm_adapter *from, *to;         /* NULL: none */
    const unsigned char     *zero;              /* as many as the largest tensor has bytes */
    int                      all;               /* 1: write all tensors */
    qnnrt_error             *err;
} qnnrt_llm__adapter_change;

static qnnrt_result qnnrt_llm__adapter_update(void *user, const qnnrt_step_info *step,
                                              const qnnrt_tensor_info *tensor)
{
    const qnnrt_llm__adapter_change *change = (const qnnrt_llm__adapter_change *)user;
    const qnnrt_llm__adapter_part *old = NULL, *now = NULL;
    const unsigned char *data;
    if (change->from != NULL) old = qnnrt_llm__adapter_find(change->from, tensor->name);
    if (change->to != NULL) now = qnnrt_llm__adapter_find(change->to, tensor->name);
    if (!change->all && (old == NULL || old->data == NULL) && (now == NULL || now->data == NULL))
        return QNNRT_OK;
    data = now != NULL && now->data != NULL ? now->data : change->zero;
    return change->llm->update(
        change->llm->models[qnnrt_llm__model_at(change->llm, step->model)], step->context,
        step->graph->name, tensor->name, data, (size_t)tensor->bytes, change->err);
}

/* Apply an adapter in place of the one that is applied. */
static qnnrt_result qnnrt_llm__adapter_apply(qnnrt_llm *llm, const qnnrt_llm_adapter *adapter,
                                             qnnrt_error *err)
{
    qnnrt_llm__adapter_change change;
    qnnrt_llm__adapter_list list;
    qnnrt_arena arena = qnnrt_llm__arena(&llm->arena.hooks);
    uint64_t most = 0;
    qnnrt_result result = qnnrt_llm__adapter_tensors(llm, &arena, &list, err);
    size_t i;
    change.zero = NULL;
    if (result == QNNRT_OK) {
        for (i = 0; i < list.count; ++i)
            if (list.items[i]->bytes > most) most = list.items[i]->bytes;
        change.zero = (const unsigned char *)qnnrt_arena_get(&arena, most, 1);
        if (change.zero == NULL) result = qnnrt_llm__fail_memory(err, "an adapter");
    }
    if (result != QNNRT_OK) {
        qnnrt_arena_free(&arena);
        return result;
    }
    change.llm = llm;
    change.from = llm->adapter;
    change.to = adapter;
    change.all = llm->adapter_lost;
    change.err = err;
    result = qnnrt_llm__adapter_each(llm, qnnrt_llm__adapter_update, &change);
    if (result != QNNRT_OK) {                   /* back to the former one */
        change.from = adapter;
        change.to = llm->adapter;
        change.err = NULL;
        if (result != QNNRT_E_UNSUPPORTED)
            llm->adapter_lost = qnnrt_llm__adapter_each(llm, qnnrt_llm__adapter_update,
                                                        &change) != QNNRT_OK;
    } else {
        llm->adapter = adapter;
        llm->adapter_key = adapter != NULL ? adapter->key : 0;
        llm->adapter_lost = 0;
    }
    qnnrt_arena_free(&arena);
    return result;
}

/* =====================================================================================
   PUBLIC                                                                       >>public
   Checks arguments and calls the rooms above.
   Needs: every room above     Knows nothing of: how they work
   ===================================================================================== */

QNNRT_LLM_API qnnrt_result qnnrt_llm_open(qnnrt *model, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                          qnnrt_error *err)
{
    qnnrt_llm_desc none;
    qnnrt_result result;
    if (out != NULL) *out = NULL;
    qnnrt_error_clear(err);
    memset(&none, 0, sizeof none);
    if (desc == NULL) desc = &none;
    if (out == NULL || (model == NULL) == (desc->models == NULL) ||
        (model == NULL && (desc->model_count == 0 || desc->made_count == 0)))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_open: out is NULL, or not one of model"
                               " and desc.models is given, or models without desc.made");
    if ((desc->roles == NULL && desc->role_count > 0) ||
        (desc->pipelines == NULL && desc->pipeline_count > 0) ||
        (desc->made == NULL && desc->made_count > 0) ||
        (desc->made_count > 0 && desc->pipeline_count > 0) ||
        (desc->eos == NULL && desc->eos_count > 0) ||
        (desc->config == NULL && desc->config_bytes > 0) ||
        (desc->table == NULL) != (desc->table_data == NULL) ||
        (desc->hooks.alloc == NULL) != (desc->hooks.free == NULL) || desc->masked > 0 ||
        desc->masked != desc->masked)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_open: desc has a count without a list, "
                               "both made and pipelines, one of alloc and free, or of table and "
                               "table_data, or a mask above 0");
    if ((unsigned)desc->rope.pairs > QNNRT_LLM_ROPE_INTERLEAVED)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_open: desc.rope.pairs is %d, expected "
                               "0 to %d", (int)desc->rope.pairs, (int)QNNRT_LLM_ROPE_INTERLEAVED);
    if (desc->rope.theta == 0 &&
        (desc->rope.scaling != QNNRT_LLM_ROPE_PLAIN || desc->rope.factor != 0 ||
         desc->rope.low_frequency != 0 || desc->rope.high_frequency != 0 ||
         desc->rope.original_context != 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_open: desc.rope has no theta, but "
                               "other values");
    result = qnnrt_llm__roles_open(model, desc, out, err);
    if (result == QNNRT_OK) result = qnnrt_llm__adapter_open(*out, err);
    if (result != QNNRT_OK && *out != NULL) {
        qnnrt_llm__roles_free(*out);
        *out = NULL;
    }
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_close(qnnrt_llm *llm)
{
    if (llm == NULL) return QNNRT_OK;
    if (qnnrt_llm__count(&llm->sessions, 0) > 0) return QNNRT_E_BUSY;
    qnnrt_llm__roles_free(llm);
    return QNNRT_OK;
}

QNNRT_LLM_API const qnnrt_llm_info *qnnrt_llm_get_info(const qnnrt_llm *llm)
{
    return llm != NULL ? &llm->info : NULL;
}

QNNRT_LLM_API int qnnrt_llm_is_eos(const qnnrt_llm *llm, int32_t token)
{
    size_t i;
    for (i = 0; llm != NULL && i < llm->info.eos_count; ++i)
        if (llm->info.eos[i] == token) return 1;
    return 0;
}

QNNRT_LLM_API void qnnrt_llm_describe(const qnnrt_llm *llm,
                                      void (*line)(void *user, const char *text), void *user)
{
    if (llm != NULL && line != NULL) qnnrt_llm__describe(llm, line, user);
}

/* ---- session ---- */

QNNRT_LLM_API qnnrt_result qnnrt_llm_session_create(qnnrt_llm *const *models, size_t model_count,
                                                    const qnnrt_llm_session_desc *desc,
                                                    qnnrt_llm_session **out, qnnrt_error *err)
{
    qnnrt_arena arena;
    qnnrt_llm_session *session;
    qnnrt_result result;
    size_t i;
    qnnrt_error_clear(err);
    if (out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_session_create: out is NULL");
    *out = NULL;
    if (models == NULL || model_count == 0 || model_count > 1024)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_session_create: models is NULL, or "
                               "model_count is not 1 to 1024");
    for (i = 0; i < model_count; ++i)
        if (models[i] == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_session_create: model %lu is NULL",
                                   (unsigned long)i);
    if (desc != NULL && (desc->caches > 65536 || desc->positions > 0x40000000u ||
                         (unsigned)desc->kv > QNNRT_LLM_SHIFT_POINTER ||
                         (unsigned)desc->mem_kind > QNNRT_MEM_PROVIDER))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_session_create: desc has caches over "
                               "65,536, positions over 2^30, or an unknown kv or mem_kind");
    arena = qnnrt_llm__arena(&models[0]->arena.hooks);
    session = (qnnrt_llm_session *)qnnrt_arena_get(&arena, 1, sizeof *session);
    if (session == NULL) return qnnrt_llm__fail_memory(err, "a session");
    session->arena = arena;
    if (desc != NULL) session->desc = *desc;
    if (session->desc.caches == 0) session->desc.caches = 1;
    session->parts = (qnnrt_llm__part *)qnnrt_arena_get(&session->arena, model_count,
                                                        sizeof *session->parts);
    session->part_count = session->parts != NULL ? model_count : 0;
    result = session->parts == NULL ? qnnrt_llm__fail_memory(err, "a session")
                                    : qnnrt_llm__session_make(session, models, err);
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
    qnnrt_llm_session_info info;
    const qnnrt_transfer_info *list;
    size_t p, g, i, count;
    memset(&info, 0, sizeof info);
    info.mem_reason = "";
    if (session == NULL) return info;
    info = session->info;
    for (p = 0; p < session->part_count; ++p)
        for (g = 0; g < session->parts[p].llm->info.graph_count; ++g) {
            if (qnnrt_run_transfers(session->parts[p].runs[g].run, &list, &count) != QNNRT_OK)
                continue;
            info.tensors += count;
            for (i = 0; i < count; ++i) info.registered += list[i].registered != 0;
        }
    return info;
}

/* Return the run of a graph, or NULL. */
static qnnrt_llm__run *qnnrt_llm__public_run(const qnnrt_llm_session *session, size_t model,
                                             size_t graph)
{
    if (session == NULL || model >= session->part_count ||
        graph >= session->parts[model].llm->info.graph_count) return NULL;
    return &session->parts[model].runs[graph];
}

QNNRT_LLM_API uint64_t qnnrt_llm_session_runs(const qnnrt_llm_session *session, size_t model,
                                              size_t graph)
{
    const qnnrt_llm__run *run = qnnrt_llm__public_run(session, model, graph);
    return run != NULL ? run->times : 0;
}

QNNRT_LLM_API uint64_t qnnrt_llm_cost_get(const qnnrt_llm_session *session, size_t model,
                                          size_t graph)
{
    const qnnrt_llm__run *run = qnnrt_llm__public_run(session, model, graph);
    return run != NULL ? run->cost : 0;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_cost_set(qnnrt_llm_session *session, size_t model,
                                              size_t graph, uint64_t ns)
{
    qnnrt_llm__run *run = qnnrt_llm__public_run(session, model, graph);
    if (run == NULL) return QNNRT_E_ARG;
    run->cost = ns;
    run->cost_set = ns != 0;
    return QNNRT_OK;
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
    static const qnnrt_error none = { QNNRT_E_ARG, 0, "the cache is NULL", "", NULL };
    return cache != NULL ? &cache->error : &none;
}

/* ---- step ---- */

/* Measure the host's time: the time of a call, less the time inside qnnrt_exec(). */
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

QNNRT_LLM__HOT
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

/* Return the row of the last step that holds token `row` of the batch, or -1; or with *kept = 1
   the place of a token of an earlier chunk among those kept. */
QNNRT_LLM__HOT
static int64_t qnnrt_llm__public_row(qnnrt_llm_cache *cache, size_t row, int *kept)
{
    const qnnrt_llm_session *session;
    size_t i;
    *kept = 0;
    if (cache == NULL) return -1;
    session = cache->session;
    if (session->stepped != cache) {
        QNNRT_LLM__FAIL(cache, QNNRT_E_STATE, "no logits: the last step of the session failed, or"
                        " was of another cache");
        return -1;
    }
    if (row >= session->stepped_first && row - session->stepped_first < session->stepped_count)
        return (int64_t)(row - session->stepped_first);
    for (i = 0; i < session->kept_count; ++i)
        if (session->kept_rows[i] == row) {
            *kept = 1;
            return (int64_t)i;
        }
    QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "no logits of token %lu, expected %lu to %lu, the last"
                    " chunk of the batch%s", (unsigned long)row,
                    (unsigned long)session->stepped_first,
                    (unsigned long)(session->stepped_first + session->stepped_count - 1),
                    session->kept_count > 0 ? ", or another token that was asked for" : "");
    qnnrt_error_hint(&cache->error, QNNRT_E_ARG, "Set batch.wanted to get logits of other tokens.");
    return -1;
}

/* Refuse to read results that the graphs do not have. */
static qnnrt_result qnnrt_llm__public_none(qnnrt_llm_cache *cache, const char *what)
{
    return qnnrt_error_hint(&cache->error, QNNRT_LLM__FAIL(cache, QNNRT_E_UNSUPPORTED,
                                                           "the graphs have no output of %s", what),
                            "Compile the model with --outputs both.");
}

QNNRT_LLM__HOT
QNNRT_LLM_API const void *qnnrt_llm_stored_logits(qnnrt_llm_cache *cache, size_t row)
{
    int kept;
    const int64_t at = qnnrt_llm__public_row(cache, row, &kept);
    const qnnrt_llm__run *run;
    if (at < 0) return NULL;
    run = cache->session->stepped_run;
    if (run->logits == NULL) {
        qnnrt_llm__public_none(cache, "logits");
        return NULL;
    }
    if (kept) return qnnrt_llm__late_logits(cache, (size_t)at);
    return run->logits + (size_t)at * run->logits_bytes;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_logits(qnnrt_llm_cache *cache, size_t row, float *values)
{
    int kept;
    const int64_t at = qnnrt_llm__public_row(cache, row, &kept);
    const uint32_t vocabulary = cache != NULL ? cache->part->llm->info.vocabulary : 0;
    const qnnrt_llm__run *run;
    qnnrt_tensor_info one;
    qnnrt_result result;
    if (at < 0) return cache != NULL ? cache->error.code : QNNRT_E_ARG;
    if (values == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "values is NULL");
    run = cache->session->stepped_run;
    if (run->logits == NULL) return qnnrt_llm__public_none(cache, "logits");
    if (kept) {
        one = *run->graph->logits->tensor;
        if (one.quant.encoding == QNNRT_ENCODING_PER_AXIS) {
            if (one.quant.axis + 1 != (int32_t)one.rank)
                return QNNRT_LLM__FAIL(cache, QNNRT_E_UNSUPPORTED, "\"%s\" has a scale for each"
                                       " token", one.name);
            one.quant.axis = 0;
        }
        one.rank = 1;
        one.dims = &vocabulary;
        one.count = vocabulary;
        one.bytes = run->logits_bytes;
        result = qnnrt_decode_f32(&one, qnnrt_llm_stored_logits(cache, row), values);
        if (result == QNNRT_OK) return result;
        return QNNRT_LLM__FAIL(cache, result, "cannot convert %s to float32",
                               qnnrt_dtype_name(one.dtype));
    }
    result = qnnrt_read_f32(run->run, run->graph->logits, (uint64_t)at * vocabulary, values,
                            vocabulary);
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_hidden(qnnrt_llm_cache *cache, size_t row, float *values)
{
    int kept;
    const int64_t at = qnnrt_llm__public_row(cache, row, &kept);
    const qnnrt_llm__run *run;
    qnnrt_result result;
    uint32_t width;
    if (at < 0) return cache != NULL ? cache->error.code : QNNRT_E_ARG;
    if (values == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "values is NULL");
    run = cache->session->stepped_run;
    width = cache->part->llm->info.width;
    if (run->graph->hidden == NULL)
        return qnnrt_llm__public_none(cache, "the last hidden state");
    if (kept) {
        memcpy(values, qnnrt_llm__late_hidden(cache, (size_t)at), width * sizeof(float));
        return QNNRT_OK;
    }
    result = qnnrt_read_f32(run->run, run->graph->hidden, (uint64_t)at * width, values, width);
    if (result != QNNRT_OK) cache->error = *qnnrt_run_error(run->run);
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_pool(const qnnrt_llm *llm, const qnnrt_llm_batch *batch,
                                          const qnnrt_llm_pool_desc *desc, float *values,
                                          qnnrt_error *err)
{
    const qnnrt_llm_pool_desc mean = { QNNRT_LLM_POOL_MEAN, 0, 0 };
    if (desc == NULL) desc = &mean;
    qnnrt_error_clear(err);
    if (llm == NULL || batch == NULL || values == NULL || batch->hidden == NULL ||
        batch->count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_pool: llm, batch, values or "
                               "batch.hidden is NULL, or the batch is empty");
    if ((unsigned)desc->pooling > QNNRT_LLM_POOL_LAST || desc->sequence >= QNNRT_LLM_SEQUENCES)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_pool: unknown pooling, or sequence %u, "
                               "expected 0 to %d", (unsigned)desc->sequence, QNNRT_LLM_SEQUENCES -
                               1);
    if (llm->info.hidden == NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "qnnrt_llm_pool: the graphs have no "
                               "output of the last hidden state");
    return qnnrt_llm__pool(batch, llm->info.width, desc, values, err);
}

QNNRT_LLM__HOT
QNNRT_LLM_API int32_t qnnrt_llm_argmax(qnnrt_llm_cache *cache, size_t row)
{
    const void *stored = qnnrt_llm_stored_logits(cache, row);
    return stored != NULL ? qnnrt_sample_argmax(cache->part->llm->info.logits, stored) : -1;
}

/* =====================================================================================
   MANAGE                                                                       >>manage
   The same for caches, states and adapters.
   Needs: every room above     Knows nothing of: how they work
   ===================================================================================== */

/* ---- cache ---- */

QNNRT_LLM_API qnnrt_llm_cache_info qnnrt_llm_cache_get_info(const qnnrt_llm_cache *cache)
{
    qnnrt_llm_cache_info info = { 0, 0, 0, 0 };
    const qnnrt_llm__run *run;
    if (cache != NULL) {
        info.cells = cache->cells.count;
        info.used = cache->cells.used;
        info.end = cache->cells.end;
        run = qnnrt_llm__choose_by_size(cache, SIZE_MAX, cache->cells.used);
        info.at_once = run != NULL ? run->graph->ar : 0;
    }
    return info;
}

/* Check the number of a sequence. */
static qnnrt_result qnnrt_llm__public_sequence(qnnrt_llm_cache *cache, int sequence, int lowest)
{
    if (cache == NULL) return QNNRT_E_ARG;
    if (sequence < lowest || sequence >= QNNRT_LLM_SEQUENCES)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "sequence %d, expected %d to %d", sequence,
                               lowest, QNNRT_LLM_SEQUENCES - 1);
    return QNNRT_OK;
}

QNNRT_LLM_API void qnnrt_llm_clear(qnnrt_llm_cache *cache)
{
    if (cache == NULL) return;
    qnnrt_llm__step_forget(cache);
    qnnrt_llm__cells_clear(&cache->cells);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_remove(qnnrt_llm_cache *cache, int sequence,
                                                     int32_t begin, int32_t end)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, -1);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__step_forget(cache);
    qnnrt_llm__cells_remove(&cache->cells, sequence, begin, end);
    return QNNRT_OK;
}

QNNRT_LLM_API uint32_t qnnrt_llm_defragment(qnnrt_llm_cache *cache)
{
    uint32_t end;
    if (cache == NULL || cache->cells.used == cache->cells.end) return 0;
    end = cache->cells.end;
    qnnrt_llm__step_forget(cache);
    qnnrt_llm__defragment(&cache->cells, &cache->store);
    return end - cache->cells.end;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_copy(qnnrt_llm_cache *cache, int from, int to,
                                                   int32_t begin, int32_t end)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, from, 0);
    if (result == QNNRT_OK) result = qnnrt_llm__public_sequence(cache, to, 0);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__step_forget(cache);
    qnnrt_llm__cells_copy(&cache->cells, from, to, begin, end);
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_keep(qnnrt_llm_cache *cache, int sequence)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    if (result != QNNRT_OK) return result;
    qnnrt_llm__step_forget(cache);
    qnnrt_llm__cells_keep(&cache->cells, sequence);
    return QNNRT_OK;
}

/* Return 1 for a model that takes positions: it stores keys rotated by them, so that other
   positions would need other keys. */
static int qnnrt_llm__public_rotated(const qnnrt_llm_cache *cache)
{
    const qnnrt_llm__slots *in = cache->part->llm->graphs[0].inputs;
    return in[QNNRT_LLM_ROLE_POSITIONS].count + in[QNNRT_LLM_ROLE_ROPE_COS].count > 0;
}

/* Return 1 if positions can change. */
static int qnnrt_llm__public_can_shift(const qnnrt_llm_cache *cache)
{
    return !qnnrt_llm__public_rotated(cache) ||
           (cache->session->desc.k_shift && cache->part->kshift.why == NULL);
}

/* Fail because keys are rotated by positions. */
static qnnrt_result qnnrt_llm__public_stuck(qnnrt_llm_cache *cache)
{
    const qnnrt_llm__kshift *kshift = &cache->part->kshift;
    const int asked = cache->session->desc.k_shift;
    return qnnrt_error_hint(&cache->error,
                            QNNRT_LLM__FAIL(cache, QNNRT_E_UNSUPPORTED, "cannot change positions: "
                                            "keys are stored rotated by them (RoPE), as %s%s%s",
                                            qnnrt_dtype_name(cache->part->llm->info.cache_dtype),
                                            asked ? ", and " : "", asked ? kshift->why : ""), "%s",
                            asked ? kshift->hint : "Set desc.k_shift of the session, or remove "
                            "those cells and compute their tokens again.");
}

/* Add delta to positions, and turn the keys of the cells that stay. */
static qnnrt_result qnnrt_llm__public_shift(qnnrt_llm_cache *cache, int sequence, int32_t begin,
                                            int32_t end, int32_t delta)
{
    const qnnrt_llm__cells *cells = &cache->cells;
    const qnnrt_llm_rope *rope = &cache->part->llm->turned;
    qnnrt_llm__kshift *kshift = &cache->part->kshift;
    const int turned = qnnrt_llm__public_rotated(cache) && delta != 0;
    uint32_t cell, done = 0;
    for (cell = 0; cell < cells->end && turned; ++cell) {
        if (!qnnrt_llm__cells_within(cells, cell, (uint64_t)1 << sequence, begin, end) ||
            cells->positions[cell] + delta < 0) continue;
        if (done++ == 0 && qnnrt_llm__kshift_begin(kshift, rope, delta) != QNNRT_OK)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_LIMIT, "a shift by %ld turns keys by angles above"
                                   " %g", (long)delta, QNNRT_LLM__ROPE_ANGLE);
        qnnrt_llm__kshift_cell(kshift, rope, &cache->store, cell);
    }
    return qnnrt_llm__cells_shift(&cache->cells, sequence, begin, end, delta, 0);
}

QNNRT_LLM_API int qnnrt_llm_can_shift(const qnnrt_llm_cache *cache)
{
    return cache != NULL && qnnrt_llm__public_can_shift(cache);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_shift(qnnrt_llm_cache *cache, int sequence,
                                                    int32_t begin, int32_t end, int32_t delta)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    int64_t last;
    if (result != QNNRT_OK) return result;
    if (!qnnrt_llm__public_can_shift(cache)) {
        result = qnnrt_llm__cells_shift(&cache->cells, sequence, begin, end, delta, 1);
        if (result != QNNRT_OK) return qnnrt_llm__public_stuck(cache);
    } else {
        last = (int64_t)qnnrt_llm__cells_highest(&cache->cells, sequence, begin, end) + delta;
        if (delta > 0 && last >= cache->session->desc.positions)
            return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "a position would be at or above %lu"
                                   " (desc.positions of the session)",
                                   (unsigned long)cache->session->desc.positions);
        result = qnnrt_llm__public_shift(cache, sequence, begin, end, delta);
        if (result != QNNRT_OK) return result;
    }
    qnnrt_llm__step_forget(cache);
    return QNNRT_OK;
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
    qnnrt_result result;
    int32_t last;
    if (to == NULL || from == NULL) return QNNRT_E_ARG;
    if (to->part->llm != from->part->llm)
        return QNNRT_LLM__FAIL(to, QNNRT_E_ARG, "cannot copy a cache of another model");
    last = qnnrt_llm__step_last(&from->cells, ~(uint64_t)0);
    if (last >= 0 && (uint32_t)last >= to->session->desc.positions)
        return QNNRT_LLM__FAIL(to, QNNRT_E_LIMIT, "the other cache has position %ld, expected below"
                               " %lu (desc.positions of the session)", (long)last,
                               (unsigned long)to->session->desc.positions);
    qnnrt_llm__step_forget(to);
    result = qnnrt_llm__state_copy(&to->cells, &to->store, &from->cells, &from->store, &to->error);
    if (result == QNNRT_OK) to->adapter_key = from->adapter_key;
    return result;
}

/* ---- state ---- */

/* Return the bits of a sequence; of all of them for -1. */
static uint64_t qnnrt_llm__public_bits(int sequence)
{
    return sequence < 0 ? ~(uint64_t)0 : (uint64_t)1 << sequence;
}

static qnnrt_result qnnrt_llm__public_save(qnnrt_llm_cache *cache, int sequence, int lowest,
                                           void *data, size_t capacity, size_t *bytes)
{
    const qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, lowest);
    uint64_t bits;
    size_t needed;
    if (bytes != NULL) *bytes = 0;
    if (result != QNNRT_OK) return result;
    bits = qnnrt_llm__public_bits(sequence);
    needed = qnnrt_llm__state_bytes(&cache->cells, &cache->store, bits);
    if (data == NULL || capacity < needed)
        return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "the state takes %lu bytes, but capacity is %lu",
                               (unsigned long)needed, (unsigned long)(data != NULL ? capacity : 0));
    qnnrt_llm__state_save(&cache->cells, &cache->store, bits,
                          qnnrt_llm__stamp(cache->part->llm, cache->adapter_key), data);
    if (bytes != NULL) *bytes = needed;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_llm__public_restore(qnnrt_llm_cache *cache, int sequence,
                                              const void *data, size_t bytes)
{
    const qnnrt_llm *llm = cache->part->llm;
    /* Beside other texts it must be of their adapter. */
    const uint64_t key = sequence >= 0 && cache->cells.used > 0 ? cache->adapter_key
                                                                : llm->adapter_key;
    qnnrt_result result;
    if (data == NULL) return QNNRT_LLM__FAIL(cache, QNNRT_E_ARG, "data is NULL");
    result = qnnrt_llm__state_restore(&cache->cells, &cache->store, sequence,
                                      qnnrt_llm__stamp(llm, key), cache->session->desc.positions,
                                      cache->added, data, bytes, &cache->error);
    if (result == QNNRT_OK) {
        qnnrt_llm__step_forget(cache);
        cache->adapter_key = key;
    }
    return result;
}

QNNRT_LLM_API size_t qnnrt_llm_state_bytes(const qnnrt_llm_cache *cache)
{
    return cache != NULL ? qnnrt_llm__state_bytes(&cache->cells, &cache->store, ~(uint64_t)0) : 0;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_state_save(qnnrt_llm_cache *cache, void *data, size_t capacity,
                                                size_t *bytes)
{
    return qnnrt_llm__public_save(cache, -1, -1, data, capacity, bytes);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_state_restore(qnnrt_llm_cache *cache, const void *data,
                                                   size_t bytes)
{
    return cache != NULL ? qnnrt_llm__public_restore(cache, -1, data, bytes) : QNNRT_E_ARG;
}

QNNRT_LLM_API size_t qnnrt_llm_sequence_state_bytes(const qnnrt_llm_cache *cache, int sequence)
{
    if (cache == NULL || sequence < 0 || sequence >= QNNRT_LLM_SEQUENCES) return 0;
    return qnnrt_llm__state_bytes(&cache->cells, &cache->store, qnnrt_llm__public_bits(sequence));
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_state_save(qnnrt_llm_cache *cache, int sequence,
                                                         void *data, size_t capacity, size_t *bytes)
{
    return qnnrt_llm__public_save(cache, sequence, 0, data, capacity, bytes);
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_sequence_state_restore(qnnrt_llm_cache *cache, int sequence,
                                                            const void *data, size_t bytes)
{
    qnnrt_result result = qnnrt_llm__public_sequence(cache, sequence, 0);
    if (result != QNNRT_OK) return result;
    return qnnrt_llm__public_restore(cache, sequence, data, bytes);
}

/* ---- adapters ---- */

QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_create(qnnrt_llm *llm,
                                                    const qnnrt_llm_adapter_desc *desc,
                                                    qnnrt_llm_adapter **out, qnnrt_error *err)
{
    qnnrt_llm_adapter *adapter;
    qnnrt_arena arena;
    qnnrt_result result;
    size_t i;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (llm == NULL || desc == NULL || out == NULL || desc->parts == NULL || desc->part_count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_adapter_create: llm, desc or out is "
                               "NULL, or there are no parts");
    for (i = 0; i < desc->part_count; ++i)
        if (desc->parts[i].name == NULL || desc->parts[i].data == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_adapter_create: part %lu has no "
                                   "name or no data", (unsigned long)i);
    if (desc->scale != desc->scale || desc->scale > 1e30 || desc->scale < -1e30)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_adapter_create: scale is %g",
                               desc->scale);
    if (llm->info.adapter_tensors == 0)
        return qnnrt_error_hint(err, qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                     "the graphs have no room for adapters"),
                                "Compile the model with --lora RANK.");
    if (llm->update == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "adapter: "
                                                "qnnrt_llm_desc.update is NULL, so that tensors "
                                                "cannot be replaced"), "Set it to qnnrt_update, of "
                                "qnnrt_device.h.");
    arena = qnnrt_llm__arena(&llm->arena.hooks);
    adapter = (qnnrt_llm_adapter *)qnnrt_arena_get(&arena, 1, sizeof *adapter);
    if (adapter == NULL) return qnnrt_llm__fail_memory(err, "an adapter");
    adapter->arena = arena;
    adapter->llm = llm;
    qnnrt_llm__count(&llm->sessions, 1);
    result = qnnrt_llm__adapter_make(adapter, desc, err);
    if (result == QNNRT_OK) *out = adapter;
    else (void)qnnrt_llm_adapter_destroy(adapter);
    return result;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_destroy(qnnrt_llm_adapter *adapter)
{
    qnnrt_arena arena;
    if (adapter == NULL) return QNNRT_OK;
    if (adapter->llm->adapter == adapter) return QNNRT_E_BUSY;
    qnnrt_llm__count(&adapter->llm->sessions, -1);
    arena = adapter->arena;
    qnnrt_arena_free(&arena);
    return QNNRT_OK;
}

QNNRT_LLM_API qnnrt_result qnnrt_llm_adapter_apply(qnnrt_llm *llm, const qnnrt_llm_adapter *adapter,
                                                   qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (llm == NULL || (adapter != NULL && adapter->llm != llm))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_llm_adapter_apply: llm is NULL, or the "
                               "adapter is of another one");
    return qnnrt_llm__adapter_apply(llm, adapter, err);
}

QNNRT_LLM_API const qnnrt_llm_adapter *qnnrt_llm_adapter_applied(const qnnrt_llm *llm)
{
    return llm != NULL ? llm->adapter : NULL;
}

QNNRT_LLM_API void qnnrt_llm_adapter_mix(qnnrt_llm_cache *cache)
{
    if (cache != NULL) cache->adapter_key = cache->part->llm->adapter_key;
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_LLM__IMPL_ONCE */
#endif /* QNNRT_LLM_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   API: QNNRT_LLM_VERSION_MAJOR and its kin are QNNRT_VERSION_MAJOR of qnnrt.h.
           API: sampling is qnnrt_sample.h, which this header includes: where
           QNNRT_LLM_IMPLEMENTATION is defined, define QNNRT_SAMPLE_IMPLEMENTATION, too.
           API: qnnrt_llm_compact() is qnnrt_llm_defragment(), desc.turn_keys desc.k_shift,
           qnnrt_llm_codes() qnnrt_llm_stored_logits(), batch.codes batch.stored.
           API: adapters need qnnrt_llm_desc.update, qnnrt_update of qnnrt_device.h.
           Added: qnnrt_llm_desc.models, pipelines with graphs of several models, such as those of
           qnnrt_manifest_open(); a step of a second model was refused.
   0.4.0   Added: embeddings on the host, qnnrt_llm_embedding(). Save and restore one sequence:
           qnnrt_llm_sequence_state_save(). Progress, and an end of a decode between shards:
           qnnrt_llm_session_desc.progress. Graphs chosen by measured cost: .by_cost.
           Holes closed on request: qnnrt_llm_compact(). Positions that change where keys are
           stored rotated: .turn_keys, qnnrt_llm_can_shift(), qnnrt_llm_rope.pairs. Last hidden
           states and embeddings: batch.hidden, qnnrt_llm_hidden(), qnnrt_llm_pool(),
           batch.embeddings. Encoders. Counts of each graph: qnnrt_llm_session_runs(). Adapters:
           qnnrt_llm_adapter_apply(). Logits of all rows of a small batch, in whatever chunks.
   0.3.0   Added: sessions in memory that the device uses in place: qnnrt_llm_session_desc.mem_kind.
   0.2.0   Errors carry hints (qnnrt_error.hint). Settings are read from regular files only, at
           most 16 MiB. Several threads may make sessions of one model.
           Removed: qnnrt_llm_sequence_divide(), which every model that takes positions refused.
   0.1.0   First version.
   --------------------------------------------------------------------------------------------- */
