/* session.c - sessions on Qualcomm's genuine libraries: folders that Qualcomm's tools made, and graphs compiled here

   The outputs of folders are those that Qualcomm's runtime gave, byte for byte (tests/data/ctx). Those of graphs are
   computed in engine_graph.h. */
#include "real.h"
#include "qnnrt_builder.h"
#include "engines/qnnrt_engines.h"
#include "engine_graph.h"

static qnnrt_error err;

/* A session on a library of this release. */
static qnnrt_session *open_session(const char *path, const char *device, const char *library, int native, const char *cache,
                                   const char *precision)
{
    static char htp[1024], cpu[1024];
    const qnnrt_engine *engines[QNNRT_ENGINES];
    qnnrt_session_option options[2];
    qnnrt_session_desc desc;
    qnnrt_session *session = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(options, 0, sizeof(options));
    options[0].key = "npu_path";
    options[0].value = real_library(htp, "libQnnHtp.so");
    options[1].key = "cpu_path";
    options[1].value = real_library(cpu, "libQnnCpu.so");
    desc.engines = qnnrt_engines_default(engines);
    desc.engine = "qnn";
    desc.device = device;
    desc.options = strcmp(library, "libQnnHtp.so") == 0 ? options : options + 1;
    desc.option_count = strcmp(library, "both") == 0 ? 2 : 1;
    if (desc.option_count == 2) desc.options = options;
    desc.native_io = native;
    desc.cache_dir = cache;
    desc.precision = precision == NULL ? QNNRT_PRECISION_DEFAULT : QNNRT_PRECISION_INT8;
    TEST_JUNK(err);
    if (qnnrt_session_create(path, &desc, &session, &err) != QNNRT_OK) session = NULL;
    return session;
}

static int has(const char *name)
{
    char path[1024];
    return real_exists(real_library(path, name));
}

static int release(void)
{
    char path[1024];
    int found = 0;
    qnnrt_backend *backend = NULL;
    qnnrt_backend_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.path = real_library(path, "libQnnHtp.so");
    if (qnnrt_backend_open(&desc, &backend, &err) == QNNRT_OK) found = real_release(qnnrt_backend_get_info(backend)->build_id);
    qnnrt_backend_close(backend);
    return found;
}

/* Run a sample of a release with one input and one output, as codes. */
static void run_sample(const char *sample, const char *input, const char *output)
{
    char folder[1024], file[1024];
    size_t in_bytes, out_bytes;
    qnnrt_session *session;
    qnnrt_value in, out;
    const qnnrt_session_info *info;
    void *x, *y;
    real_join(folder, test_arg(1), sample);
    x = test_read_file(real_join(file, folder, input), &in_bytes);
    y = test_read_file(real_join(file, folder, output), &out_bytes);
    CHECK(x != NULL && y != NULL);
    session = open_session(folder, "npu", "libQnnHtp.so", 1, NULL, NULL);
    if (session == NULL) printf("%s\n", TEST_TOLD(err));
    CHECK(session != NULL);
    info = qnnrt_session_get_info(session);
    CHECK(strcmp(info->engine, "qnn") == 0 && strcmp(info->device, "npu") == 0 && info->fallback == NULL);
    CHECK(info->input_count == 1 && info->output_count == 1);
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    in.dtype = info->inputs[0].dtype;
    in.rank = info->inputs[0].rank;
    memcpy(in.dims, info->inputs[0].dims, sizeof(in.dims));
    in.data = x;
    in.bytes = in_bytes;
    if (qnnrt_session_run(session, &in, 1, &out, 1) != QNNRT_OK) printf("%s\n", qnnrt_session_error(session)->text);
    CHECK(out.data != NULL && out.bytes == out_bytes && memcmp(out.data, y, out_bytes) == 0);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
    free(x);
    free(y);
}

TEST(session_runs_folders_of_qualcomms_tools)
{
    if (real_no_device()) return;
    if (release() == 2047) TRY(run_sample("ctx/qairt2.47/mlp_u8", "x.raw", "y.expected.raw"));
    if (release() < 2051) return;
    TRY(run_sample("ctx/qairt2.51/mlp_u8", "x.raw", "y.expected.raw"));
    TRY(run_sample("ctx/qairt2.51/mlp_f32_io", "x.raw", "p.expected.raw"));
    TRY(run_sample("ctx/qairt2.51/cnn_per_axis", "image.raw", "scores.expected.raw"));
    TRY(run_sample("ctx/qairt2.51/chain_of_three", "input_ids.raw", "logits.expected.raw"));
}

/* Codes as floats: their decoded values. */
TEST(session_shows_quantized_values_as_floats)
{
    char folder[1024], file[1024];
    const char *sample = release() == 2047 ? "ctx/qairt2.47/mlp_u8" : "ctx/qairt2.51/mlp_u8";
    qnnrt_session *session[2];
    const qnnrt_session_info *info;
    const qnnrt_quant *quant;
    qnnrt_value in, out;
    uint8_t *codes, *wanted;
    float x[192];
    size_t bytes, out_bytes, i;
    int native;
    if (real_no_device()) return;
    if (release() != 2047 && release() < 2051) return;
    real_join(folder, test_arg(1), sample);
    codes = (uint8_t *)test_read_file(real_join(file, folder, "x.raw"), &bytes);
    wanted = (uint8_t *)test_read_file(real_join(file, folder, "y.expected.raw"), &out_bytes);
    CHECK(codes != NULL && wanted != NULL && bytes == 192 && out_bytes == 128);
    for (native = 0; native < 2; ++native) {
        session[native] = open_session(folder, "npu", "libQnnHtp.so", native, NULL, NULL);
        if (session[native] == NULL) printf("%s\n", TEST_TOLD(err));
        CHECK(session[native] != NULL);
    }
    info = qnnrt_session_get_info(session[1]);
    CHECK(info->inputs[0].dtype == QNNRT_DTYPE_U8 && info->inputs[0].quant != NULL && info->outputs[0].quant != NULL);
    quant = info->inputs[0].quant;
    for (i = 0; i < bytes; ++i) x[i] = (float)((int32_t)codes[i] + quant->offset) * quant->scale;
    info = qnnrt_session_get_info(session[0]);
    CHECK(info->inputs[0].dtype == QNNRT_DTYPE_F32 && info->inputs[0].quant == NULL && info->outputs[0].dtype == QNNRT_DTYPE_F32);
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    in.dtype = QNNRT_DTYPE_F32;
    in.rank = info->inputs[0].rank;
    memcpy(in.dims, info->inputs[0].dims, sizeof(in.dims));
    in.data = x;
    in.bytes = sizeof(x);
    CHECK_EQ(qnnrt_session_run(session[0], &in, 1, &out, 1), QNNRT_OK);
    quant = qnnrt_session_get_info(session[1])->outputs[0].quant;
    CHECK_EQ(out.bytes, 128 * sizeof(float));
    for (i = 0; i < 128; ++i) CHECK(((const float *)out.data)[i] == (float)((int32_t)wanted[i] + quant->offset) * quant->scale);
    for (native = 0; native < 2; ++native) CHECK_EQ(qnnrt_session_destroy(session[native]), QNNRT_OK);
    free(codes);
    free(wanted);
}

/* Compile the graph and run it, the largest difference from the expected values to *worst. */
static void run_graph(const char *device, const char *library, const char *cache, const char *precision, float y[IDS * WIDTH],
                      double *worst)
{
    static int32_t ids[IDS] = { 4, 0, 3 };
    float bias[IDS * WIDTH];
    qnnrt_value in[2], out;
    qnnrt_session *session;
    int i, k;
    session = open_session(graph_file(), device, library, 0, cache, precision);
    if (session == NULL) printf("%s\n", TEST_TOLD(err));
    CHECK(session != NULL);
    CHECK(qnnrt_session_get_info(session)->fallback == NULL);
    for (i = 0; i < IDS * WIDTH; ++i) bias[i] = (float)i / 16.0f;
    memset(in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    in[0].name = "bias";
    in[0].dtype = QNNRT_DTYPE_F32;
    in[0].rank = 2;
    in[0].dims[0] = IDS;
    in[0].dims[1] = WIDTH;
    in[0].data = bias;
    in[0].bytes = sizeof(bias);
    in[1].name = "ids";
    in[1].dtype = QNNRT_DTYPE_I32;
    in[1].rank = 1;
    in[1].dims[0] = IDS;
    in[1].data = ids;
    in[1].bytes = sizeof(ids);
    out.name = "neg";
    out.data = y;
    out.bytes = IDS * WIDTH * sizeof(float);
    if (qnnrt_session_run(session, in, 2, &out, 1) != QNNRT_OK) printf("%s\n", qnnrt_session_error(session)->text);
    *worst = 0;
    for (i = 0; i < IDS; ++i)
        for (k = 0; k < WIDTH; ++k) {
            double d = (double)y[i * WIDTH + k] + (double)graph_expected(ids, bias, i, k);
            if (!(d < 0 ? -d <= *worst : d <= *worst)) *worst = d < 0 ? -d : d;
        }
    /* An index beyond the table would make the library fail. */
    ids[1] = 5;
    CHECK_EQ(qnnrt_session_run(session, in, 2, &out, 1), QNNRT_E_ARG);
    CHECK_STR(qnnrt_session_error(session)->text, "element 1 is 5");
    ids[1] = 0;
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
}

TEST(session_compiles_graphs)
{
    float y[3][IDS * WIDTH];
    double worst;
    if (real_no_device()) return;
    TRY(run_graph("npu", "libQnnHtp.so", NULL, NULL, y[0], &worst));
    printf("    npu %g\n", worst);
    CHECK(worst < 5e-3);
    TRY(run_graph("npu", "libQnnHtp.so", NULL, "int8", y[1], &worst));
    printf("    npu, int8 %g\n", worst);
    CHECK(worst < 5e-2 && memcmp(y[0], y[1], sizeof(y[0])) != 0);
    if (!has("libQnnCpu.so")) return;
    TRY(run_graph("cpu", "libQnnCpu.so", NULL, NULL, y[2], &worst));
    printf("    cpu %g\n", worst);
    CHECK(worst < 1e-6);
}

TEST(session_says_which_library_a_folder_is_for)
{
    char folder[1024];
    qnnrt_session *session;
    if (real_no_device() || !has("libQnnCpu.so")) return;
    session = open_session(real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"), "cpu", "both", 0, NULL, NULL);
    CHECK(session == NULL && err.code == QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "\"forward_0.bin\" was compiled for backend 6 (HTP, the npu), and the device \"cpu\" is");
}

TEST_MAIN_ARGS("real_session", 2, "RELEASE DATA ")
{
    RUN(session_runs_folders_of_qualcomms_tools);
    RUN(session_shows_quantized_values_as_floats);
    RUN(session_compiles_graphs);
    RUN(session_says_which_library_a_folder_is_for);
}
