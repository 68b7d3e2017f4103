/* test_llm_cells.c - rooms >>cells, >>rows and >>state of qnnrt_llm.h through their statics

   Random games against a naive cache (llm_naive.h) cover how operations affect each other; this
   file covers their limits and exact results: addresses, bytes of states, texts of errors. */
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include "llm_naive.h"
#include "test.h"
#include <math.h>

static qnnrt_arena memory;

/* ---- making caches ----------------------------------------------------------------------------- */

typedef struct cache {
    qnnrt_llm__cells cells;
    qnnrt_llm__store store;
    qnnrt_llm__kv    kv[4];
    uint64_t         ranges[4];
    size_t           bytes;
    qnnrt_arena      arena;
} cache;

static void cache_begin(cache *c, uint32_t count, uint32_t stride, uint32_t lead)
{
    memset(c, 0, sizeof(*c));
    if (!qnnrt_llm__cells_make(&c->cells, &c->arena, count)) abort();
    c->store.kv = c->kv;
    c->store.ranges = c->ranges;
    c->store.stride = stride;
    c->store.lead = lead;
}

static void cache_tensor(cache *c, uint32_t outer, uint32_t inner, uint32_t element)
{
    qnnrt_llm__kv *kv = &c->kv[c->store.kv_count];
    kv->role = inner == 1 ? QNNRT_LLM_ROLE_KEY_IN : QNNRT_LLM_ROLE_VALUE_IN;
    kv->outer = outer;
    kv->inner = inner;
    kv->element = element;
    c->ranges[c->store.kv_count++] = c->bytes;
    c->bytes += (size_t)qnnrt_llm__rows_bytes(kv, c->cells.count, 0, c->store.lead);
}

static void cache_memory(cache *c, int garbage)
{
    c->store.data = (unsigned char *)malloc(c->bytes);
    if (c->store.data == NULL) abort();
    memset(c->store.data, garbage, c->bytes);
}

static void cache_end(cache *c)
{
    qnnrt_arena_free(&c->arena);
    free(c->store.data);
    c->store.data = NULL;
}

/* Make keys [2, cells] of 1 byte and values [cells, 3] of 2 bytes. */
static void cache_small(cache *c, uint32_t count, uint32_t stride, uint32_t lead)
{
    cache_begin(c, count, stride, lead);
    cache_tensor(c, 2, 1, 1);
    cache_tensor(c, 1, 3, 2);
    cache_memory(c, 0xEE);
}

static void cache_small_token(cache *c, uint32_t cell, int32_t position, uint64_t sequences, int first)
{
    unsigned char keys[2], values[6];
    int i;
    for (i = 0; i < 2; ++i) keys[i] = (unsigned char)(first + 16 * i);
    for (i = 0; i < 3; ++i) {
        values[2 * i] = (unsigned char)(1 + i);
        values[2 * i + 1] = (unsigned char)(first % 2 * 16 + 0x30);
    }
    qnnrt_llm__cells_set(&c->cells, cell, position, sequences);
    qnnrt_llm__rows_put(&c->store, 0, keys, 1, 0, cell, 1);
    qnnrt_llm__rows_put(&c->store, 1, values, 1, 0, cell, 1);
}

/* Add n cells of sequence 0 at positions 0 ... */
static void fill_cells(qnnrt_llm__cells *cells, uint32_t n)
{
    uint32_t i;
    for (i = 0; i < n; ++i) qnnrt_llm__cells_set(cells, i, (int32_t)i, 1);
}

/* ---- against the naive cache ------------------------------------------------------------------- */

static game played;

TEST(llm_cells_random_games_end_like_those_of_a_naive_cache)
{
    uint32_t seed;
    int i;
    memset(played.moves, 0, sizeof(played.moves));
    for (seed = 1; seed <= 400; ++seed) {
        const char *why = game_play(&played, NULL, 0, seed, 250);
        if (why != NULL) printf("seed %u: %s\n", (unsigned)seed, why);
        CHECK(why == NULL);
    }
    /* Check that every kind of move was made, and that states were both taken and refused. */
    for (i = 0; i <= 12; ++i) CHECK(played.moves[i] > 100);
    for (i = 13; i <= 15; ++i) CHECK(played.moves[i] > 500);
}

/* ---- cells ------------------------------------------------------------------------------------- */

TEST(llm_cells_one_cell_is_full_and_free_again)
{
    qnnrt_llm__cells c;
    uint32_t found[2] = { 77, 77 };
    CHECK(qnnrt_llm__cells_make(&c, &memory, 1));
    CHECK(qnnrt_llm__cells_find(&c, 0, found));
    CHECK(qnnrt_llm__cells_find(&c, 1, found));
    CHECK_EQ(found[0], 0);
    CHECK(!qnnrt_llm__cells_find(&c, 2, found));
    qnnrt_llm__cells_set(&c, 0, 5, 1);
    CHECK_EQ(c.used, 1);
    CHECK_EQ(c.end, 1);
    CHECK(!qnnrt_llm__cells_find(&c, 1, found));
    CHECK(qnnrt_llm__cells_find(&c, 0, found));
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), 5);
    qnnrt_llm__cells_unset(&c, 0);
    CHECK_EQ(c.used, 0);
    CHECK_EQ(c.end, 0);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), -1);
    CHECK_EQ(qnnrt_llm__cells_first(&c, 0), -1);
    CHECK(qnnrt_llm__cells_find(&c, 1, found));
    CHECK_EQ(found[1], 77);
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_find_takes_the_lowest_holes_first)
{
    qnnrt_llm__cells c;
    uint32_t found[8], i;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 10));
    fill_cells(&c, 8);
    qnnrt_llm__cells_remove(&c, 0, 2, 4);
    qnnrt_llm__cells_remove(&c, 0, 6, 7);
    CHECK_EQ(c.used, 5);
    CHECK_EQ(c.end, 8);
    CHECK(qnnrt_llm__cells_find(&c, 5, found));
    {
        static const uint32_t expected[5] = { 2, 3, 6, 8, 9 };
        for (i = 0; i < 5; ++i) CHECK_EQ(found[i], expected[i]);
    }
    CHECK(!qnnrt_llm__cells_find(&c, 6, found));
    CHECK(!qnnrt_llm__cells_find(&c, UINT32_MAX, found));
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_of_all_sequences_belong_to_each)
{
    qnnrt_llm__cells c;
    int s;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 4));
    qnnrt_llm__cells_set(&c, 1, 9, ~(uint64_t)0);
    qnnrt_llm__cells_set(&c, 0, 3, (uint64_t)1 << 63);
    for (s = 0; s < 64; ++s) {
        CHECK_EQ(c.members[s], s == 63 ? 2 : 1);
        CHECK_EQ(qnnrt_llm__cells_last(&c, s), 9);
        CHECK_EQ(qnnrt_llm__cells_first(&c, s), s == 63 ? 3 : 9);
    }
    for (s = 0; s < 63; ++s) qnnrt_llm__cells_remove(&c, s, -1, -1);
    CHECK_EQ(c.used, 2);
    CHECK(c.sequences[1] == (uint64_t)1 << 63);
    qnnrt_llm__cells_remove(&c, 63, 4, -1);
    CHECK_EQ(c.used, 1);
    CHECK_EQ(c.end, 1);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 63), 3);
    CHECK_EQ(c.members[62], 0);
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_negative_ends_mean_zero_and_infinity)
{
    qnnrt_llm__cells c;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 4));
    qnnrt_llm__cells_set(&c, 0, 0, 1);
    qnnrt_llm__cells_set(&c, 1, INT32_MAX - 1, 1);
    qnnrt_llm__cells_set(&c, 2, INT32_MAX, 3);
    qnnrt_llm__cells_remove(&c, 0, 5, 5);                      /* empty ranges */
    qnnrt_llm__cells_remove(&c, 0, 6, 5);
    qnnrt_llm__cells_remove(&c, 0, INT32_MIN, 0);
    CHECK_EQ(c.used, 3);
    /* The end is exclusive: the cell at INT32_MAX stays. */
    qnnrt_llm__cells_remove(&c, 0, 1, INT32_MAX);
    CHECK_EQ(c.used, 2);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), INT32_MAX);
    qnnrt_llm__cells_remove(&c, 0, INT32_MAX, INT32_MIN);      /* and infinity is after the last position */
    CHECK_EQ(c.members[0], 1);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), 0);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 1), INT32_MAX);
    /* A negative number stands for every sequence, or for all positions. */
    qnnrt_llm__cells_remove(&c, -1, -5, -5);
    CHECK_EQ(c.used, 0);
    CHECK_EQ(c.end, 0);
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_copy_shares_and_keep_frees)
{
    qnnrt_llm__cells c;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 8));
    fill_cells(&c, 6);
    qnnrt_llm__cells_copy(&c, 0, 1, 2, 4);
    CHECK_EQ(c.used, 6);
    CHECK_EQ(c.members[1], 2);
    CHECK_EQ(qnnrt_llm__cells_first(&c, 1), 2);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 1), 3);
    qnnrt_llm__cells_copy(&c, 0, 1, 2, 4);                     /* a second copy changes nothing */
    qnnrt_llm__cells_copy(&c, 1, 1, -1, -1);
    CHECK_EQ(c.members[1], 2);
    qnnrt_llm__cells_remove(&c, 0, -1, -1);
    CHECK_EQ(c.used, 2);
    CHECK_EQ(c.end, 4);
    qnnrt_llm__cells_set(&c, 0, 0, 1);
    qnnrt_llm__cells_keep(&c, 1);
    CHECK_EQ(c.used, 2);
    CHECK_EQ(c.members[0], 0);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), -1);
    qnnrt_llm__cells_keep(&c, 5);
    CHECK_EQ(c.used, 0);
    CHECK_EQ(c.end, 0);
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_shift_refuses_an_overflow_and_frees_below_zero)
{
    qnnrt_llm__cells c;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 4));
    qnnrt_llm__cells_set(&c, 0, 4, 1);
    qnnrt_llm__cells_set(&c, 1, 10, 3);
    qnnrt_llm__cells_set(&c, 2, INT32_MAX - 5, 1);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, -1, -1, 6, 0), QNNRT_E_ARG);
    CHECK_EQ(c.positions[0], 4);
    CHECK_EQ(c.positions[1], 10);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, -1, -1, 5, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 0), INT32_MAX);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 1), 15);                /* it shares cell 1 */
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, 0, 100, -10, 0), QNNRT_OK);
    CHECK_EQ(c.used, 2);                                       /* 9 - 10 is negative and removed, 15 - 10 stays */
    CHECK_EQ(qnnrt_llm__cells_first(&c, 0), 5);
    CHECK_EQ(qnnrt_llm__cells_last(&c, 1), 5);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, -1, -1, INT32_MIN, 0), QNNRT_OK);
    CHECK_EQ(c.used, 0);
    CHECK_EQ(c.end, 0);
    CHECK_EQ(c.members[1], 0);
    qnnrt_arena_free(&memory);
}

TEST(llm_cells_rotated_keys_are_not_shifted_unless_nothing_changes)
{
    qnnrt_llm__cells c;
    CHECK(qnnrt_llm__cells_make(&c, &memory, 8));
    fill_cells(&c, 4);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, -1, -1, 1, 1), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, 3, 4, -9, 1), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(c.used, 4);
    CHECK_EQ(c.positions[3], 3);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, -1, -1, 0, 1), QNNRT_OK);
    /* The range has no cells. */
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 0, 4, -1, 7, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_llm__cells_shift(&c, 9, -1, -1, 7, 1), QNNRT_OK);
    CHECK_EQ(c.positions[3], 3);
    qnnrt_arena_free(&memory);
}

static int allocs_left, allocs_live;
static void *few_alloc(void *user, size_t bytes)
{
    (void)user;
    if (allocs_left-- <= 0) return NULL;
    ++allocs_live;
    return malloc(bytes);
}
static void few_free(void *user, void *data) { (void)user; --allocs_live; free(data); }

TEST(llm_cells_without_memory_nothing_is_left)
{
    qnnrt_llm__cells c;
    qnnrt_arena few;
    int i;
    for (i = 0; i < 3; ++i) {
        memset(&few, 0, sizeof(few));
        few.hooks.alloc = few_alloc;
        few.hooks.free = few_free;
        few.chunk = 1;
        allocs_left = i;
        memset(&c, 0xFF, sizeof(c));
        CHECK_EQ(qnnrt_llm__cells_make(&c, &few, 100), i == 2);
        qnnrt_arena_free(&few);
        CHECK_EQ(allocs_live, 0);
    }
}

/* ---- rows -------------------------------------------------------------------------------------- */

static uint64_t bytes_of(uint32_t outer, uint32_t inner, uint32_t element, uint32_t cells, uint32_t ar, uint32_t lead)
{
    qnnrt_llm__kv kv;
    memset(&kv, 0, sizeof(kv));
    kv.outer = outer;
    kv.inner = inner;
    kv.element = element;
    return qnnrt_llm__rows_bytes(&kv, cells, ar, lead);
}

TEST(llm_rows_bytes_of_public_models_and_of_sizes_that_no_memory_has)
{
    const uint32_t most = UINT32_MAX;
    CHECK_EQ(bytes_of(64, 1, 1, 511, 0, 0), 32704);            /* Llama 3.2-1B: a head */
    CHECK_EQ(bytes_of(1, 64, 1, 511, 0, 0), 32704);
    CHECK_EQ(bytes_of(1, 64, 1, 511, 32, 0), 32704 + 32 * 64);
    CHECK_EQ(bytes_of(64, 1, 1, 511, 0, 1), 32704 + 511);
    CHECK_EQ(bytes_of(32, 128, 2, 4095, 128, 1), (33 * 4095 + 128) * 128 * 2);
    CHECK_EQ(bytes_of(most, most, 4, most, most, 1), 0);
    CHECK_EQ(bytes_of(most, most, 1, 1, 0, 0), 0);             /* 2^64 - 2^33 + 1 */
    CHECK_EQ(bytes_of(most, most, 1, 1, 0, most), 0);
    CHECK_EQ(bytes_of(most, 1, 1, most, most, 0), 0);
    CHECK_EQ(bytes_of(1, most, most, 1, 0, 0), 0);
    CHECK_EQ(bytes_of(1, most, 2, 1, 0, 0), SIZE_MAX > UINT32_MAX ? (uint64_t)most * 2 : 0);
    CHECK_EQ(bytes_of(1, most / 4, 2, 1, 0, 0), most / 4 * 2);
    CHECK_EQ(bytes_of(0, 4, 4, 4, 4, 1), 0);
    CHECK_EQ(bytes_of(4, 0, 4, 4, 4, 0), 0);
    CHECK_EQ(bytes_of(4, 4, 4, 0, 4, 0), 0);
}

/* Keys of one head of Llama 3.2-1B, before and after the first decoding step: only the 21 cells
   in use are written, in their new places. */
TEST(llm_rows_arrange_moves_what_is_in_use_and_no_more)
{
    static unsigned char expected[64 * 511];
    static const uint32_t strides[4] = { 480, 511, 480, 21 };
    uint32_t row, cell, i;
    cache c;
    cache_begin(&c, 511, 480, 0);
    cache_tensor(&c, 64, 1, 1);
    cache_memory(&c, 0);
    CHECK_EQ(c.bytes, sizeof(expected));
    for (i = 0; i < sizeof(expected); ++i) expected[i] = (unsigned char)(i * 7 + (i >> 8) * 3);
    memcpy(c.store.data, expected, sizeof(expected));
    for (i = 0; i < 3; ++i) {
        static unsigned char old[64 * 511];
        memcpy(old, expected, sizeof(old));
        for (row = 0; row < 64; ++row)
            for (cell = 0; cell < 21; ++cell)
                expected[row * strides[i + 1] + cell] = old[row * strides[i] + cell];
        qnnrt_llm__rows_arrange(&c.store, strides[i + 1], 21);
        CHECK_EQ(c.store.stride, strides[i + 1]);
        CHECK(memcmp(c.store.data, expected, sizeof(expected)) == 0);
    }
    cache_end(&c);
}

/* Only cells below the end are touched; without such cells, only the stride changes. */
TEST(llm_rows_arrange_of_an_empty_cache_touches_nothing)
{
    cache c;
    size_t i;
    cache_small(&c, 16, 9, 1);
    qnnrt_llm__rows_arrange(&c.store, 16, 0);
    CHECK_EQ(c.store.stride, 16);
    qnnrt_llm__rows_arrange(&c.store, 1, 0);
    qnnrt_llm__rows_arrange(&c.store, 1, 1);
    for (i = 0; i < c.bytes; ++i) CHECK_EQ(c.store.data[i], 0xEE);
    cache_end(&c);
}

/* Shift pointer: the tensor begins `moved` cells after the start of its range, and the cells
   before the window's end are in its last columns, in every row. New rows of a tensor with one
   row are computed there. */
TEST(llm_rows_of_a_shifted_tensor_are_where_the_graph_looks)
{
    cache c;
    unsigned char token[2][6];
    uint32_t moved, cell, row;
    cache_begin(&c, 12, 8, 1);
    cache_tensor(&c, 2, 3, 1);
    c.bytes += 4 * 3;                                          /* 4 more cells for an AR of 4 */
    CHECK_EQ(c.bytes, bytes_of(2, 3, 1, 12, 4, 1));
    cache_memory(&c, 0xEE);
    for (cell = 0; cell < 8; ++cell) {
        for (row = 0; row < 2; ++row) memset(token[row], (int)(1 + cell + 100 * row), 3);
        memcpy(token[0] + 3, token[1], 3);
        qnnrt_llm__rows_put(&c.store, 0, token[0], 1, 0, cell, 1);
    }
    for (moved = 1; moved <= 8; ++moved) {
        const unsigned char *tensor = c.store.data + moved * 3;             /* [2][8][3] */
        for (cell = 0; cell < moved; ++cell) {
            CHECK_EQ(tensor[(cell + 8 - moved) * 3], 1 + cell);
            CHECK_EQ(tensor[(8 + cell + 8 - moved) * 3 + 2], 101 + cell);
        }
    }
    /* The whole tensor, with the window at its limit and the widest stride, lies in the range. */
    CHECK(c.store.data + (12 + 2 * 12) * 3 <= c.store.data + c.bytes);
    cache_end(&c);
}

TEST(llm_rows_fill_repeats_one_element)
{
    static const unsigned char zero[4] = { 0x80, 0x12, 0x34, 0x56 };
    uint32_t element, cells, i;
    for (element = 1; element <= 4; element *= 2)
        for (cells = 1; cells <= 70; ++cells) {
            cache c;
            cache_begin(&c, cells, cells, 0);
            cache_tensor(&c, 1, 1, element);
            cache_tensor(&c, 3, 1, element);
            c.bytes += 5;
            cache_memory(&c, 0xEE);
            qnnrt_llm__rows_fill(&c.store, 1, 3 * cells * element, zero);
            for (i = 0; i < c.bytes; ++i) {
                int in = i >= cells * element && i < 4 * cells * element;
                CHECK_EQ(c.store.data[i], in ? zero[i % element] : 0xEE);
            }
            qnnrt_llm__rows_fill(&c.store, 0, 0, zero);
            CHECK_EQ(c.store.data[0], 0xEE);
            cache_end(&c);
        }
}

/* Copy pieces of the sizes that have their own code, and of the sizes next to them. */
TEST(llm_rows_put_copies_pieces_of_any_size)
{
    uint32_t inner, i, row;
    for (inner = 1; inner <= 140; ++inner) {
        unsigned char out[2 * 3 * 140];
        cache c;
        cache_begin(&c, 4, 4, 0);
        cache_tensor(&c, 2, inner, 1);
        cache_memory(&c, 0xEE);
        for (i = 0; i < 2 * 3 * inner; ++i) out[i] = (unsigned char)(i * 37 + (i >> 8) * 11 + inner);
        qnnrt_llm__rows_put(&c.store, 0, out, 3, 2, 1, 1);
        for (row = 0; row < 2; ++row)
            for (i = 0; i < 4 * inner; ++i)
                CHECK_EQ(c.store.data[row * 4 * inner + i],
                         i / inner == 1 ? out[(row * 3 + 2) * inner + i % inner] : 0xEE);
        cache_end(&c);
    }
}

/* ---- holes -------------------------------------------------------------------------------------- */

TEST(llm_cells_are_defragmented_in_order)
{
    cache c;
    uint32_t lead, i;
    for (lead = 0; lead < 2; ++lead) {
        static const int32_t expected[5] = { 1, 4, 5, 7, 9 };
        unsigned char keys[2 * 5];
        cache_small(&c, 12, 11, lead);
        for (i = 0; i < 11; ++i) cache_small_token(&c, i, (int32_t)i, i % 2 == 0 ? 2 : 1, (int)i);
        qnnrt_llm__cells_copy(&c.cells, 1, 3, 4, 5);
        qnnrt_llm__cells_remove(&c.cells, 1, -1, -1);
        qnnrt_llm__cells_remove(&c.cells, 0, 3, 4);
        CHECK_EQ(c.cells.used, 5);
        CHECK_EQ(c.cells.end, 10);
        qnnrt_llm__defragment(&c.cells, &c.store);
        CHECK_EQ(c.cells.used, 5);
        CHECK_EQ(c.cells.end, 5);
        CHECK_EQ(c.store.stride, 11);
        qnnrt_llm__rows_get(&c.store, 0, keys, 5, 0, 0, 5);
        for (i = 0; i < 5; ++i) {
            CHECK_EQ(c.cells.positions[i], expected[i]);
            CHECK(c.cells.sequences[i] == (uint64_t)(i == 1 ? 8 : 1));
            CHECK_EQ(keys[i], expected[i]);
            CHECK_EQ(keys[5 + i], expected[i] + 16);
        }
        for (; i < 12; ++i) CHECK(c.cells.sequences[i] == 0);
        CHECK_EQ(qnnrt_llm__cells_last(&c.cells, 0), 9);
        CHECK_EQ(c.cells.members[0], 4);
        qnnrt_llm__defragment(&c.cells, &c.store);             /* without holes nothing moves */
        CHECK_EQ(c.cells.end, 5);
        qnnrt_llm__cells_clear(&c.cells);
        qnnrt_llm__defragment(&c.cells, &c.store);
        CHECK_EQ(c.cells.end, 0);
        cache_end(&c);
    }
}

/* ---- turns -------------------------------------------------------------------------------------- */

/* Keys of random values at random positions, in both layouts, for both pairs of values and for heads
   of which only a part is rotated, in float32 and in 16 bits: after random shifts they are those that
   complex numbers and libm give for the sum of the shifts. Nothing else in the memory changes. */
TEST(llm_turns_rotate_keys_as_complex_numbers)
{
    enum { HEADS = 3, HEAD = 8, CELLS = 5 };
    int pairs, straight, codes, part, lead, i, h, c;
    uint32_t random = 7;
    for (pairs = 1; pairs <= 2; ++pairs)
        for (straight = 0; straight < 2; ++straight)
            for (codes = 0; codes < 2; ++codes)
                for (part = 0; part < 2; ++part)
                    for (lead = 0; lead < 2; ++lead) {
                        const uint32_t angles = part ? 3 : HEAD / 2, dims[4] = { 1, HEADS, straight ? CELLS : HEAD, straight ? HEAD : CELLS };
                        double expected[CELLS][HEADS][HEAD];
                        qnnrt_tensor_info tensor;
                        qnnrt_llm_rope rope;
                        qnnrt_llm__kshift kshift;
                        unsigned char *other;
                        int32_t total[CELLS];
                        uint32_t n;
                        cache k;
                        memset(&tensor, 0, sizeof tensor);
                        memset(&rope, 0, sizeof rope);
                        memset(&kshift, 0, sizeof kshift);
                        memset(total, 0, sizeof total);
                        rope.theta = 500;
                        rope.pairs = (qnnrt_llm_rope_pairs)pairs;
                        tensor.name = "keys";
                        tensor.dtype = codes ? QNNRT_DTYPE_U16Q : QNNRT_DTYPE_F32;
                        tensor.rank = 4;
                        tensor.dims = dims;
                        tensor.quant.encoding = codes ? QNNRT_ENCODING_PER_TENSOR : QNNRT_ENCODING_NONE;
                        tensor.quant.scale = codes ? 0.001f : 0;
                        tensor.quant.offset = codes ? -32768 : 0;
                        cache_begin(&k, CELLS + 2, CELLS + 1, (uint32_t)lead);
                        cache_tensor(&k, straight ? HEADS : HEADS * HEAD, straight ? HEAD : 1, codes ? 2 : 4);
                        cache_tensor(&k, 2, 3, 1);
                        k.kv[0].role = QNNRT_LLM_ROLE_KEY_IN;
                        k.kv[1].role = QNNRT_LLM_ROLE_VALUE_IN;
                        k.kv[0].tensor = k.kv[1].tensor = &tensor;
                        cache_memory(&k, 0x5A);
                        CHECK_EQ(qnnrt_llm__kshift_head(&k.kv[0]), HEAD);
                        kshift.head = HEAD;
                        kshift.angles = angles;
                        kshift.cosines = (double *)malloc(angles * sizeof(double));
                        kshift.sines = (double *)malloc(angles * sizeof(double));
                        kshift.values = (float *)malloc(HEADS * HEAD * sizeof(float));
                        kshift.stored = (unsigned char *)malloc(HEADS * HEAD * 4);
                        other = (unsigned char *)malloc(k.bytes);
                        for (c = 0; c < CELLS; ++c) {
                            for (i = 0; i < HEADS * HEAD; ++i) {
                                random = random * 1664525u + 1013904223u;
                                kshift.values[i] = (float)((int)(random >> 16) % 2000 - 1000) / 100;
                                expected[c][i / HEAD][i % HEAD] = kshift.values[i];
                            }
                            CHECK_EQ(qnnrt_llm__kshift_convert(&kshift, &k.kv[0], 1), QNNRT_OK);
                            qnnrt_llm__rows_put(&k.store, 0, kshift.stored, 1, 0, (uint32_t)c, 1);
                        }
                        for (n = 0; n < 20; ++n) {
                            const int32_t by = (int32_t)(random >> 8) % 50 - 25;
                            c = (int)n % CELLS;
                            random = random * 1664525u + 1013904223u;
                            memcpy(other, k.store.data, k.bytes);
                            CHECK_EQ(qnnrt_llm__kshift_begin(&kshift, &rope, by), QNNRT_OK);
                            qnnrt_llm__kshift_cell(&kshift, &rope, &k.store, (uint32_t)c);
                            total[c] += by;
                            /* Other cells keep their bytes. */
                            for (h = 0; h <= CELLS; ++h) {
                                if (h == c) continue;
                                for (i = 0; i < (int)k.kv[0].outer; ++i) {
                                    const size_t piece = qnnrt_llm__rows_piece(&k.kv[0]);
                                    const size_t at = (((size_t)lead + (size_t)i) * k.store.stride + (size_t)h) * piece;
                                    CHECK(memcmp(other + at, k.store.data + at, piece) == 0);
                                }
                            }
                            CHECK(memcmp(other + k.ranges[1], k.store.data + k.ranges[1], k.bytes - k.ranges[1]) == 0);
                        }
                        for (c = 0; c < CELLS; ++c) {
                            qnnrt_llm__rows_get(&k.store, 0, kshift.stored, 1, 0, (uint32_t)c, 1);
                            CHECK_EQ(qnnrt_llm__kshift_convert(&kshift, &k.kv[0], 0), QNNRT_OK);
                            for (h = 0; h < HEADS; ++h)
                                for (i = 0; i < HEAD; ++i) {
                                    const int rotated = i < 2 * (int)angles, half = pairs == 1;
                                    const int pair = half ? i % (int)angles : i / 2, upper = half ? i >= (int)angles : i % 2;
                                    const int low = half ? pair : 2 * pair, high = half ? pair + (int)angles : 2 * pair + 1;
                                    const double angle = total[c] * pow(500, -pair / (double)angles);
                                    const double u = expected[c][h][low], v = expected[c][h][high];
                                    const double should = !rotated ? expected[c][h][i]
                                                          : upper ? u * sin(angle) + v * cos(angle) : u * cos(angle) - v * sin(angle);
                                    CHECK(fabs(kshift.values[h * HEAD + i] - should) < (codes ? 0.004 : 2e-5));
                                }
                        }
                        CHECK_EQ(qnnrt_llm__kshift_begin(&kshift, &rope, 20000000), QNNRT_E_LIMIT);
                        CHECK_EQ(qnnrt_llm__kshift_begin(&kshift, &rope, -20000000), QNNRT_E_LIMIT);
                        free(other);
                        free(kshift.cosines);
                        free(kshift.sines);
                        free(kshift.values);
                        free(kshift.stored);
                        cache_end(&k);
                    }
}

/* ---- states ------------------------------------------------------------------------------------ */

/* A state made by a short program in another language, from the description in the header. */
static const unsigned char state_expected[112] = {
    0x71, 0x6E, 0x6E, 0x72, 0x74, 0x2D, 0x6B, 0x76, 0x01, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE,
    0x70, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x04, 0x03, 0x02, 0x01,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x80, 0x10, 0x11, 0x20, 0x21, 0x01, 0x30, 0x02, 0x30,
    0x03, 0x30, 0x01, 0x40, 0x02, 0x40, 0x03, 0x40, 0xE9, 0x91, 0x2E, 0xA1,
    0x9B, 0xD0, 0x52, 0x16
};
#define FINGERPRINT UINT64_C(0xFEDCBA9876543210)
enum { POSITIONS = 0x02000000 };

/* Make a cache that holds the state's two tokens, with a hole before, between, and after them. */
static void cache_expected(cache *c, uint32_t count, uint32_t stride, uint32_t lead)
{
    cache_small(c, count, stride, lead);
    cache_small_token(c, 1, 7, 1, 0x10);
    cache_small_token(c, 2, 8, 1, 0x55);
    cache_small_token(c, 4, 0x01020304, (uint64_t)1 << 63 | 2, 0x11);
    cache_small_token(c, 5, 9, 1, 0x56);
    qnnrt_llm__cells_remove(&c->cells, 0, 8, -1);
}

static void expect_restored(const cache *c)
{
    unsigned char keys[4], values[12];
    CHECK_EQ(c->cells.used, 2);
    CHECK_EQ(c->cells.end, 2);
    CHECK_EQ(c->cells.positions[0], 7);
    CHECK_EQ(c->cells.positions[1], 0x01020304);
    CHECK_EQ(c->cells.sequences[0], 1);
    CHECK(c->cells.sequences[1] == ((uint64_t)1 << 63 | 2));
    CHECK_EQ(c->cells.members[63], 1);
    CHECK_EQ(qnnrt_llm__cells_last(&c->cells, 1), 0x01020304);
    qnnrt_llm__rows_get(&c->store, 0, keys, 2, 0, 0, 2);
    qnnrt_llm__rows_get(&c->store, 1, values, 2, 0, 0, 2);
    CHECK(memcmp(keys, state_expected + 88, 4) == 0);
    CHECK(memcmp(values, state_expected + 92, 12) == 0);
}

static qnnrt_error error;
static uint32_t places[64];

static qnnrt_result restore(cache *c, const unsigned char *data, size_t bytes)
{
    TEST_JUNK(error);
    error.text[sizeof(error.text) - 1] = '\0';
    return qnnrt_llm__state_restore(&c->cells, &c->store, -1, FINGERPRINT, POSITIONS, places, data, bytes, &error);
}

TEST(llm_state_has_the_bytes_that_the_header_describes)
{
    uint32_t lead;
    for (lead = 0; lead < 2; ++lead) {
        unsigned char data[112];
        cache c, to;
        cache_expected(&c, 9, 6 + lead, lead);
        CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, UINT64_MAX), sizeof(data));
        qnnrt_llm__state_save(&c.cells, &c.store, UINT64_MAX, FINGERPRINT, data);
        CHECK(memcmp(data, state_expected, sizeof(data)) == 0);
        cache_small(&to, 5, 3, !lead);
        CHECK_EQ(restore(&to, data, sizeof(data)), QNNRT_OK);
        CHECK_EQ(to.store.stride, 3);
        TRY(expect_restored(&to));
        cache_end(&to);
        cache_end(&c);
    }
}

TEST(llm_state_checksum_is_the_described_one)
{
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"
                               "0123456789abcdefghijklmnopqrstuvwxyz";
    const unsigned char *data = (const unsigned char *)text;
    CHECK(qnnrt_llm__state_sum(data, 0) == UINT64_C(0xC2782E100BDC7FFC));
    CHECK(qnnrt_llm__state_sum((const unsigned char *)"a", 1) == UINT64_C(0x9177A2B4C928DCFD));
    CHECK(qnnrt_llm__state_sum(data, 32) == UINT64_C(0x0994A1650181E87F));
    CHECK(qnnrt_llm__state_sum(data, 108) == UINT64_C(0x81390718BD3164EE));
}

/* Make a copy that ends at the end of its memory, so that a read past it is detected. */
static unsigned char *state_copy(size_t bytes)
{
    unsigned char *data = (unsigned char *)malloc(bytes > 0 ? bytes : 1);
    if (data == NULL) abort();
    memcpy(data, state_expected, bytes);
    return data;
}

static void state_mend(unsigned char *data, size_t bytes)
{
    uint64_t sum = naive_sum(data, bytes - 8);
    size_t i;
    for (i = 0; i < 8; ++i) data[bytes - 8 + i] = (unsigned char)(sum >> 8 * i);
}

/* Check that a state is refused and that the cache, its memory included, does not change. */
static void expect_refused(cache *c, const unsigned char *data, size_t bytes, qnnrt_result result, const char *text)
{
    qnnrt_llm__cells cells = c->cells;
    qnnrt_llm__store store = c->store;
    unsigned char *stored = (unsigned char *)malloc(c->bytes), before[256], after[256];
    int same;
    CHECK(stored != NULL && qnnrt_llm__state_bytes(&c->cells, &c->store, UINT64_MAX) <= sizeof(before));
    memcpy(stored, c->store.data, c->bytes);
    memset(before, 0, sizeof(before));
    memset(after, 0, sizeof(after));
    qnnrt_llm__state_save(&c->cells, &c->store, UINT64_MAX, 1, before);
    CHECK_EQ(restore(c, data, bytes), result);
    CHECK_EQ(error.code, result);
    CHECK_STR(error.text, text);
    qnnrt_llm__state_save(&c->cells, &c->store, UINT64_MAX, 1, after);
    same = memcmp(stored, c->store.data, c->bytes) == 0;
    free(stored);
    CHECK(same);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
    CHECK(memcmp(&cells, &c->cells, sizeof(cells)) == 0);
    CHECK(memcmp(&store, &c->store, sizeof(store)) == 0);
}

TEST(llm_state_with_any_bit_flipped_is_refused)
{
    size_t bit;
    cache c;
    cache_small(&c, 9, 9, 0);
    cache_small_token(&c, 3, 1, 1, 0x42);
    for (bit = 0; bit < sizeof(state_expected) * 8; ++bit) {
        unsigned char *data = state_copy(sizeof(state_expected));
        data[bit / 8] = (unsigned char)(data[bit / 8] ^ 1 << bit % 8);
        expect_refused(&c, data, sizeof(state_expected), QNNRT_E_FORMAT, "state");
        free(data);
        if (test_state.state != TEST_RUNNING) { printf("bit %u\n", (unsigned)bit); return; }
    }
    cache_end(&c);
}

/* The checksum is corrected as well: either the state is refused, or it is another valid state,
   with other keys. */
TEST(llm_state_with_any_bit_flipped_on_purpose_is_refused_or_whole)
{
    size_t bit;
    for (bit = 0; bit < (sizeof(state_expected) - 8) * 8; ++bit) {
        const size_t at = bit / 8;
        unsigned char *data = state_copy(sizeof(state_expected)), again[112];
        qnnrt_result result;
        cache c;
        cache_small(&c, 9, 9, 1);
        data[at] = (unsigned char)(data[at] ^ 1 << bit % 8);
        state_mend(data, sizeof(state_expected));
        result = restore(&c, data, sizeof(state_expected));
        if (result == QNNRT_OK) {
            CHECK(at >= 64);
            CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, UINT64_MAX), sizeof(again));
            qnnrt_llm__state_save(&c.cells, &c.store, UINT64_MAX, FINGERPRINT, again);
            CHECK(memcmp(again, data, sizeof(again)) == 0);
        } else {
            CHECK(at < 88);
            CHECK_EQ(c.cells.used, 0);
        }
        free(data);
        cache_end(&c);
    }
}

TEST(llm_state_cut_short_at_every_byte_is_refused)
{
    size_t bytes;
    int mend;
    cache c;
    cache_small(&c, 9, 9, 0);
    cache_small_token(&c, 3, 1, 1, 0x42);
    for (bytes = 0; bytes < sizeof(state_expected); ++bytes)
        for (mend = 0; mend < 2; ++mend) {
            unsigned char *data = state_copy(bytes);
            if (mend && bytes >= 48) { data[24] = (unsigned char)bytes; state_mend(data, bytes); }
            expect_refused(&c, data, bytes, QNNRT_E_FORMAT, "state");
            free(data);
            if (test_state.state != TEST_RUNNING) return;
        }
    cache_end(&c);
}

TEST(llm_state_refusals_have_names)
{
    static const struct { int at; unsigned char value; qnnrt_result result; const char *text; } cases[] = {
        {   0, 'Q',  QNNRT_E_FORMAT,   "112 bytes" },
        {   8, 2,    QNNRT_E_FORMAT,   "state: version 2, expected 1" },
        {  11, 1,    QNNRT_E_FORMAT,   "state: version 16777217, expected 1" },
        {  24, 111,  QNNRT_E_FORMAT,   "state: 112 bytes, expected 111" },
        {  31, 0x80, QNNRT_E_FORMAT,   "state: 112 bytes, expected 9223372036854775920" },
        {  16, 0x11, QNNRT_E_MISMATCH, "fingerprint fedcba9876543211 of another model or adapter, expected fedcba9876543210" },
        {  36, 3,    QNNRT_E_MISMATCH, "state: 3 tensors of keys and values, expected 2" },
        {  12, 10,   QNNRT_E_LIMIT,    "state: 10 cells, expected at most 9" },
        {  15, 0xFF, QNNRT_E_LIMIT,    "state: 4278190082 cells, expected at most 9" },
        {  12, 3,    QNNRT_E_FORMAT,   "state: 112 bytes are the wrong size for 3 cells" },
        {  32, 1,    QNNRT_E_FORMAT,   "state: 112 bytes are the wrong size for 2 cells" },
        {  40, 3,    QNNRT_E_MISMATCH, "tensor 0 of keys and values" },
        {  56, 4,    QNNRT_E_MISMATCH, "tensor 1 of keys and values" },
        {  60, 1,    QNNRT_E_MISMATCH, "tensor 1 of keys and values" },
        {  67, 0x80, QNNRT_E_FORMAT,   "state: cell 0 has a negative position" },
        {  71, 0x02, QNNRT_E_LIMIT,    "state: cell 1 has position 33686276, expected below 33554432" },
        {  72, 0,    QNNRT_E_FORMAT,   "state: cell 0 has no sequence" }
    };
    size_t i;
    cache c;
    cache_small(&c, 9, 9, 0);
    cache_small_token(&c, 3, 1, 1, 0x42);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        unsigned char *data = state_copy(sizeof(state_expected));
        data[cases[i].at] = cases[i].value;
        state_mend(data, sizeof(state_expected));
        expect_refused(&c, data, sizeof(state_expected), cases[i].result, cases[i].text);
        free(data);
        if (test_state.state != TEST_RUNNING) return;
    }
    {
        unsigned char *data = state_copy(sizeof(state_expected));
        data[104] ^= 1;
        expect_refused(&c, data, sizeof(state_expected), QNNRT_E_FORMAT, "checksum");
        data[104] ^= 1;
        CHECK_EQ(qnnrt_llm__state_restore(&c.cells, &c.store, -1, FINGERPRINT, 0x01020304, places, data,
                                          sizeof(state_expected), NULL), QNNRT_E_LIMIT);
        CHECK_EQ(qnnrt_llm__state_restore(&c.cells, &c.store, -1, FINGERPRINT, 0x01020305, places, data,
                                          sizeof(state_expected), NULL), QNNRT_OK);
        free(data);
    }
    TRY(expect_restored(&c));
    cache_end(&c);
}

/* Load a full cache of the decoding graph into one with the layout that the prompt graph left. */
TEST(llm_state_with_more_cells_than_a_row_has_makes_the_rows_longer)
{
    unsigned char *data;
    size_t bytes;
    uint32_t i;
    cache c, to;
    cache_small(&c, 15, 15, 0);
    for (i = 0; i < 15; ++i) cache_small_token(&c, i, (int32_t)i, 1, (int)i);
    bytes = qnnrt_llm__state_bytes(&c.cells, &c.store, UINT64_MAX);
    data = (unsigned char *)malloc(bytes);
    CHECK(data != NULL);
    qnnrt_llm__state_save(&c.cells, &c.store, UINT64_MAX, FINGERPRINT, data);
    cache_small(&to, 16, 12, 1);
    CHECK_EQ(restore(&to, data, bytes), QNNRT_OK);
    CHECK_EQ(to.store.stride, 16);
    for (i = 0; i < 15; ++i) {
        unsigned char keys[2];
        qnnrt_llm__rows_get(&to.store, 0, keys, 1, 0, i, 1);
        CHECK_EQ(keys[0], i);
        CHECK_EQ(keys[1], i + 16);
    }
    cache_end(&to);
    cache_small(&to, 14, 14, 0);
    CHECK_EQ(restore(&to, data, bytes), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_llm__state_copy(&to.cells, &to.store, &c.cells, &c.store, &error), QNNRT_E_LIMIT);
    CHECK_STR(error.text, "cache: 15 cells, expected at most 14");
    CHECK_EQ(to.cells.used, 0);
    cache_end(&to);
    cache_end(&c);
    free(data);
}

/* A state of one sequence is a state with the cells of this sequence and its bit alone: here the
   same 112 bytes, except for the bits. */
TEST(llm_state_of_one_sequence_leaves_the_others_as_they_are)
{
    unsigned char data[132], other[132], expected[132], before[132];
    cache c, to;
    cache_expected(&c, 9, 9, 0);
    CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, 1), 92);
    CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, (uint64_t)1 << 63), 92);
    CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, 4), 72);
    qnnrt_llm__state_save(&c.cells, &c.store, (uint64_t)1 << 63, FINGERPRINT, data);
    CHECK_EQ(naive_number(data + 12, 4), 1);
    CHECK_EQ(naive_number(data + 64, 4), 0x01020304);
    CHECK(naive_number(data + 68, 8) == (uint64_t)1 << 63);
    CHECK(data[76] == 0x11 && data[77] == 0x21 && data[79] == 0x40);

    /* Into sequence 1 of the same cache, which shares its only cell with sequence 63: that one keeps
       it, sequence 1 gets the lowest free cell. */
    CHECK_EQ(qnnrt_llm__state_restore(&c.cells, &c.store, 1, FINGERPRINT, POSITIONS, places, data, 92, &error), QNNRT_OK);
    CHECK_EQ(c.cells.used, 3);
    CHECK(c.cells.sequences[0] == 2 && c.cells.positions[0] == 0x01020304);
    CHECK(c.cells.sequences[1] == 1 && c.cells.sequences[4] == (uint64_t)1 << 63);
    qnnrt_llm__state_save(&c.cells, &c.store, 2, FINGERPRINT, other);
    memcpy(expected, data, 92);
    memset(expected + 68, 0, 8);
    expected[68] = 2;
    state_mend(expected, 92);
    CHECK(memcmp(other, expected, 92) == 0);
    cache_end(&c);

    /* Into a full cache: only the cells of the sequence itself make room. Refusals change nothing. */
    cache_small(&to, 3, 3, 1);
    cache_small_token(&to, 0, 0, 1, 0x40);
    cache_small_token(&to, 1, 1, 3, 0x41);
    cache_small_token(&to, 2, 2, 1, 0x42);
    qnnrt_llm__state_save(&to.cells, &to.store, UINT64_MAX, 1, before);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 1, FINGERPRINT, POSITIONS, places, data, 92, &error), QNNRT_E_LIMIT);
    CHECK_STR(error.text, "state: 1 cells, expected at most 0: the cache has 3, and other sequences use 3");
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 5, FINGERPRINT, POSITIONS, places, data, 92, &error), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT, 0x01020304, places, data, 92, &error), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT + 1, POSITIONS, places, data, 92, &error), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT, POSITIONS, places, state_expected, 112, &error), QNNRT_E_MISMATCH);
    CHECK_STR(error.text, "state: cell 1 shows that it holds several sequences, expected one");
    memset(data + 68, 0, 8);
    data[68] = 5;
    state_mend(data, 92);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT, POSITIONS, places, data, 92, &error), QNNRT_E_MISMATCH);
    CHECK_STR(error.text, "state: cell 0 shows");
    qnnrt_llm__state_save(&to.cells, &to.store, UINT64_MAX, 1, other);
    CHECK(memcmp(before, other, 132) == 0);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT, POSITIONS, places, expected, 92, &error), QNNRT_OK);
    CHECK_EQ(to.cells.used, 2);
    CHECK(to.cells.sequences[0] == 1 && to.cells.sequences[1] == 2 && to.cells.sequences[2] == 0);
    CHECK(to.cells.positions[0] == 0x01020304 && to.cells.last[1] == 1);

    /* The state of an empty sequence empties a sequence. */
    qnnrt_llm__state_save(&to.cells, &to.store, 4, FINGERPRINT, data);
    CHECK_EQ(qnnrt_llm__state_restore(&to.cells, &to.store, 0, FINGERPRINT, POSITIONS, places, data, 72, &error), QNNRT_OK);
    CHECK_EQ(to.cells.used, 1);
    CHECK_EQ(to.cells.members[1], 1);
    cache_end(&to);
}

TEST(llm_state_of_an_empty_cache_empties)
{
    unsigned char data[72];
    cache c, to;
    cache_small(&c, 4, 2, 0);
    CHECK_EQ(qnnrt_llm__state_bytes(&c.cells, &c.store, UINT64_MAX), sizeof(data));
    qnnrt_llm__state_save(&c.cells, &c.store, UINT64_MAX, FINGERPRINT, data);
    cache_expected(&to, 9, 9, 1);
    CHECK_EQ(restore(&to, data, sizeof(data)), QNNRT_OK);
    CHECK_EQ(to.cells.used, 0);
    CHECK_EQ(to.cells.end, 0);
    CHECK_EQ(qnnrt_llm__cells_last(&to.cells, 63), -1);
    cache_end(&to);
    cache_end(&c);
}

TEST(llm_state_too_large_for_any_memory_has_no_size)
{
    qnnrt_llm__kv kv[4];
    qnnrt_llm__store store;
    int k;
    memset(kv, 0, sizeof(kv));
    memset(&store, 0, sizeof(store));
    for (k = 0; k < 4; ++k) {
        kv[k].outer = UINT32_MAX;
        kv[k].inner = kv[k].element = 1;
    }
    store.kv = kv;
    store.kv_count = 1;
    CHECK(qnnrt_llm__state_size(&store, 1u << 30) ==
          (SIZE_MAX > UINT32_MAX ? UINT64_C(0xFFFFFFFF) * (1u << 30) + 48 + 12 + 12 * UINT64_C(1073741824) : 0));
    CHECK_EQ(qnnrt_llm__state_size(&store, UINT32_MAX), 0);
    /* The sizes of two tensors have a sum that is too large. */
    store.kv_count = 2;
    CHECK((qnnrt_llm__state_size(&store, 1u << 29) != 0) == (SIZE_MAX > UINT32_MAX));
    CHECK_EQ(qnnrt_llm__state_size(&store, 1u << 30), 0);
    /* The sizes of four have a sum slightly above 2^64. */
    store.kv_count = 4;
    CHECK_EQ(qnnrt_llm__state_size(&store, 1u << 30), 0);
    kv[1].inner = UINT32_MAX;
    CHECK_EQ(qnnrt_llm__state_size(&store, 2), 0);
}

TEST(llm_errors_without_anyone_to_tell_are_fine)
{
    CHECK_EQ(qnnrt_llm__fail_memory(NULL, "cells"), QNNRT_E_MEMORY);
    CHECK_EQ(qnnrt_llm__fail_memory(&error, "cells"), QNNRT_E_MEMORY);
    CHECK_STR(error.text, "memory for cells");
    qnnrt_error_clear(NULL);
    qnnrt_error_clear(&error);
    CHECK(error.code == QNNRT_OK && error.text[0] == '\0');
}

TEST_MAIN("llm_cells")
{
    RUN(llm_cells_random_games_end_like_those_of_a_naive_cache);
    RUN(llm_cells_one_cell_is_full_and_free_again);
    RUN(llm_cells_find_takes_the_lowest_holes_first);
    RUN(llm_cells_of_all_sequences_belong_to_each);
    RUN(llm_cells_negative_ends_mean_zero_and_infinity);
    RUN(llm_cells_copy_shares_and_keep_frees);
    RUN(llm_cells_shift_refuses_an_overflow_and_frees_below_zero);
    RUN(llm_cells_rotated_keys_are_not_shifted_unless_nothing_changes);
    RUN(llm_cells_without_memory_nothing_is_left);
    RUN(llm_rows_bytes_of_public_models_and_of_sizes_that_no_memory_has);
    RUN(llm_rows_arrange_moves_what_is_in_use_and_no_more);
    RUN(llm_rows_arrange_of_an_empty_cache_touches_nothing);
    RUN(llm_rows_of_a_shifted_tensor_are_where_the_graph_looks);
    RUN(llm_rows_fill_repeats_one_element);
    RUN(llm_rows_put_copies_pieces_of_any_size);
    RUN(llm_cells_are_defragmented_in_order);
    RUN(llm_turns_rotate_keys_as_complex_numbers);
    RUN(llm_state_has_the_bytes_that_the_header_describes);
    RUN(llm_state_checksum_is_the_described_one);
    RUN(llm_state_with_any_bit_flipped_is_refused);
    RUN(llm_state_with_any_bit_flipped_on_purpose_is_refused_or_whole);
    RUN(llm_state_cut_short_at_every_byte_is_refused);
    RUN(llm_state_refusals_have_names);
    RUN(llm_state_with_more_cells_than_a_row_has_makes_the_rows_longer);
    RUN(llm_state_of_one_sequence_leaves_the_others_as_they_are);
    RUN(llm_state_of_an_empty_cache_empties);
    RUN(llm_state_too_large_for_any_memory_has_no_size);
    RUN(llm_errors_without_anyone_to_tell_are_fine);
}
