/* test_ref_faults.c - every fault of libQnnRef.so, met by qnnrt: what the text says, and that nothing
   is left over

   One small binary is opened, prepared, run twice and closed under each rule. */
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include "ref.h"

static unsigned char *binary;
static uint64_t       binary_bytes;

/* A graph of one node, as a binary. */
static void make_binary(void)
{
    static uint32_t dims[] = { 2, 3 };
    q_handle backend, context, graph;
    q_tensor x, y;
    q_op op;
    uint64_t written;
    ref_begin("");
    memset(&x, 0, sizeof(x));
    x.version = 1;
    x.v.name = "x";
    x.v.dtype = 0x232;
    x.v.quant.definition = x.v.quant.encoding = Q_UNDEFINED;
    x.v.rank = 2;
    x.v.dims = dims;
    y = x;
    y.v.name = "y";
    y.v.type = Q_APP_READ;
    CHECK_EQ(ref.backend_create(NULL, NULL, &backend), 0);
    CHECK_EQ(ref.context_create(backend, NULL, NULL, &context), 0);
    CHECK_EQ(ref.graph_create(context, "g", NULL, &graph), 0);
    CHECK_EQ(ref.graph_tensor(graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(graph, &y), 0);
    memset(&op, 0, sizeof(op));
    op.version = 1;
    op.v1.name = "relu";
    op.v1.package = "qti.aisw";
    op.v1.type = "Relu";
    op.v1.input_count = op.v1.output_count = 1;
    op.v1.inputs = &x;
    op.v1.outputs = &y;
    CHECK_EQ(ref.add_node(graph, op), 0);
    CHECK_EQ(ref.finalize(graph, NULL, NULL), 0);
    CHECK_EQ(ref.binary_size(context, &binary_bytes), 0);
    binary = (unsigned char *)malloc((size_t)binary_bytes);
    CHECK(binary != NULL);
    CHECK_EQ(ref.binary(context, binary, binary_bytes, &written), 0);
    CHECK_EQ(ref.context_free(context, NULL), 0);
    CHECK_EQ(ref.backend_free(backend), 0);
}

/* Open, prepare, run twice, close. The text of what failed, "" when nothing did. */
static const char *life(void)
{
    static char text[sizeof(((qnnrt_error *)0)->text)];
    static const float values[6] = { -1.0f, 2.0f, -3.0f, 4.0f, -5.0f, 6.0f };
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt_error err;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    int i;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    memset(&err, 0xFF, sizeof(err));
    file.data = binary;
    file.bytes = (size_t)binary_bytes;
    desc.backend_path = TEST_REF_LIB;
    desc.files = &file;
    desc.file_count = 1;
    text[0] = '\0';
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK
        || qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK
        || qnnrt_bind(run, "x", (void *)(uintptr_t)values, sizeof(values)) != QNNRT_OK)
        snprintf(text, sizeof(text), "%s", err.text);
    for (i = 0; i < 2 && text[0] == '\0'; ++i) {
        size_t bytes = 0;
        const float *y;
        if (qnnrt_exec(run) != QNNRT_OK) {
            snprintf(text, sizeof(text), "%s", qnnrt_run_error(run)->text);
            continue;
        }
        y = (const float *)qnnrt_data(run, "y", &bytes);
        if (bytes != sizeof(values) || y[0] != 0.0f || y[5] != 6.0f)
            snprintf(text, sizeof(text), "wrong results");
    }
    if (run != NULL) qnnrt_run_destroy(run);
    if (model != NULL) qnnrt_close(model);
    return text;
}

TEST(each_fault_is_told_and_leaves_nothing_behind)
{
    static const struct { const char *faults, *text; } cases[] = {
        { "", "" },
        { "core=2.20", "speaks QNN core interface 2.20; 2.23 or a newer 2.x is needed" },
        { "core=2.39", "newer than the library" },
        { "providers=0", "offers no provider" },
        { "providers=2", "" },
        { "providers=null", "offers no provider" },
        { "system_providers=0", "offers no provider" },
        { "system_providers=2", "" },
        { "system=1.0", "speaks system interface 1.0" },
        { "no_slot=graphRetrieve", "its table lacks graphRetrieve" },
        { "no_slot=systemContextFree", "lacks systemContextCreate, GetBinaryInfo or Free" },
        { "id=6", "was compiled for backend 5391686" },
        { "build=null", "" },
        { "name=null", "" },
        { "info=v1;graphs=v1", "" },
        { "info=v2;graphs=v2;tensors=v2", "" },
        { "counts=graphs", "limits.tensors" },
        { "counts=inputs", "graph \"g\"" },
        { "pointers=graphs", "1 graphs are announced and none is there" },
        { "pointers=inputs", "1 inputs are announced and none is there" },
        { "pointers=name", "graph 0 has no name" },
        { "fail=systemContextGetBinaryInfo:0x753a;fail=systemContextGetMetaData:0x753a", "0x753a" },
        { "null=systemContextGetBinaryInfo;null=systemContextGetMetaData", "metadata" },
        { "fail=backendCreate:0xfa0", "backendCreate answered 0xfa0" },
        { "null=backendCreate", "backendCreate" },
        { "fail=deviceCreate:14001", "deviceCreate answered 0x36b1" },
        { "fail=contextCreateFromBinary:0x1388", "contextCreateFromBinary answered 0x1388" },
        { "null=contextCreateFromBinary", "without a handle" },
        { "fail=graphRetrieve:0x1773", "graphRetrieve answered 0x1773" },
        { "null=graphRetrieve", "without a handle" },
        { "fail=graphExecute:1:0x1770", "graphExecute answered 0x1770" },
        { "fail=graphExecute:2:6999", "0x1b57" },
        { "delay=graphExecute:1:5ms", "" },
        { "log_thread=hostile;log_late=1", "" },
        { "restart=graphExecute:2", "the DSP restarted" },
        { "keep_binary=1", "" }
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const char *text, *left;
        ref_begin(cases[i].faults);
        text = life();
        if (cases[i].text[0] == '\0' ? text[0] != '\0' : strstr(text, cases[i].text) == NULL)
            printf("%s: %s\n", cases[i].faults, text);
        CHECK(cases[i].text[0] != '\0' || text[0] == '\0');
        CHECK_STR(text, cases[i].text);
        left = ref_ask("ledger");
        if (left[0] != '\0') printf("%s leaves\n%s", cases[i].faults, left);
        CHECK_EQ(left[0], '\0');
    }
    ref_begin("");
}

/* Calls of a whole life fail at each occurrence, with a code of their group. */
TEST(every_call_may_fail_at_every_time)
{
    static const struct { const char *call; unsigned code; int harmless; } calls[] = {
        { "logCreate", 1002, 1 }, { "backendCreate", 4000, 0 }, { "backendGetBuildId", 4003, 1 },
        { "deviceCreate", 14001, 0 }, { "systemContextCreate", 1002, 0 },
        { "systemContextGetBinaryInfo", 30010, 0 }, { "systemContextFree", 30000, 1 },
        { "contextCreateFromBinary", 5005, 0 }, { "graphRetrieve", 6003, 0 },
        { "graphExecute", 6001, 0 }, { "contextFree", 5002, 1 }, { "deviceFree", 14003, 1 },
        { "backendFree", 4011, 1 }, { "logFree", 11004, 1 }
    };
    char rule[100];
    size_t i;
    unsigned nth;
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i) {
        for (nth = 1; nth <= 2; ++nth) {
            const char *text;
            const int met = nth == 1 || strcmp(calls[i].call, "graphExecute") == 0;
            snprintf(rule, sizeof(rule), "fail=%s:%u:%u", calls[i].call, nth, calls[i].code);
            ref_begin(rule);
            text = life();
            if ((text[0] != '\0') != (met && !calls[i].harmless)) printf("%s: %s\n", rule, text);
            CHECK_EQ(text[0] != '\0', met && !calls[i].harmless);
            if (ref_ask("ledger")[0] != '\0') printf("%s leaves\n%s", rule, ref_ask("ledger"));
            CHECK_EQ(ref_ask("ledger")[0], '\0');
        }
    }
    ref_begin("");
}

TEST(a_missing_symbol_is_named)
{
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt_error err;
    qnnrt *model;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.data = binary;
    file.bytes = (size_t)binary_bytes;
    desc.files = &file;
    desc.file_count = 1;
    desc.backend_path = "libdl.so.2";
    CHECK(qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK);
    CHECK_STR(err.text, "no symbol QnnInterface_getProviders");
}

TEST_MAIN("ref_faults")
{
    make_binary();
    RUN(each_fault_is_told_and_leaves_nothing_behind);
    RUN(every_call_may_fail_at_every_time);
    RUN(a_missing_symbol_is_named);
    free(binary);
}
