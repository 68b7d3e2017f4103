/* test_services.c - what qnnrt.h offers to code that stands on it: errors, memory, order, files */
#include "../../qnnrt.h"
#include "test.h"
#include "counted.h"
#include <fcntl.h>

static qnnrt_error error;

static void fill(void) { TEST_JUNK(error); }

TEST(error_set_fills_all_of_an_error)
{
    fill();
    CHECK_EQ(qnnrt_error_set(&error, QNNRT_E_IO, "%s is empty", "a"), QNNRT_E_IO);
    CHECK_EQ(error.code, QNNRT_E_IO);
    CHECK_EQ(error.vendor_code, 0);
    CHECK(strcmp(error.text, "a is empty") == 0);
    CHECK(error.hint[0] == '\0');
    CHECK_EQ(qnnrt_error_set(NULL, QNNRT_E_IO, "%s is empty", "a"), QNNRT_E_IO);
    fill();
    CHECK_EQ(qnnrt_error_clear(&error), QNNRT_OK);
    CHECK(error.code == QNNRT_OK && error.vendor_code == 0 && error.text[0] == '\0' && error.hint[0] == '\0');
    CHECK_EQ(qnnrt_error_clear(NULL), QNNRT_OK);
}

TEST(error_texts_escape_what_they_insert)
{
    fill();
    qnnrt_error_set(&error, QNNRT_E_IO, "line\n  \"%s\" %c", "a\n\033[31mb\xE2\x80\xAE\xFF\xC3\xA4", 7);
    CHECK(strcmp(error.text, "line\n  \"a ?[31mb????\xC3\xA4\" ?") == 0);
    qnnrt_error_add(&error, "\n%s", "x\ny");
    CHECK_STR(error.text, "\" ?\nx y");
    qnnrt_error_hint(&error, QNNRT_E_IO, "Open %s.", "\r\n");
    CHECK(strcmp(error.hint, "Open ? .") == 0);
    qnnrt_error_about(&error, QNNRT_E_ARG, "file \"%s\": ", "\b");
    CHECK_EQ(error.code, QNNRT_E_ARG);
    CHECK(strncmp(error.text, "file \"?\": line\n  \"a", 19) == 0);
    CHECK_EQ(qnnrt_error_about(NULL, QNNRT_E_ARG, "%s", ""), QNNRT_E_ARG);
    qnnrt_error_add(NULL, "%s", "");
}

TEST(error_hint_keeps_the_first)
{
    qnnrt_error_set(&error, QNNRT_E_IO, "a");
    CHECK_EQ(qnnrt_error_hint(&error, QNNRT_E_IO, "Read %s.", "b"), QNNRT_E_IO);
    CHECK_EQ(qnnrt_error_hint(&error, QNNRT_E_ARG, "Read %s.", "c"), QNNRT_E_ARG);
    CHECK(strcmp(error.hint, "Read b.") == 0);
    CHECK_EQ(qnnrt_error_hint(NULL, QNNRT_E_ARG, "Read %s.", "c"), QNNRT_E_ARG);
}

TEST(error_formats_know_what_printf_knows)
{
    static const char letters[4] = { 'a', 'b', 'c', 'd' };     /* without a NUL */
    char expected[300];
    qnnrt_error_set(&error, QNNRT_E_IO, "%d %i %u %x %X %o %5.2f|%g|%e|%c|%%", -5, -6, 7u, 255u, 255u, 8u, 1.5, 0.25, 100.0, 'z');
    snprintf(expected, sizeof(expected), "%d %i %u %x %X %o %5.2f|%g|%e|%c|%%", -5, -6, 7u, 255u, 255u, 8u, 1.5, 0.25, 100.0, 'z');
    CHECK(strcmp(error.text, expected) == 0);
    qnnrt_error_set(&error, QNNRT_E_IO, "%ld %lu %lld %016llx %zu", -1L, 2ul, -3LL, 0xABCull, (size_t)4);
    snprintf(expected, sizeof(expected), "%ld %lu %lld %016llx %zu", -1L, 2ul, -3LL, 0xABCull, (size_t)4);
    CHECK(strcmp(error.text, expected) == 0);
    qnnrt_error_set(&error, QNNRT_E_IO, "<%.*s> <%*d> <%-*s> <%+4d> <%.2s>", 4, letters, 5, 12, 6, "ab", 3, "xyz");
    CHECK(strcmp(error.text, "<abcd> <   12> <ab    > <  +3> <xy>") == 0);
    qnnrt_error_set(&error, QNNRT_E_IO, "%p", (void *)&error);
    snprintf(expected, sizeof(expected), "%p", (void *)&error);
    CHECK(strcmp(error.text, expected) == 0);
}

TEST(error_texts_are_cut_between_characters)
{
    char name[3000];
    size_t i;
    for (i = 0; i + 2 < sizeof(name); i += 2) memcpy(name + i, "\xC3\xA4", 2);
    name[i] = '\0';
    qnnrt_error_set(&error, QNNRT_E_IO, "%s", "a");
    for (i = 0; i < 20; ++i) qnnrt_error_add(&error, "%.200s", name);
    CHECK_EQ(strlen(error.text), sizeof(error.text) - 1);
    CHECK(strchr(error.text, '?') == NULL);
    qnnrt_error_about(&error, QNNRT_E_IO, "%s", "b");
    CHECK_EQ(strlen(error.text), sizeof(error.text) - 2);
    CHECK(error.text[0] == 'b' && error.text[1] == 'a');
}

TEST(text_clean_makes_one_line)
{
    char text[] = "a\nb\tc\033\xFF\xC3\xA4";
    qnnrt_text_clean(text);
    CHECK(strcmp(text, "a b?c??\xC3\xA4") == 0);
}

static void begin(qnnrt_arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->hooks.alloc = counted_alloc;
    arena->hooks.free = counted_free;
    allocations = live = 0;
    fail_at = -1;
}

static char logged[4000];

static void keep_line(void *user, qnnrt_log_level level, const char *room, uint64_t code, const char *text)
{
    (void)user; (void)level; (void)room; (void)code;
    snprintf(logged, sizeof(logged), "%s", text);
}

TEST(log_lines_are_whole_or_marked_as_cut)
{
    qnnrt_hooks hooks = {0};
    char line[3000];
    memset(line, 'x', sizeof(line));
    hooks.log = keep_line;
    qnnrt_log(&hooks, QNNRT_LOG_WARN, "room", 0, "%.2399s", line);
    CHECK_EQ(strlen(logged), 2399);
    CHECK_EQ(strspn(logged, "x"), 2399);
    qnnrt_log(&hooks, QNNRT_LOG_WARN, "room", 0, "%.2400s", line);
    CHECK_EQ(strlen(logged), 2399);
    CHECK_EQ(strspn(logged, "x"), 2396);
    CHECK(strcmp(logged + 2396, "...") == 0);
}

TEST(hooks_alloc_gives_zeroed_memory_or_null)
{
    qnnrt_arena arena;
    char *data;
    size_t i;
    begin(&arena);
    data = (char *)qnnrt_hooks_alloc(&arena.hooks, 10, 7);
    CHECK(data != NULL && live == 1);
    for (i = 0; i < 70; ++i) CHECK(data[i] == 0);
    qnnrt_hooks_free(&arena.hooks, data);
    qnnrt_hooks_free(&arena.hooks, NULL);
    CHECK_EQ(live, 0);
    CHECK(qnnrt_hooks_alloc(&arena.hooks, UINT64_MAX / 2, 3) == NULL);
    CHECK(qnnrt_hooks_alloc(NULL, UINT64_MAX, 1) == NULL);
    fail_at = allocations;
    CHECK(qnnrt_hooks_alloc(&arena.hooks, 1, 1) == NULL);
    memset(&arena.hooks, 0, sizeof(arena.hooks));
    data = (char *)qnnrt_hooks_alloc(&arena.hooks, 0, 8);
    CHECK(data != NULL && data[0] == 0);
    qnnrt_hooks_free(NULL, data);
}

TEST(arena_gives_aligned_zeroed_memory_and_frees_it)
{
    qnnrt_arena arena;
    size_t i, k;
    begin(&arena);
    for (i = 1; i < 2000; ++i) {
        char *data = (char *)qnnrt_arena_get(&arena, i % 37, 5);
        CHECK(data != NULL && (uintptr_t)data % 16 == 0);
        for (k = 0; k < i % 37 * 5; ++k) { CHECK(data[k] == 0); data[k] = 1; }
    }
    CHECK(strcmp(qnnrt_arena_text(&arena, "abcd", 3), "abc") == 0);
    CHECK(qnnrt_arena_text(&arena, NULL, 0)[0] == '\0');
    CHECK(live > 0 && arena.bytes > 0 && arena.failed == QNNRT_OK);
    qnnrt_arena_free(&arena);
    CHECK_EQ(live, 0);
    CHECK_EQ(arena.bytes, 0);
}

TEST(arena_stays_failed_after_a_failure)
{
    qnnrt_arena arena;
    begin(&arena);
    CHECK(qnnrt_arena_get(&arena, 1, 1) != NULL);
    fail_at = allocations;
    CHECK(qnnrt_arena_get(&arena, 1000000, 1) == NULL);
    CHECK_EQ(arena.failed, QNNRT_E_MEMORY);
    CHECK(qnnrt_arena_get(&arena, 1, 1) == NULL);
    CHECK(qnnrt_arena_text(&arena, "a", 1) == NULL);
    qnnrt_arena_free(&arena);
    CHECK_EQ(arena.failed, QNNRT_OK);
    CHECK(qnnrt_arena_get(&arena, UINT64_MAX, 2) == NULL);
    CHECK_EQ(arena.failed, QNNRT_E_MEMORY);
    qnnrt_arena_free(&arena);
    CHECK_EQ(live, 0);
}

TEST(arena_keeps_its_limit)
{
    qnnrt_arena arena;
    begin(&arena);
    arena.chunk = 64;
    arena.limit = 1000;
    CHECK(qnnrt_arena_get(&arena, 800, 1) != NULL);
    CHECK(qnnrt_arena_get(&arena, 1, 1) != NULL);
    CHECK(arena.bytes >= 801 && arena.bytes <= 1000);
    CHECK(qnnrt_arena_get(&arena, 201, 1) == NULL);
    CHECK_EQ(arena.failed, QNNRT_E_LIMIT);
    CHECK(qnnrt_arena_get(&arena, 1, 1) == NULL);
    CHECK(arena.bytes <= 1000);
    CHECK_EQ(allocations, live);
    qnnrt_arena_free(&arena);
    CHECK_EQ(live, 0);
}

TEST(arena_more_keeps_the_items)
{
    qnnrt_arena arena;
    uint32_t *list = NULL, i;
    size_t room = 0;
    begin(&arena);
    for (i = 0; i < 1000; ++i) {
        list = (uint32_t *)qnnrt_arena_more(&arena, list, i, &room, sizeof(*list));
        CHECK(list != NULL && room > i);
        CHECK(list[i] == 0);
        list[i] = i;
    }
    for (i = 0; i < 1000; ++i) CHECK(list[i] == i);
    room = SIZE_MAX;
    CHECK(qnnrt_arena_more(&arena, list, SIZE_MAX, &room, sizeof(*list)) == NULL && room == SIZE_MAX);
    qnnrt_arena_free(&arena);
    CHECK_EQ(live, 0);
}

static int compared;

static int order(const void *a, const void *b)
{
    ++compared;
    return *(const int *)a - *(const int *)b;
}

TEST(sort_takes_no_longer_for_any_order)
{
    static int values[4096];
    static const void *items[4096];
    int shape, i;
    for (shape = 0; shape < 4; ++shape) {
        for (i = 0; i < 4096; ++i) {
            values[i] = shape == 0 ? i : shape == 1 ? -i : shape == 2 ? i % 7 : (i * 1103) % 4096;
            items[i] = &values[i];
        }
        compared = 0;
        qnnrt_sort(items, 4096, order);
        CHECK(compared < 2 * 4096 * 13);
        for (i = 1; i < 4096; ++i) CHECK(*(const int *)items[i - 1] <= *(const int *)items[i]);
    }
}

TEST(file_open_gives_regular_files_alone)
{
    char path[1200], text[8];
    uint64_t bytes = 7;
    int fd = 7;
    FILE *file;
    snprintf(path, sizeof(path), "%s/a", test_tmpdir());
    file = fopen(path, "w");
    CHECK(file != NULL && fputs("abcde", file) >= 0);
    CHECK_EQ(fclose(file), 0);
    fill();
    CHECK_EQ(qnnrt_file_open(path, &fd, &bytes, &error), QNNRT_OK);
    CHECK(error.code == QNNRT_OK && error.text[0] == '\0');
    CHECK_EQ(bytes, 5);
    CHECK_EQ(read(fd, text, sizeof(text)), 5);
    CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    strcat(path, "b");
    CHECK_EQ(qnnrt_file_open(path, &fd, &bytes, &error), QNNRT_E_NOT_FOUND);
    CHECK_STR(error.text, path);
    CHECK(fd == -1 && bytes == 0);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(qnnrt_file_open(path, &fd, &bytes, &error), QNNRT_E_IO);
    CHECK(fd == -1);
    CHECK_EQ(qnnrt_file_open(test_tmpdir(), &fd, &bytes, &error), QNNRT_E_IO);
    CHECK_EQ(qnnrt_file_open("/dev/null", &fd, &bytes, &error), QNNRT_E_IO);
    CHECK_EQ(qnnrt_file_open(NULL, &fd, &bytes, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_file_open(path, NULL, &bytes, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_file_open(path, &fd, NULL, &error), QNNRT_E_ARG);
    CHECK_STR(error.text, "path, fd or bytes");
}

TEST_MAIN("services")
{
    RUN(error_set_fills_all_of_an_error);
    RUN(error_texts_escape_what_they_insert);
    RUN(error_hint_keeps_the_first);
    RUN(error_formats_know_what_printf_knows);
    RUN(error_texts_are_cut_between_characters);
    RUN(text_clean_makes_one_line);
    RUN(log_lines_are_whole_or_marked_as_cut);
    RUN(hooks_alloc_gives_zeroed_memory_or_null);
    RUN(arena_gives_aligned_zeroed_memory_and_frees_it);
    RUN(arena_stays_failed_after_a_failure);
    RUN(arena_keeps_its_limit);
    RUN(arena_more_keeps_the_items);
    RUN(sort_takes_no_longer_for_any_order);
    RUN(file_open_gives_regular_files_alone);
}
