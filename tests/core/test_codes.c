/* test_codes.c - every vendor code and every known line of a log has an entry that is found and can
   be shown

       test_codes [part of a test's name]

   The numbers and names below are a separate list from the vendor's public headers; qnnrt.h has its
   own tables. */
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#define QNNRT_EXPLAIN_IMPLEMENTATION
#include "qnnrt_explain.h"
#include "test.h"
#include <pthread.h>
#include <sched.h>

typedef struct known_code { unsigned long long code; const char *symbol; } known_code;

/* Every enumerator of an error, by the header's type, success included. */
static const known_code codes[] = {
    /* QnnCommon_Error_t */
    {  1000, "QNN_COMMON_ERROR_NOT_SUPPORTED" },
    {  1002, "QNN_COMMON_ERROR_MEM_ALLOC" },
    {  1003, "QNN_COMMON_ERROR_SYSTEM" },
    {  1004, "QNN_COMMON_ERROR_INVALID_ARGUMENT" },
    {  1005, "QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED" },
    {  1006, "QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED" },
    {  1007, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION" },
    {  1008, "QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES" },
    {  1009, "QNN_COMMON_ERROR_LOADING_BINARIES" },
    {  1010, "QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE" },
    {  1011, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL" },
    {  1100, "QNN_COMMON_ERROR_GENERAL" },

    /* QnnProperty_Error_t */
    {     0, "QNN_PROPERTY_NO_ERROR" },
    {     0, "QNN_PROPERTY_SUPPORTED" },
    {  1000, "QNN_PROPERTY_NOT_SUPPORTED" },
    {  2000, "QNN_PROPERTY_ERROR_UNKNOWN_KEY" },

    /* QnnOpPackage_Error_t */
    {     0, "QNN_OP_PACKAGE_NO_ERROR" },
    {  1000, "QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE" },
    {  3000, "QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED" },
    {  3001, "QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED" },
    {  3002, "QNN_OP_PACKAGE_ERROR_INVALID_HANDLE" },
    {  3100, "QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE" },
    {  3101, "QNN_OP_PACKAGE_ERROR_INVALID_INFO" },
    {  3110, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE" },
    {  3200, "QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT" },
    {  1100, "QNN_OP_PACKAGE_ERROR_GENERAL" },

    /* QnnBackend_Error_t */
    {     0, "QNN_BACKEND_NO_ERROR" },
    {  1002, "QNN_BACKEND_ERROR_MEM_ALLOC" },
    {  1006, "QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM" },
    {  4000, "QNN_BACKEND_ERROR_CANNOT_INITIALIZE" },
    {  4002, "QNN_BACKEND_ERROR_TERMINATE_FAILED" },
    {  4003, "QNN_BACKEND_ERROR_NOT_SUPPORTED" },
    {  4004, "QNN_BACKEND_ERROR_INVALID_ARGUMENT" },
    {  4005, "QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND" },
    {  4006, "QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND" },
    {  4007, "QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED" },
    {  4008, "QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION" },
    {  4009, "QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE" },
    {  4010, "QNN_BACKEND_ERROR_INCONSISTENT_CONFIG" },
    {  4011, "QNN_BACKEND_ERROR_INVALID_HANDLE" },
    {  4012, "QNN_BACKEND_ERROR_INVALID_CONFIG" },

    /* QnnContext_Error_t */
    {     0, "QNN_CONTEXT_NO_ERROR" },
    {  1000, "QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE" },
    {  1002, "QNN_CONTEXT_ERROR_MEM_ALLOC" },
    {  5000, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT" },
    {  5001, "QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST" },
    {  5002, "QNN_CONTEXT_ERROR_INVALID_HANDLE" },
    {  5003, "QNN_CONTEXT_ERROR_NOT_FINALIZED" },
    {  5004, "QNN_CONTEXT_ERROR_BINARY_VERSION" },
    {  5005, "QNN_CONTEXT_ERROR_CREATE_FROM_BINARY" },
    {  5006, "QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED" },
    {  5007, "QNN_CONTEXT_ERROR_GET_BINARY_FAILED" },
    {  5008, "QNN_CONTEXT_ERROR_BINARY_CONFIGURATION" },
    {  5009, "QNN_CONTEXT_ERROR_SET_PROFILE" },
    {  5010, "QNN_CONTEXT_ERROR_INVALID_CONFIG" },
    {  5011, "QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL" },
    {  5012, "QNN_CONTEXT_ERROR_ABORTED" },
    {  5013, "QNN_CONTEXT_ERROR_TIMED_OUT" },
    {  5014, "QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER" },

    /* QnnGraph_Error_t */
    {     0, "QNN_GRAPH_NO_ERROR" },
    {  1000, "QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE" },
    {  1002, "QNN_GRAPH_ERROR_MEM_ALLOC" },
    {  1100, "QNN_GRAPH_ERROR_GENERAL" },
    {  6000, "QNN_GRAPH_ERROR_INVALID_ARGUMENT" },
    {  6001, "QNN_GRAPH_ERROR_INVALID_HANDLE" },
    {  6002, "QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST" },
    {  6003, "QNN_GRAPH_ERROR_INVALID_NAME" },
    {  6004, "QNN_GRAPH_ERROR_INVALID_TENSOR" },
    {  6005, "QNN_GRAPH_ERROR_INVALID_OP_CONFIG" },
    {  6006, "QNN_GRAPH_ERROR_SET_PROFILE" },
    {  6007, "QNN_GRAPH_ERROR_UNCONNECTED_NODE" },
    {  6020, "QNN_GRAPH_ERROR_CREATE_FAILED" },
    {  6021, "QNN_GRAPH_ERROR_OPTIMIZATION_FAILED" },
    {  6022, "QNN_GRAPH_ERROR_FINALIZE_FAILED" },
    {  6023, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED" },
    {  6024, "QNN_GRAPH_ERROR_GRAPH_FINALIZED" },
    {  6025, "QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL" },
    {  6030, "QNN_GRAPH_ERROR_SIGNAL_IN_USE" },
    {  6031, "QNN_GRAPH_ERROR_ABORTED" },
    {  6032, "QNN_GRAPH_ERROR_PROFILE_IN_USE" },
    {  6033, "QNN_GRAPH_ERROR_TIMED_OUT" },
    {  6034, "QNN_GRAPH_ERROR_SUBGRAPH" },
    {  6035, "QNN_GRAPH_ERROR_DISABLED" },
    {  6036, "QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE" },
    {  6037, "QNN_GRAPH_ERROR_TENSOR_SPARSITY" },
    {  6038, "QNN_GRAPH_ERROR_EARLY_TERMINATION" },
    {  6039, "QNN_GRAPH_ERROR_INVALID_CONTEXT" },

    /* QnnTensor_Error_t */
    {     0, "QNN_TENSOR_NO_ERROR" },
    {  7001, "QNN_TENSOR_ERROR_INVALID_HANDLE" },
    {  7002, "QNN_TENSOR_ERROR_DOES_NOT_EXIST" },
    {  7003, "QNN_TENSOR_ERROR_ALREADY_EXISTS" },
    {  7004, "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM" },
    {  7005, "QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM" },
    {  7006, "QNN_TENSOR_ERROR_NAME_HASH_COLLISION" },
    {  7007, "QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE" },
    {  1000, "QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE" },

    /* QnnMem_Error_t */
    {     0, "QNN_MEM_NO_ERROR" },
    {  1000, "QNN_MEM_ERROR_NOT_SUPPORTED" },
    {  8000, "QNN_MEM_ERROR_INVALID_ARGUMENT" },
    {  8001, "QNN_MEM_ERROR_INVALID_HANDLE" },
    {  8002, "QNN_MEM_ERROR_ALREADY_REGISTERED" },
    {  8003, "QNN_MEM_ERROR_MAPPING" },
    {  8004, "QNN_MEM_ERROR_INVALID_SHAPE" },
    {  8005, "QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE" },

    /* QnnSignal_Error_t */
    {     0, "QNN_SIGNAL_NO_ERROR" },
    {  1000, "QNN_SIGNAL_ERROR_UNSUPPORTED" },
    {  9000, "QNN_SIGNAL_ERROR_SIGNAL_IN_USE" },
    {  9001, "QNN_SIGNAL_ERROR_SIGNAL_IDLE" },
    {  9002, "QNN_SIGNAL_ERROR_INVALID_ARGUMENT" },
    {  9003, "QNN_SIGNAL_ERROR_INVALID_HANDLE" },
    {  9004, "QNN_SIGNAL_ERROR_TIMEOUT" },
    {  9005, "QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE" },
    {  1002, "QNN_SIGNAL_ERROR_MEM_ALLOC" },

    /* QnnError_Error_t */
    {     0, "QNN_ERROR_NO_ERROR" },
    { 10000, "QNN_ERROR_INVALID_ARGUMENT" },
    { 10001, "QNN_ERROR_INVALID_ERROR_HANDLE" },

    /* QnnLog_Error_t */
    {     0, "QNN_LOG_NO_ERROR" },
    {  1002, "QNN_LOG_ERROR_MEM_ALLOC" },
    { 11002, "QNN_LOG_ERROR_INITIALIZATION" },
    { 11003, "QNN_LOG_ERROR_INVALID_ARGUMENT" },
    { 11004, "QNN_LOG_ERROR_INVALID_HANDLE" },

    /* QnnProfile_Error_t */
    {     0, "QNN_PROFILE_NO_ERROR" },
    {  1000, "QNN_PROFILE_ERROR_UNSUPPORTED" },
    {  1004, "QNN_PROFILE_ERROR_INVALID_ARGUMENT" },
    {  1002, "QNN_PROFILE_ERROR_MEM_ALLOC" },
    { 12000, "QNN_PROFILE_ERROR_INVALID_HANDLE" },
    { 12001, "QNN_PROFILE_ERROR_HANDLE_IN_USE" },
    { 12002, "QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT" },

    /* QnnHtpPerfInfrastructure_Error_t */
    {     0, "QNN_HTP_PERF_INFRASTRUCTURE_NO_ERROR" },
    { 13000, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR" },
    { 13001, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT" },
    { 13002, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG" },
    { 13003, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_TRANSPORT" },
    { 13004, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED" },
    { 13005, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC" },
    { 13006, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_FAILED" },

    /* QnnDevice_Error_t */
    {  1000, "QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE" },
    {  1002, "QNN_DEVICE_ERROR_MEM_ALLOC" },
    {  1004, "QNN_DEVICE_ERROR_INVALID_ARGUMENT" },
    { 14000, "QNN_DEVICE_ERROR_INVALID_HANDLE" },
    { 14001, "QNN_DEVICE_ERROR_INVALID_CONFIG" },
    { 14002, "QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE" },
    { 14003, "QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT" },
    { 14004, "QNN_DEVICE_ERROR_ACCESS_DENIED" },
    {     0, "QNN_DEVICE_NO_ERROR" },

    /* QnnGlobalConfig_Error_t */
    {     0, "QNN_GLOBAL_CONFIG_NO_ERROR" },
    { 15000, "QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG" },

    /* QnnSystemCommon_Error_t */
    {     0, "QNN_SYSTEM_COMMON_NO_ERROR" },
    {  1000, "QNN_SYSTEM_COMMON_ERROR_UNSUPPORTED_FEATURE" },
    { 30000, "QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE" },
    { 30001, "QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT" },

    /* QnnSystemContext_Error_t */
    {     0, "QNN_SYSTEM_CONTEXT_NO_ERROR" },
    {  1000, "QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE" },
    { 30000, "QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE" },
    { 30001, "QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT" },
    { 30002, "QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED" },
    { 30010, "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY" },

    /* QnnSystemDlc_Error_t */
    {     0, "QNN_SYSTEM_DLC_NO_ERROR" },
    {  1000, "QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE" },
    { 30000, "QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE" },
    { 30001, "QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT" },
    { 30002, "QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED" },
    { 30010, "QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY" },

    /* QnnSystemTensor_Error_t */
    {     0, "QNN_SYSTEM_TENSOR_NO_ERROR" },
    {  1000, "QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE" },
    { 30001, "QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT" },
    { 30002, "QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR" },

    /* QnnSystemProfile_Error_t */
    {     0, "QNN_SYSTEM_PROFILE_NO_ERROR" },
    {  1000, "QNN_SYSTEM_PROFILE_ERROR_UNSUPPORTED_FEATURE" },
    { 30000, "QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE" },
    { 30001, "QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT" },
    { 31000, "QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC" },

    /* QnnInterface_Error_t */
    {     0, "QNN_INTERFACE_NO_ERROR" },
    {  1000, "QNN_INTERFACE_ERROR_NOT_SUPPORTED" },
    {  1004, "QNN_INTERFACE_ERROR_INVALID_PARAMETER" },

    /* QnnSystemInterface_Error_t */
    {     0, "QNN_SYSTEM_INTERFACE_NO_ERROR" },
    {  1000, "QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED" },
    {  1004, "QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER" },

    /* QnnSaver_Error_t */
    {  4950, "QNN_SAVER_ERROR_DUMMY_RETVALUE" },
    {  4951, "QNN_SAVER_ERROR_ALREADY_INSTANTIATED" },

    /* not in public headers; named by errorGetMessage() of release 2.51, or observed */
    {  4013, "QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED" },
    {  6040, "QNN_GRAPH_ERROR_CYCLE_DETECTED" },
    {  6999, "QNN_GRAPH_MAX_ERROR" },
    {     0, "QNN_SUCCESS" },
};

enum { CODES = sizeof codes / sizeof codes[0] };

/* Codes of FastRPC. */
static const unsigned long long rpc_codes[] = { 0x80000406, 0x8000040D, 0x80000414, 0x80000580, 0x80000600 };

typedef struct pasted { const char *text; unsigned long long code; const char *line, *fix; } pasted;

/* Pasted texts, also with the prefixes of a logger; the code that is found, a piece of the line's
   entry (NULL: the entry of the code is found) and a piece of its fix. */
static const pasted lines[] = {
    /* as the vendor prints them */
    { " <E> Expected Tensor ID: 17 not found in user-provided tensors. Logging missing tensor info below:", 6004,
      "Expected Tensor ID", "metadata" },
    { " <E> Tensor ID 24 clientBuf is null", 6004, "clientBuf is null", "Bind" },
    { "dataSize == 0", 6004, "dataSize == 0", "dims" },
    { " <E> Using newer context binary on old SDK", 5000, "newer context binary", "older release" },
    { " <E> Shared weights buffer isn't supported on this platform", 1000, "Shared weights", "without weight sharing" },
    { "graph_prepare.cc:211::ERROR:could not create op: q::Gelu", 1002, "could not create op", "soc_model 57" },
    { "tcm_migration.cc:2207::ERROR:no properties registered for q::QNN_Gelu", 1002, "no properties registered", "soc_model 57" },
    { " <E> No Snapdragon SOC detected", 4000, "No Snapdragon SOC", "device" },
    { " <E> Failed to find available PD for contextId 3 on deviceId 0 coreId 0with context size estimate 4294967296", 1002,
      "available PD", "shards" },
    { " <W> Failed in loading stub: libcdsprpc.so: cannot open shared object file: No such file or directory", 14001,
      "libcdsprpc.so", "uses-native-library" },
    { " <W> Failed in loading stub: libQnnHtpV75Stub.so: cannot open shared object file", 14001, "loading stub", "stub" },
    { " <W> Failed to reset stub artifact load status global variable", 1008, "stub artifact", "one release" },
    { " <E> Stub lib id mismatch: expected (v2.51.0), detected (v2.37.1)", 1008, "lib id mismatch", "one release" },
    { " <E> Skel lib id mismatch: devKey={deviceId=0 coreId=0 pdId=0} expected (a), detected (b)", 1008, "lib id mismatch",
      "one release" },
    { "DspTransport.openSession qnn_open failed, 0x0000000f, prio 100", 14001, "qnn_open failed", "ADSP_LIBRARY_PATH" },
    { " <E> Unknown config socModel 9999", 14001, "config socModel", "soc_model 0" },
    { " <E> Unable to initialize device backend", 1100, "device backend", "first line" },
    { " <E> Number of tensors mismatch. Provided 2 tensors, expected 1 tensors.", 6004, "Number of tensors", "once" },
    { " <E> Tensor ID 24 batch (dim[0]) incompatible. (3, 4)", 6004, "incompatible", "dims" },
    { " <E> Tensor ID 24 dim 2 mismatch. 8 != 9", 6004, "mismatch", "dims" },
    { " <E> Serializer failed to get context blob.", 30010, "Serializer", "size" },
    { " <E> unexpected GraphHtpSettings option 66", 0, "GraphHtpSettings", "Ignore" },
    { " # LIBNATIVE: No alternate configuration present in libnative_tls.conf", 0, "LIBNATIVE", "Ignore" },

    /* as users write them */
    { "Expected Tensor ID \xe2\x80\xa6 not found", 6004, "Expected Tensor ID", "metadata" },
    { "clientBuf is null", 6004, "clientBuf is null", "Bind" },
    { "Shared weights buffer isn't supported", 1000, "Shared weights", "without weight sharing" },
    { "using newer CONTEXT BINARY on old sdk", 5000, "newer context binary", "older release" },

    /* with a logger's prefix */
    { "11-21 14:05:07.123  5000  6004 E QnnHtp  : Tensor ID 3 clientBuf is null", 6004, "clientBuf is null", "Bind" },
    { "2026-11-21T14:05:07.5000 [ERROR] [QnnDsp] <E> Using newer context binary on old SDK\r\n", 5000, "newer context binary",
      "older release" },
    { "E/qnnrt (1002): the library logged first, the likely cause: No Snapdragon SOC detected", 4000, "No Snapdragon", "device" },

    /* codes in a line */
    { "Failed to create context from binary with err 0x138d", 5005, NULL, "Compile it" },
    { "QNN_COMMON_ERROR_MEM_ALLOC ... Code: 1002", 1002, NULL, "shards" },
    { "Failed to finalize QNN graph. Error code: 1002 at location qnn_model.cc:167", 1002, NULL, "shards" },
    { "graphFinalize answered 0x1786 (QNN_GRAPH_ERROR_FINALIZE_FAILED)", 6022, NULL, "adding nodes" },
    { "[E] initialize: 4000", 4000, NULL, "libcdsprpc" },
    { "QnnDevice_create done, status=0x36b1, 12 ms", 14001, NULL, "Stub" },
    { "openSessionForPriority qnn_open failed status=0x80000406 uri=file:///libQnnHtpV75Skel.so", 0x80000406, NULL,
      "ADSP_LIBRARY_PATH" },
    { "IDspTransport: Unable to load lib 0x80000406", 0x80000406, NULL, "ADSP_LIBRARY_PATH" },
    { "the answer was QNN_GRAPH_ERROR_MEM_ALLOC, again", 1002, NULL, "shards" },

    /* several lines: the first known one counts */
    { "some line\nTensor ID 24 clientBuf is null\nUsing newer context binary on old SDK\n", 6004, "clientBuf is null", "Bind" },
    { "error 0x44c\n <W> Failed in loading stub: libQnnHtpV75Stub.so: x\nTransport layer setup failed: 14001", 14001,
      "loading stub", "stub" },
};

enum { LINES = sizeof lines / sizeof lines[0] };

/* These texts contain neither a code nor a known line. */
static const char *const unknown[] = {
    "", " ", "\n\n", "hello", "64999", "0xfde7", "1001", "0x", "0x138g", "-5000", "5000x", "QNN_", "QNN_CONTEXT_ERROR",
    "QNN_CONTEXT_ERROR_INVALID_ARGUMENTS", "99999999999999999999999", "0x11111111111111111388", "12:05:5000 all is well",
    "graph 6004 of 5000", "Tensor ID 17", "Expected Tensor ID\nnot found", "clientBuf\nis null", "handle 0x7f0012341388",
    "0x8000000000000000", "0x10000", "took 1002 ms", "...", " ... "
};

static void check_text(const char *text, size_t most)
{
    const unsigned char *at = (const unsigned char *)text;
    CHECK(text != NULL);
    for (; *at != '\0'; ++at) CHECK(*at >= 0x20 && *at < 0x7F);
    CHECK(strlen(text) <= most);
}

/* Check that an entry can be shown: each part exists, is not too long, and has only valid
   characters. */
static void check_entry(const qnnrt_explanation *entry)
{
    size_t i, end;
    CHECK(entry != NULL);
    TRY(check_text(entry->symbol, 64));
    TRY(check_text(entry->meaning, 160));
    TRY(check_text(entry->fix, 200));
    if (entry->text != NULL) TRY(check_text(entry->text, 80));
    end = strlen(entry->meaning);
    CHECK(end > 10 && entry->meaning[end - 1] == '.');         /* a sentence */
    CHECK(strlen(entry->fix) > 5 && entry->fix[strlen(entry->fix) - 1] == '.');
    for (i = 0; i < 4 && entry->causes[i] != NULL; ++i) {
        TRY(check_text(entry->causes[i], 200));
        CHECK(strlen(entry->causes[i]) > 5);
    }
    CHECK(i < 4);                                               /* ended by a NULL */
    for (; i < 4; ++i) CHECK(entry->causes[i] == NULL);
}

static const qnnrt_explanation *explain_number(const char *format, unsigned long long code)
{
    char text[64];
    snprintf(text, sizeof text, format, code);
    return qnnrt_explain(text);
}

TEST(every_code_is_found_by_number_and_by_symbol)
{
    size_t i;
    for (i = 0; i < CODES; ++i) {
        const qnnrt_explanation *entry = qnnrt_explain_code(codes[i].code);
        char low[80];
        size_t c;
        TRY(check_entry(entry));
        CHECK_EQ(entry->code, codes[i].code);
        CHECK(entry->text == NULL);
        CHECK(entry->symbol[0] != '\0');
        CHECK(explain_number("%llu", codes[i].code) == entry);
        CHECK(explain_number(" %llu\n", codes[i].code) == entry);
        CHECK(explain_number("0x%llx", codes[i].code) == entry);
        CHECK(explain_number("0x%08llX", codes[i].code) == entry);
        CHECK(qnnrt_explain(codes[i].symbol) == entry);
        for (c = 0; codes[i].symbol[c] != '\0'; ++c)
            low[c] = codes[i].symbol[c] >= 'A' && codes[i].symbol[c] <= 'Z' ? (char)(codes[i].symbol[c] + 32) : codes[i].symbol[c];
        low[c] = '\0';
        CHECK(qnnrt_explain(low) == entry);
        if (codes[i].code == 0) continue;
        CHECK(explain_number("it failed, error code %llu.", codes[i].code) == entry);
        CHECK(explain_number("it failed (0x%llx)", codes[i].code) == entry);
        CHECK(qnnrt_explain_code(codes[i].code | 0x7F00000000000000u) == entry);   /* the low 16 bits count */
        CHECK(qnnrt_explain_code(codes[i].code | 0x00120000u) == entry);
    }
}

/* The first name of a number in the list is the one that is shown; its other names are found
   too. */
TEST(a_code_is_told_by_its_common_name)
{
    char text[80];
    size_t i, k;
    for (i = 0; i < CODES; ++i) {
        char name[80];
        qnnrt_vendor_code_name(codes[i].code, name, sizeof name);
        for (k = 0; codes[k].code != codes[i].code; ++k) {}
        CHECK(strcmp(name, qnnrt_explain_code(codes[i].code)->symbol) == 0);
        if (codes[i].code != 0 && codes[i].code != 30002) CHECK(strcmp(name, codes[k].symbol) == 0);
    }
    CHECK(strcmp(qnnrt_vendor_code_name(0, text, sizeof text), "QNN_SUCCESS") == 0);
    CHECK(strcmp(qnnrt_vendor_code_name(30002, text, sizeof text), "QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED") == 0);
    CHECK(qnnrt_vendor_code_name(64999, text, sizeof text)[0] == '\0');
    CHECK(qnnrt_vendor_code_name(0x8000000000000000u, text, sizeof text)[0] == '\0');
    CHECK(strcmp(qnnrt_vendor_code_name(30002, text, 10), "QNN_SYSTE") == 0);
}

TEST(answers_of_fastrpc_count_with_all_their_bits)
{
    size_t i;
    for (i = 0; i < sizeof rpc_codes / sizeof rpc_codes[0]; ++i) {
        const qnnrt_explanation *entry = qnnrt_explain_code(rpc_codes[i]);
        TRY(check_entry(entry));
        CHECK_EQ(entry->code, rpc_codes[i]);
        CHECK(entry->causes[0] != NULL);
        CHECK(explain_number("%llu", rpc_codes[i]) == entry);
        CHECK(explain_number("0x%llx", rpc_codes[i]) == entry);
        CHECK(explain_number("0xFFFFFFFF%llX", rpc_codes[i]) == entry);
        CHECK(explain_number("remote_handle_open: 0x%llx, prio 100", rpc_codes[i]) == entry);
        CHECK(qnnrt_explain_code(rpc_codes[i] & 0xFFFF) == NULL);
    }
}

/* Every code in the table is in the list; codes ascend, then the lines follow. */
TEST(all_entries_can_be_listed)
{
    const qnnrt_explanation *entry, *before = NULL;
    size_t i, k, count = 0, known = 0;
    for (i = 0; (entry = qnnrt_explain_get(i)) != NULL; ++i) {
        TRY(check_entry(entry));
        if (entry->text == NULL) {
            CHECK(before == NULL || before->text == NULL);
            CHECK(before == NULL || entry->code > before->code || before->code > 0x80000000u);
            CHECK(qnnrt_explain_code(entry->code) == entry);
            for (k = 0; k < CODES && codes[k].code != entry->code; ++k) {}
            if (k == CODES) {
                for (k = 0; k < 5 && rpc_codes[k] != entry->code; ++k) {}
                CHECK(k < 5);
            }
            ++count;
        } else {
            CHECK(qnnrt_explain_code(entry->code) != NULL);
            CHECK(entry->code == 0 || strcmp(qnnrt_explain_code(entry->code)->symbol, entry->symbol) == 0);
            ++known;
        }
        before = entry;
    }
    CHECK(qnnrt_explain_get(i + 1) == NULL);
    CHECK(qnnrt_explain_get(count - 1)->text == NULL && qnnrt_explain_get(count)->text != NULL);
    CHECK(qnnrt_explain_get(SIZE_MAX) == NULL);
    printf("  %u codes, %u lines\n", (unsigned)count, (unsigned)known);
    CHECK(known > 50);
}

/* A line does not hide one below it: the text of each leads to itself. */
TEST(every_line_leads_to_its_own_entry)
{
    const qnnrt_explanation *entry;
    char line[256];
    size_t i;
    for (i = 0; (entry = qnnrt_explain_get(i)) != NULL; ++i) {
        const char *gap = NULL;
        if (entry->text == NULL) continue;
        if (qnnrt_explain(entry->text) != entry) printf("  %s\n", entry->text);
        CHECK(qnnrt_explain(entry->text) == entry);
        gap = strstr(entry->text, " ... ");
        if (gap != NULL) snprintf(line, sizeof line, "[7] <E> %.*s: 4711, %s (1)\n", (int)(gap - entry->text), entry->text, gap + 5);
        else snprintf(line, sizeof line, "[7] <E> %s: 4711\n", entry->text);
        CHECK(qnnrt_explain(line) == entry);
    }
}

TEST(pasted_lines_are_found)
{
    size_t i;
    for (i = 0; i < LINES; ++i) {
        const qnnrt_explanation *entry = qnnrt_explain(lines[i].text);
        if (entry == NULL || entry->code != lines[i].code || (entry->text == NULL) != (lines[i].line == NULL))
            printf("  %s -> %s\n", lines[i].text, entry == NULL ? "NULL" : entry->text != NULL ? entry->text : entry->symbol);
        TRY(check_entry(entry));
        CHECK_EQ(entry->code, lines[i].code);
        if (lines[i].line == NULL) CHECK(entry->text == NULL);
        else CHECK_STR(entry->text, lines[i].line);
        CHECK_STR(entry->fix, lines[i].fix);
    }
}

TEST(what_is_not_known_has_no_entry)
{
    size_t i;
    for (i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) {
        const qnnrt_explanation *entry = qnnrt_explain(unknown[i]);
        if (entry != NULL) printf("  \"%s\" -> %u %s\n", unknown[i], (unsigned)entry->code, entry->symbol);
        CHECK(entry == NULL);
    }
    CHECK(qnnrt_explain(NULL) == NULL);
    CHECK(qnnrt_explain_code(0x8000000000000000u) == NULL);
    CHECK(qnnrt_explain_code(0x10000) == NULL);
}

/* A text may end anywhere, and hold any byte. */
TEST(hostile_texts_are_read_within_their_bounds)
{
    size_t i, cut;
    uint32_t state = 1;
    for (i = 0; i < LINES; ++i) {
        for (cut = 0; cut <= strlen(lines[i].text); ++cut) {
            char *text = (char *)malloc(cut + 1);
            memcpy(text, lines[i].text, cut);
            text[cut] = '\0';
            (void)qnnrt_explain(text);
            free(text);
        }
    }
    for (i = 0; i < 2000; ++i) {
        size_t length = i % 60, k;
        char *text = (char *)malloc(length + 1);
        for (k = 0; k < length; ++k) {
            state = state * 1664525u + 1013904223u;
            text[k] = (char)((state >> 24) != 0 ? state >> 24 : 'x');
        }
        text[length] = '\0';
        (void)qnnrt_explain(text);
        free(text);
    }
}

/* ---- in the text of an error ------------------------------------------------------------------ */

static void log_text(qnnrt__log_slot *slot, uint32_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    qnnrt__log_take(slot, format, level, args);
    va_end(args);
}

typedef struct logged { uint32_t level; const char *text; } logged;

/* Return the text of an error after these lines. */
static void error_of(qnnrt_error *err, uint64_t code, const logged *list, size_t count)
{
    static const qnnrt_hooks hooks = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    static qnnrt__log_book book;
    int slot = qnnrt__log_open(&book, &hooks, QNNRT_LOG_ERROR);
    const qnnrt_explanation *known;
    uint32_t mark;
    size_t i;
    TEST_JUNK(*err);
    CHECK(slot >= 0);
    mark = qnnrt__log_mark(slot);
    for (i = 0; i < count; ++i) log_text(&qnnrt__log_slots[slot], list[i].level, "%s\n", list[i].text);
    QNNRT__FAIL(err, QNNRT_E_BACKEND, "one.bin cannot be loaded");
    qnnrt__codes_explain(err, "contextCreateFromBinary", code, slot, mark);
    qnnrt__log_close(slot);
    known = qnnrt_explain_code(code);
    if (err->cause != NULL) CHECK(strcmp(err->cause, known->causes[0]) == 0);
    if (err->cause != NULL) CHECK(strcmp(err->hint, known->fix) == 0);
    qnnrt_explain_error(err);
}

/* qnnrt.h has causes and hints of the codes that a phone meets, the symbols of all others. */
TEST(each_code_has_its_cause_and_hint)
{
    const qnnrt_explanation *entry;
    qnnrt_error err, again;
    size_t i, own = 0;
    for (i = 0; (entry = qnnrt_explain_get(i)) != NULL && entry->text == NULL; ++i) {
        TEST_JUNK(err);
        QNNRT__FAIL(&err, QNNRT_E_BACKEND, "it failed");
        qnnrt__codes_explain(&err, "graphExecute", entry->code, -1, 0);
        own += err.cause != NULL;
        qnnrt_explain_error(&err);
        if (entry->code == 0) { CHECK(err.cause == NULL); continue; }
        CHECK_STR(err.text, entry->symbol);
        CHECK_EQ(err.cause != NULL, entry->causes[0] != NULL);
        if (err.cause != NULL) CHECK(strcmp(err.cause, entry->causes[0]) == 0);
        else CHECK_STR(err.text, entry->meaning);
        CHECK(strcmp(err.hint, entry->fix) == 0);
        again = err;
        qnnrt_explain_error(&again);
        CHECK(memcmp(&again, &err, sizeof err) == 0);
    }
    CHECK(own > 30);
}

/* Check that the pieces are in the text, in this order. */
static void check_order(const char *text, const char *const *pieces)
{
    const char *at = text;
    for (; *pieces != NULL; ++pieces) {
        CHECK_STR(at, *pieces);
        at = strstr(at, *pieces) + strlen(*pieces);
    }
}

TEST(the_cause_of_the_first_line_stands_before_that_of_the_code)
{
    static const logged list[] = { { 2, " <W> something odd" }, { 1, " <E> Using newer context binary on old SDK" },
                                   { 1, " <E> Failed to create context from binary with err 0x1388" } };
    const qnnrt_explanation *code = qnnrt_explain_code(5000), *line = qnnrt_explain(list[1].text);
    const char *const pieces[] = {
        "one.bin cannot be loaded: contextCreateFromBinary answered 0x1388 (QNN_CONTEXT_ERROR_INVALID_ARGUMENT)",
        "\n  the library logged first, an error: <E> Using newer context binary on old SDK",
        "\n  and before: <W> something odd", "\n  and then: <E> Failed to create context",
        "\n  another cause of this code: ", code->causes[0], code->fix,
        "\n  likely cause: ", line->causes[0], "\n  hint: ", line->fix, NULL };
    qnnrt_error err, again;
    TRY(error_of(&err, 5000, list, 3));
    TRY(check_order(TEST_TOLD(err), pieces));
    again = err;
    qnnrt_explain_error(&again);
    CHECK(memcmp(&again, &err, sizeof err) == 0);
    CHECK_EQ(err.vendor_code, 5000);
}

TEST(an_unknown_first_error_is_marked_as_the_likely_cause)
{
    static const logged list[] = { { 2, "a warning" }, { 1, "the first" }, { 1, "Using newer context binary on old SDK" } };
    const qnnrt_explanation *code = qnnrt_explain_code(5000);
    const char *const pieces[] = { "answered 0x1388", "\n  the library logged first, an error: the first\n",
                                   "and before: a warning", "and then: Using newer",
                                   "\n  likely cause: ", code->causes[0], "\n  hint: ", code->fix, NULL };
    qnnrt_error err;
    TRY(error_of(&err, 5000, list, 3));
    TRY(check_order(TEST_TOLD(err), pieces));
    CHECK(strstr(err.text, "other cause") == NULL);
}

TEST(a_known_warning_before_the_first_error_is_the_likely_cause)
{
    static const logged list[] = { { 2, "<W> Failed in loading stub: libQnnHtpV75Stub.so: cannot open shared object file" },
                                   { 1, "<E> loadRemoteSymbols failed with err 4000" },
                                   { 1, "<E> Transport layer setup failed: 14001" } };
    const qnnrt_explanation *code = qnnrt_explain_code(14001), *line = qnnrt_explain(list[0].text);
    const char *const pieces[] = { "answered 0x36b1 (QNN_DEVICE_ERROR_INVALID_CONFIG)",
                                   "logged first, an error: <E> loadRemoteSymbols",
                                   "and before: <W> Failed in loading stub", "and then: <E> Transport",
                                   "\n  another cause of this code: ", code->causes[0],
                                   "\n  likely cause: ", line->causes[0], "\n  hint: ", line->fix, NULL };
    qnnrt_error err;
    TRY(error_of(&err, 14001, list, 3));
    TRY(check_order(TEST_TOLD(err), pieces));
}

TEST(a_harmless_line_is_no_cause)
{
    static const logged list[] = { { 1, " <E> unexpected GraphHtpSettings option 66" }, { 1, " <E> No Snapdragon SOC detected" } };
    qnnrt_error err;
    TRY(error_of(&err, 4000, list, 2));
    CHECK(err.cause == qnnrt_explain(list[1].text)->causes[0]);
    CHECK_STR(err.text, "logged first, an error: <E> unexpected GraphHtpSettings");
    CHECK_STR(err.text, "and then: <E> No Snapdragon");
    TRY(error_of(&err, 4000, list, 1));
    CHECK(strcmp(err.cause, qnnrt_explain_code(4000)->causes[0]) == 0);
    CHECK(strstr(TEST_TOLD(err), qnnrt_explain(list[1].text)->causes[0]) == NULL);
    CHECK_STR(err.text, "logged first, an error: <E> unexpected GraphHtpSettings");
}

/* What a function knows that looked at the file says more than a line. */
TEST(a_cause_that_is_not_the_codes_own_stays)
{
    static const logged list[] = { { 1, " <E> Using newer context binary on old SDK" } };
    static const char own[] = "the file is of another kind";
    qnnrt_error err;
    TRY(error_of(&err, 5000, list, 1));
    CHECK(err.cause == qnnrt_explain(list[0].text)->causes[0]);
    err.cause = own;
    qnnrt_explain_error(&err);
    CHECK(err.cause == own);
    qnnrt_explain_error(NULL);
    qnnrt_error_set(&err, QNNRT_E_IO, "no line at all");
    qnnrt_explain_error(&err);
    CHECK(err.cause == NULL && err.hint[0] == '\0');
}

TEST(a_warning_alone_is_shown_as_one)
{
    static const logged list[] = { { 2, "something odd" }, { 2, "something else" } };
    qnnrt_error err;
    TRY(error_of(&err, 6006, list, 2));
    CHECK_STR(err.text, "meaning: ");
    CHECK_STR(err.text, qnnrt_explain_code(6006)->meaning);
    CHECK(strcmp(err.hint, qnnrt_explain_code(6006)->fix) == 0);
    CHECK_STR(err.text, "logged first, a warning: something odd");
}

/* With every part at its maximum length, the code, a cause and a fix are still there. */
TEST(a_text_that_is_full_keeps_cause_and_fix)
{
    char name[300], text[400];
    logged list[24];
    size_t i;
    qnnrt_error err;
    const qnnrt_explanation *entry;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "Using newer context binary %s", name);
    for (i = 0; i < 24; ++i) { list[i].level = 1; list[i].text = text; }
    for (i = 0; (entry = qnnrt_explain_get(i)) != NULL; ++i) {
        if (entry->text != NULL) continue;
        TRY(error_of(&err, entry->code, list, 24));
        CHECK(strlen(err.text) < sizeof err.text);
        CHECK(strcmp(err.hint, qnnrt_explain(text)->fix) == 0);
        CHECK_STR(err.text, "logged first, an error: Using newer");
    }
}

/* A line without an end, as in a log that lost its newlines: more than one pass over it would
   take minutes. */
TEST(a_long_line_is_looked_through_once)
{
    static const struct { const char *piece, *end; } texts[] = {
        { "abcdefghijklmnopqrstuvwxyzabc ", "" }, { "a", " 5" }, { "abcd 5 ", "" }, { "%n%s ", "" }
    };
    const size_t bytes = TEST_CASES(1000000);
    char *text = (char *)malloc(bytes + 8);
    size_t i, k;
    CHECK(text != NULL);
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        for (k = 0; k < bytes; ++k) text[k] = texts[i].piece[k % strlen(texts[i].piece)];
        strcpy(text + bytes, texts[i].end);
        CHECK(qnnrt_explain(text) == NULL);
    }
    free(text);
}

/* ---- lines from other threads ------------------------------------------------------------------ */

enum { LOG_THREADS = 3, LOG_ROUNDS = 200 };

typedef struct log_host { int closed, lines, late; } log_host;

static struct { qnnrt__log_callback call; int done; } logger;

static void host_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    log_host *host = (log_host *)user;
    (void)level;
    (void)part;
    (void)code;
    (void)text;
    __atomic_add_fetch(&host->lines, 1, __ATOMIC_RELAXED);
    /* Let another thread close the backend. */
    sched_yield();
    if (__atomic_load_n(&host->closed, __ATOMIC_ACQUIRE)) __atomic_add_fetch(&host->late, 1, __ATOMIC_RELAXED);
}

static void log_call(qnnrt__log_callback call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    call(format, 1, 0, args);
    va_end(args);
}

static void *log_from_thread(void *user)
{
    unsigned n = 0;
    (void)user;
    while (!__atomic_load_n(&logger.done, __ATOMIC_ACQUIRE)) log_call(logger.call, "line %u of \033[31m%s", n++, "a thread");
    return NULL;
}

/* The vendor logs from its own threads at any time. The hook is not called once the slot is
   closed, and each copied line is complete. */
TEST(lines_of_other_threads_end_with_the_slot)
{
    qnnrt_hooks hooks = { NULL, NULL, NULL, host_line, NULL, NULL, NULL, NULL };
    pthread_t threads[LOG_THREADS];
    int i, k, late = 0, kept = 0;
    memset(&logger, 0, sizeof(logger));
    logger.call = qnnrt__log_callbacks[0];
    for (i = 0; i < LOG_THREADS; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, log_from_thread, NULL), 0);
    for (k = 0; k < LOG_ROUNDS; ++k) {
        log_host *host = (log_host *)calloc(1, sizeof(*host));
        qnnrt__log_book *book = (qnnrt__log_book *)calloc(1, sizeof(*book));
        qnnrt__log_part part;
        uint32_t mark;
        int slot;
        hooks.log_user = host;
        slot = qnnrt__log_open(book, &hooks, QNNRT_LOG_ERROR);
        mark = qnnrt__log_mark(slot);
        while (__atomic_load_n(&host->lines, __ATOMIC_RELAXED) < 2 * LOG_THREADS) sched_yield();
        qnnrt__log_copy(slot, mark, &part);
        for (i = 1; i < (int)part.count; ++i) late += part.lines[i].number <= part.lines[i - 1].number;
        qnnrt__log_close(slot);
        free(book);                                         /* as its backend does */
        __atomic_store_n(&host->closed, 1, __ATOMIC_RELEASE);
        sched_yield();
        kept += slot == 0 && part.count > 0;
        late += __atomic_load_n(&host->late, __ATOMIC_ACQUIRE);
        free(host);
    }
    __atomic_store_n(&logger.done, 1, __ATOMIC_RELEASE);
    for (i = 0; i < LOG_THREADS; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(kept, LOG_ROUNDS);
    CHECK_EQ(late, 0);
}

TEST_MAIN("codes")
{
    RUN(every_code_is_found_by_number_and_by_symbol);
    RUN(a_code_is_told_by_its_common_name);
    RUN(answers_of_fastrpc_count_with_all_their_bits);
    RUN(all_entries_can_be_listed);
    RUN(every_line_leads_to_its_own_entry);
    RUN(pasted_lines_are_found);
    RUN(what_is_not_known_has_no_entry);
    RUN(hostile_texts_are_read_within_their_bounds);
    RUN(each_code_has_its_cause_and_hint);
    RUN(the_cause_of_the_first_line_stands_before_that_of_the_code);
    RUN(an_unknown_first_error_is_marked_as_the_likely_cause);
    RUN(a_known_warning_before_the_first_error_is_the_likely_cause);
    RUN(a_harmless_line_is_no_cause);
    RUN(a_cause_that_is_not_the_codes_own_stays);
    RUN(a_warning_alone_is_shown_as_one);
    RUN(a_text_that_is_full_keeps_cause_and_fix);
    RUN(a_long_line_is_looked_through_once);
    RUN(lines_of_other_threads_end_with_the_slot);
}
