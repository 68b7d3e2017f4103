/* fuzz_session.c - policies, the scan of ONNX files for external data, and values of runs

   The last byte chooses. A policy that is valid merges with nothing and with itself into the same text, which is valid
   too. A model loads, or is refused with QNNRT_E_FORMAT or QNNRT_E_LIMIT. A run that succeeds got values that fit: their
   memory has exactly the bytes that they say. */
#include "../../tools/qnnrt_session.h"
#include "test.h"
#include "session_engine.h"
#define FUZZ_NAME "fuzz_session"
#include "fuzz.h"

static qnnrt_error err;

static void play_policy(qnnrt_policy_kind kind, const unsigned char *data, size_t size)
{
    static char text[1 << 20], once[1 << 20], twice[1 << 20];
    qnnrt_result result;
    size_t bytes, again;
    if (size > 8192) return;
    memcpy(text, data, size);
    text[size] = '\0';
    result = qnnrt_policy_check(kind, text, NULL, NULL, &err);
    MUST(result == QNNRT_OK || result == QNNRT_E_FORMAT || result == QNNRT_E_UNSUPPORTED || result == QNNRT_E_LIMIT);
    MUST((result == QNNRT_OK) == (err.text[0] == '\0') && err.code == result);
    if (result != QNNRT_OK || size == 0) return;
    MUST(qnnrt_policy_merge(kind, text, NULL, once, sizeof(once), &bytes, &err) == QNNRT_OK && bytes == strlen(once));
    MUST(qnnrt_policy_check(kind, once, NULL, NULL, &err) == QNNRT_OK);
    MUST(qnnrt_policy_merge(kind, text, once, twice, sizeof(twice), &again, &err) == QNNRT_OK);
    MUST(again == bytes && strcmp(once, twice) == 0);
    MUST(qnnrt_policy_merge(kind, NULL, text, twice, sizeof(twice), &again, &err) == QNNRT_OK && strcmp(once, twice) == 0);
}

static void play_model(const unsigned char *data, size_t size)
{
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_result result;
    MUST(toy_begin(&desc));
    MUST(test_write_file(toy_model_path, data, size));
    desc.engine = "first";
    desc.device = "cpu";
    result = qnnrt_session_create(toy_model_path, &desc, &session, &err);
    MUST(result == QNNRT_OK || result == QNNRT_E_FORMAT || result == QNNRT_E_LIMIT);
    MUST(toy[0].opens == (result == QNNRT_OK));
    MUST(qnnrt_session_destroy(session) == QNNRT_OK);
    MUST(toy_live() == 0);
}

/* Take a value from the data: memory of exactly the bytes that it says, if these are few. */
static const unsigned char *take_value(qnnrt_value *value, const unsigned char *data, const unsigned char *end, float *memory, float **given)
{
    static const qnnrt_dtype types[4] = { QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, QNNRT_DTYPE_I4, QNNRT_DTYPE_STRING };
    static const char *const names[4] = { NULL, "x", "bias", "y" };
    uint32_t i;
    memset(value, 0, sizeof(*value));
    *given = NULL;
    if (end - data < 12) return end;
    value->name = names[data[0] & 3];
    value->dtype = types[data[0] >> 2 & 3];
    value->rank = data[0] >> 4 & 3;
    for (i = 0; i < 3; ++i) {
        value->dims[i] = (int64_t)(signed char)data[1 + i];
        if (data[4] >> i & 1) value->dims[i] = (int64_t)((uint64_t)value->dims[i] << (data[5 + i] & 63));
    }
    value->bytes = (size_t)(data[8] | data[9] << 8);
    if (data[10] & 1) return data + 12;
    *given = memory = (float *)calloc(1, value->bytes + (value->bytes == 0));
    MUST(memory != NULL);
    value->data = memory;
    return data + 12;
}

static void play_run(const unsigned char *data, size_t size)
{
    const unsigned char *at = data, *end = data + size;
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_value in[3], out[2];
    float *given[5];
    size_t i, inputs, outputs, bytes;
    qnnrt_result result;
    if (size < 2) return;
    MUST(toy_begin(&desc));
    desc.engine = "first";
    desc.device = "cpu";
    desc.max_batch_size = data[0] & 15;
    toy[0].batch = (data[0] >> 4 & 3) == 0 ? -1 : data[0] >> 4 & 3;
    inputs = data[1] & 3;
    outputs = data[1] >> 2 & 1;
    outputs += 1;
    MUST(qnnrt_session_create(toy_model_path, &desc, &session, &err) == QNNRT_OK);
    at += 2;
    for (i = 0; i < 3; ++i) at = take_value(&in[i], at, end, NULL, &given[i]);
    for (i = 0; i < 2; ++i) at = take_value(&out[i], at, end, NULL, &given[3 + i]);
    result = qnnrt_session_run(session, in, inputs, out, outputs);
    MUST((result == QNNRT_OK) == (qnnrt_session_error(session)->text[0] == '\0'));
    for (i = 0; result == QNNRT_OK && i < outputs; ++i)
        MUST(qnnrt_session_bytes(out[i].dtype, out[i].rank, out[i].dims, &bytes) && bytes == out[i].bytes);
    MUST(qnnrt_session_destroy(session) == QNNRT_OK && toy_live() == 0);
    for (i = 0; i < 5; ++i) free(given[i]);
}

static void play(const unsigned char *data, size_t size)
{
    if (size == 0) return;
    switch (data[size - 1] & 3) {
    case 0: play_policy(QNNRT_POLICY_KERNEL, data, size - 1); break;
    case 1: play_policy(QNNRT_POLICY_EXECUTION, data, size - 1); break;
    case 2: play_model(data, size - 1); break;
    default: play_run(data, size - 1); break;
    }
}

FUZZ_TARGET
