/* system.c - the metadata that libQnnSystem.so returns for every folder of the test data

       real_system RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   The whole table, with every field of contexts, graphs and tensors, is written as one text. It must
   equal tests/golden/table.txt, so all releases and the aarch64 library agree with each other.
   QNNRT_TABLE=FILE also writes the text to FILE, to read it or to update the golden file. */
#include "real.h"
#include <stdarg.h>

static char  *text;
static size_t text_used, text_room;

static void put(const char *format, ...)
{
    va_list args;
    int need;
    if (text_room - text_used < 8192) {
        text_room = text_room * 2 + 65536;
        text = (char *)realloc(text, text_room);
        if (text == NULL) abort();
    }
    va_start(args, format);
    need = vsnprintf(text + text_used, text_room - text_used, format, args);
    va_end(args);
    if (need < 0 || (size_t)need >= text_room - text_used) abort();
    text_used += (size_t)need;
}

static void put_tensor(const char *kind, const qnnrt_tensor_info *t)
{
    uint32_t i;
    put("    %s %s id %u dtype 0x%04x (%s) rank %u [", kind, t->name, (unsigned)t->id, (unsigned)t->dtype,
        qnnrt_dtype_name(t->dtype), (unsigned)t->rank);
    for (i = 0; i < t->rank; ++i) put("%s%u", i > 0 ? "," : "", (unsigned)t->dims[i]);
    put("] count %llu bytes %llu type %u format %u version %u optional %d updateable %d", (unsigned long long)t->count,
        (unsigned long long)t->bytes, (unsigned)t->vendor_type, (unsigned)t->vendor_format, (unsigned)t->vendor_version,
        t->optional, t->updateable);
    if (t->dynamic_dims != NULL) {
        put(" dynamic ");
        for (i = 0; i < t->rank; ++i) put("%u", (unsigned)t->dynamic_dims[i]);
    }
    put(" encoding %d", (int)t->quant.encoding);
    if (t->quant.encoding != QNNRT_ENCODING_NONE)
        put(" vendor %u bitwidth %u", (unsigned)t->quant.vendor_encoding, (unsigned)t->quant.bitwidth);
    if (t->quant.encoding == QNNRT_ENCODING_PER_TENSOR) put(" scale %a offset %d", (double)t->quant.scale, (int)t->quant.offset);
    if (t->quant.encoding == QNNRT_ENCODING_PER_AXIS) {
        put(" axis %d count %u", (int)t->quant.axis, (unsigned)t->quant.count);
        for (i = 0; i < t->quant.count; ++i)
            put(" %a/%d", (double)t->quant.scales[i], t->quant.offsets != NULL ? (int)t->quant.offsets[i] : 0);
    }
    put("\n");
}

static void put_version(const char *name, qnnrt_version_info v)
{
    put(" %s %u.%u.%u", name, (unsigned)v.major, (unsigned)v.minor, (unsigned)v.patch);
}

static void put_model(const qnnrt *model)
{
    size_t count, i, g, t;
    const qnnrt_context_info *contexts = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    for (i = 0; i < count; ++i) {
        const qnnrt_context_info *c = &contexts[i];
        put(" %s bytes %llu build \"%s\" backend %u", c->file, (unsigned long long)c->file_bytes, c->build_id,
            (unsigned)c->backend_id);
        put_version("core", c->core_api);
        put_version("api", c->backend_api);
        put_version("blob", c->blob_version);
        put(" blob_bytes %llu soc %u arch %u context_tensors %u graphs %u%s%s\n", (unsigned long long)c->blob_bytes,
            (unsigned)c->soc_model, (unsigned)c->dsp_arch, (unsigned)c->context_tensor_count, (unsigned)c->graph_count,
            c->failure != NULL ? " failure " : "", c->failure != NULL ? c->failure->text : "");
        for (g = 0; g < c->graph_count; ++g) {
            const qnnrt_graph_info *graph = &c->graphs[g];
            put("  graph %s inputs %u outputs %u updateables %u spill_fill %llu vtcm %llu shared_weights %llu const %llu"
                " optimization %u hvx %u unsupported %s\n", graph->name, (unsigned)graph->input_count,
                (unsigned)graph->output_count, (unsigned)graph->updateable_count,
                (unsigned long long)graph->spill_fill_bytes, (unsigned long long)graph->vtcm_bytes,
                (unsigned long long)graph->shared_weights_bytes, (unsigned long long)graph->const_bytes,
                (unsigned)graph->optimization_level, (unsigned)graph->hvx_threads,
                graph->unsupported != NULL ? graph->unsupported : "-");
            for (t = 0; t < graph->input_count; ++t) put_tensor("in ", &graph->inputs[t]);
            for (t = 0; t < graph->output_count; ++t) put_tensor("out", &graph->outputs[t]);
            for (t = 0; t < graph->updateable_count; ++t) put_tensor("upd", &graph->updateables[t]);
        }
    }
}

/* Print the first line in which two texts differ. */
static void show_difference(const char *got, const char *want)
{
    int line = 1;
    for (;;) {
        size_t a = strcspn(got, "\n"), b = strcspn(want, "\n");
        if (a != b || memcmp(got, want, a) != 0 || got[a] == '\0' || want[b] == '\0') {
            printf("  line %d\n    this library: %.*s\n    golden:       %.*s\n", line, (int)(a < 600 ? a : 600), got,
                   (int)(b < 600 ? b : 600), want);
            return;
        }
        got += a + 1;
        want += b + 1;
        ++line;
    }
}

TEST(table)
{
    static real_list lists[2];
    char path[1024], *golden;
    const char *file = test_getenv("QNNRT_TABLE");
    size_t bytes;
    int part, i, folders = 0;
    real_folders(&lists[0], "ctx");
    real_folders(&lists[1], "llm");
    CHECK(lists[0].count >= 6);
    CHECK(lists[1].count >= 5);
    for (part = 0; part < 2; ++part)
        for (i = 0; i < lists[part].count; ++i) {
            const char *folder = lists[part].path[i];
            qnnrt_desc desc;
            qnnrt_error err;
            qnnrt *model;
            real_desc(&desc, path);
            desc.backend_desc.path = NULL;
            desc.system_path = real_library(path, "libQnnSystem.so");
            desc.inspect = 1;
            REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
            CHECK_STR(qnnrt_get_info(model)->system_path, path);
            CHECK(qnnrt_get_info(model)->backend == NULL);
            put("%s\n", real_short(folder));
            put_model(model);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK_EQ(real_seen.alive, 0);
            ++folders;
        }
    if (file != NULL && !test_write_file(file, text, text_used)) return;
    golden = (char *)test_read_file("tests/golden/table.txt", &bytes);
    CHECK(golden != NULL);
    if (bytes != text_used || memcmp(golden, text, bytes) != 0) show_difference(text, golden);
    CHECK_EQ(bytes, text_used);
    CHECK(memcmp(golden, text, bytes) == 0);
    printf("  %d folders, %u bytes of table, equal to the golden one\n", folders, (unsigned)text_used);
    free(golden);
    free(text);
}

/* Metadata is the same for files that are read and mapped. A model opened for inspection cannot run. */
TEST(inspect_only)
{
    char folder[1024], path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_result result;
    real_desc(&desc, path);
    desc.backend_desc.path = NULL;
    desc.system_path = real_library(path, "libQnnSystem.so");
    desc.inspect = 1;
    desc.read = 1;
    REAL_OK(qnnrt_open(real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"), &desc, &model, &err), &err);
    result = qnnrt_prepare(model, NULL, &run, &err);
    printf("  %s: %s\n", qnnrt_result_name(result), err.text);
    CHECK(result != QNNRT_OK);
    CHECK(run == NULL);
    CHECK_STR(err.text, "inspect");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
}

TEST_MAIN_ARGS("real_system", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(table);
    RUN(inspect_only);
}
