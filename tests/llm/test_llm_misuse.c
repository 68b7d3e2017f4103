/* test_llm_misuse.c - tools/qnnrt_llm.h called wrongly, and on wrong models

   For any call, with any arguments, in any order: the result is an error with a text, the cache
   is unchanged, and no memory is lost or touched that is not ours. Models are those of
   llm_counter.h, and graphs of any shape that compute nothing. */
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_LLM__STEP() (++searched)
#define QNNRT_LLM__LOOKS 1000000
static unsigned long long searched;         /* steps of searches, while a model is opened */
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"
#include "llm_counter.h"
#include "test.h"
#include "backend.h"
#include <math.h>

#define TEST_SAY(text) do { printf("%s\n", text); CHECK(0); } while (0)

/* ---- graphs of any shape ---- */

typedef struct shape {                      /* dims end with 0 */
    const char *graph, *name;
    int         output;
    qnnrt_dtype dtype;
    uint32_t    dims[4];
    float       scale;                      /* 0: no encoding */
} shape;

static qnnrt_error said;

/* Make a model in which one node takes all inputs and gives all outputs; it is neither read nor
   computed. */
static qnnrt *shapes_make(qnnrt_backend *backend, const shape *shapes, size_t count)
{
    qnnrt_builder *builder;
    qnnrt *model = NULL;
    size_t i = 0;
    if (!faults("null=backendValidateOpConfig; null=graphAddNode; null=graphFinalize; null=graphExecute")) return NULL;
    if (qnnrt_builder_create(backend, NULL, &builder, &said) != QNNRT_OK) return NULL;
    while (i < count) {
        const char *graph = shapes[i].graph;
        qnnrt_tensor in[64], out[64];
        qnnrt_graph_desc g;
        qnnrt_node_desc node;
        memset(&g, 0, sizeof g);
        memset(&node, 0, sizeof node);
        g.name = graph;
        qnnrt_builder_graph(builder, &g);
        for (; i < count && strcmp(shapes[i].graph, graph) == 0; ++i) {
            qnnrt_tensor_desc t;
            memset(&t, 0, sizeof t);
            t.name = shapes[i].name;
            t.kind = shapes[i].output ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INPUT;
            t.dtype = shapes[i].dtype;
            for (; t.rank < 4 && shapes[i].dims[t.rank] != 0; ++t.rank) t.dims[t.rank] = shapes[i].dims[t.rank];
            if (shapes[i].scale > 0) {
                t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
                t.quant.scale = shapes[i].scale;
                t.quant.offset = -100;
            }
            if (shapes[i].output) out[node.output_count++] = qnnrt_builder_tensor(builder, &t);
            else in[node.input_count++] = qnnrt_builder_tensor(builder, &t);
        }
        node.type = "Relu";
        node.inputs = in;
        node.outputs = out;
        qnnrt_builder_node(builder, &node);
    }
    qnnrt_builder_finish(builder, &model, &said);
    return model;
}

/* ---- what every test has ---- */

enum { KINDS = 2 };

typedef struct setup {
    qnnrt_backend     *backend;
    qnnrt             *model;
    qnnrt_llm         *llm;
    qnnrt_llm_session *sessions[KINDS];     /* smart mask, shift pointer; NULL: refused */
    qnnrt_result       results[KINDS];
    qnnrt_error        errors[KINDS];
} setup;

static const counter_graph pair[2] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };

static void begin(setup *s, const shape *shapes, size_t count, const qnnrt_llm_desc *desc, uint32_t positions)
{
    qnnrt_backend_desc backend;
    qnnrt_llm_session_desc session;
    int k;
    memset(s, 0, sizeof *s);
    backend = test_ref_desc();
    memset(&session, 0, sizeof session);
    if (qnnrt_backend_open(&backend, &s->backend, &said) != QNNRT_OK) TEST_SAY(said.text);
    s->model = shapes != NULL ? shapes_make(s->backend, shapes, count) : counter_make(s->backend, pair, 2, &said);
    if (s->model == NULL) TEST_SAY(said.text);
    if (qnnrt_llm_open(s->model, desc, &s->llm, &said) != QNNRT_OK) return;
    session.caches = 2;
    session.positions = positions;
    for (k = 0; k < KINDS; ++k) {
        session.kv = k == 0 ? QNNRT_LLM_SMART_MASK : QNNRT_LLM_SHIFT_POINTER;
        s->results[k] = qnnrt_llm_session_create(&s->llm, 1, &session, &s->sessions[k], &s->errors[k]);
    }
}

static void finish(setup *s)
{
    int k;
    CHECK(faults(""));
    for (k = 0; k < KINDS; ++k) qnnrt_llm_session_destroy(s->sessions[k]);
    CHECK_EQ(qnnrt_llm_close(s->llm), QNNRT_OK);
    CHECK_EQ(qnnrt_close(s->model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(s->backend), QNNRT_OK);
}

/* Return the whole content of a cache as a state; 0 bytes: it does not fit. */
static unsigned char states[2][1u << 16];

static size_t state_of(qnnrt_llm_cache *cache, int which)
{
    size_t bytes = 0;
    if (qnnrt_llm_state_save(cache, states[which], sizeof states[0], &bytes) != QNNRT_OK) return 0;
    return bytes;
}

static void as_before(qnnrt_llm_cache *cache, size_t bytes)
{
    CHECK_EQ(state_of(cache, 1), bytes);
    CHECK(memcmp(states[0], states[1], bytes) == 0);
}

/* ---- wrong order ---- */

/* After a refused second eval, the result of the first one is kept or dropped. */
TEST(accept_after_a_refused_eval)
{
    static const int32_t tokens[4] = { 1, 2, 3, 4 }, wrong[4] = { 7, 8, 9, 9 };
    setup s;
    int k;
    TRY(begin(&s, NULL, 0, NULL, 0));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 4);
        uint64_t sequences[4] = { 2, 2, 2, 2 };
        qnnrt_result result;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        batch.sequences = sequences;
        batch.positions = wrong;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        result = qnnrt_llm_accept(cache, NULL, 3);
        if (result == QNNRT_OK) {
            CHECK_EQ(qnnrt_llm_sequence_last(cache, 0), 6);
            CHECK_EQ(qnnrt_llm_sequence_last(cache, 1), -1);
        } else {
            CHECK_EQ(result, QNNRT_E_STATE);
            CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 4);
        }
        /* The same holds for a decode that is refused. */
        batch = llm_batch(tokens, 4);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        batch.sequences = sequences;
        batch.positions = wrong;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 3), QNNRT_E_STATE);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 1), -1);
        /* A refused call on another cache does not affect this one. */
        batch = llm_batch(tokens, 2);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        batch.positions = wrong + 2;
        CHECK_EQ(qnnrt_llm_eval(qnnrt_llm_cache_get(s.sessions[k], 0, 1), &batch), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(s.sessions[k], 0, 1), &batch), QNNRT_E_ARG);
        CHECK(qnnrt_llm_stored_logits(cache, 1) != NULL);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 2), QNNRT_OK);
    }
    TRY(finish(&s));
}

/* Make every kind of change to a cache between eval and accept. */
TEST(accept_after_a_change)
{
    static const int32_t tokens[3] = { 1, 2, 3 };
    setup s;
    int k, what;
    TRY(begin(&s, NULL, 0, NULL, 0));
    for (k = 0; k < KINDS; ++k)
        for (what = 0; what < 11; ++what) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0), *other = qnnrt_llm_cache_get(s.sessions[k], 0, 1);
            qnnrt_llm_batch batch = llm_batch(tokens, 3);
            const uint32_t rows[2] = { 0, 2 };
            size_t bytes;
            qnnrt_llm_clear(cache);
            qnnrt_llm_clear(other);
            CHECK_EQ(qnnrt_llm_decode(other, &batch), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            bytes = state_of(cache, 0);
            CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
            switch (what) {
            case 0: qnnrt_llm_clear(cache); break;
            case 1: CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 1, 2), QNNRT_OK); break;
            case 2: CHECK_EQ(qnnrt_llm_sequence_copy(cache, 0, 1, -1, -1), QNNRT_OK); break;
            case 3: CHECK_EQ(qnnrt_llm_sequence_keep(cache, 5), QNNRT_OK); break;
            case 4: CHECK_EQ(qnnrt_llm_cache_copy(cache, other), QNNRT_OK); break;
            case 5: CHECK_EQ(qnnrt_llm_state_restore(cache, states[0], bytes), QNNRT_OK); break;
            case 6: CHECK_EQ(qnnrt_llm_decode(other, &batch), QNNRT_OK); break;
            case 7: CHECK_EQ(qnnrt_llm_eval(other, &batch), QNNRT_OK); break;
            case 8: CHECK_EQ(qnnrt_llm_accept(cache, rows, 2), QNNRT_OK); break;
            case 9: CHECK_EQ(qnnrt_llm_accept(cache, NULL, 0), QNNRT_OK); break;
            default:
                CHECK(faults("fail=graphExecute:1:0x1770"));
                CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_BACKEND);
                CHECK(faults(""));
            }
            CHECK_EQ(qnnrt_llm_accept(cache, NULL, 3), QNNRT_E_STATE);
            CHECK_STR(qnnrt_llm_error(cache)->text, "nothing to accept");
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        }
    TRY(finish(&s));
}

TEST(every_call_with_nothing)
{
    qnnrt_llm_session_info info = qnnrt_llm_session_get_info(NULL);
    qnnrt_llm_batch batch;
    qnnrt_llm_session *session = (qnnrt_llm_session *)&info;
    qnnrt_llm *llm = (qnnrt_llm *)&info;
    qnnrt_llm_sampler *sampler = (qnnrt_llm_sampler *)&info;
    qnnrt_tensor_info logits;
    qnnrt_llm_sampler_desc desc;
    size_t bytes = 5;
    float value;
    memset(&batch, 0, sizeof batch);
    memset(&logits, 0, sizeof logits);
    memset(&desc, 0, sizeof desc);
    CHECK_EQ(info.steps, 0);
    CHECK_EQ(qnnrt_llm_open(NULL, NULL, &llm, &said), QNNRT_E_ARG);
    CHECK(llm == NULL && said.text[0] != '\0');
    CHECK_EQ(qnnrt_llm_open(NULL, NULL, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_close(NULL), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(NULL) == NULL && !qnnrt_llm_is_eos(NULL, 0));
    qnnrt_llm_describe(NULL, NULL, NULL);
    CHECK_EQ(qnnrt_llm_session_create(NULL, 1, NULL, &session, &said), QNNRT_E_ARG);
    CHECK(session == NULL);
    CHECK_EQ(qnnrt_llm_session_create(&llm, 1, NULL, &session, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_session_create(&llm, SIZE_MAX, NULL, &session, &said), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_session_create(&llm, 1, NULL, NULL, &said), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_session_create(&llm, 0, NULL, &session, &said), QNNRT_E_ARG);
    qnnrt_llm_session_destroy(NULL);
    CHECK(qnnrt_llm_cache_get(NULL, 0, 0) == NULL);
    CHECK_EQ(qnnrt_llm_error(NULL)->code, QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_decode(NULL, &batch), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_eval(NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_accept(NULL, NULL, 0), QNNRT_E_ARG);
    CHECK(qnnrt_llm_stored_logits(NULL, 0) == NULL);
    CHECK_EQ(qnnrt_llm_logits(NULL, 0, &value), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_argmax(NULL, 0), -1);
    CHECK_EQ(qnnrt_llm_cache_get_info(NULL).cells, 0);
    qnnrt_llm_clear(NULL);
    CHECK_EQ(qnnrt_llm_sequence_remove(NULL, 0, 0, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_copy(NULL, 0, 0, 0, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_keep(NULL, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_shift(NULL, 0, 0, 0, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_first(NULL, 0), -1);
    CHECK_EQ(qnnrt_llm_sequence_last(NULL, 0), -1);
    CHECK_EQ(qnnrt_llm_defragment(NULL), 0);
    CHECK_EQ(qnnrt_llm_cache_copy(NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_state_bytes(NULL), 0);
    CHECK_EQ(qnnrt_llm_state_save(NULL, &value, sizeof value, &bytes), QNNRT_E_ARG);
    CHECK_EQ(bytes, 0);
    CHECK_EQ(qnnrt_llm_state_restore(NULL, &value, sizeof value), QNNRT_E_ARG);
    bytes = 5;
    CHECK_EQ(qnnrt_llm_sequence_state_bytes(NULL, 0), 0);
    CHECK_EQ(qnnrt_llm_sequence_state_save(NULL, 0, &value, sizeof value, &bytes), QNNRT_E_ARG);
    CHECK_EQ(bytes, 0);
    CHECK_EQ(qnnrt_llm_sequence_state_restore(NULL, 0, &value, sizeof value), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sampler_create(NULL, NULL, &sampler, &said), QNNRT_E_ARG);
    CHECK(sampler == NULL);
    CHECK_EQ(qnnrt_llm_sampler_create(&logits, NULL, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sampler_create(&logits, &desc, &sampler, &said), QNNRT_E_ARG);
    qnnrt_llm_sampler_destroy(NULL);
    CHECK_EQ(qnnrt_llm_sample(NULL, &value), -1);
    qnnrt_llm_sampler_accept(NULL, 0);
    qnnrt_llm_sampler_reset(NULL);
    CHECK_STR(qnnrt_llm_role_name((qnnrt_llm_role)-1), "unknown");
    CHECK_STR(qnnrt_llm_role_name((qnnrt_llm_role)QNNRT_LLM_ROLE_COUNT), "unknown");
}

TEST(garbage_in_a_batch)
{
    static const int32_t tokens[40] = { 0 }, most[2] = { INT32_MAX - 1, INT32_MAX }, least[2] = { INT32_MIN, INT32_MIN };
    const uint64_t all[2] = { UINT64_MAX, UINT64_MAX };
    const uint32_t rows[3] = { 0, 1, UINT32_MAX };
    setup s;
    int k;
    TRY(begin(&s, NULL, 0, NULL, 0x40000000));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 2);
        size_t before, i;
        float values[COUNTER_VOCABULARY];
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        before = state_of(cache, 0);
        CHECK(before > 0);
        batch = llm_batch(NULL, SIZE_MAX);
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        batch = llm_batch(tokens, 0);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        batch = llm_batch(tokens, 2);
        batch.sequence = UINT32_MAX;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        batch.sequence = 0;
        batch.positions = most;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        batch.positions = least;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        batch.positions = NULL;
        batch.parents = most;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        batch.parents = least;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        batch.parents = NULL;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, SIZE_MAX), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_accept(cache, rows, 3), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_logits(cache, SIZE_MAX, values), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_logits(cache, 0, NULL), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, INT32_MIN, INT32_MIN, INT32_MIN), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, 64, 0, -1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, INT32_MIN, 0, -1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_copy(cache, -1, 0, 0, -1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_copy(cache, 0, 64, 0, -1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_keep(cache, -1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_first(cache, INT32_MAX), -1);
        CHECK_EQ(qnnrt_llm_sequence_first(cache, -1), -1);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, -1), -1);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 64), -1);
        CHECK_EQ(qnnrt_llm_state_restore(cache, NULL, 100), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_state_restore(cache, states[0], 0), QNNRT_E_FORMAT);
        CHECK_EQ(qnnrt_llm_state_save(cache, states[1], before - 1, &i), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_state_save(cache, NULL, SIZE_MAX, &i), QNNRT_E_ARG);
        TRY(as_before(cache, before));
        /* The highest possible position, and one higher. */
        {
            static const int32_t last[1] = { 0x3FFFFFFF };
            batch = llm_batch(tokens, 1);
            batch.positions = last;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            batch.positions = NULL;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
            CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_LIMIT);
            CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 2, -1), QNNRT_OK);
        }
        /* All 64 sequences at once, then a token of one sequence that others share. */
        qnnrt_llm_clear(cache);
        batch = llm_batch(tokens, 2);
        batch.sequences = all;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        for (i = 0; i < 64; ++i) CHECK_EQ(qnnrt_llm_sequence_last(cache, (int)i), 1);
        batch = llm_batch(tokens, 1);
        batch.sequence = 63;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        batch.sequences = all;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 63), 2);
    }
    TRY(finish(&s));
}

/* A draft must not follow a parent that is not in its sequence. */
TEST(drafts_of_other_sequences)
{
    static const int32_t tokens[2] = { 1, 2 }, parents[2] = { -1, 0 };
    const uint64_t apart[2] = { 1, 2 }, within[2] = { 3, 2 };
    setup s;
    int k;
    TRY(begin(&s, NULL, 0, NULL, 0));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 2);
        batch.parents = parents;
        batch.sequences = apart;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "token 1 of the batch has sequences that its parent 0 lacks");
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        batch.sequences = within;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 0), 0);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 1), 1);
    }
    TRY(finish(&s));
}

/* ---- models of other shapes ---- */

#define F32 QNNRT_DTYPE_F32
#define I32 QNNRT_DTYPE_I32

/* A model without a position input: positions may be shifted within the range of the numbers. */
TEST(positions_shifted_to_the_end_of_numbers)
{
    static const shape shapes[] = {
        { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 12 }, 0 },
        { "g", "past_key_0_in", 0, F32, { 1, 1, 4, 10 }, 0 }, { "g", "past_value_0_in", 0, F32, { 1, 1, 10, 4 }, 0 },
        { "g", "past_key_0_out", 1, F32, { 1, 1, 4, 2 }, 0 }, { "g", "past_value_0_out", 1, F32, { 1, 1, 2, 4 }, 0 },
        { "g", "logits", 1, F32, { 1, 2, 5 }, 0 }
    };
    static const int32_t tokens[2] = { 1, 2 };
    setup s;
    int k;
    TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 2);
        size_t bytes;
        if (s.sessions[k] == NULL) TEST_SAY(s.errors[k].text);
        if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
        bytes = state_of(cache, 0);
        /* A text cannot be longer than the positions of the session: its state could not be
           saved. */
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, INT32_MAX - 1), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, INT32_MAX), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, 11), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "12");
        TRY(as_before(cache, bytes));
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, 10), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 0), 11);
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        bytes = state_of(cache, 0);
        CHECK_EQ(qnnrt_llm_state_restore(cache, states[0], bytes), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, INT32_MIN), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 0);
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
    }
    TRY(finish(&s));
}

/* A graph that takes its whole context at once reads no cache. */
TEST(graphs_without_cells)
{
    static const shape shapes[] = {
        { "g", "input_ids", 0, I32, { 1, 8 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 8, 8 }, 0 },
        { "g", "past_key_0_out", 1, F32, { 1, 1, 4, 8 }, 0 }, { "g", "past_value_0_out", 1, F32, { 1, 1, 8, 4 }, 0 },
        { "g", "logits", 1, F32, { 1, 8, 5 }, 0 }
    };
    static const int32_t tokens[9] = { 0 };
    setup s;
    int k;
    TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 8);
        size_t bytes;
        if (s.sessions[k] == NULL && k == 1) {
            CHECK_EQ(s.results[k], QNNRT_E_UNSUPPORTED);
            continue;
        }
        if (s.sessions[k] == NULL) TEST_SAY(s.errors[k].text);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).cells, 0);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).at_once, 8);
        if (qnnrt_llm_eval(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
        CHECK(qnnrt_llm_stored_logits(cache, 7) != NULL);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_LIMIT);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        CHECK_STR(qnnrt_llm_error(cache)->text, "0 of 0 cells");
        batch.count = 9;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_LIMIT);
        bytes = state_of(cache, 0);
        CHECK(bytes > 0);
        CHECK_EQ(qnnrt_llm_state_restore(cache, states[0], bytes), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_copy(cache, qnnrt_llm_cache_get(s.sessions[k], 0, 1)), QNNRT_OK);
    }
    TRY(finish(&s));
}

/* A graph reads an input that no code fills: it is refused, rather than computed with undefined
   values. */
TEST(inputs_that_nobody_fills)
{
    static const shape embeds[] = {
        { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "inputs_embeds", 0, F32, { 1, 2, 6 }, 0 },
        { "g", "attention_mask", 0, F32, { 1, 1, 2, 12 }, 0 },
        { "g", "past_key_0_in", 0, F32, { 1, 1, 4, 10 }, 0 }, { "g", "past_value_0_in", 0, F32, { 1, 1, 10, 4 }, 0 },
        { "g", "past_key_0_out", 1, F32, { 1, 1, 4, 2 }, 0 }, { "g", "past_value_0_out", 1, F32, { 1, 1, 2, 4 }, 0 },
        { "g", "logits", 1, F32, { 1, 2, 5 }, 0 }
    };
    static const shape no_cache[] = {
        { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 12 }, 0 },
        { "g", "logits", 1, F32, { 1, 2, 5 }, 0 }
    };
    setup s;
    int k;
    TRY(begin(&s, embeds, sizeof embeds / sizeof embeds[0], NULL, 0));
    CHECK(s.llm != NULL);
    for (k = 0; k < KINDS; ++k) {
        CHECK_EQ(s.results[k], QNNRT_E_NOT_FOUND);
        CHECK_STR(s.errors[k].text, "hidden state");
    }
    TRY(finish(&s));
    TRY(begin(&s, no_cache, sizeof no_cache / sizeof no_cache[0], NULL, 0));
    CHECK(s.llm != NULL);
    for (k = 0; k < KINDS; ++k) {
        CHECK_EQ(s.results[k], QNNRT_E_NOT_FOUND);
        CHECK_STR(s.errors[k].text, "keys and values");
    }
    TRY(finish(&s));
}

/* Types of the inputs that are written in every step. A type that cannot be written is named,
   and nothing is kept. */
TEST(inputs_of_every_type)
{
    static const struct { qnnrt_dtype dtype; float scale; } types[] = {
        { QNNRT_DTYPE_I32, 0 }, { QNNRT_DTYPE_U8, 0 }, { QNNRT_DTYPE_I64, 0 }, { QNNRT_DTYPE_U8Q, 0.5f }, { QNNRT_DTYPE_U16Q, 1 },
        { QNNRT_DTYPE_F32, 0 }, { QNNRT_DTYPE_F16, 0 }, { QNNRT_DTYPE_BOOL8, 0 }, { QNNRT_DTYPE_S16Q, 1e-30f }, { QNNRT_DTYPE_I16, 0 },
        { QNNRT_DTYPE_S32Q, 0.25f }, { QNNRT_DTYPE_U32, 0 }, { QNNRT_DTYPE_U64, 0 }
    };
    static const int32_t tokens[5] = { 1, 299, 2, 3, 4 };
    enum { TYPES = sizeof types / sizeof types[0] };
    unsigned which, ran = 0, refused = 0;
    for (which = 0; which < 4 * TYPES; ++which) {
        shape shapes[] = {
            { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "position_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 12 }, 0 },
            { "g", "logits", 1, F32, { 1, 2, 300 }, 0 },
            { "g", "past_key_0_in", 0, F32, { 1, 1, 4, 10 }, 0 }, { "g", "past_value_0_in", 0, F32, { 1, 1, 10, 4 }, 0 },
            { "g", "past_key_0_out", 1, F32, { 1, 1, 4, 2 }, 0 }, { "g", "past_value_0_out", 1, F32, { 1, 1, 2, 4 }, 0 }
        };
        setup s;
        int k;
        shapes[which / TYPES].dtype = types[which % TYPES].dtype;
        shapes[which / TYPES].scale = types[which % TYPES].scale;
        TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
        for (k = 0; k < KINDS; ++k) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
            qnnrt_llm_batch batch = llm_batch(tokens, 5);
            float logits[300];
            qnnrt_result result;
            batch.logits = logits;
            if (s.llm == NULL || s.sessions[k] == NULL) {
                const qnnrt_error *err = s.llm == NULL ? &said : &s.errors[k];
                CHECK(err->code == QNNRT_E_UNSUPPORTED || err->code == QNNRT_E_MISMATCH || err->code == QNNRT_E_ARG);
                CHECK_STR(err->text, shapes[which / TYPES].name);
                ++refused;
                continue;
            }
            /* Types that cannot hold 299, or 1: another token would be computed. */
            if (which < TYPES)
                CHECK(types[which].dtype == I32 || types[which].dtype == QNNRT_DTYPE_I64 || types[which].dtype == QNNRT_DTYPE_U16Q ||
                      types[which].dtype == QNNRT_DTYPE_I16 || types[which].dtype == QNNRT_DTYPE_S32Q || types[which].dtype == QNNRT_DTYPE_U32 ||
                      types[which].dtype == QNNRT_DTYPE_U64);
            if (which >= TYPES && which < 2 * TYPES) CHECK(types[which - TYPES].dtype != QNNRT_DTYPE_BOOL8);
            result = qnnrt_llm_decode(cache, &batch);
            if (result == QNNRT_OK) {
                CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 5);
                ++ran;
            } else {
                CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 0);
                CHECK_EQ(qnnrt_llm_error(cache)->code, result);
                CHECK_STR(qnnrt_llm_error(cache)->text, shapes[which / TYPES].name);
                CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
                ++refused;
            }
        }
        TRY(finish(&s));
    }
    printf("note: %u ran, %u were refused\n", ran, refused);
    CHECK(ran > 30 && refused > 20);
}

/* ---- a backend that fails ---- */

/* Every kind of fault at the nth execute of eval and of decode. */
TEST(faults_at_every_execute)
{
    static const char *const kinds[4] = { "fail=graphExecute:%d:0x1770", "fail=graphExecute:%d:0x3f3", "restart=graphExecute:%d", "overwrite=graphExecute:%d" };
    static const int32_t tokens[20] = { 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2 };
    int kind, n, k;
    for (kind = 0; kind < 4; ++kind)
        for (k = 0; k < KINDS; ++k)
            for (n = 1; n <= 4; ++n) {
                setup s;
                qnnrt_llm_cache *cache;
                qnnrt_llm_batch batch = llm_batch(tokens, 3);
                qnnrt_result result;
                char rule[64];
                size_t bytes;
                TRY(begin(&s, NULL, 0, NULL, 0));
                cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
                if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
                bytes = state_of(cache, 0);
                snprintf(rule, sizeof rule, kinds[kind], n);
                CHECK(faults(rule));
                batch = llm_batch(tokens, n == 4 ? 8 : 18);
                result = n == 4 ? qnnrt_llm_eval(cache, &batch) : qnnrt_llm_decode(cache, &batch);
                CHECK(faults(""));
                /* The changed byte is not part of the cache. */
                if (kind == 3 && result == QNNRT_OK) {
                    CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 3, -1), QNNRT_OK);
                    TRY(as_before(cache, bytes));
                } else if (n < 4) {
                    CHECK(result != QNNRT_OK);
                    CHECK_EQ(qnnrt_llm_error(cache)->code, result);
                    CHECK(qnnrt_llm_error(cache)->text[0] != '\0');
                    TRY(as_before(cache, bytes));
                    CHECK(qnnrt_llm_stored_logits(cache, 0) == NULL);
                    CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
                }
                /* The call continues, or returns an error with a text. */
                batch = llm_batch(tokens, 9);
                result = qnnrt_llm_decode(cache, &batch);
                if (result != QNNRT_OK) {
                    CHECK(kind == 2 && qnnrt_llm_error(cache)->text[0] != '\0');
                    TRY(as_before(cache, bytes));
                }
                TRY(finish(&s));
            }
}

/* Calls that may fail while sessions are made: nothing is lost, and the model stays usable. */
TEST(faults_while_a_session_is_made)
{
    static const char *const calls[] = { "memRegister", "memDeRegister", "graphRetrieve", "contextGetProperty", "graphSetConfig", "tensorCreateGraphTensor" };
    setup s;
    size_t i;
    int n, k;
    TRY(begin(&s, NULL, 0, NULL, 0));
    for (i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        for (n = 1; n < 4; ++n)
            for (k = 0; k < KINDS; ++k) {
                qnnrt_llm_session_desc desc;
                qnnrt_llm_session *session = NULL;
                char rule[64];
                memset(&desc, 0, sizeof desc);
                desc.kv = k == 0 ? QNNRT_LLM_SMART_MASK : QNNRT_LLM_SHIFT_POINTER;
                snprintf(rule, sizeof rule, "fail=%s:%d:1000", calls[i], n);
                CHECK(faults(rule));
                if (qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said) != QNNRT_OK) CHECK(session == NULL && said.text[0] != '\0');
                CHECK(faults(""));
                qnnrt_llm_session_destroy(session);
            }
    TRY(finish(&s));
}

/* ---- closing ---- */

TEST(closing_in_the_wrong_order)
{
    static const int32_t tokens[3] = { 1, 2, 3 };
    setup s;
    qnnrt_llm *second;
    qnnrt_llm_cache *a, *b;
    qnnrt_llm_batch batch = llm_batch(tokens, 3);
    TRY(begin(&s, NULL, 0, NULL, 0));
    CHECK_EQ(qnnrt_backend_close(s.backend), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_close(s.model), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_llm_close(s.llm), QNNRT_E_BUSY);
    if (qnnrt_llm_open(s.model, NULL, &second, &said) != QNNRT_OK) TEST_SAY(said.text);
    a = qnnrt_llm_cache_get(s.sessions[0], 0, 0);
    b = qnnrt_llm_cache_get(s.sessions[1], 0, 1);
    CHECK_EQ(qnnrt_llm_decode(a, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cache_copy(b, a), QNNRT_OK);
    qnnrt_llm_session_destroy(s.sessions[0]);
    s.sessions[0] = NULL;
    CHECK_EQ(qnnrt_llm_close(s.llm), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_llm_decode(b, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_last(b, 0), 5);
    CHECK_EQ(qnnrt_llm_close(second), QNNRT_OK);
    TRY(finish(&s));
}

/* Two sessions over one model, and one session of a model twice. */
TEST(caches_of_another_session)
{
    static const int32_t tokens[12] = { 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0 }, high[1] = { 900 };
    setup s, t;
    qnnrt_llm *twice[2];
    qnnrt_llm_session *session;
    qnnrt_llm_session_desc desc;
    qnnrt_llm_cache *a, *b;
    qnnrt_llm_batch batch = llm_batch(tokens, 12);
    size_t bytes;
    memset(&desc, 0, sizeof desc);
    TRY(begin(&s, NULL, 0, NULL, 1000));
    a = qnnrt_llm_cache_get(s.sessions[0], 0, 0);
    CHECK_EQ(qnnrt_llm_decode(a, &batch), QNNRT_OK);
    batch = llm_batch(tokens, 1);
    batch.positions = high;
    CHECK_EQ(qnnrt_llm_decode(a, &batch), QNNRT_OK);
    /* A session with shorter texts takes neither the copy nor the state. */
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_OK);
    b = qnnrt_llm_cache_get(session, 0, 0);
    batch = llm_batch(tokens, 2);
    CHECK_EQ(qnnrt_llm_decode(b, &batch), QNNRT_OK);
    bytes = state_of(a, 0);
    CHECK_EQ(qnnrt_llm_state_restore(b, states[0], bytes), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_llm_cache_copy(b, a), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(b)->text, "900");
    CHECK_EQ(qnnrt_llm_cache_get_info(b).used, 2);
    qnnrt_llm_session_destroy(session);
    /* The same model as target and draft. */
    twice[0] = twice[1] = s.llm;
    if (qnnrt_llm_session_create(twice, 2, NULL, &session, &said) != QNNRT_OK) TEST_SAY(said.text);
    batch = llm_batch(tokens, 5);
    CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(session, 1, 0), &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cache_copy(qnnrt_llm_cache_get(session, 0, 0), qnnrt_llm_cache_get(session, 1, 0)), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_last(qnnrt_llm_cache_get(session, 0, 0), 0), 4);
    CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(session, 0, 0), &batch), QNNRT_OK);
    qnnrt_llm_session_destroy(session);
    /* The error names a model of another backend handle. */
    TRY(begin(&t, NULL, 0, NULL, 0));
    CHECK_EQ(qnnrt_llm_cache_copy(qnnrt_llm_cache_get(t.sessions[0], 0, 0), a), QNNRT_E_ARG);
    twice[1] = t.llm;
    if (qnnrt_llm_session_create(twice, 2, NULL, &session, &said) != QNNRT_OK) CHECK(session == NULL && said.text[0] != '\0');
    qnnrt_llm_session_destroy(session);
    TRY(finish(&t));
    TRY(finish(&s));
}

/* ---- descs ---- */

static uint64_t backwards(void *user)
{
    uint64_t *now = (uint64_t *)user;
    *now -= 1000;
    return *now;
}

static void *only_alloc(void *user, size_t bytes) { (void)user; return malloc(bytes); }

TEST(garbage_in_descs)
{
    static const int32_t tokens[9] = { 0 }, minus[1] = { -1 };
    static const char *const pipelines[2] = { NULL, "no such" };
    qnnrt_llm_role_desc role;
    qnnrt_llm_session_desc desc;
    qnnrt_llm_session *session;
    qnnrt_llm_desc llm;
    qnnrt_llm *second;
    qnnrt_llm_batch batch = llm_batch(tokens, 9);
    uint64_t now = 500;
    setup s;
    TRY(begin(&s, NULL, 0, NULL, 0));
    memset(&desc, 0, sizeof desc);
    desc.kv = (qnnrt_llm_kv)77;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_E_ARG);
    desc.kv = (qnnrt_llm_kv)-1;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_E_ARG);
    desc.kv = QNNRT_LLM_SMART_MASK;
    desc.mem_kind = (qnnrt_mem_kind)(QNNRT_MEM_PROVIDER + 1);
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_E_ARG);
    CHECK_STR(said.text, "mem_kind");
    desc.mem_kind = QNNRT_MEM_HEAP;
    desc.caches = SIZE_MAX;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_E_ARG);
    desc.caches = 0;
    desc.positions = UINT32_MAX;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_E_ARG);
    desc.positions = 1;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(session, 0, 0), &batch), QNNRT_E_LIMIT);
    qnnrt_llm_session_destroy(session);
    /* A clock that runs backwards is accepted and breaks nothing. */
    desc.positions = 0;
    desc.clock_ns = backwards;
    desc.clock_user = &now;
    CHECK_EQ(qnnrt_llm_session_create(&s.llm, 1, &desc, &session, &said), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(session, 0, 0), &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_get_info(session).steps, 2);
    qnnrt_llm_session_destroy(session);

#define REFUSED(why) \
    do { \
        second = s.llm; \
        CHECK_EQ(qnnrt_llm_open(s.model, &llm, &second, &said), why); \
        CHECK(second == NULL && said.text[0] != '\0' && said.code == (why)); \
        memset(&llm, 0, sizeof llm); \
    } while (0)
    memset(&llm, 0, sizeof llm);
    llm.hooks.alloc = only_alloc;
    REFUSED(QNNRT_E_ARG);
    llm.role_count = 1;
    REFUSED(QNNRT_E_ARG);
    llm.eos_count = SIZE_MAX;
    REFUSED(QNNRT_E_ARG);
    llm.config_bytes = 1;
    REFUSED(QNNRT_E_ARG);
    llm.pipeline_count = 1;
    REFUSED(QNNRT_E_ARG);
    llm.pipelines = pipelines;
    llm.pipeline_count = 1;
    REFUSED(QNNRT_E_ARG);
    llm.pipelines = pipelines + 1;
    llm.pipeline_count = 1;
    REFUSED(QNNRT_E_NOT_FOUND);
    llm.masked = 1;
    REFUSED(QNNRT_E_ARG);
    llm.masked = (float)NAN;
    REFUSED(QNNRT_E_ARG);
    llm.rope.factor = 2;
    REFUSED(QNNRT_E_ARG);
    llm.rope.low_frequency = 2;
    REFUSED(QNNRT_E_ARG);
    llm.rope.high_frequency = 2;
    REFUSED(QNNRT_E_ARG);
    llm.rope.original_context = 2;
    REFUSED(QNNRT_E_ARG);
    llm.eos = minus;
    llm.eos_count = 1;
    REFUSED(QNNRT_E_ARG);
    llm.bos = minus;
    REFUSED(QNNRT_E_ARG);
    llm.rope.theta = 1;
    llm.rope.scaling = (qnnrt_llm_rope_scaling)99;
    REFUSED(QNNRT_E_ARG);
    llm.rope.theta = -5;
    REFUSED(QNNRT_E_ARG);
    memset(&role, 0, sizeof role);
    llm.roles = &role;
    llm.role_count = 1;
    REFUSED(QNNRT_E_ARG);
    role.tensor = "input_ids";
    role.role = (qnnrt_llm_role)1000;
    llm.roles = &role;
    llm.role_count = 1;
    REFUSED(QNNRT_E_ARG);
    role.role = (qnnrt_llm_role)-1;
    llm.roles = &role;
    llm.role_count = 1;
    REFUSED(QNNRT_E_ARG);
    role.tensor = "";
    role.role = QNNRT_LLM_ROLE_MASK;
    llm.roles = &role;
    llm.role_count = 1;
    REFUSED(QNNRT_E_NOT_FOUND);
    TRY(finish(&s));
}

/* ---- saved states ---- */

/* Every cut, and every byte with every bit inverted and the checksum corrected. A state that is
   taken keeps the promises of a cache; a state that is refused changes nothing. */
TEST(states_that_lie)
{
    static const int32_t tokens[5] = { 1, 2, 3, 4, 5 };
    static unsigned char lie[1u << 16];
    unsigned taken = 0, refused = 0, alone = 0;
    setup s;
    int k;
    TRY(begin(&s, NULL, 0, NULL, 100));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 5);
        size_t bytes, cut, at;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        bytes = state_of(cache, 0);
        CHECK(bytes > 100);
        for (cut = 0; cut < bytes; ++cut) {
            /* The memory ends where the state ends, so that a read past it is detected. */
            unsigned char *piece = (unsigned char *)malloc(cut > 0 ? cut : 1);
            CHECK(piece != NULL);
            memcpy(piece, states[0], cut);
            if (cut >= 48) {
                qnnrt_llm__state_put(piece + 24, cut, 8);
                qnnrt_llm__state_put(piece + cut - 8, qnnrt_llm__state_sum(piece, cut - 8), 8);
            }
            CHECK_EQ(qnnrt_llm_state_restore(cache, piece, cut), QNNRT_E_FORMAT);
            free(piece);
        }
        TRY(as_before(cache, bytes));
        for (at = 0; at < bytes - 8; ++at) {
            int bit;
            for (bit = 0; bit < 8; ++bit) {
                qnnrt_result result;
                memcpy(lie, states[0], bytes);
                lie[at] ^= (unsigned char)(1 << bit);
                CHECK_EQ(qnnrt_llm_state_restore(cache, lie, bytes), QNNRT_E_FORMAT);
                qnnrt_llm__state_put(lie + bytes - 8, qnnrt_llm__state_sum(lie, bytes - 8), 8);
                /* As a sequence it is refused too, except where it is a valid state of one. */
                result = qnnrt_llm_sequence_state_restore(cache, 7, lie, bytes);
                if (result == QNNRT_OK) {
                    CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 10);
                    CHECK_EQ(qnnrt_llm_sequence_remove(cache, 7, -1, -1), QNNRT_OK);
                    ++alone;
                } else {
                    CHECK(result == QNNRT_E_FORMAT || result == QNNRT_E_MISMATCH || result == QNNRT_E_LIMIT);
                    CHECK_EQ(qnnrt_llm_error(cache)->code, result);
                }
                result = qnnrt_llm_state_restore(cache, lie, bytes);
                if (result == QNNRT_OK) {
                    qnnrt_llm_cache_info info = qnnrt_llm_cache_get_info(cache);
                    int q;
                    ++taken;
                    CHECK_EQ(info.used, 5);
                    for (q = 0; q < 64; ++q) CHECK(qnnrt_llm_sequence_last(cache, q) < 100);
                    batch = llm_batch(tokens, 2);
                    result = qnnrt_llm_decode(cache, &batch);
                    CHECK(result == QNNRT_OK || result == QNNRT_E_LIMIT);
                    CHECK_EQ(qnnrt_llm_state_restore(cache, states[0], bytes), QNNRT_OK);
                } else {
                    ++refused;
                    CHECK(result == QNNRT_E_FORMAT || result == QNNRT_E_MISMATCH || result == QNNRT_E_LIMIT);
                    CHECK(qnnrt_llm_error(cache)->text[0] != '\0');
                }
            }
        }
        TRY(as_before(cache, bytes));
    }
    printf("note: %u states with one bit turned refused, %u taken\n", refused, taken);
    /* Bits of sequences that differ are refused for one sequence only. */
    CHECK(refused > 0 && alone > 0 && taken > alone);
    TRY(finish(&s));
}

/* Calls for sequences that do not exist, and for memory that is too small. */
TEST(states_of_no_sequence)
{
    static const int32_t tokens[5] = { 1, 2, 3, 4, 5 };
    static const int wrong[4] = { -1, QNNRT_LLM_SEQUENCES, INT32_MIN, INT32_MAX };
    setup s;
    int k, i;
    TRY(begin(&s, NULL, 0, NULL, 100));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 5);
        const size_t whole = 1000;
        size_t bytes, empty = qnnrt_llm_sequence_state_bytes(cache, 3), wrote;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        bytes = state_of(cache, 0);
        CHECK_EQ(qnnrt_llm_sequence_state_bytes(cache, 0), bytes);
        CHECK(empty > 0 && empty < bytes);
        for (i = 0; i < 4; ++i) {
            wrote = whole;
            CHECK_EQ(qnnrt_llm_sequence_state_bytes(cache, wrong[i]), 0);
            CHECK_EQ(qnnrt_llm_sequence_state_save(cache, wrong[i], states[1], sizeof states[1], &wrote), QNNRT_E_ARG);
            CHECK_EQ(wrote, 0);
            CHECK_STR(qnnrt_llm_error(cache)->text, "expected 0 to 63");
            CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, wrong[i], states[0], bytes), QNNRT_E_ARG);
            CHECK_STR(qnnrt_llm_error(cache)->text, "expected 0 to 63");
        }
        wrote = whole;
        CHECK_EQ(qnnrt_llm_sequence_state_save(cache, 0, states[1], bytes - 1, &wrote), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "the state takes");
        CHECK_EQ(qnnrt_llm_sequence_state_save(cache, 0, NULL, bytes, NULL), QNNRT_E_ARG);
        CHECK_EQ(wrote, 0);
        CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, 0, NULL, bytes), QNNRT_E_ARG);
        TRY(as_before(cache, bytes));
        /* An eval is forgotten when a sequence is restored, and not when that is refused. */
        batch.count = 2;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, 9, states[0], bytes - 1), QNNRT_E_FORMAT);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, 9, states[0], bytes), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 10);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 9), 4);
    }
    TRY(finish(&s));
}

/* ---- metadata made to take long ---- */

typedef struct words { char *data; size_t used, room; } words;

static void put(words *w, const char *format, const char *text, unsigned a)
{
    if (w->room - w->used < 4096) {
        w->room = w->room * 2 + 65536;
        w->data = (char *)realloc(w->data, w->room);
        if (w->data == NULL) abort();
    }
    w->used += (size_t)snprintf(w->data + w->used, w->room - w->used, format, text, a);
}

static void tensor(words *w, const char *name, unsigned id, const char *rest)
{
    put(w, "%s{\"id\":%u,\"name\":\"", w->data[w->used - 1] == '[' ? "" : ",", id);
    put(w, "%s", name, 0);
    put(w, "\",\"dataType\":\"QNN_DATATYPE_%s}", rest, 0);
}

/* Open the model, and count the steps needed to find the roles. */
static qnnrt_result steps_of(const words *w)
{
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model = NULL;
    qnnrt_llm *llm = NULL;
    qnnrt_result result;
    memset(&desc, 0, sizeof desc);
    memset(&file, 0, sizeof file);
    file.json_path = "long.json";
    file.json_data = w->data;
    file.json_bytes = w->used;
    desc.inspect = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.files = &file;
    desc.file_count = 1;
    result = qnnrt_open(NULL, &desc, &model, &said);
    searched = 0;
    if (result == QNNRT_OK) result = qnnrt_llm_open(model, NULL, &llm, &said);
    qnnrt_llm_close(llm);
    qnnrt_close(model);
    return result;
}

#define HEAD "{\"buildId\":\"v2.51\",\"backendId\":6,\"graphs\":["

/* Graphs whose outputs depend on the very last inputs; names that match half a pattern at every
   byte. */
TEST(metadata_made_to_take_long)
{
    enum { MANY = 4000, NAMES = 20000 };
    static char name[1024];
    words w = { NULL, 0, 0 };
    qnnrt_result result;
    unsigned i;
    put(&w, "%s", HEAD, 0);
    for (i = 0; i <= MANY; ++i) {
        put(&w, "%s{\"graphName\":\"g%u\",\"graphInputs\":[", i > 0 ? "," : "", i);
        tensor(&w, "input_0_tokens_0", 1, "INT_32\",\"dimensions\":[1,1]");
        if (i == MANY) {
            tensor(&w, "input_1_args_0_0", 2, "FLOAT_32\",\"dimensions\":[1,4,8]");
            tensor(&w, "input_2_args_1_0", 3, "FLOAT_32\",\"dimensions\":[1,8,4]");
        }
        put(&w, "%s", "],\"graphOutputs\":[", 0);
        tensor(&w, "output_aten_permute_copy_default_0", 4, "FLOAT_32\",\"dimensions\":[1,4,1]");
        put(&w, "%s", "]}", 0);
    }
    put(&w, "%s", "]}", 0);
    result = steps_of(&w);
    CHECK(result == QNNRT_E_NOT_FOUND || result == QNNRT_E_MISMATCH);
    CHECK(searched < (unsigned long long)w.used);

    w.used = 0;
    put(&w, "%s", HEAD "{\"graphName\":\"g\",\"graphInputs\":[", 0);
    for (i = 0; i < NAMES; ++i) {
        size_t used = (size_t)snprintf(name, sizeof name, "input_0_");
        while (used < 960) used += (size_t)snprintf(name + used, sizeof name - used, "window");
        snprintf(name + used, sizeof name - used, "%u", i);
        tensor(&w, name, i + 1, "FLOAT_32\",\"dimensions\":[1,3]");
    }
    put(&w, "%s", "],\"graphOutputs\":[", 0);
    tensor(&w, "logits", NAMES + 1, "FLOAT_32\",\"dimensions\":[1,3]");
    put(&w, "%s", "]}]}", 0);
    result = steps_of(&w);
    free(w.data);
    CHECK_EQ(result, QNNRT_E_MISMATCH);
    CHECK(searched < 4 * (unsigned long long)w.used);
}

/* Names with control bytes or line ends neither control a terminal nor forge lines, in errors or
   in the description of a model. */
static void one_line(void *user, const char *text)
{
    int *bad = (int *)user;
    for (; *text != '\0'; ++text) *bad += (unsigned char)*text < 0x20 || *text == 0x7F || strncmp(text, "\xC2\x9B", 2) == 0;
}

TEST(names_that_steer_terminals)
{
    static const shape shapes[] = {
        { "g\x1b[31m\n", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g\x1b[31m\n", "attention_mask", 0, F32, { 1, 1, 2, 2 }, 0 },
        { "g\x1b[31m\n", "logits", 1, F32, { 1, 2, 5 }, 0 }, { "g\x1b[31m\n", "x\xC2\x9B\x07\x7F\xFF", 1, F32, { 3 }, 0 }
    };
    qnnrt_llm_desc desc;
    qnnrt_llm_role_desc role;
    setup s;
    int bad = 0;
    memset(&desc, 0, sizeof desc);
    memset(&role, 0, sizeof role);
    TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
    if (s.llm == NULL) TEST_SAY(said.text);
    qnnrt_llm_describe(s.llm, one_line, &bad);
    CHECK_EQ(bad, 0);
    role.tensor = "no\x1b[31m\nsuch";
    role.role = QNNRT_LLM_ROLE_MASK;
    desc.roles = &role;
    desc.role_count = 1;
    {
        qnnrt_llm *second;
        CHECK_EQ(qnnrt_llm_open(s.model, &desc, &second, &said), QNNRT_E_NOT_FOUND);
    }
    CHECK_STR(said.text, "no?[31m such");
    TRY(finish(&s));
}

/* A mask of rank 1 is smaller than the values that a step would write to it. */
TEST(masks_of_other_ranks)
{
    static const uint32_t dims[5][4] = { { 3 }, { 12 }, { 1, 3 }, { 2, 1, 1, 12 }, { 1, 1, 1, 12 } };
    unsigned i;
    for (i = 0; i < 5; ++i) {
        shape shapes[] = {
            { "g", "input_ids", 0, I32, { 1, 1 }, 0 }, { "g", "attention_mask", 0, F32, { 0 }, 0 }, { "g", "logits", 1, F32, { 1, 1, 5 }, 0 },
            { "g", "past_key_0_in", 0, F32, { 1, 1, 4, 11 }, 0 }, { "g", "past_value_0_in", 0, F32, { 1, 1, 11, 4 }, 0 },
            { "g", "past_key_0_out", 1, F32, { 1, 1, 4, 1 }, 0 }, { "g", "past_value_0_out", 1, F32, { 1, 1, 1, 4 }, 0 }
        };
        setup s;
        memcpy(shapes[1].dims, dims[i], sizeof dims[i]);
        TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
        CHECK_EQ(s.llm != NULL, i == 4);
        if (i < 4) CHECK(said.code == QNNRT_E_UNSUPPORTED || said.code == QNNRT_E_MISMATCH);
        TRY(finish(&s));
    }
}

/* The error names what a part of a model lacks. */
TEST(parts_of_a_model_are_not_run)
{
    static const shape parts[3][8] = {
        { { "g", "position_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 2 }, 0 }, { "g", "logits", 1, F32, { 1, 2, 5 }, 0 } },
        { { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 2 }, 0 }, { "g", "hidden_states", 1, F32, { 1, 2, 8 }, 0 } },
        { { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "logits", 1, F32, { 1, 2, 5 }, 0 } }
    };
    static const size_t counts[3] = { 3, 3, 2 };
    static const char *const lacks[3] = { "an input for tokens", "an output with logits", "an attention mask" };
    static const qnnrt_llm_role_desc window = { "attention_mask", QNNRT_LLM_ROLE_WINDOW_MASK, 0, 0 };
    static const shape sliding[] = { { "g", "input_ids", 0, I32, { 1, 2 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 2, 2 }, 0 }, { "g", "logits", 1, F32, { 1, 2, 5 }, 0 } };
    qnnrt_llm_desc desc;
    setup s;
    int i, k;
    for (i = 0; i < 3; ++i) {
        TRY(begin(&s, parts[i], counts[i], NULL, 0));
        if (s.llm == NULL) TEST_SAY(said.text);
        for (k = 0; k < KINDS; ++k) {
            CHECK_EQ(s.results[k], QNNRT_E_NOT_FOUND);
            CHECK(s.sessions[k] == NULL);
            CHECK_STR(s.errors[k].text, "\"g\"");
            CHECK_STR(s.errors[k].text, lacks[i]);
            CHECK_STR(s.errors[k].hint, "role table");
        }
        TRY(finish(&s));
    }
    memset(&desc, 0, sizeof desc);
    desc.roles = &window;
    desc.role_count = 1;
    TRY(begin(&s, sliding, 3, &desc, 0));
    for (k = 0; k < KINDS; ++k) {
        CHECK_EQ(s.results[k], QNNRT_E_NOT_FOUND);
        CHECK_STR(s.errors[k].hint, "desc.window");
    }
    TRY(finish(&s));
}

/* Make one of two shards: tokens become rows of a table, rows become logits; other inputs are not
   read. */
static qnnrt *shard_make(qnnrt_backend *backend, int which, int other)
{
    static const float table[48] = { 1 };
    const qnnrt_dtype f32 = QNNRT_DTYPE_F32, odd = other ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
    qnnrt_tensor in, out;
    qnnrt_graph_desc g;
    qnnrt *model = NULL;
    memset(&g, 0, sizeof g);
    g.name = which == 0 ? "g_1_of_2" : "g_2_of_2";
    if (qnnrt_builder_create(backend, NULL, &counter_b, &said) != QNNRT_OK) return NULL;
    qnnrt_builder_graph(counter_b, &g);
    in = which == 0 ? counter_tensor(QNNRT_TENSOR_INPUT, "input_ids", I32, 2, 1, 2, 0, 0)
                    : counter_tensor(QNNRT_TENSOR_INPUT, "hidden_states", f32, 3, 1, 2, 8, 0);
    counter_tensor(QNNRT_TENSOR_INPUT, which == 0 ? "attention_mask" : "attention_bias", which == 0 ? f32 : odd, 4, 1, 1, 2, 2);
    counter_tensor(QNNRT_TENSOR_INPUT, which == 0 ? "position_ids_cos" : "cosines", which == 0 ? f32 : odd, 4, 1, 1, 2, 4);
    counter_tensor(QNNRT_TENSOR_INPUT, which == 0 ? "position_ids_sin" : "sines", f32, 4, 1, 1, 2, 4);
    out = counter_tensor(QNNRT_TENSOR_OUTPUT, which == 0 ? "hidden_states" : "logits", f32, 3, 1, 2, 8, 0);
    if (which == 0) counter_node("Gather", out, counter_constant("table", 6, 8, table), in, "axis", QNNRT_DTYPE_I32, 0, COUNTER_NO);
    else counter_node("Reshape", out, in, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    qnnrt_builder_finish(counter_b, &model, &said);
    return model;
}

/* Shards that use one name for an input share its memory where type and size are equal;
   otherwise each has its own, and all are filled. */
TEST(shards_with_other_names_for_one_input)
{
    static const qnnrt_llm_role_desc roles[2] = { { "cosines", QNNRT_LLM_ROLE_ROPE_COS, 0, 0 }, { "sines", QNNRT_LLM_ROLE_ROPE_SIN, 0, 0 } };
    static const int32_t tokens[2] = { 0, 2 };
    int other;
    for (other = 0; other < 2; ++other) {
        const char *folder = test_tmpdir();
        char path[1200];
        qnnrt_backend_desc backend_desc;
        qnnrt_llm_desc desc;
        qnnrt_desc open_desc;
        setup s;
        int i;
        qnnrt_llm_session *session;
        const qnnrt_llm__run *run;
        qnnrt_llm_batch batch = llm_batch(tokens, 2);
        qnnrt_llm_cache *cache;
        const float *mask, *sines;
        memset(&s, 0, sizeof s);
        backend_desc = test_ref_desc();
        memset(&desc, 0, sizeof desc);
        memset(&open_desc, 0, sizeof open_desc);
        if (qnnrt_backend_open(&backend_desc, &s.backend, &said) != QNNRT_OK) TEST_SAY(said.text);
        for (i = 0; i < 2; ++i) {
            qnnrt *built = shard_make(s.backend, i, other);
            if (built == NULL) TEST_SAY(said.text);
            snprintf(path, sizeof path, "%s/shard_%d_of_2.bin", folder, i + 1);
            if (qnnrt_save(built, 0, path, &said) != QNNRT_OK) TEST_SAY(said.text);
            CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        }
        open_desc.backend = s.backend;
        if (qnnrt_open(folder, &open_desc, &s.model, &said) != QNNRT_OK) TEST_SAY(said.text);
        desc.roles = roles;
        desc.role_count = 2;
        if (qnnrt_llm_open(s.model, &desc, &s.llm, &said) != QNNRT_OK) TEST_SAY(said.text);
        CHECK_EQ(s.llm->graphs[0].inputs[QNNRT_LLM_ROLE_MASK].count, 2);
        CHECK_EQ(s.llm->graphs[0].inputs[QNNRT_LLM_ROLE_ROPE_COS].count, 2);
        if (qnnrt_llm_session_create(&s.llm, 1, NULL, &session, &said) != QNNRT_OK) TEST_SAY(said.text);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        run = &cache->part->runs[0];
        CHECK_EQ(run->mask_count, other ? 2 : 1);
        CHECK_EQ(run->feed_count, other ? 3 : 2);
        CHECK_EQ(cache->part->table_count, other ? 3 : 2);
        CHECK_EQ(run->executes, 2);
        if (qnnrt_llm_eval(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
        CHECK_EQ(qnnrt_llm_argmax(cache, 0), 0);
        mask = (const float *)run->masks[0].data;
        CHECK(mask[0] == 0 && mask[1] == -10000 && mask[2] == 0 && mask[3] == 0);
        sines = (const float *)(const void *)run->feeds[run->feed_count - 1].to;
        CHECK(sines[0] == 0 && sines[4] == (float)sin(1.0) && sines[5] == (float)sin(0.1));
        if (other) {
            const unsigned char *half = (const unsigned char *)run->masks[1].data;
            CHECK(half[0] == 0 && half[2] == 0xE2 && half[3] == 0xF0 && half[4] == 0 && half[6] == 0 && half[7] == 0);
        }
        CHECK_EQ(qnnrt_llm_session_get_info(session).executes, 2);
        qnnrt_llm_session_destroy(session);
        TRY(finish(&s));
    }
}

/* Caches start with the code of 0, which is not a zero byte where the encoding has an offset. */
TEST(caches_begin_with_the_code_of_zero)
{
    static const int32_t tokens[3] = { 0 };
    static const shape shapes[] = {
        { "g", "input_ids", 0, I32, { 1, 1 }, 0 }, { "g", "attention_mask", 0, F32, { 1, 1, 1, 12 }, 0 }, { "g", "logits", 1, F32, { 1, 1, 5 }, 0 },
        { "g", "past_key_0_in", 0, QNNRT_DTYPE_U8Q, { 1, 1, 4, 11 }, 0.5f }, { "g", "past_value_0_in", 0, QNNRT_DTYPE_U8Q, { 1, 1, 11, 4 }, 0.25f },
        { "g", "past_key_0_out", 1, QNNRT_DTYPE_U8Q, { 1, 1, 4, 1 }, 0.5f }, { "g", "past_value_0_out", 1, QNNRT_DTYPE_U8Q, { 1, 1, 1, 4 }, 0.25f }
    };
    setup s;
    int k;
    TRY(begin(&s, shapes, sizeof shapes / sizeof shapes[0], NULL, 0));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache;
        const unsigned char *data;
        size_t row, cell;
        if (s.sessions[k] == NULL) TEST_SAY(s.errors[k].text);
        cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        data = cache->store.data + cache->store.ranges[0];
        for (row = 0; row < 4; ++row)
            for (cell = 0; cell < 11; ++cell) CHECK_EQ(data[row * 11 + cell], 100);
        data = cache->store.data + cache->store.ranges[1];
        for (cell = 0; cell < 44; ++cell) CHECK_EQ(data[cell], 100);
        {
            qnnrt_llm_batch batch = llm_batch(tokens, 3);
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        }
    }
    TRY(finish(&s));
}

/* Graphs with too few names to find roles, and with so many that the search must stop. */
TEST(metadata_that_says_too_little_or_too_much)
{
    enum { LAYERS = 600 };
    words w = { NULL, 0, 0 };
    char name[64];
    unsigned i, side;
    put(&w, "%s", HEAD "{\"graphName\":\"g\",\"graphInputs\":[", 0);
    tensor(&w, "past_key_0_in", 1, "FLOAT_32\",\"dimensions\":[1,4,8]");
    tensor(&w, "past_value_0_in", 2, "FLOAT_32\",\"dimensions\":[1,8,4]");
    put(&w, "%s", "],\"graphOutputs\":[", 0);
    tensor(&w, "past_key_0_out", 3, "FLOAT_32\",\"dimensions\":[1,4,1]");
    tensor(&w, "past_value_0_out", 4, "FLOAT_32\",\"dimensions\":[1,1,4]");
    put(&w, "%s", "]}]}", 0);
    CHECK_EQ(steps_of(&w), QNNRT_E_NOT_FOUND);
    CHECK_STR(said.text, "\"g\"");
    CHECK_STR(said.text, "tokens per call");
    w.used = 0;
    put(&w, "%s", HEAD "{\"graphName\":\"g\",\"graphInputs\":[", 0);
    tensor(&w, "input_ids", 1, "INT_32\",\"dimensions\":[1,1]");
    tensor(&w, "attention_mask", 2, "FLOAT_32\",\"dimensions\":[1,9]");
    for (i = 0; i < LAYERS; ++i)
        for (side = 0; side < 2; ++side) {
            snprintf(name, sizeof name, "past_%s_%u_in", side ? "value" : "key", i);
            tensor(&w, name, 3 + 2 * i + side, "FLOAT_32\",\"dimensions\":[1,4,8]");
        }
    put(&w, "%s", "],\"graphOutputs\":[", 0);
    for (i = 0; i < 2 * LAYERS; ++i) {
        snprintf(name, sizeof name, "output_%u", i);
        tensor(&w, name, 3 + 2 * LAYERS + i, "FLOAT_32\",\"dimensions\":[1,4,1]");
    }
    put(&w, "%s", "]}]}", 0);
    CHECK_EQ(steps_of(&w), QNNRT_E_LIMIT);
    CHECK_STR(said.text, "1200 tensors");
    CHECK_STR(said.hint, "role table");
    CHECK(searched < 2000000);
    free(w.data);
}

TEST_MAIN("llm_misuse")
{
    RUN(metadata_made_to_take_long);
    RUN(names_that_steer_terminals);
    RUN(masks_of_other_ranks);
    RUN(parts_of_a_model_are_not_run);
    RUN(shards_with_other_names_for_one_input);
    RUN(caches_begin_with_the_code_of_zero);
    RUN(metadata_that_says_too_little_or_too_much);
    RUN(accept_after_a_refused_eval);
    RUN(accept_after_a_change);
    RUN(every_call_with_nothing);
    RUN(garbage_in_a_batch);
    RUN(drafts_of_other_sequences);
    RUN(positions_shifted_to_the_end_of_numbers);
    RUN(graphs_without_cells);
    RUN(inputs_that_nobody_fills);
    RUN(inputs_of_every_type);
    RUN(faults_at_every_execute);
    RUN(faults_while_a_session_is_made);
    RUN(closing_in_the_wrong_order);
    RUN(caches_of_another_session);
    RUN(garbage_in_descs);
    RUN(states_that_lie);
    RUN(states_of_no_sequence);
}
