/* test_json_cost.c - the allocations for reading metadata from JSON: exact counts, no times */
#define QNNRT_IMPLEMENTATION
#include "../../qnnrt.h"
#include "test.h"

static long   allocations, live;
static double allocated;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    ++allocations;
    allocated += (double)bytes;
    ++live;
    return malloc(bytes);
}
static void count_free(void *user, void *data) { (void)user; --live; free(data); }

/* Write a document as the vendor's tool prints it: indents, full names of enumerators, scale and
   offset. */
static size_t print_dump(char *out, size_t room, unsigned tensors)
{
    static const char indent[] = "                                ";
    unsigned i;
    size_t used = (size_t)snprintf(out, room, "{\n    \"info\": {\n        \"numGraphs\": 1,\n        \"graphs\": [\n            {\n"
                                              "                \"info\": {\n                    \"graphName\": \"g\",\n"
                                              "                    \"numGraphInputs\": %u,\n                    \"graphInputs\": [\n", tensors);
    for (i = 0; i < tensors; ++i)
        used += (size_t)snprintf(out + used, room - used,
                                 "                        {\n%.28s\"version\": \"QNN_TENSOR_VERSION_2\",\n%.28s\"info\": {\n%s\"id\": %u,\n"
                                 "%s\"name\": \"past_key_%u_in\",\n%s\"type\": \"QNN_TENSOR_TYPE_APP_WRITE\",\n"
                                 "%s\"dataFormat\": \"QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER\",\n%s\"dataType\": \"QNN_DATATYPE_UFIXED_POINT_8\",\n"
                                 "%s\"rank\": 2,\n%s\"dimensions\": [\n%s    8,\n%s    128\n%s],\n%s\"quantizeParams\": {\n"
                                 "%s    \"definition\": \"QNN_DEFINITION_DEFINED\",\n"
                                 "%s    \"quantizationEncoding\": \"QNN_QUANTIZATION_ENCODING_SCALE_OFFSET\",\n%s    \"scaleOffset\": {\n"
                                 "%s        \"scale\": 0.12345678,\n%s        \"offset\": -128\n%s    }\n%s}\n%.28s}\n                        }%s\n",
                                 indent, indent, indent, i + 1, indent, i, indent, indent, indent, indent, indent, indent, indent, indent,
                                 indent, indent, indent, indent, indent, indent, indent, indent, indent, i + 1 < tensors ? "," : "");
    return used + (size_t)snprintf(out + used, room - used, "                    ],\n                    \"numGraphOutputs\": 0,\n"
                                   "                    \"graphOutputs\": []\n                }\n            }\n        ]\n    }\n}\n");
}

/* Read a document into a table; count and free every allocation. */
static qnnrt_result read_counted(const char *file, const char *text, size_t bytes, qnnrt_error *err)
{
    qnnrt_limits limits;
    uint32_t tensors_left = 1000000, scales_left = QNNRT__TABLE_SCALES;
    qnnrt__arena arena;
    qnnrt__table table;
    qnnrt_context_info context;
    qnnrt_result result;
    memset(&limits, 0, sizeof(limits));
    memset(&arena, 0, sizeof(arena));
    memset(&table, 0, sizeof(table));
    memset(&context, 0, sizeof(context));
    memset(err, 0, sizeof(*err));
    qnnrt__model_limits(&limits, &limits);
    arena.hooks.alloc = count_alloc;
    arena.hooks.free = count_free;
    table.arena = &arena;
    table.limits = &limits;
    table.file = file;
    table.tensors_left = &tensors_left;
    table.scales_left = &scales_left;
    table.err = err;
    allocations = live = 0;
    allocated = 0;
    result = qnnrt__read_json(&table, text, bytes, &context);
    qnnrt_arena_free(&arena);
    return result;
}

static void check_cost(unsigned tensors)
{
    enum { ROOM = 4 << 20 };
    char *text = (char *)malloc(ROOM);
    size_t bytes = print_dump(text, ROOM, tensors);
    qnnrt_error err;
    const qnnrt_result result = read_counted("cost.json", text, bytes, &err);
    free(text);
    CHECK_STR(err.text, "");
    CHECK_EQ(result, QNNRT_OK);
    /* The chunk is 0 with AddressSanitizer: every object has a block of its own. */
    CHECK(allocations == 1 || QNNRT__ARENA_CHUNK == 0);
    CHECK_EQ(live, 0);
    CHECK(allocated <= 0.9 * (double)bytes);
}

TEST(json_table_takes_one_allocation_and_less_than_its_text)
{
    TRY(check_cost(1));
    TRY(check_cost(58));
    TRY(check_cost(129));
    TRY(check_cost(2000));
}

/* A tensor with a million dimensions is refused by its rank, and they are not kept. */
TEST(dimensions_over_the_limit_are_counted_and_not_kept)
{
    enum { DIMS = 1000000, ROOM = 2 * DIMS + 4096 };
    static const char *const keys[] = { "dimensions", "isDynamicDimensions" };
    char *text = (char *)malloc(ROOM);
    size_t k, i;
    for (k = 0; k < 2; ++k) {
        qnnrt_error err;
        char *at, *end;
        size_t bytes = print_dump(text, 4096, 1);
        at = strstr(text, "\"dimensions\": [");
        CHECK(at != NULL);
        at = k == 0 ? strchr(at, '[') + 1 : at;
        end = text + ROOM - (text + bytes - at);
        memmove(end, at, bytes - (size_t)(at - text));
        if (k == 1) at += snprintf(at, 64, "\"%s\": [", keys[k]);
        for (i = 0; i < DIMS; ++i, at += 2) memcpy(at, k == 0 ? "1," : "0,", 2);
        if (k == 1) memcpy(at - 1, "],", 2), ++at;
        memset(at, ' ', (size_t)(end - at));
        CHECK(read_counted("dims.json", text, ROOM, &err) != QNNRT_OK);
        printf("  %s: %s, %.0f bytes\n", keys[k], err.text, allocated);
        if (k == 0) CHECK_STR(err.text, "the list has 1000002");
        else CHECK_STR(err.text, "1000000 elements for 2 dimensions");
        CHECK(allocated <= ROOM / 2);
    }
    free(text);
}

TEST(text_to_table_takes_at_most_two_allocations)
{
    static const char *const names[] = { "ctx_qairt2.45.0_sd15_text_encoder.json", "ctx_qairt2.45.0_sd15_unet.json",
                                         "ctx_qairt2.45.0_qwen3-0.6b_fp32io_58in.json",
                                         "ctx_qairt2.45.0_qwen2.5-7b_genie_part3of6.json" };
    const char *samples = test_getenv("QNNRT_SAMPLES");
    size_t i;
    if (samples == NULL) SKIP("QNNRT_SAMPLES is not set");
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        qnnrt_error err;
        char path[2048];
        size_t bytes;
        char *text;
        snprintf(path, sizeof(path), "%s/json/%s", samples, names[i]);
        text = (char *)test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(read_counted(names[i], text, bytes, &err), QNNRT_OK);
        printf("  %s: %u bytes, %u allocations, %.0f bytes\n", names[i], (unsigned)bytes, (unsigned)allocations, allocated);
        free(text);
        CHECK(allocations <= 2 || QNNRT__ARENA_CHUNK == 0);
        CHECK_EQ(live, 0);
    }
}

TEST_MAIN("json_cost")
{
    RUN(dimensions_over_the_limit_are_counted_and_not_kept);
    RUN(json_table_takes_one_allocation_and_less_than_its_text);
    RUN(text_to_table_takes_at_most_two_allocations);
}
