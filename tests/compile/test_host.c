/* test_host.c - qnnrt_cpu_fallback.h: host.json, the border of host steps, and a folder that has them

   What a step computes is compared with qnnrt_ir_run() of the same graph, to the bit. Graphs in this file are written
   with ' instead of ". With QNNRT_HOST_FOLDER, the folder of the last test is made there, for tests/cli/test_host_tool.sh. */
#include "qnnrt_builder.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_json.h"
#include "qnnrt_manifest.h"
#include "counted.h"
#include "ref.h"
#include "life.h"
#include "backend.h"
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include "random_program.h"
#include "ir_graph.h"
#include "sink.h"

static qnnrt_error err;

/* ---- graphs and files ---- */

static qnnrt_ir *graph(const char *text)
{
    return ir_graph(text, NULL, &err);
}

static int refuse(void *user, const char *text, size_t bytes)
{
    (void)user; (void)text; (void)bytes;
    return 0;
}

/* Write a text with ' instead of " as host.json of a folder. */
static void put_text(const char *dir, const char *text)
{
    char path[1200], *json = ir_quoted(text);
    snprintf(path, sizeof path, "%s/host.json", dir);
    test_write_file(path, json, strlen(json));
    free(json);
}

/* Write the host steps of a folder, and open it. Return NULL after an error. */
static qnnrt_cpu_fallback *opened_with(const char *dir, const qnnrt_cpu_fallback_entry *steps, size_t count,
                                       const qnnrt_cpu_fallback_desc *desc)
{
    char path[1200];
    qnnrt_cpu_fallback *host = NULL;
    sink s = { NULL, 0, 0, 0 };
    TEST_JUNK(err);
    if (qnnrt_cpu_fallback_write(steps, count, sink_write, &s, &err) == QNNRT_OK) {
        snprintf(path, sizeof path, "%s/host.json", dir);
        test_write_file(path, s.text, s.used);
        TEST_JUNK(err);
        if (qnnrt_cpu_fallback_open(dir, desc, &host, &err) != QNNRT_OK) host = NULL;
    }
    free(s.text);
    if (host == NULL) printf("    %s\n", err.text);
    return host;
}

static qnnrt_cpu_fallback *opened(const qnnrt_ir *ir)
{
    qnnrt_cpu_fallback_entry entry;
    entry.name = "step";
    entry.part = ir;
    return opened_with(test_tmpdir(), &entry, 1, NULL);
}

/* ---- calls ---- */

enum { MOST = 64 };

/* The tensors of a step, as a program describes them. */
typedef struct border {
    qnnrt_graph_info info;
    qnnrt_tensor_info inputs[MOST], outputs[MOST];
    qnnrt_cpu_fallback_tensor from[2][MOST];
} border;

static void border_set(qnnrt_tensor_info *t, const qnnrt_cpu_fallback_tensor *from)
{
    uint32_t d;
    memset(t, 0, sizeof(*t));
    t->name = from->value->name;
    t->dtype = from->dtype;
    t->rank = from->rank;
    t->dims = from->dims;
    t->count = 1;
    for (d = 0; d < from->rank; ++d) t->count *= from->dims[d];
    t->bytes = t->count * qnnrt_ir_dtype_bytes(from->dtype);
}

static void border_make(border *b, const qnnrt_ir *part)
{
    size_t i;
    memset(b, 0, sizeof(*b));
    b->info.name = "step";
    b->info.inputs = b->inputs;
    b->info.outputs = b->outputs;
    b->info.input_count = qnnrt_cpu_fallback_tensors(part, 0, b->from[0], MOST);
    b->info.output_count = qnnrt_cpu_fallback_tensors(part, 1, b->from[1], MOST);
    if (b->info.input_count > MOST || b->info.output_count > MOST) abort();
    for (i = 0; i < b->info.input_count; ++i) border_set(&b->inputs[i], &b->from[0][i]);
    for (i = 0; i < b->info.output_count; ++i) border_set(&b->outputs[i], &b->from[1][i]);
}

static qnnrt_result call(const qnnrt_cpu_fallback *host, const border *b, const void *const *inputs,
                         void *const *outputs)
{
    const qnnrt_host_step *f = qnnrt_cpu_fallback_functions(host, NULL);
    TEST_JUNK(err);
    return f->exec(f->user, &b->info, inputs, outputs, &err);
}

static uint32_t seed = 16;

static uint32_t number(uint32_t most)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % most;
}

/* Make elements of a dtype: floats between -1 and 1, integers 0 to 3. */
static void *made(qnnrt_dtype dtype, uint64_t count)
{
    const size_t size = qnnrt_ir_dtype_bytes(dtype);
    unsigned char *data = (unsigned char *)calloc((size_t)count + 1, size);
    size_t i;
    if (data == NULL) abort();
    for (i = 0; i < count; ++i) {
        const float f = (float)((double)number(1u << 16) / 32768.0 - 1);
        const double d = (double)f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        bits >>= 16;
        switch (dtype) {
        case QNNRT_DTYPE_F32: memcpy(data + i * 4, &f, 4); break;
        case QNNRT_DTYPE_F64: memcpy(data + i * 8, &d, 8); break;
        case QNNRT_DTYPE_BF16: memcpy(data + i * 2, &bits, 2); break;
        case QNNRT_DTYPE_F16: data[i * 2 + 1] = (unsigned char)(0x30 | (number(2) << 7) | number(12)); break;
        default: data[i * size] = (unsigned char)number(dtype == QNNRT_DTYPE_BOOL8 ? 2 : 4); break;
        }
    }
    return data;
}

/* Compute a graph as a host step and by qnnrt_ir_run(). True if all outputs have the same bytes. */
static int same_as_run(qnnrt_ir *ir)
{
    border b;
    qnnrt_cpu_fallback *host = opened(ir);
    qnnrt_ir_run_desc desc;
    const void *in[MOST], *outside[MOST];
    void *out[MOST], *got[MOST], *wide[MOST];
    size_t i, k, n;
    int good = host != NULL && ir->input_count <= MOST && ir->output_count <= MOST;
    if (!good) return 0;
    memset(&desc, 0, sizeof(desc));
    memset(wide, 0, sizeof(wide));
    desc.wide = 1;
    border_make(&b, ir);
    for (i = 0; i < b.info.input_count; ++i) outside[i] = made(b.inputs[i].dtype, b.inputs[i].count);
    for (i = n = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *v = ir->inputs[i];
        in[i] = NULL;
        if (v->count == 0) continue;
        in[i] = outside[n++];
        if (v->dtype != QNNRT_DTYPE_I64) continue;
        wide[i] = calloc((size_t)v->count, 8);
        if (wide[i] == NULL) abort();
        for (k = 0; k < v->count; ++k) ((int64_t *)wide[i])[k] = ((const int32_t *)in[i])[k];
        in[i] = wide[i];
    }
    for (i = n; i < b.info.input_count; ++i) ((qnnrt_ir_value *)(uintptr_t)b.from[0][i].value)->data = outside[i];
    for (i = 0; i < ir->output_count; ++i) {
        out[i] = calloc((size_t)ir->outputs[i]->count + 1, 8);
        got[i] = calloc((size_t)ir->outputs[i]->count + 1, 8);
        if (out[i] == NULL || got[i] == NULL) abort();
    }
    good = qnnrt_ir_run(ir, &desc, in, out, &err) == QNNRT_OK && call(host, &b, outside, got) == QNNRT_OK;
    if (!good) printf("    %s\n", err.text);
    for (i = 0; i < ir->output_count && good; ++i) {
        const qnnrt_ir_value *v = ir->outputs[i];
        for (k = 0; k < v->count && v->dtype == QNNRT_DTYPE_I64; ++k)
            ((int64_t *)got[i])[v->count - 1 - k] = ((const int32_t *)got[i])[v->count - 1 - k];
        good = memcmp(out[i], got[i], (size_t)v->count * qnnrt_ir_dtype_bytes(qnnrt_ir_run_dtype(&desc, v))) == 0;
        if (!good) printf("    output \"%s\" differs\n", v->name);
    }
    for (i = 0; i < ir->value_count; ++i) if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = NULL;
    for (i = 0; i < b.info.input_count; ++i) free((void *)(uintptr_t)outside[i]);
    for (i = 0; i < ir->output_count; ++i) { free(out[i]); free(got[i]); }
    for (i = 0; i < ir->input_count; ++i) free(wide[i]);
    qnnrt_cpu_fallback_close(host);
    return good;
}

TEST(host_steps_compute_what_a_run_computes)
{
    static const char *const files[] = { "tiny_cnn", "tiny_prefill", "tiny_decode", "torch_cnn", "torch_llama" };
    size_t i;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        qnnrt_ir *ir = ir_file(files[i], &err);
        CHECK(ir != NULL);
        if (!same_as_run(ir)) { printf("    %s\n", files[i]); CHECK(0); }
        qnnrt_ir_free(ir);
    }
}

TEST(host_steps_compute_random_programs)
{
    program *p = (program *)malloc(sizeof(*p));
    uint32_t i, ran = 0;
    if (p == NULL) abort();
    for (i = 0; i < 100; ++i) {
        qnnrt_ir *ir = NULL;
        write_program(p, i);
        if (p->count < 3) continue;
        CHECK_EQ(qnnrt_ir_read(p->text, p->used, NULL, &ir, &err), QNNRT_OK);
        CHECK(same_as_run(ir));
        qnnrt_ir_free(ir);
        ++ran;
    }
    CHECK(ran > 60);
    free(p);
}

/* ---- the border ---- */

#define HALVES GRAPH(V("x", "float16", "65536"), V("y", "float16", "65536") ", " V("d", "float64", "65536"), "", \
    NODE("y", "alias.default", V("x", "float16", "65536"), V("y", "float16", "65536"), "") ", " \
    NODE("d", "to.dtype", V("x", "float16", "65536"), V("d", "float64", "65536"), "'dtype': 'torch.float64'")) "}"

TEST(host_border_keeps_every_float16)
{
    qnnrt_ir *ir = graph(HALVES);
    qnnrt_cpu_fallback *host;
    border b;
    static uint16_t x[65536], y[65536];
    static float f[65536], d[65536];
    const void *in[1];
    void *out[2];
    uint32_t i, nan = 0;
    CHECK(ir != NULL);
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    CHECK(b.info.input_count == 1 && b.inputs[0].dtype == QNNRT_DTYPE_F32 && b.outputs[1].dtype == QNNRT_DTYPE_F32);
    for (i = 0; i < 65536; ++i) x[i] = (uint16_t)i;
    in[0] = x;
    out[0] = y;
    out[1] = d;
    b.inputs[0].dtype = b.outputs[0].dtype = QNNRT_DTYPE_F16;
    CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
    for (i = 0; i < 65536; ++i) {
        const double frac = (double)(i & 1023);
        const int e = (int)(i >> 10 & 31);
        const double size = e == 31 ? HUGE_VAL : e == 0 ? ldexp(frac, -24) : ldexp(1024 + frac, e - 25);
        const double expected = i >> 15 ? -size : size;
        if (e == 31 && frac > 0) { nan += (y[i] & 0x7C00) == 0x7C00 && (y[i] & 1023) != 0 && isnan(d[i]); continue; }
        CHECK(y[i] == i);
        CHECK((double)d[i] >= expected && (double)d[i] <= expected && !signbit(d[i]) == !signbit(expected));
    }
    CHECK_EQ(nan, 2046);
    /* The same as float32. */
    b.inputs[0].dtype = b.outputs[0].dtype = QNNRT_DTYPE_F32;
    in[0] = d;
    out[0] = f;
    out[1] = d;
    for (i = 0; i < 65536; ++i) if (isnan(d[i])) d[i] = 0;
    CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
    CHECK(memcmp(f, d, sizeof(f)) == 0);
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(ir);
}

TEST(host_border_rounds_as_the_evaluator_does)
{
    /* y in float16 is x in float32, at the border; n is the same in the graph. */
    qnnrt_ir *ir = graph(GRAPH(F("x", "65536"), F("y", "65536"), "", NODE("y", "alias.default", F("x", "65536"), F("y", "65536"),
                                                                          "")) "}");
    qnnrt_ir *narrow = graph(GRAPH(F("x", "65536"), V("n", "float16", "65536"), "",
        NODE("n", "to.dtype", F("x", "65536"), V("n", "float16", "65536"), "'dtype': 'torch.float16'")) "}");
    qnnrt_cpu_fallback *host;
    border b;
    static float x[65536];
    static uint16_t y[65536], n[65536];
    const void *in[1];
    void *out[1], *expected[1];
    uint32_t round, i, k;
    CHECK(ir != NULL && narrow != NULL);
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    b.outputs[0].dtype = QNNRT_DTYPE_F16;
    in[0] = x;
    out[0] = y;
    expected[0] = n;
    for (round = 0; round < 4; ++round) {
        for (i = 0; i < 65536; ++i) {
            uint32_t bits = round < 3 ? (number(1u << 16) << 16) | number(1u << 16) : 0;
            if (round == 3) {                   /* halfway between float16s, and beside it */
                const uint32_t e = 98 + i % 48, q = number(1024);
                bits = e << 23 | q << 13 | (i % 3 == 0 ? 0x1000u : i % 3 == 1 ? 0xFFFu : 0x1001u);
            }
            memcpy(&x[i], &bits, 4);
        }
        CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_run(narrow, NULL, in, expected, &err), QNNRT_OK);
        for (i = k = 0; i < 65536; ++i) k += y[i] == n[i];
        CHECK_EQ(k, 65536);
    }
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(ir);
    qnnrt_ir_free(narrow);
}

#define EMBED GRAPH(V("ids", "int64", "1, 3") ", " V("unused", "float32", "0"), V("e", "bfloat16", "1, 3, 2") ", " \
    V("next", "int64", "1, 3"), V("emb.weight", "bfloat16", "4, 2") ", " V("offset", "int64", "3"), \
    NODE("e", "embedding.default", V("p_emb", "bfloat16", "4, 2") ", " V("ids", "int64", "1, 3"), \
         V("e", "bfloat16", "1, 3, 2"), "") ", " \
    NODE("next", "add.Tensor", V("ids", "int64", "1, 3") ", " V("b_offset", "int64", "3"), V("next", "int64", "1, 3"), "")) \
    ", 'weight_name_mapping': {'p_emb': 'emb.weight', 'b_offset': 'offset'}}"

TEST(host_border_has_int32_for_int64)
{
    qnnrt_ir *ir = graph(EMBED);
    qnnrt_cpu_fallback *host;
    border b;
    static const uint16_t table[8] = { 0x3F80, 0x4000, 0x4040, 0x4080, 0xC000, 0xBF80, 0x0000, 0x7F80 };
    int64_t offset[3] = { 1, -2, 3 };
    int32_t offset32[3] = { 1, -2, 3 };
    int32_t ids[3] = { 3, 0, 2 }, next[3];
    float e[6];
    const void *in[3];
    void *out[2];
    CHECK(ir != NULL);
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    CHECK_EQ(b.info.input_count, 3);                            /* "unused" has no elements */
    CHECK(strcmp(b.inputs[0].name, "ids") == 0 && b.inputs[0].dtype == QNNRT_DTYPE_I32);
    CHECK(strcmp(b.inputs[1].name, "p_emb") == 0 && b.inputs[1].dtype == QNNRT_DTYPE_BF16);
    CHECK(strcmp(b.inputs[2].name, "b_offset") == 0 && b.inputs[2].dtype == QNNRT_DTYPE_I64);
    CHECK(b.outputs[0].dtype == QNNRT_DTYPE_F32 && b.outputs[1].dtype == QNNRT_DTYPE_I32);
    in[0] = ids;
    in[1] = table;
    in[2] = offset;
    out[0] = e;
    out[1] = next;
    CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
    CHECK(e[0] >= 0 && e[0] <= 0 && e[1] >= HUGE_VALF && e[2] >= 1 && e[2] <= 1 && e[4] >= -2 && e[4] <= -2);
    CHECK(next[0] == 4 && next[1] == -2 && next[2] == 5);

    /* What does not fit is named. */
    ids[1] = 4;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "node \"e\" (embedding.default): index 4 is out of range: it may be 0 to 3");
    ids[1] = -1;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "index -1 is out of range");
    ids[1] = 0;
    offset[1] = INT64_C(3000000000);
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "output \"next\": element 1 is 3000000000, which does not fit int32");
    offset[1] = -2;

    /* int64 may stay int64, and a weight of int64 may be int32. */
    {
        int64_t wide_ids[3] = { 1, 1, 1 }, wide_next[3];
        b.inputs[0].dtype = b.outputs[1].dtype = QNNRT_DTYPE_I64;
        b.inputs[2].dtype = QNNRT_DTYPE_I32;
        in[0] = wide_ids;
        in[2] = offset32;
        out[1] = wide_next;
        CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
        CHECK(wide_next[0] == 2 && wide_next[1] == -1 && wide_next[2] == 4);
    }
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(ir);
}

TEST(host_border_refuses_other_tensors)
{
    qnnrt_ir *ir = graph(EMBED);
    qnnrt_cpu_fallback *host;
    border b, good;
    static const uint16_t table[8];
    static const int64_t offset[3];
    static const int32_t ids[3];
    int32_t next[3];
    float e[6];
    const void *in[3], *turned[3];
    void *out[2];
    qnnrt_tensor_info was;
    CHECK(ir != NULL);
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    in[0] = ids;
    in[1] = table;
    in[2] = offset;
    out[0] = e;
    out[1] = next;
    good = b;
    good.info.inputs = good.inputs;
    good.info.outputs = good.outputs;
    b.inputs[0].name = "id";
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "the program gives the step no tensor \"ids\"");
    b.inputs[0] = good.inputs[0];
    b.inputs[0].dtype = QNNRT_DTYPE_F32;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "tensor \"ids\" is float32, expected int32");
    b.inputs[0] = good.inputs[0];
    b.inputs[0].count = 4;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "tensor \"ids\" has 4 elements, expected 3");
    b.inputs[0] = good.inputs[0];
    b.inputs[1].dtype = QNNRT_DTYPE_F32;                        /* a table is not converted */
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "tensor \"p_emb\" is float32, expected bfloat16");
    b.inputs[1] = good.inputs[1];
    b.info.input_count = 2;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "the program gives the step 2 inputs and 2 outputs, expected 3 and 2");
    b.info.input_count = 3;
    b.outputs[1].dtype = QNNRT_DTYPE_I16;
    CHECK_EQ(call(host, &b, in, out), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "tensor \"next\" is int16, expected int32");
    b.outputs[1] = good.outputs[1];
    /* Another order is fine. */
    was = b.inputs[0];
    b.inputs[0] = b.inputs[2];
    b.inputs[2] = was;
    turned[0] = in[2];
    turned[1] = in[1];
    turned[2] = in[0];
    CHECK_EQ(call(host, &b, turned, out), QNNRT_OK);
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(ir);
}

TEST(host_tables_are_read_in_place)
{
    /* 400 MB of which only the pages of two rows can be read. */
    const size_t row = 1024 * 2, bytes = row * 200000, page = 4096;
    qnnrt_ir *ir = graph(GRAPH(V("ids", "int64", "2"), V("e", "float16", "2, 1024"), V("w", "float16", "200000, 1024"),
        NODE("e", "embedding.default", V("w", "float16", "200000, 1024") ", " V("ids", "int64", "2"),
             V("e", "float16", "2, 1024"), "")) "}");
    qnnrt_cpu_fallback *host;
    border b;
    char *table;
    static float e[2048];
    int32_t ids[2] = { 151936, 7 };
    const void *in[2];
    void *out[1];
    char path[1200];
    size_t i;
    int fd;
    CHECK(ir != NULL);
    snprintf(path, sizeof path, "%s/table", test_tmpdir());
    CHECK(test_write_file(path, "", 0));
    fd = open(path, O_RDWR);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    table = (char *)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE, fd, 0);
    CHECK(table != (char *)MAP_FAILED);
    close(fd);
    for (i = 0; i < 2; ++i) {
        char *at = table + (size_t)ids[i] * row;
        uint16_t half = (uint16_t)(0x3C00 + i * 0x400);
        CHECK_EQ(mprotect(at - (uintptr_t)at % page, page, PROT_READ | PROT_WRITE), 0);
        memcpy(at + 2046, &half, 2);
    }
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    in[0] = ids;
    in[1] = table;
    out[0] = e;
    CHECK_EQ(call(host, &b, in, out), QNNRT_OK);
    CHECK(e[1023] >= 1 && e[1023] <= 1 && e[2047] >= 2 && e[2047] <= 2 && e[0] >= 0 && e[0] <= 0);
    qnnrt_cpu_fallback_close(host);
    munmap(table, bytes);
    qnnrt_ir_free(ir);
}

typedef struct worker { const qnnrt_cpu_fallback *host; const border *b; const float *x, *expected; int good; } worker;

static void *work(void *user)
{
    worker *w = (worker *)user;
    const qnnrt_host_step *f = qnnrt_cpu_fallback_functions(w->host, NULL);
    float y[64];
    const void *in[1];
    void *out[1];
    qnnrt_error e;
    int i;
    in[0] = w->x;
    out[0] = y;
    w->good = 1;
    for (i = 0; i < 300; ++i) {
        memset(y, 0, sizeof(y));
        if (f->exec(f->user, &w->b->info, in, out, &e) != QNNRT_OK || memcmp(y, w->expected, sizeof(y)) != 0) w->good = 0;
    }
    return NULL;
}

TEST(host_steps_run_on_several_threads)
{
    /* add_ overwrites its input: the graph was prepared when it was opened. */
    qnnrt_ir *ir = graph(GRAPH(F("x", "8, 8"), F("y", "8, 8"), "",
        NODE("a", "softmax.int", F("x", "8, 8"), F("a", "8, 8"), "'dim': 1") ", "
        NODE("b", "mul_.Tensor", F("a", "8, 8") ", " F("x", "8, 8"), F("b", "8, 8"), "") ", "
        NODE("y", "matmul.default", F("a", "8, 8") ", " F("b", "8, 8"), F("y", "8, 8"), "")) "}");
    qnnrt_cpu_fallback *host;
    border b;
    worker workers[4];
    pthread_t threads[4];
    float x[64], expected[64];
    const void *in[1];
    void *out[1];
    int i;
    CHECK(ir != NULL);
    host = opened(ir);
    CHECK(host != NULL);
    border_make(&b, ir);
    for (i = 0; i < 64; ++i) x[i] = (float)(i % 7) - 3;
    in[0] = x;
    out[0] = expected;
    CHECK_EQ(qnnrt_ir_run(ir, NULL, in, out, &err), QNNRT_OK);
    for (i = 0; i < 4; ++i) {
        workers[i].host = host;
        workers[i].b = &b;
        workers[i].x = x;
        workers[i].expected = expected;
        CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    for (i = 0; i < 4; ++i) CHECK(workers[i].good);
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(ir);
}

/* ---- files ---- */

#define PLAIN GRAPH(F("x", "2"), F("y", "2"), "", NODE("y", "neg.default", F("x", "2"), F("y", "2"), "")) "}"

TEST(host_folder_without_a_file_has_no_steps)
{
    qnnrt_cpu_fallback *host = (qnnrt_cpu_fallback *)(uintptr_t)1;
    size_t count = 9;
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_cpu_fallback_open(test_tmpdir(), NULL, &host, &err), QNNRT_OK);
    CHECK(host != NULL && err.code == QNNRT_OK && err.text[0] == '\0');
    qnnrt_cpu_fallback_functions(host, &count);
    CHECK_EQ(count, 0);
    CHECK(qnnrt_cpu_fallback_part(host, 0) == NULL);
    qnnrt_cpu_fallback_close(host);
    CHECK_EQ(qnnrt_cpu_fallback_open(NULL, NULL, &host, &err), QNNRT_E_ARG);
    CHECK(host == NULL);
    CHECK_EQ(qnnrt_cpu_fallback_open("x", NULL, NULL, &err), QNNRT_E_ARG);
    CHECK(qnnrt_cpu_fallback_functions(NULL, &count) == NULL && count == 0);
    CHECK(qnnrt_cpu_fallback_part(NULL, 0) == NULL);
    qnnrt_cpu_fallback_close(NULL);
    CHECK_EQ(qnnrt_cpu_fallback_tensors(NULL, 0, NULL, 0), 0);
}

TEST(host_file_lists_steps_in_order)
{
    const char *dir = test_tmpdir();
    qnnrt_ir *a = graph(PLAIN), *b = graph(EMBED);
    qnnrt_cpu_fallback_entry steps[3];
    qnnrt_cpu_fallback *host;
    const qnnrt_host_step *functions;
    qnnrt_cpu_fallback_desc desc;
    char *text, path[1200];
    size_t count, bytes;
    memset(&desc, 0, sizeof(desc));
    CHECK(a != NULL && b != NULL);
    steps[0].name = "z \"}\\ \x1b\xe2\x80\xae";
    steps[0].part = a;
    steps[1].name = "a";
    steps[1].part = b;
    steps[2].name = "b";
    steps[2].part = a;
    host = opened_with(dir, steps, 3, NULL);
    CHECK(host != NULL);
    functions = qnnrt_cpu_fallback_functions(host, &count);
    CHECK(count == 3 && strcmp(functions[0].name, steps[0].name) == 0 && strcmp(functions[1].name, "a") == 0 &&
          strcmp(functions[2].name, "b") == 0);
    CHECK(strcmp(qnnrt_cpu_fallback_part(host, 1)->outputs[0]->name, "e") == 0 &&
          qnnrt_cpu_fallback_part(host, 3) == NULL);
    qnnrt_cpu_fallback_close(host);
    snprintf(path, sizeof path, "%s/host.json", dir);
    text = (char *)test_read_file(path, &bytes);
    CHECK(text != NULL);
    CHECK_EQ(qnnrt_cpu_fallback_read(text, bytes, NULL, &host, &err), QNNRT_OK);
    memset(text, 0, bytes);
    functions = qnnrt_cpu_fallback_functions(host, &count);
    CHECK(count == 3 && strcmp(functions[0].name, steps[0].name) == 0 && strcmp(functions[2].name, "b") == 0);
    qnnrt_cpu_fallback_close(host);
    free(text);
    CHECK_EQ(qnnrt_cpu_fallback_read("{}", 2, NULL, &host, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "host steps: \"version\" is missing");
    CHECK_EQ(qnnrt_cpu_fallback_read("{}", 1, NULL, &host, &err), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_cpu_fallback_read("", 0, NULL, &host, &err), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_cpu_fallback_read(NULL, 0, NULL, &host, &err), QNNRT_E_ARG);
    desc.file_bytes = 1;
    CHECK_EQ(qnnrt_cpu_fallback_read("{}", 2, &desc, &host, &err), QNNRT_E_LIMIT);
    host = opened_with(test_tmpdir(), NULL, 0, NULL);
    CHECK(host != NULL);
    qnnrt_cpu_fallback_functions(host, &count);
    CHECK_EQ(count, 0);
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(a);
    qnnrt_ir_free(b);
}

TEST(host_file_that_is_damaged_is_refused)
{
    static const struct { const char *text; qnnrt_result code; const char *why; } bad[] = {
        { "", QNNRT_E_FORMAT, "not JSON" },
        { "[]", QNNRT_E_FORMAT, "not a list of host steps: not an object" },
        { "{}", QNNRT_E_FORMAT, "\"version\" is missing" },
        { "{'version': 1}", QNNRT_E_FORMAT, "\"steps\" is missing" },
        { "{'version': 2, 'steps': {}}", QNNRT_E_FORMAT, "its version is not 1" },
        { "{'version': '1', 'steps': {}}", QNNRT_E_FORMAT, "its version is not 1" },
        { "{'version': 1, 'version': 1, 'steps': {}}", QNNRT_E_FORMAT, "a key is unknown or occurs twice" },
        { "{'version': 1, 'steps': {}, 'steps': {}}", QNNRT_E_FORMAT, "a key is unknown or occurs twice" },
        { "{'version': 1, 'steps': {}, 'more': 1}", QNNRT_E_FORMAT, "a key is unknown or occurs twice" },
        { "{'version': 1, 'steps': []}", QNNRT_E_FORMAT, "\"steps\" is not an object" },
        { "{'version': 1, 'steps': {'a': 5}}", QNNRT_E_FORMAT, "a step is not an object" },
        { "{'version': 1,\n 'steps': {'a': {]}}}", QNNRT_E_FORMAT, "line 2: not JSON" },
        { "{'version': 1, 'steps': {'a': {}}}", QNNRT_E_FORMAT, "not an exported graph" },
        { "{'version': 1, 'steps': {}} x", QNNRT_E_FORMAT, "not JSON" },
        { "{'version': 1, 'steps': {'': " PLAIN "}}", QNNRT_E_FORMAT, "a step has no name" },
        { "{'version': 1, 'steps': {'a': " PLAIN ", '\\u0061': " PLAIN "}}", QNNRT_E_FORMAT, "step \"a\" occurs twice" },
        { "{'version': 1, 'steps': {'a\\u001b\\u202e': {'nodes': []}}}", QNNRT_E_FORMAT,
          "step \"a????\": line 1, byte 0: not an exported graph: \"graph_inputs\" is missing" },
        { "{'version': 1, 'steps': {'a\\u000ab': {'nodes': []}}}", QNNRT_E_FORMAT, "step \"a b\": line 1, byte 0: not an exported" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "2"), F("y", "3"), "", NODE("y", "neg.default", F("x", "2"), F("y", "3"),
          "")) "}}}", QNNRT_E_MISMATCH, "step \"a\": node \"y\" (neg.default): output \"y\" is [3] float32" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "4") ", " F("w", "1, 2"), F("y", "4"), "", NODE("y", "copy.default",
          F("x", "4") ", " F("w", "1, 2"), F("y", "4"), "")) "}}}", QNNRT_E_MISMATCH, "[1, 2] does not broadcast to [4]" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "1, 2, 0, 3"), F("y", "1, 2, 4, 6"), "", NODE("y",
          "upsample_nearest2d.default", F("x", "1, 2, 0, 3"), F("y", "1, 2, 4, 6"), "'output_size': [4, 6]")) "}}}",
          QNNRT_E_MISMATCH, "input 0 is empty" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "2"), F("x", "2"), "", "") "}}}", QNNRT_E_FORMAT,
          "step \"a\": output \"x\" is also an input" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "2"), F("y", "2") ", " F("y", "2"), "",
          NODE("y", "neg.default", F("x", "2"), F("y", "2"), "")) "}}}", QNNRT_E_FORMAT, "step \"a\": output \"y\" occurs twice" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "0"), F("y", "0"), "",
          NODE("y", "neg.default", F("x", "0"), F("y", "0"), "")) "}}}", QNNRT_E_FORMAT, "step \"a\": it has no outputs" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "1"), F("y", "1"), "", NODE("b", "expand.default", F("x", "1"),
          F("b", "140000000000000"), "'size': [140000000000000]") ", " NODE("y", "amax.default", F("b", "140000000000000"),
          F("y", "1"), "'dim': [0], 'keepdim': true")) "}}}", QNNRT_E_LIMIT,
          "step \"a\": value \"b\" has 140000000000000 elements, more than qnnrt_cpu_fallback_desc.value_bytes allows" },
        { "{'version': 1, 'steps': {'a': " GRAPH(F("x", "2"), F("y", "2"), "", NODE("y", "foo.bar", F("x", "2"), F("y", "2"), ""))
          "}}}", QNNRT_E_UNSUPPORTED, "step \"a\": node \"y\" (foo.bar): the operator is unknown" },
    };
    const char *dir = test_tmpdir();
    size_t i;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        qnnrt_cpu_fallback *host = (qnnrt_cpu_fallback *)(uintptr_t)1;
        qnnrt_result result;
        put_text(dir, bad[i].text);
        TEST_JUNK(err);
        result = qnnrt_cpu_fallback_open(dir, NULL, &host, &err);
        if (result != bad[i].code || strstr(err.text, bad[i].why) == NULL)
            printf("    %s\n    %d: %s\n", bad[i].text, (int)result, err.text);
        CHECK(result == bad[i].code && err.code == result && host == NULL);
        CHECK_STR(err.text, bad[i].why);
        CHECK_STR(err.text, "host.json");
        CHECK_EQ(qnnrt_cpu_fallback_open(dir, NULL, &host, NULL), bad[i].code);
    }
}

TEST(host_file_is_limited)
{
    const char *dir = test_tmpdir();
    qnnrt_cpu_fallback_desc desc;
    qnnrt_cpu_fallback *host;
    char path[1200];
    memset(&desc, 0, sizeof(desc));
    put_text(dir, "{'version': 1, 'steps': {'a': " PLAIN ", 'b': " PLAIN "}}");
    desc.file_bytes = 100;
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, &desc, &host, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "more than qnnrt_cpu_fallback_desc.file_bytes");
    desc.file_bytes = 0;
    desc.steps = 1;
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, &desc, &host, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "it has 2 steps, more than qnnrt_cpu_fallback_desc.steps");
    desc.steps = 2;
    desc.value_bytes = 7;
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, &desc, &host, &err), QNNRT_E_LIMIT);
    desc.value_bytes = 8;
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, &desc, &host, &err), QNNRT_OK);
    qnnrt_cpu_fallback_close(host);
    snprintf(path, sizeof path, "%s/host.json", dir);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, NULL, &host, &err), QNNRT_E_IO);
    CHECK_EQ(rmdir(path), 0);
}

TEST(host_write_checks_its_steps)
{
    qnnrt_ir *a = graph(PLAIN);
    qnnrt_cpu_fallback_entry steps[2];
    sink s = { NULL, 0, 0, 0 };
    CHECK(a != NULL);
    steps[0].name = steps[1].name = "a";
    steps[0].part = steps[1].part = a;
    CHECK_EQ(qnnrt_cpu_fallback_write(steps, 2, sink_write, &s, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "step \"a\" occurs twice");
    steps[1].name = "";
    CHECK_EQ(qnnrt_cpu_fallback_write(steps, 2, sink_write, &s, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "step 1 has no name or no part");
    steps[1].name = "b";
    steps[1].part = NULL;
    CHECK_EQ(qnnrt_cpu_fallback_write(steps, 2, sink_write, &s, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cpu_fallback_write(steps, 1, NULL, &s, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cpu_fallback_write(NULL, 1, sink_write, &s, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cpu_fallback_write(steps, 1, refuse, NULL, &err), QNNRT_E_IO);
    CHECK_EQ(s.used, 0);
    CHECK_EQ(qnnrt_cpu_fallback_tensors(a, 0, NULL, 100), qnnrt_cpu_fallback_tensors(a, 0, NULL, 0));
    CHECK_EQ(qnnrt_cpu_fallback_tensors(NULL, 0, NULL, 100), 0);
    qnnrt_ir_free(a);
}

TEST(host_survives_every_failing_allocation)
{
    qnnrt_ir *ir = graph(EMBED);
    qnnrt_cpu_fallback_entry entry;
    qnnrt_cpu_fallback_desc desc;
    qnnrt_cpu_fallback *host;
    border b;
    const char *dir = test_tmpdir();
    static const uint16_t table[8];
    static const int64_t offset[3];
    static const int32_t ids[3];
    int32_t next[3];
    float e[6];
    const void *in[3];
    void *out[2];
    qnnrt_result result = QNNRT_E_MEMORY;
    long failed = 0;
    CHECK(ir != NULL);
    entry.name = "step";
    entry.part = ir;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    fail_at = -1;
    host = opened_with(dir, &entry, 1, &desc);
    CHECK(host != NULL);
    qnnrt_cpu_fallback_close(host);
    CHECK_EQ(live, 0);
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        allocations = 0;
        result = qnnrt_cpu_fallback_open(dir, &desc, &host, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result && live == 0));
        failed += result != QNNRT_OK;
    }
    CHECK(failed > 6);
    border_make(&b, ir);
    in[0] = ids;
    in[1] = table;
    in[2] = offset;
    out[0] = e;
    out[1] = next;
    failed = 0;
    result = QNNRT_E_MEMORY;
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        const long before = live;
        allocations = 0;
        result = call(host, &b, in, out);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
        CHECK_EQ(live, before);
        failed += result != QNNRT_OK;
    }
    CHECK(failed > 5);
    fail_at = -1;
    qnnrt_cpu_fallback_close(host);
    CHECK_EQ(live, 0);
    qnnrt_ir_free(ir);
}

/* ---- a folder ---- */

#define FIRST GRAPH(V("ids", "int64", "1, 4"), V("x", "float16", "1, 4, 8"), V("emb.weight", "float16", "16, 8"), \
    NODE("x", "embedding.default", V("p_emb", "float16", "16, 8") ", " V("ids", "int64", "1, 4"), \
         V("x", "float16", "1, 4, 8"), "")) ", 'weight_name_mapping': {'p_emb': 'emb.weight'}}"
#define LAST GRAPH(F("y", "4, 8"), F("sums", "4, 8") ", " V("best", "int64", "4"), "", \
    NODE("sums", "cumsum.default", F("y", "4, 8"), F("sums", "4, 8"), "'dim': 1") ", " \
    NODE("best", "argmax.default", F("y", "4, 8"), V("best", "int64", "4"), "'dim': 1")) "}"

static uint16_t table_data[16 * 8];
static const uint32_t ids_dims[2] = { 1, 4 }, x_dims[2] = { 4, 8 }, table_dims[2] = { 16, 8 }, best_dims[1] = { 4 };

static qnnrt_tensor_info info_of(const char *name, qnnrt_dtype dtype, uint32_t rank, const uint32_t *dims)
{
    qnnrt_tensor_info t;
    memset(&t, 0, sizeof(t));
    t.name = name;
    t.dtype = dtype;
    t.rank = rank;
    t.dims = dims;
    return t;
}

/* Write host.json, table.raw, twice.bin and qnnrt.json: embed, on the host -> twice, on libQnnRef.so -> finish. */
static void make_folder(const char *dir, const qnnrt_ir *first, const qnnrt_ir *last)
{
    qnnrt_manifest_context context;
    qnnrt_manifest_constant constant;
    qnnrt_manifest_desc manifest;
    qnnrt_manifest_pipeline pipeline;
    qnnrt_step_desc steps[3];
    qnnrt_host_step hosts[2];
    qnnrt_edge_desc edges[2];
    qnnrt_use_desc tied;
    qnnrt_tensor_info in[2], mid, out[2];
    qnnrt_cpu_fallback_entry entries[2];
    qnnrt_backend_desc backend_desc;
    qnnrt_graph_desc graph_desc;
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_tensor x, m, y;
    char path[1200];
    sink s = { NULL, 0, 0, 0 };
    size_t i;
    for (i = 0; i < 128; ++i) table_data[i] = (uint16_t)(0x3800 + 37 * (i % 61) + (i % 3 == 0 ? 0x8000 : 0));
    snprintf(path, sizeof path, "%s/table.raw", dir);
    CHECK(test_write_file(path, table_data, sizeof(table_data)));
    entries[0].name = "embed";
    entries[0].part = first;
    entries[1].name = "finish";
    entries[1].part = last;
    CHECK_EQ(qnnrt_cpu_fallback_write(entries, 2, sink_write, &s, &err), QNNRT_OK);
    snprintf(path, sizeof path, "%s/host.json", dir);
    CHECK(test_write_file(path, s.text, s.used));
    s.used = 0;

    backend_desc = test_ref_desc();
    memset(&graph_desc, 0, sizeof(graph_desc));
    CHECK_EQ(qnnrt_backend_open(&backend_desc, &backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    graph_desc.name = "twice";
    qnnrt_builder_graph(builder, &graph_desc);
    x = life_tensor(builder, "x", QNNRT_TENSOR_INPUT, 4, 8, NULL);
    m = life_tensor(builder, "m", QNNRT_TENSOR_INNER, 4, 8, NULL);
    y = life_tensor(builder, "y", QNNRT_TENSOR_OUTPUT, 4, 8, NULL);
    life_node(builder, "relu", "Relu", x, QNNRT_NO_TENSOR, m, NULL);
    life_node(builder, "add", "ElementWiseAdd", m, m, y, NULL);
    CHECK_EQ(qnnrt_builder_finish(builder, &model, &err), QNNRT_OK);
    snprintf(path, sizeof path, "%s/twice.bin", dir);
    CHECK_EQ(qnnrt_save(model, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);

    memset(&context, 0, sizeof(context));
    memset(&constant, 0, sizeof(constant));
    memset(&manifest, 0, sizeof(manifest));
    memset(&pipeline, 0, sizeof(pipeline));
    memset(steps, 0, sizeof(steps));
    memset(hosts, 0, sizeof(hosts));
    memset(edges, 0, sizeof(edges));
    memset(&tied, 0, sizeof(tied));
    context.file = "twice.bin";
    context.role = "cpu";
    constant.tensor.name = constant.file = "table.raw";
    constant.tensor.dtype = QNNRT_DTYPE_F16;
    constant.tensor.rank = 2;
    constant.tensor.dims = table_dims;
    constant.data = table_data;
    in[0] = info_of("ids", QNNRT_DTYPE_I32, 2, ids_dims);
    in[1] = info_of("p_emb", QNNRT_DTYPE_F16, 2, table_dims);
    mid = info_of("x", QNNRT_DTYPE_F32, 2, x_dims);
    hosts[0].name = "embed";
    hosts[0].inputs = in;
    hosts[0].input_count = 2;
    hosts[0].outputs = &mid;
    hosts[0].output_count = 1;
    out[0] = info_of("sums", QNNRT_DTYPE_F32, 2, x_dims);
    out[1] = info_of("best", QNNRT_DTYPE_I32, 1, best_dims);
    {
        static qnnrt_tensor_info yin;
        yin = info_of("y", QNNRT_DTYPE_F32, 2, x_dims);
        hosts[1].name = "finish";
        hosts[1].inputs = &yin;
        hosts[1].input_count = 1;
        hosts[1].outputs = out;
        hosts[1].output_count = 2;
    }
    steps[0].host = &hosts[0];
    steps[1].graph = "twice";
    steps[2].host = &hosts[1];
    edges[0].from = edges[0].to = "x";
    edges[0].to_step = edges[1].from_step = 1;
    edges[1].from = edges[1].to = "y";
    edges[1].to_step = 2;
    tied.tensor = "p_emb";
    tied.constant = table_data;
    tied.constant_bytes = sizeof(table_data);
    pipeline.desc.name = "forward";
    pipeline.desc.steps = steps;
    pipeline.desc.step_count = 3;
    pipeline.desc.edges = edges;
    pipeline.desc.edge_count = 2;
    pipeline.desc.uses = &tied;
    pipeline.desc.use_count = 1;
    manifest.contexts = &context;
    manifest.context_count = 1;
    manifest.constants = &constant;
    manifest.constant_count = 1;
    manifest.pipelines = &pipeline;
    manifest.pipeline_count = 1;
    if (qnnrt_manifest_write(&manifest, sink_write, &s, &err) != QNNRT_OK) printf("    %s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    snprintf(path, sizeof path, "%s/qnnrt.json", dir);
    CHECK(test_write_file(path, s.text, s.used));
    free(s.text);
}

TEST(host_steps_run_in_a_folder)
{
    qnnrt_ir *first = graph(FIRST), *last = graph(LAST);
    const char *given = test_getenv("QNNRT_HOST_FOLDER"), *dir = given != NULL ? given : test_tmpdir();
    qnnrt_manifest_role role;
    qnnrt_manifest_open_desc desc;
    qnnrt_cpu_fallback *host;
    qnnrt_manifest *model = NULL;
    qnnrt_run *run = NULL;
    int32_t ids[4] = { 15, 0, 7, 7 }, best[4];
    float sums[32];
    int i, k;
    ref_begin("");
    CHECK(first != NULL && last != NULL);
    memset(&err, 0, sizeof(err));
    TRY(make_folder(dir, first, last));
    memset(&role, 0, sizeof(role));
    memset(&desc, 0, sizeof(desc));
    role.role = "cpu";
    role.desc.path = TEST_REF_LIB;
    desc.backends = &role;
    desc.backend_count = 1;
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, NULL, &host, &err), QNNRT_OK);
    desc.host_functions = qnnrt_cpu_fallback_functions(host, &desc.host_function_count);
    CHECK_EQ(desc.host_function_count, 2);
    if (qnnrt_manifest_open(dir, &desc, &model, &err) != QNNRT_OK) printf("    %s\n", err.text);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_manifest_prepare(model, "forward", NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "ids"), 0, ids, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "sums"), 0, sums, 32), QNNRT_OK);
    CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "best"), 0, best, 4), QNNRT_OK);
    for (i = 0; i < 4; ++i) {
        double sum = 0, most = -1;
        int at = 0;
        for (k = 0; k < 8; ++k) {
            const uint16_t half = table_data[8 * ids[i] + k];
            const double v = ldexp(1024 + (half & 1023), (half >> 10 & 31) - 25), y = half >> 15 ? 0 : 2 * v;
            sum += y;
            if (y > most) { most = y; at = k; }
            CHECK(fabs((double)sums[8 * i + k] - sum) < 1e-5);
        }
        CHECK_EQ(best[i], at);
    }
    ids[2] = 16;
    CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "ids"), 0, ids, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_UNSUPPORTED);
    CHECK_STR(qnnrt_run_error(run)->text, "\"embed\"");
    CHECK_STR(qnnrt_run_error(run)->text, "index 16 is out of range: it may be 0 to 15");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    qnnrt_cpu_fallback_close(host);
    qnnrt_ir_free(first);
    qnnrt_ir_free(last);
}

/* The example of the manual: a function of the caller, beside those of host.json. */
static qnnrt_result line(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs,
                         qnnrt_error *why)
{
    const float *x = (const float *)inputs[0];
    float *y = (float *)outputs[0];
    double slope = 1;
    uint64_t i;
    (void)user; (void)why;
    for (i = 1; i < step->input_count; ++i)
        if (strcmp(step->inputs[i].name, "attr.slope") == 0) memcpy(&slope, inputs[i], sizeof slope);
    for (i = 0; i < step->outputs[0].count; ++i) y[i] = (float)(slope * (double)x[i]);
    return QNNRT_OK;
}

TEST(host_functions_of_the_caller_stand_beside_those_of_a_folder)
{
    static const char program[] =
        "{'program': {'version': 1, 'backends': [], 'contexts': [], 'constants': [{'name': 's', 'file': 's.raw', 'dtype': 'float64', 'dims': [1]}],"
        " 'pipelines': [{'name': 'p', 'steps': [{'host': 'r', 'inputs': [{'name': 'x', 'dtype': 'float32', 'dims': [4]}],"
        " 'outputs': [{'name': 'r', 'dtype': 'float32', 'dims': [4]}]}, {'host': 'mylib.line.default', 'inputs': [{'name': 'r', 'dtype': 'float32',"
        " 'dims': [4]}, {'name': 'attr.slope', 'dtype': 'float64', 'dims': [1]}], 'outputs': [{'name': 'y', 'dtype': 'float32', 'dims': [4]}]}],"
        " 'edges': [{'from': [0, 'r'], 'to': [1, 'r']}], 'edges_only': true,"
        " 'constants': [{'step': 1, 'input': 'attr.slope', 'constant': 's'}]}]}}";
    static const char steps[] = "{'version': 1, 'steps': {'r': " GRAPH(F("x", "4"), F("r", "4"), "", NODE("r", "relu.default", F("x", "4"), F("r", "4"), ""))
        "}}}";
    const double slope = 2.5;
    const float x[4] = { -1, 0, 2, 4 };
    const qnnrt_host_step *found;
    char path[1200], *json = ir_quoted(program);
    const char *dir = test_tmpdir();
    qnnrt_cpu_fallback *host = NULL;
    qnnrt_manifest *model = NULL;
    qnnrt_manifest_open_desc desc;
    qnnrt_host_step functions[2];
    qnnrt_run *run = NULL;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/qnnrt.json", dir);
    CHECK(test_write_file(path, json, strlen(json)));
    free(json);
    put_text(dir, steps);
    snprintf(path, sizeof path, "%s/s.raw", dir);
    CHECK(test_write_file(path, &slope, sizeof slope));
    memset(&desc, 0, sizeof desc);
    memset(functions, 0, sizeof functions);
    CHECK_EQ(qnnrt_cpu_fallback_open(dir, NULL, &host, &err), QNNRT_OK);
    found = qnnrt_cpu_fallback_functions(host, &count);
    CHECK_EQ(count, 1);
    functions[0] = found[0];
    functions[1].name = "mylib.line.default";
    functions[1].exec = line;
    desc.host_functions = functions;
    desc.host_function_count = 2;
    if (qnnrt_manifest_open(dir, &desc, &model, &err) != QNNRT_OK) printf("    %s\n", err.text);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK(((const float *)qnnrt_data(run, "y", NULL))[3] == 10 && ((const float *)qnnrt_data(run, "y", NULL))[0] == 0);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    qnnrt_cpu_fallback_close(host);
}

TEST_MAIN("host")
{
    RUN(host_steps_compute_what_a_run_computes);
    RUN(host_steps_compute_random_programs);
    RUN(host_border_keeps_every_float16);
    RUN(host_border_rounds_as_the_evaluator_does);
    RUN(host_border_has_int32_for_int64);
    RUN(host_border_refuses_other_tensors);
    RUN(host_tables_are_read_in_place);
    RUN(host_steps_run_on_several_threads);
    RUN(host_folder_without_a_file_has_no_steps);
    RUN(host_file_lists_steps_in_order);
    RUN(host_file_that_is_damaged_is_refused);
    RUN(host_file_is_limited);
    RUN(host_write_checks_its_steps);
    RUN(host_survives_every_failing_allocation);
    RUN(host_steps_run_in_a_folder);
    RUN(host_functions_of_the_caller_stand_beside_those_of_a_folder);
}
