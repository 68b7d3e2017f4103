/* qnnrt_llm.h: the look-up of embeddings on the host. */
#include "qnnrt_llm.h"
#include "test.h"

static qnnrt_error err;

enum { ROWS = 5, WIDTH = 300, N = 3 };

/* A step and the memory of its tensors. */
typedef struct look_up {
    qnnrt_graph_info  step;
    qnnrt_tensor_info in[2], out;
    uint32_t          ids_dims[2], table_dims[2], out_dims[3];
    const void       *inputs[2];
    void             *outputs[1];
    int32_t           ids[N];
    float             values[ROWS * WIDTH];
    unsigned char     table[ROWS * WIDTH * 4], to[N * WIDTH * 4];
} look_up;

static void describe(qnnrt_tensor_info *t, const char *name, qnnrt_dtype dtype, const uint32_t *dims, uint32_t rank)
{
    uint32_t i;
    memset(t, 0, sizeof *t);
    t->name = name;
    t->dtype = dtype;
    t->dims = dims;
    t->rank = rank;
    for (t->count = 1, i = 0; i < rank; ++i) t->count *= dims[i];
    t->bytes = t->count * 4;
    if (dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16 || dtype == QNNRT_DTYPE_U16Q) t->bytes = t->count * 2;
    if (dtype == QNNRT_DTYPE_U8Q) t->bytes = t->count;
    if (dtype == QNNRT_DTYPE_I64) t->bytes = t->count * 8;
    if (dtype == QNNRT_DTYPE_U16Q || dtype == QNNRT_DTYPE_U8Q) {
        t->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t->quant.scale = dtype == QNNRT_DTYPE_U16Q ? 1.0f / 1024 : 1.0f / 8;
        t->quant.offset = dtype == QNNRT_DTYPE_U16Q ? -32768 : -128;
    }
}

/* Describe a look-up, ids first unless `turned`, and fill its table with numbers that all types hold exactly. */
static void make(look_up *l, qnnrt_dtype table, qnnrt_dtype to, int turned)
{
    size_t i;
    memset(l, 0, sizeof *l);
    memset(l->to, 0xAA, sizeof l->to);
    l->ids_dims[0] = l->out_dims[0] = 1;
    l->ids_dims[1] = l->out_dims[1] = N;
    l->table_dims[0] = ROWS;
    l->table_dims[1] = l->out_dims[2] = WIDTH;
    describe(&l->in[turned], "ids", QNNRT_DTYPE_I32, l->ids_dims, 2);
    describe(&l->in[!turned], "table", table, l->table_dims, 2);
    describe(&l->out, "hidden", to, l->out_dims, 3);
    l->step.name = "embedding";
    l->step.inputs = l->in;
    l->step.input_count = 2;
    l->step.outputs = &l->out;
    l->step.output_count = 1;
    l->inputs[turned] = l->ids;
    l->inputs[!turned] = l->table;
    l->outputs[0] = l->to;
    for (i = 0; i < ROWS * WIDTH; ++i) l->values[i] = (float)((int)(i * 7 % 127) - 63) / 8;
    CHECK_EQ(qnnrt_encode_f32(&l->in[!turned], l->values, l->table), QNNRT_OK);
    l->ids[0] = 4;
    l->ids[1] = 0;
    l->ids[2] = 4;
}

static qnnrt_result look(look_up *l) { return qnnrt_llm_embedding(NULL, &l->step, l->inputs, l->outputs, &err); }

/* Check that all bytes of the output are still those of make(). */
static int untouched(const look_up *l)
{
    size_t i;
    for (i = 0; i < sizeof l->to; ++i)
        if (l->to[i] != 0xAA) return 0;
    return 1;
}

TEST(rows_of_every_type_arrive_in_every_type)
{
    static const qnnrt_dtype types[] = { QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, QNNRT_DTYPE_BF16, QNNRT_DTYPE_U16Q,
                                         QNNRT_DTYPE_U8Q };
    static look_up l;
    static float got[N * WIDTH];
    size_t a, b, i;
    for (a = 0; a < sizeof types / sizeof types[0]; ++a)
        for (b = 0; b < sizeof types / sizeof types[0]; ++b) {
            TRY(make(&l, types[a], types[b], (a + b) % 2));
            CHECK_EQ(look(&l), QNNRT_OK);
            CHECK_EQ(qnnrt_decode_f32(&l.out, l.to, got), QNNRT_OK);
            for (i = 0; i < N * WIDTH; ++i)
                CHECK(got[i] == l.values[(size_t)l.ids[i / WIDTH] * WIDTH + i % WIDTH]);
            CHECK(l.out.bytes == sizeof l.to || l.to[l.out.bytes] == 0xAA);
        }
}

/* The conversion is that of qnnrt_write_f32(): rounded half to even, and saturated. */
TEST(quantized_rows_are_rounded_like_other_inputs)
{
    static look_up l;
    static uint16_t codes[ROWS * WIDTH];
    qnnrt_tensor_info all;
    size_t i;
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_U16Q, 0));
    for (i = 0; i < ROWS * WIDTH; ++i) l.values[i] = ((float)(i * 7919 % 1500) - 750) * 0.0511f;
    CHECK_EQ(qnnrt_encode_f32(&l.in[1], l.values, l.table), QNNRT_OK);
    describe(&all, "all", QNNRT_DTYPE_U16Q, l.table_dims, 2);
    CHECK_EQ(qnnrt_encode_f32(&all, l.values, codes), QNNRT_OK);
    CHECK_EQ(look(&l), QNNRT_OK);
    for (i = 0; i < N; ++i)
        CHECK(memcmp(l.to + i * WIDTH * 2, codes + (size_t)l.ids[i] * WIDTH, WIDTH * 2) == 0);
}

TEST(another_scale_is_converted_and_an_equal_one_copied)
{
    static look_up l;
    static float got[N * WIDTH];
    size_t i;
    TRY(make(&l, QNNRT_DTYPE_U16Q, QNNRT_DTYPE_U16Q, 0));
    l.out.quant.scale = 1.0f / 64;
    l.out.quant.offset = -1000;
    CHECK_EQ(look(&l), QNNRT_OK);
    CHECK_EQ(qnnrt_decode_f32(&l.out, l.to, got), QNNRT_OK);
    for (i = 0; i < N * WIDTH; ++i) CHECK(got[i] == l.values[(size_t)l.ids[i / WIDTH] * WIDTH + i % WIDTH]);
    TRY(make(&l, QNNRT_DTYPE_U16Q, QNNRT_DTYPE_U16Q, 0));
    CHECK_EQ(look(&l), QNNRT_OK);
    CHECK(memcmp(l.to, l.table + 4 * WIDTH * 2, WIDTH * 2) == 0);
}

TEST(an_id_outside_the_table_is_named_and_nothing_is_written)
{
    static look_up l;
    int64_t wide[N] = { 1, 2, INT64_C(0x100000001) };
    uint32_t high[N] = { 1, 0xFFFFFFFFu, 2 };
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.ids[2] = ROWS;
    CHECK_EQ(look(&l), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"embedding\"");
    CHECK_STR(err.text, "\"ids\"[2] is 5");
    CHECK_STR(err.text, "0 to 4");
    CHECK_STR(err.text, "\"table\"");
    CHECK(untouched(&l));
    l.ids[2] = 0;
    l.ids[0] = -1;
    CHECK_EQ(look(&l), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"ids\"[0] is -1");
    l.ids[0] = -0x7FFFFFFF - 1;
    CHECK_EQ(look(&l), QNNRT_E_ARG);
    describe(&l.in[0], "ids", QNNRT_DTYPE_I64, l.ids_dims, 2);
    l.inputs[0] = wide;
    CHECK_EQ(look(&l), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"ids\"[2] is 4294967297");
    wide[2] = 3;
    CHECK(untouched(&l));
    CHECK_EQ(look(&l), QNNRT_OK);
    CHECK(memcmp(l.to + 2 * WIDTH * 4, l.table + 3 * WIDTH * 4, WIDTH * 4) == 0);
    describe(&l.in[0], "ids", QNNRT_DTYPE_U32, l.ids_dims, 2);
    l.inputs[0] = high;
    CHECK_EQ(look(&l), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"ids\"[1] is 4294967295");
    CHECK_EQ(qnnrt_llm_embedding(NULL, &l.step, l.inputs, l.outputs, NULL), QNNRT_E_ARG);
}

TEST(tensors_that_do_not_fit_are_refused_with_their_facts)
{
    static look_up l;
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.step.input_count = 1;
    CHECK_EQ(look(&l), QNNRT_E_MISMATCH);
    l.step.input_count = 2;
    l.step.output_count = 0;
    CHECK_EQ(look(&l), QNNRT_E_MISMATCH);
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.out_dims[2] = WIDTH - 1;                          /* another width */
    CHECK_EQ(look(&l), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "299");
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.out.count = (N - 1) * WIDTH;                      /* another number of ids */
    CHECK_EQ(look(&l), QNNRT_E_MISMATCH);
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.in[1].rank = 1;                                   /* a table of one dimension */
    CHECK_EQ(look(&l), QNNRT_E_MISMATCH);
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.in[0].dtype = QNNRT_DTYPE_F32;                    /* no integers */
    CHECK_EQ(look(&l), QNNRT_E_UNSUPPORTED);
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, 0));
    l.in[1].dtype = QNNRT_DTYPE_BOOL8;
    CHECK_EQ(look(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"table\"");
    TRY(make(&l, QNNRT_DTYPE_F32, QNNRT_DTYPE_U16Q, 0));
    l.out.quant.encoding = QNNRT_ENCODING_PER_AXIS;
    CHECK_EQ(look(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"hidden\"");
    CHECK(untouched(&l));
}

TEST_MAIN("llm_embedding")
{
    RUN(rows_of_every_type_arrive_in_every_type);
    RUN(quantized_rows_are_rounded_like_other_inputs);
    RUN(another_scale_is_converted_and_an_equal_one_copied);
    RUN(an_id_outside_the_table_is_named_and_nothing_is_written);
    RUN(tensors_that_do_not_fit_are_refused_with_their_facts);
}
