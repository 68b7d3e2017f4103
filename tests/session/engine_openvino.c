/* engine_openvino.c - the engine "openvino" on a genuine library, which tests/session/test_engine_openvino.sh names

   The models are written here: .xml in the text of OpenVINO, one .onnx byte by byte. */
#include "../../tools/engines/qnnrt_openvino.h"
#include "test.h"

#include <pthread.h>
#include <stdarg.h>
#include <sched.h>

static qnnrt_error err;
static char folder[1100];
static char logged[8192];

static void log_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    const size_t used = strlen(logged);
    (void)user; (void)level; (void)part; (void)code;
    snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

/* ---- models ------------------------------------------------------------------------------------ */

static const char *at(const char *name)
{
    static char paths[4][1300];
    static int next;
    char *path = paths[next = (next + 1) % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static char text[1 << 18];
static size_t used;

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
}

/* x -> op -> y, of one type; dims as XML. */
static int write_unary(const char *name, const char *type, const char *precision, const char *op, const char *shape, const char *dims)
{
    used = 0;
    say("<?xml version=\"1.0\"?><net name=\"unary\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">"
        "<data shape=\"%s\" element_type=\"%s\"/><output><port id=\"0\" precision=\"%s\" names=\"x\">%s</port></output></layer>", shape, type,
        precision, dims);
    if (op != NULL)
        say("<layer id=\"1\" name=\"n\" type=\"%s\" version=\"opset1\"><input><port id=\"0\">%s</port></input><output><port id=\"1\" precision=\"%s\""
            " names=\"y\">%s</port></output></layer>", op, dims, precision, dims);
    say("<layer id=\"2\" name=\"r\" type=\"Result\" version=\"opset1\"><input><port id=\"0\">%s</port></input></layer></layers><edges>", dims);
    if (op != NULL)
        say("<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/><edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>");
    else say("<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>");
    say("</edges></net>");
    return test_write_file(at(name), text, used);
}

/* y = x + w, w from the .bin. */
static int write_weights(const char *name, const char *bin)
{
    static const float w[4] = { 10, 20, 30, 40 };
    static const char dims[] = "<dim>4</dim>";
    used = 0;
    say("<?xml version=\"1.0\"?><net name=\"sum\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">"
        "<data shape=\"4\" element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"x\">%s</port></output></layer>"
        "<layer id=\"1\" name=\"w\" type=\"Const\" version=\"opset1\"><data element_type=\"f32\" shape=\"4\" offset=\"0\" size=\"16\"/><output>"
        "<port id=\"0\" precision=\"FP32\">%s</port></output></layer>"
        "<layer id=\"2\" name=\"n\" type=\"Add\" version=\"opset1\"><data auto_broadcast=\"numpy\"/><input><port id=\"0\">%s</port><port id=\"1\">%s</port>"
        "</input><output><port id=\"2\" precision=\"FP32\" names=\"y\">%s</port></output></layer>"
        "<layer id=\"3\" name=\"r\" type=\"Result\" version=\"opset1\"><input><port id=\"0\">%s</port></input></layer></layers><edges>"
        "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/><edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\"/>"
        "<edge from-layer=\"2\" from-port=\"2\" to-layer=\"3\" to-port=\"0\"/></edges></net>", dims, dims, dims, dims, dims, dims);
    return test_write_file(at(name), text, used) && test_write_file(at(bin), w, sizeof w);
}

/* A chain of products of matrices, which runs for seconds. */
static int write_long(const char *name, int count)
{
    static const char dims[] = "<dim>1024</dim><dim>1024</dim>";
    int i;
    used = 0;
    say("<?xml version=\"1.0\"?><net name=\"long\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">"
        "<data shape=\"1024,1024\" element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"x\">%s</port></output></layer>", dims);
    for (i = 1; i <= count; ++i)
        say("<layer id=\"%d\" name=\"m%d\" type=\"MatMul\" version=\"opset1\"><data transpose_a=\"false\" transpose_b=\"false\"/><input>"
            "<port id=\"0\">%s</port><port id=\"1\">%s</port></input><output><port id=\"2\" precision=\"FP32\" names=\"m%d\">%s</port></output></layer>",
            i, i, dims, dims, i, dims);
    say("<layer id=\"%d\" name=\"r\" type=\"Result\" version=\"opset1\"><input><port id=\"0\">%s</port></input></layer></layers><edges>", count + 1, dims);
    for (i = 1; i <= count; ++i)
        say("<edge from-layer=\"%d\" from-port=\"%d\" to-layer=\"%d\" to-port=\"0\"/><edge from-layer=\"0\" from-port=\"0\" to-layer=\"%d\" to-port=\"1\"/>",
            i - 1, i == 1 ? 0 : 2, i, i);
    say("<edge from-layer=\"%d\" from-port=\"2\" to-layer=\"%d\" to-port=\"0\"/></edges></net>", count, count + 1);
    return test_write_file(at(name), text, used);
}

/* y = Relu(x), x float32 [N, 3], opset 13: the message of ONNX, field by field. */
static int write_onnx(const char *name)
{
    unsigned char out[128];
    size_t n = 0, graph, i;
    static const char *const names[2] = { "x", "y" };
    out[n++] = 0x08; out[n++] = 8;
    out[n++] = 0x3A; graph = n++;
    memcpy(out + n, "\x0A\x0C\x0A\x01x\x12\x01y\x22\x04Relu", 14); n += 14;
    memcpy(out + n, "\x12\x01g", 3); n += 3;
    for (i = 0; i < 2; ++i) {
        out[n++] = i == 0 ? 0x5A : 0x62; out[n++] = 20;              /* input, output: a ValueInfoProto of 20 bytes */
        out[n++] = 0x0A; out[n++] = 1; out[n++] = (unsigned char)names[i][0];
        out[n++] = 0x12; out[n++] = 15;                              /* type */
        out[n++] = 0x0A; out[n++] = 13;                              /* tensor_type */
        out[n++] = 0x08; out[n++] = 1;                               /* float */
        out[n++] = 0x12; out[n++] = 9;                               /* shape: two dimensions */
        out[n++] = 0x0A; out[n++] = 3; out[n++] = 0x12; out[n++] = 1; out[n++] = 'N';
        out[n++] = 0x0A; out[n++] = 2; out[n++] = 0x08; out[n++] = 3;
    }
    out[graph] = (unsigned char)(n - graph - 1);
    out[n++] = 0x42; out[n++] = 4; out[n++] = 0x0A; out[n++] = 0; out[n++] = 0x10; out[n++] = 13;     /* opset_import */
    return test_write_file(at(name), out, n);
}

/* ---- a model ----------------------------------------------------------------------------------- */

typedef struct life {
    const qnnrt_engine  *engine;
    qnnrt_engine_open    open;
    qnnrt_engine_library facts;
    qnnrt_engine_load    load;
    qnnrt_engine_model   model;
    void *library, *object, *binding;
    int   stop;
} life;

/* Memory that is given back is overwritten: OpenVINO uses an imported model in place. */
static void *plain_alloc(void *user, size_t bytes)
{
    char *data = (char *)malloc(bytes + 64);
    (void)user;
    if (data == NULL) return NULL;
    memcpy(data, &bytes, sizeof bytes);
    return data + 64;
}

static void plain_free(void *user, void *data)
{
    char *begin = (char *)data - 64;
    size_t bytes;
    (void)user;
    memcpy(&bytes, begin, sizeof bytes);
    memset(begin, 0xDD, bytes + 64);
    free(begin);
}

static qnnrt_result begin(life *l, const char *path)
{
    qnnrt_result result;
    memset(l, 0, sizeof *l);
    TEST_JUNK(err);
    logged[0] = '\0';
    l->engine = qnnrt_engine_openvino();
    l->open.hooks.alloc = plain_alloc;
    l->open.hooks.free = plain_free;
    l->open.hooks.log = log_line;
    l->open.library_path = test_arg(0);
    l->load.hooks = l->open.hooks;
    l->load.path = path;
    l->load.kind = strstr(path, ".onnx") != NULL ? QNNRT_MODEL_ONNX : QNNRT_MODEL_OPENVINO;
    l->load.device = "cpu";
    l->load.threads = 1;
    l->load.optimize_level = -1;
    l->load.precision = QNNRT_PRECISION_FP32;
    result = l->engine->open(&l->open, &l->library, &l->facts, &err);
    if (result != QNNRT_OK) printf("%s\n", err.text);
    return result;
}

static qnnrt_result load(life *l)
{
    qnnrt_result result = l->engine->load(l->library, &l->load, &l->object, &l->model, &err);
    if (result == QNNRT_OK) result = l->engine->binding_create(l->object, &l->binding, &err);
    return result;
}

static void drop(life *l)
{
    if (l->binding != NULL) l->engine->binding_destroy(l->binding);
    if (l->object != NULL) l->engine->unload(l->object);
    l->binding = l->object = NULL;
}

static void end(life *l)
{
    drop(l);
    if (l->library != NULL) l->engine->close(l->library);
    l->library = NULL;
}

static qnnrt_value flat(void *data, size_t bytes, qnnrt_dtype dtype, int64_t count)
{
    qnnrt_value value;
    memset(&value, 0, sizeof value);
    value.dtype = dtype;
    value.rank = 1;
    value.dims[0] = count;
    value.data = data;
    value.bytes = bytes;
    return value;
}

TEST(weights_beside_the_model_are_read)
{
    float x[4] = { 1, 2, 3, 4 };
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 4), out;
    life l;
    CHECK(write_weights("sum.xml", "sum.bin"));
    CHECK_EQ(begin(&l, at("sum.xml")), QNNRT_OK);
    CHECK(strstr(test_arg(0), l.facts.version) != NULL);             /* the folder is named after it */
    CHECK_STR(l.facts.build, "cpu ");
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK(l.model.input_count == 1 && l.model.output_count == 1);
    CHECK(strcmp(l.model.inputs[0].name, "x") == 0 && strcmp(l.model.outputs[0].name, "y") == 0);
    CHECK(l.model.inputs[0].rank == 1 && l.model.inputs[0].dims[0] == 4 && l.model.inputs[0].dtype == QNNRT_DTYPE_F32);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_E_STATE);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    CHECK_EQ(l.engine->get(l.binding, 0, &out, &err), QNNRT_OK);     /* in memory of the engine */
    CHECK(out.bytes == 16 && out.dtype == QNNRT_DTYPE_F32 && ((const float *)out.data)[3] == 44);
    end(&l);
    CHECK(unlink(at("sum.bin")) == 0);
    CHECK_EQ(begin(&l, at("sum.xml")), QNNRT_OK);
    CHECK_EQ(load(&l), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "sum.xml");
    end(&l);
}

TEST(bound_memory_is_used_without_a_copy)
{
    float x[4] = { 1, -2, 3, -4 }, other[4] = { -1, 5, -6, 7 };
    char room[4 * sizeof(float) + 1];
    float y[4];
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 4), out = flat(y, sizeof y, QNNRT_DTYPE_F32, 4), got;
    int i;
    life l;
    CHECK(write_unary("relu4.xml", "f32", "FP32", "ReLU", "4", "<dim>4</dim>"));
    CHECK_EQ(begin(&l, at("relu4.xml")), QNNRT_OK);
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
    for (i = 0; i < 3; ++i) {                                        /* new numbers in the same memory */
        x[3] = (float)i;
        CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
        CHECK(y[0] == 1 && y[1] == 0 && y[2] == 3 && y[3] == (float)i);
        CHECK_EQ(l.engine->get(l.binding, 0, &got, &err), QNNRT_OK);
        CHECK(got.data == y && got.bytes == sizeof y);
    }
    in.data = other;
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    CHECK(y[0] == 0 && y[1] == 5 && y[3] == 7);
    out.data = room + 1;                                             /* at an odd address */
    CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    memcpy(y, room + 1, sizeof y);
    CHECK(y[0] == 0 && y[1] == 5 && y[3] == 7);
    memset(y, 0, sizeof y);
    out.data = NULL;                                                 /* taken back */
    CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    CHECK_EQ(l.engine->get(l.binding, 0, &got, &err), QNNRT_OK);
    CHECK(got.data != y && got.data != room + 1 && ((const float *)got.data)[3] == 7 && y[3] == 0);
    end(&l);
}

TEST(free_dimensions_are_chosen_by_the_values)
{
    static const int64_t counts[] = { 3, 1, 9, 0, 4, 10 };
    float x[16] = { 7, 8, 9 }, y[16];
    qnnrt_value in, out, got;
    size_t i;
    int pass;
    life l;
    CHECK(write_unary("free.xml", "f32", "FP32", "ReLU", "?", "<dim>-1</dim>"));
    CHECK(write_unary("through.xml", "f32", "FP32", NULL, "?", "<dim>-1</dim>"));
    for (pass = 0; pass < 2; ++pass) {                               /* the second one writes elsewhere at first */
        CHECK_EQ(begin(&l, at(pass ? "through.xml" : "free.xml")), QNNRT_OK);
        CHECK_EQ(load(&l), QNNRT_OK);
        CHECK_EQ(l.model.inputs[0].dims[0], -1);
        out = flat(y, 9 * sizeof(float), QNNRT_DTYPE_F32, 9);
        CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
        for (i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
            qnnrt_result result;
            memset(y, 0, sizeof y);
            in = flat(x, (size_t)counts[i] * sizeof(float), QNNRT_DTYPE_F32, counts[i]);
            CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
            result = l.engine->run(l.binding, &err);
            CHECK_EQ(result, counts[i] == 9 ? QNNRT_OK : QNNRT_E_MISMATCH);
            if (counts[i] > 9) break;                                /* no room */
            out = flat(y, 9 * sizeof(float), QNNRT_DTYPE_F32, counts[i]);
            CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
            CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
            out = flat(y, 9 * sizeof(float), QNNRT_DTYPE_F32, 9);
            CHECK_EQ(l.engine->get(l.binding, 0, &got, &err), QNNRT_OK);
            CHECK(got.data == y && got.rank == 1 && got.dims[0] == counts[i]);
            CHECK_EQ(got.bytes, (size_t)counts[i] * sizeof(float));
            CHECK(memcmp(x, y, got.bytes) == 0 && y[9] == 0);
            CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
        }
        end(&l);
    }
}

TEST(shapes_are_fixed_before_compiling)
{
    qnnrt_session_shape shape;
    life l;
    CHECK(write_onnx("relu.onnx"));
    CHECK_EQ(begin(&l, at("relu.onnx")), QNNRT_OK);
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK(l.model.inputs[0].rank == 2 && l.model.inputs[0].dims[0] == -1 && l.model.inputs[0].dims[1] == 3);
    drop(&l);
    memset(&shape, 0, sizeof shape);
    shape.name = "x";
    shape.rank = 2;
    shape.dims[0] = 5;
    shape.dims[1] = 3;
    l.load.shapes = &shape;
    l.load.shape_count = 1;
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK(l.model.inputs[0].dims[0] == 5 && l.model.outputs[0].dims[0] == 5 && l.model.outputs[0].dims[1] == 3);
    drop(&l);
    shape.rank = 3;                                                  /* Relu takes any: the reader decides */
    shape.dims[2] = 2;
    (void)load(&l);
    drop(&l);
    shape.name = "nothing";
    CHECK_EQ(load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "the inputs are \"x\"");
    end(&l);
}

TEST(element_types_are_ours)
{
    /* With the bytes of a 1. */
    static const struct { const char *type, *precision; qnnrt_dtype dtype; const char *one; } types[] = {
        { "f16", "FP16", QNNRT_DTYPE_F16, "\0\x3C" }, { "bf16", "BF16", QNNRT_DTYPE_BF16, "\x80\x3F" },
        { "f64", "FP64", QNNRT_DTYPE_F64, "\0\0\0\0\0\0\xF0\x3F" }, { "i8", "I8", QNNRT_DTYPE_I8, "\1" }, { "u8", "U8", QNNRT_DTYPE_U8, "\1" },
        { "i16", "I16", QNNRT_DTYPE_I16, "\1\0" }, { "u16", "U16", QNNRT_DTYPE_U16, "\1\0" }, { "i32", "I32", QNNRT_DTYPE_I32, "\1\0\0\0" },
        { "i64", "I64", QNNRT_DTYPE_I64, "\1\0\0\0\0\0\0\0" }, { "boolean", "BOOL", QNNRT_DTYPE_BOOL8, "\1" }
    };
    size_t i;
    life l;
    for (i = 0; i < sizeof types / sizeof types[0]; ++i) {
        unsigned char x[16];
        unsigned char y[16];
        size_t bytes;
        const int64_t two = 2;
        qnnrt_value in, out;
        CHECK(write_unary("type.xml", types[i].type, types[i].precision, NULL, "2", "<dim>2</dim>"));
        CHECK_EQ(begin(&l, at("type.xml")), QNNRT_OK);
        CHECK_EQ(load(&l), QNNRT_OK);
        CHECK_EQ(l.model.inputs[0].dtype, types[i].dtype);
        CHECK_EQ(l.model.outputs[0].dtype, types[i].dtype);
        CHECK(qnnrt_session_bytes(types[i].dtype, 1, &two, &bytes));
        memset(y, 0, sizeof y);
        memcpy(x, types[i].one, bytes / 2);
        memcpy(x + bytes / 2, types[i].one, bytes / 2);
        in = flat(x, bytes, types[i].dtype, 2);
        out = flat(y, bytes, types[i].dtype, 2);
        CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
        CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
        CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
        CHECK(memcmp(x, y, bytes) == 0);
        end(&l);
    }
}

TEST(strings_from_2025_2_on)
{
    const char *in[3] = { "abc", "a longer text that does not fit into the string itself", "" };
    qnnrt_value x = flat((void *)in, sizeof in, QNNRT_DTYPE_STRING, 3), y;
    const char *const *out;
    int i;
    life l;
    CHECK(write_unary("text.xml", "string", "STRING", NULL, "?", "<dim>-1</dim>"));
    CHECK_EQ(begin(&l, at("text.xml")), QNNRT_OK);
    if (strncmp(l.facts.version, "2024", 4) == 0) {
        CHECK(load(&l) != QNNRT_OK);
        CHECK_EQ(err.code, QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "strings");
        end(&l);
        return;
    }
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &x, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
        CHECK_EQ(l.engine->get(l.binding, 0, &y, &err), QNNRT_OK);
        out = (const char *const *)y.data;
        CHECK(y.rank == 1 && y.dims[0] == 3 && strcmp(out[0], in[0]) == 0 && strcmp(out[1], in[1]) == 0 && out[2][0] == '\0');
        in[0] = "changed in place";
    }
    end(&l);
}

TEST(compiled_models_come_back)
{
    float x[4] = { 1, 2, 3, 4 };
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 4), out;
    char *data;
    size_t bytes, cut;
    life l;
    CHECK(write_weights("kept.xml", "kept.bin"));
    CHECK_EQ(begin(&l, at("kept.xml")), QNNRT_OK);
    CHECK(mkdir(at("saved"), 0777) == 0);
    l.load.save = at("saved");
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.model.saved_count, 1);
    CHECK(strcmp(l.model.saved[0], "openvino.blob") == 0);
    drop(&l);
    CHECK(unlink(at("kept.xml")) == 0 && unlink(at("kept.bin")) == 0);   /* no longer needed */
    l.load.save = NULL;
    l.load.cached = at("saved");
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    CHECK_EQ(l.engine->get(l.binding, 0, &out, &err), QNNRT_OK);
    CHECK(((const float *)out.data)[0] == 11 && ((const float *)out.data)[3] == 44);
    drop(&l);
    data = (char *)test_read_file(at("saved/openvino.blob"), &bytes);
    CHECK(data != NULL && bytes > 100);
    for (cut = 1; cut < bytes; cut += bytes / 12) {                      /* cut short */
        CHECK(test_write_file(at("saved/openvino.blob"), data, cut));
        l.load.cached = at("saved");
        CHECK_EQ(load(&l), QNNRT_E_FORMAT);
        CHECK_STR(err.text, "openvino.blob");
        drop(&l);
    }
    free(data);
    CHECK(test_write_file(at("saved/openvino.blob"), "another thing", 13));
    l.load.cached = at("saved");
    CHECK_EQ(load(&l), QNNRT_E_FORMAT);
    end(&l);
}

TEST(damaged_models_are_refused)
{
    static const char *const names[] = { "bad.xml", "bad.onnx" };
    static const char *const texts[] = { "", "hello", "<?xml version=\"1.0\"?><net name=\"x\"", "\x08\x08\x3A\x7F" };
    size_t i, k;
    life l;
    for (i = 0; i < 2; ++i)
        for (k = 0; k < 4; ++k) {
            CHECK(test_write_file(at(names[i]), texts[k], strlen(texts[k])));
            CHECK_EQ(begin(&l, at(names[i])), QNNRT_OK);
            CHECK(load(&l) != QNNRT_OK);
            CHECK(err.code == QNNRT_E_FORMAT || err.code == QNNRT_E_UNSUPPORTED);
            CHECK_STR(err.text, names[i]);
            end(&l);
        }
    CHECK_EQ(begin(&l, at("nothing.xml")), QNNRT_OK);
    CHECK_EQ(load(&l), QNNRT_E_NOT_FOUND);
    end(&l);
}

TEST(properties_reach_the_device)
{
    qnnrt_session_option option = { "openvino", "FOO_BAR", "1" };
    life l;
    CHECK(write_unary("p.xml", "f32", "FP32", "ReLU", "4", "<dim>4</dim>"));
    CHECK_EQ(begin(&l, at("p.xml")), QNNRT_OK);
    l.load.options = &option;
    l.load.option_count = 1;
    CHECK_EQ(load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "property FOO_BAR = \"1\" of CPU: NotFound: Unsupported property FOO_BAR");
    option.key = "NUM_STREAMS";
    option.value = "none";
    CHECK_EQ(load(&l), QNNRT_E_ARG);
    option.value = "1";
    CHECK_EQ(load(&l), QNNRT_OK);
    drop(&l);
    l.load.precision = QNNRT_PRECISION_INT8;
    CHECK_EQ(load(&l), QNNRT_E_UNSUPPORTED);
    l.load.device = "npu";
    CHECK_EQ(load(&l), QNNRT_E_NOT_FOUND);                               /* there is none in the folder of the test */
    end(&l);
}

TEST(long_runs_end_when_time_is_up)
{
    static float x[1024 * 1024], y[1024 * 1024];
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 1024), out = flat(y, sizeof y, QNNRT_DTYPE_F32, 1024);
    life l;
    in.rank = out.rank = 2;
    in.dims[1] = out.dims[1] = 1024;
    CHECK(write_long("long.xml", 60));
    CHECK_EQ(begin(&l, at("long.xml")), QNNRT_OK);
    l.load.run_ms = 1;
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 1, 0, &out, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_E_CANCELLED);
    CHECK_STR(err.text, "execution_timeout_ms, 1");
    CHECK_EQ(l.engine->get(l.binding, 0, &out, &err), QNNRT_E_STATE);
    end(&l);
}

static void *cancel_until_told(void *user)
{
    life *l = (life *)user;
    while (__atomic_load_n(&l->stop, __ATOMIC_SEQ_CST) == 0) {
        l->engine->cancel(l->object);
        sched_yield();
    }
    return NULL;
}

TEST(another_thread_ends_a_run)
{
    static float x[1024 * 1024];
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 1024);
    pthread_t thread;
    qnnrt_result result;
    life l;
    in.rank = 2;
    in.dims[1] = 1024;
    CHECK(write_long("long.xml", 60));
    CHECK_EQ(begin(&l, at("long.xml")), QNNRT_OK);
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK(pthread_create(&thread, NULL, cancel_until_told, &l) == 0);
    result = l.engine->run(l.binding, &err);
    __atomic_store_n(&l.stop, 1, __ATOMIC_SEQ_CST);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(result, QNNRT_E_CANCELLED);
    CHECK_EQ((int64_t)err.vendor_code, 0);
    end(&l);
}

TEST(nodes_are_timed)
{
    float x[4] = { 1, -2, 3, -4 };
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 4);
    qnnrt_dispatch rows[16];
    size_t count;
    life l;
    CHECK(write_unary("t.xml", "f32", "FP32", "ReLU", "4", "<dim>4</dim>"));
    CHECK_EQ(begin(&l, at("t.xml")), QNNRT_OK);
    l.load.timed = 1;
    CHECK_EQ(load(&l), QNNRT_OK);
    CHECK_EQ(l.engine->set(l.binding, 0, 0, &in, &err), QNNRT_OK);
    CHECK_EQ(l.engine->run(l.binding, &err), QNNRT_OK);
    count = l.engine->steps(l.binding, rows, 16);
    CHECK(count >= 1 && count <= 16);
    CHECK(rows[0].us >= 0 && strcmp(rows[0].device, "cpu") == 0 && rows[0].name[0] != '\0');
    CHECK_EQ(rows[0].dtype, QNNRT_DTYPE_F32);
    end(&l);
}

TEST(a_session_runs_onnx)
{
    const qnnrt_engine *engines[2];
    qnnrt_session_option option = { "openvino", "library_path", NULL };
    float x[6] = { 1, -1, 2, -2, 3, -3 };
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_value in = flat(x, sizeof x, QNNRT_DTYPE_F32, 2), out;
    int i;
    engines[0] = qnnrt_engine_openvino();
    engines[1] = NULL;
    CHECK(write_onnx("s.onnx"));
    option.value = test_arg(0);
    memset(&desc, 0, sizeof desc);
    memset(&out, 0, sizeof out);
    desc.engines = engines;
    desc.options = &option;
    desc.option_count = 1;
    desc.cache_dir = at("cache");
    in.rank = 2;
    in.dims[1] = 3;
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_session_create(at("s.onnx"), &desc, &session, &err), QNNRT_OK);
        CHECK_STR(qnnrt_session_get_info(session)->cache, i == 0 ? "stored" : "hit");
        CHECK_STR(qnnrt_session_get_info(session)->text, "engine=openvino device=cpu");
        memset(&out, 0, sizeof out);
        CHECK_EQ(qnnrt_session_run(session, &in, 1, &out, 1), QNNRT_OK);
        CHECK(out.rank == 2 && out.dims[0] == 2 && out.dims[1] == 3 && ((const float *)out.data)[1] == 0 && ((const float *)out.data)[4] == 3);
        CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
    }
}

TEST_MAIN_ARGS("engine_openvino_real", 1, "FOLDER")
{
    snprintf(folder, sizeof folder, "%.1000s", test_tmpdir());
    RUN(weights_beside_the_model_are_read);
    RUN(bound_memory_is_used_without_a_copy);
    RUN(free_dimensions_are_chosen_by_the_values);
    RUN(shapes_are_fixed_before_compiling);
    RUN(element_types_are_ours);
    RUN(strings_from_2025_2_on);
    RUN(compiled_models_come_back);
    RUN(damaged_models_are_refused);
    RUN(properties_reach_the_device);
    RUN(long_runs_end_when_time_is_up);
    RUN(another_thread_ends_a_run);
    RUN(nodes_are_timed);
    RUN(a_session_runs_onnx);
}
