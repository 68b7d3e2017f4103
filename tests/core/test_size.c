/* test_size.c - rooms >>size >>mem >>err >>log through their private functions: limits that public
   calls do not reach */
#define QNNRT_IMPLEMENTATION
#include "../../qnnrt.h"
#include "test.h"

TEST(size_add_and_mul_refuse_what_does_not_fit)
{
    uint64_t out = 7;
    CHECK(qnnrt__size_add(UINT64_MAX - 1, 1, &out) && out == UINT64_MAX);
    CHECK(!qnnrt__size_add(UINT64_MAX, 1, &out) && out == 0);
    CHECK(qnnrt__size_mul(UINT32_MAX, UINT32_MAX, &out) && out == (uint64_t)UINT32_MAX * UINT32_MAX);
    CHECK(qnnrt__size_mul(0, UINT64_MAX, &out) && out == 0);
    CHECK(qnnrt__size_mul(UINT64_MAX, 0, &out) && out == 0);
    CHECK(qnnrt__size_mul(UINT64_MAX / 3, 3, &out) && out == UINT64_MAX / 3 * 3);
    CHECK(!qnnrt__size_mul(UINT64_MAX / 3 + 1, 3, &out) && out == 0);
}

TEST(size_align_rounds_up_and_refuses_overflow)
{
    uint64_t out = 7;
    CHECK(qnnrt__size_align(0, 16, &out) && out == 0);
    CHECK(qnnrt__size_align(1, 16, &out) && out == 16);
    CHECK(qnnrt__size_align(16, 16, &out) && out == 16);
    CHECK(qnnrt__size_align(5, 1, &out) && out == 5);
    CHECK(qnnrt__size_align(UINT64_MAX - 15, 16, &out) && out == UINT64_MAX - 15);
    CHECK(!qnnrt__size_align(UINT64_MAX - 14, 16, &out) && out == 0);
}

TEST(size_tells_powers_of_two_and_ranges)
{
    CHECK(!qnnrt__size_power_of_two(0));
    CHECK(qnnrt__size_power_of_two(1) && qnnrt__size_power_of_two((uint64_t)1 << 63));
    CHECK(!qnnrt__size_power_of_two(3) && !qnnrt__size_power_of_two(UINT64_MAX));
    CHECK(qnnrt__size_within(0, 0, 0) && qnnrt__size_within(10, 0, 10) && qnnrt__size_within(3, 7, 10));
    CHECK(!qnnrt__size_within(3, 8, 10) && !qnnrt__size_within(11, 0, 10) && !qnnrt__size_within(UINT64_MAX, 2, 10));
}

static int order(const void *a, const void *b) { return strcmp((const char *)a, (const char *)b); }

TEST(sort_orders_every_count)
{
    static const char *const words[] = { "m", "c", "x", "a", "c", "z", "b", "y", "a", "k", "q" };
    const void *items[sizeof(words) / sizeof(words[0])];
    size_t count, i;
    for (count = 0; count <= sizeof(words) / sizeof(words[0]); ++count) {
        for (i = 0; i < count; ++i) items[i] = words[i];
        qnnrt_sort(items, count, order);
        for (i = 1; i < count; ++i) CHECK(order(items[i - 1], items[i]) <= 0);
    }
}

static int alive;

static void *count_alloc(void *user, size_t bytes)
{
    void *data = bytes < 10000000 ? malloc(bytes) : NULL;
    (void)user;
    if (data != NULL) { memset(data, 0xA5, bytes); ++alive; }
    return data;
}

static void count_free(void *user, void *data)
{
    (void)user;
    --alive;
    free(data);
}

static void arena_begin(qnnrt__arena *arena)
{
    alive = 0;
    memset(arena, 0, sizeof(*arena));
    arena->hooks.alloc = count_alloc;
    arena->hooks.free = count_free;
}

TEST(arenas_refuse_sizes_that_do_not_fit)
{
    qnnrt__arena arena;
    size_t room = 4;
    void *items;
    arena_begin(&arena);
    CHECK(qnnrt__mem_raw(&arena.hooks, (uint64_t)SIZE_MAX / 2 + 1) == NULL);
    /* The product exceeds 64 bits. */
    CHECK(qnnrt__arena_alloc(&arena, UINT64_MAX, 2) == NULL);
    /* Too large once it is rounded up, or has its head. */
    CHECK(qnnrt__arena_alloc(&arena, UINT64_MAX, 1) == NULL);
    /* Too large with its head. */
    CHECK(qnnrt__arena_alloc(&arena, UINT64_MAX - 31, 1) == NULL);
    CHECK(qnnrt__arena_alloc(&arena, (uint64_t)SIZE_MAX / 2, 1) == NULL);
    CHECK(arena.chunks == NULL);
    items = qnnrt__arena_alloc(&arena, room, 8);
    CHECK(items != NULL);
    CHECK(qnnrt__arena_grow(&arena, items, 4, 8, 4, &room) == items && room == 4);
    CHECK(qnnrt__arena_grow(&arena, items, 4, 8, UINT64_MAX, &room) == NULL && room == 4);
    CHECK(qnnrt__arena_grow(&arena, items, 4, 8, 5, &room) != NULL && room == 8);
    CHECK(qnnrt__arena_grow(&arena, items, 4, 8, 100, &room) != NULL && room == 100);
    qnnrt_arena_free(&arena);
    CHECK_EQ(alive, 0);
}

TEST(arenas_take_a_large_block_apart_and_keep_their_chunk)
{
    qnnrt__arena arena;
    qnnrt__arena_chunk *chunk;
    char *text;
    arena_begin(&arena);
    CHECK(qnnrt_arena_text(&arena, "first", 5) != NULL);
    chunk = arena.chunks;
    text = qnnrt_arena_text(&arena, "second", 6);
    CHECK(text != NULL && strcmp(text, "second") == 0);
    if (QNNRT__ARENA_CHUNK != 0) {
        /* A large block gets a chunk of its own, and the other one stays in use. */
        CHECK(qnnrt__arena_alloc(&arena, 100000, 1) != NULL);
        CHECK(arena.chunks == chunk && chunk->next != NULL);
        CHECK_EQ(alive, 2);
        /* What does not fit into the rest begins a new one. */
        CHECK(qnnrt__arena_alloc(&arena, (uint64_t)QNNRT__ARENA_CHUNK - 16, 1) != NULL);
        CHECK(arena.chunks != chunk);
        CHECK_EQ(alive, 3);
    }
    qnnrt_arena_free(&arena);
    CHECK_EQ(alive, 0);
}

TEST(error_formats_are_those_of_printf)
{
    qnnrt_error err;
    char long_text[1200];
    size_t i;
    TEST_JUNK(err);
    CHECK_EQ(QNNRT__FAIL(&err, QNNRT_E_ARG, "%s|%5d|%-4u|%x|%llu|%g|100%%", "a\nb\033", -3, 7u, 0xBEEFu,
                         (unsigned long long)UINT64_MAX, 0.5), QNNRT_E_ARG);
    CHECK(strcmp(err.text, "a b?|   -3|7   |beef|18446744073709551615|0.5|100%") == 0);
    CHECK(err.hint[0] == '\0' && err.vendor_code == 0);
    CHECK_EQ(QNNRT__FAIL(NULL, QNNRT_E_IO, "%s", "x"), QNNRT_E_IO);
    CHECK_EQ(QNNRT__HINT(NULL, QNNRT_E_IO, "%s", "x"), QNNRT_E_IO);
    qnnrt_error_add(NULL, "%s", "x");
    qnnrt__err_text(NULL, "x", 1);
    qnnrt_error_clear(NULL);
    CHECK_EQ(QNNRT__HINT(&err, QNNRT_E_ARG, "Do %s.", "this"), QNNRT_E_ARG);
    /* The first hint stays. */
    CHECK_EQ(QNNRT__HINT(&err, QNNRT_E_ARG, "Do %s.", "that"), QNNRT_E_ARG);
    CHECK(strcmp(err.hint, "Do this.") == 0);
    /* A text that does not fit is cut between two characters of two bytes. */
    for (i = 0; i + 2 < sizeof(long_text); i += 2) memcpy(long_text + i, "\xC3\xA9", 2);
    long_text[i] = '\0';
    CHECK_EQ(QNNRT__FAIL(&err, QNNRT_E_ARG, "%s%s", long_text, long_text), QNNRT_E_ARG);
    CHECK_EQ(strlen(err.text), sizeof(err.text) - 2);
    qnnrt__err_text(&err, long_text, 2);
    CHECK_EQ(strlen(err.text), sizeof(err.text) - 2);
    CHECK_EQ(QNNRT__HINT(&err, QNNRT_E_ARG, "%s", long_text), QNNRT_E_ARG);
    CHECK_EQ(strlen(err.hint), sizeof(err.hint) - 2);
}

TEST(each_result_that_has_a_general_hint_gets_it)
{
    static const struct { qnnrt_result result; int hinted; } cases[] = {
        { QNNRT_OK, 0 }, { QNNRT_E_ARG, 0 }, { QNNRT_E_IO, 1 }, { QNNRT_E_FORMAT, 1 }, { QNNRT_E_LIMIT, 1 },
        { QNNRT_E_MISMATCH, 1 }, { QNNRT_E_MEMORY, 1 }, { QNNRT_E_STATE, 0 }
    };
    qnnrt_error err;
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        QNNRT__FAIL(&err, cases[i].result, "x");
        CHECK_EQ(qnnrt__hint_general(&err, cases[i].result), cases[i].result);
        CHECK_EQ(err.hint[0] != '\0', cases[i].hinted);
        CHECK(TEST_TOLD(err)[0] == 'x');
    }
}

static struct { unsigned lines; qnnrt_log_level level; char text[1200]; } heard;

static void hear(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    (void)user;
    (void)part;
    (void)code;
    ++heard.lines;
    heard.level = level;
    snprintf(heard.text, sizeof(heard.text), "%s", text);
}

static void log_line(int slot, uint32_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    qnnrt__log_callbacks[slot](format, level, 0, args);
    va_end(args);
}

static qnnrt__log_book book;

TEST(log_lines_of_odd_levels_are_taken)
{
    qnnrt_hooks hooks;
    qnnrt__log_part part;
    uint32_t mark;
    int slot;
    memset(&hooks, 0, sizeof(hooks));
    memset(&heard, 0, sizeof(heard));
    hooks.log = hear;
    memset(&book, 0, sizeof(book));
    slot = qnnrt__log_open(&book, &hooks, QNNRT_LOG_DEBUG);
    CHECK(slot >= 0);
    mark = qnnrt__log_mark(slot);
    /* Level 0 is not valid: it becomes a warning. */
    log_line(slot, 0, "  no level %d\r\n\n", 1);
    CHECK(heard.lines == 1 && heard.level == QNNRT_LOG_WARN && strcmp(heard.text, "no level 1") == 0);
    /* A level above all known ones becomes the least important one. */
    log_line(slot, 77, "above all %d", 2);
    CHECK(heard.lines == 2 && heard.level == QNNRT_LOG_DEBUG);
    log_line(slot, 1, NULL);
    CHECK_EQ(heard.lines, 2);
    log_line(slot, 1, "%s", "");                                        /* passed on, but not kept */
    CHECK_EQ(heard.lines, 3);
    qnnrt__log_copy(slot, mark, &part);
    CHECK(part.count == 1 && part.lines[part.first].level == QNNRT_LOG_WARN && strcmp(part.lines[0].text, "no level 1") == 0);
    qnnrt__log_close(slot);
    log_line(slot, 1, "too late");
    CHECK_EQ(heard.lines, 3);
    qnnrt__log_close(-1);
    qnnrt__log_copy(-1, 0, &part);
    CHECK_EQ(part.count, 0);
    CHECK_EQ(qnnrt__log_mark(-1), 0);
}

/* The shown part of many lines: the first error, three dots for those left out, and the last
   ones. */
TEST(a_report_of_many_lines_says_what_it_left_out)
{
    qnnrt_hooks hooks;
    unsigned before, total;
    memset(&hooks, 0, sizeof(hooks));
    for (total = 1; total < 60; ++total)
        for (before = 0; before < 3 && before < total; ++before) {
            qnnrt_error err;
            uint32_t mark;
            unsigned i;
            int slot = qnnrt__log_open(&book, &hooks, QNNRT_LOG_WARN);
            mark = qnnrt__log_mark(slot);
            for (i = 0; i < total; ++i) log_line(slot, i == before ? 1 : 2, "line %u.", i);
            QNNRT__FAIL(&err, QNNRT_E_BACKEND, "x");
            qnnrt__log_report(slot, mark, &err);
            qnnrt__log_close(slot);
            snprintf(heard.text, sizeof(heard.text), "logged first, an error: line %u.", before);
            CHECK_STR(err.text, heard.text);
            snprintf(heard.text, sizeof(heard.text), "line %u.", total - 1);
            /* The last line is always shown. */
            CHECK_STR(err.text, heard.text);
            CHECK_EQ(strstr(err.text, "\n  ...") != NULL, total > QNNRT__LOG_SHOWN + before + 1);
        }
}

TEST_MAIN("size")
{
    RUN(size_add_and_mul_refuse_what_does_not_fit);
    RUN(size_align_rounds_up_and_refuses_overflow);
    RUN(size_tells_powers_of_two_and_ranges);
    RUN(sort_orders_every_count);
    RUN(arenas_refuse_sizes_that_do_not_fit);
    RUN(arenas_take_a_large_block_apart_and_keep_their_chunk);
    RUN(error_formats_are_those_of_printf);
    RUN(each_result_that_has_a_general_hint_gets_it);
    RUN(log_lines_of_odd_levels_are_taken);
    RUN(a_report_of_many_lines_says_what_it_left_out);
}
