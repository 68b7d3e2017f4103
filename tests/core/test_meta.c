/* test_meta.c - rooms >>record >>read_json >>table (the comparison) >>scan >>model: metadata
   from JSON

   Texts are written with ' for " (J() converts them). Every open that must fail is made twice:
   with an error filled with 0xFF, and with error NULL. Afterwards no handle of the fake, no
   allocation and no descriptor may be left. Class numbers are those of the project's list of
   faults. With QNNRT_SAMPLES, genuine files are read, too. */
#include "../../qnnrt.h"
#include "test.h"
#include "opens.h"
#include "meta.h"
#include <math.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- texts ---------------------------------------------------------------------------------- */

/* Texts of one test, freed by the next. */
static meta_pool pool;

/* Replace ' by ". */
static char *J(const char *text)
{
    char *copy = (char *)meta_have(&pool, text, strlen(text), 0), *at = copy;
    for (; *at != '\0'; ++at) if (*at == '\'') *at = '"';
    return copy;
}

static char *keep(char *text)
{
    if (text == NULL) { printf("an edit did not find its place\n"); abort(); }
    if (pool.count == META_POOL) abort();
    pool.blocks[pool.count++] = text;
    return text;
}

static char *edit(const char *text, const char *from, const char *to) { return keep(meta_edit(text, 0, J(from), J(to))); }

static char *join3(const char *a, const char *b, const char *c)
{
    meta_text out;
    memset(&out, 0, sizeof(out));
    meta_add(&out, a, strlen(a));
    meta_add(&out, b, strlen(b));
    meta_add(&out, c, strlen(c));
    return keep(out.data);
}

#define IDS  "{'id':1,'name':'ids','type':'QNN_TENSOR_TYPE_APP_WRITE','dataType':'QNN_DATATYPE_INT_32','rank':2,'dimensions':[1,4]}"
#define HEADX "'id':2,'name':'x','type':'QNN_TENSOR_TYPE_APP_WRITE',"
#define FIX8  "'dataType':'QNN_DATATYPE_UFIXED_POINT_8',"
#define DIMS  "'rank':3,'dimensions':[2,3,4]"
#define DEFINED(e) "'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_" e "',"
#define QUANT ",'quantizeParams':{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':0.5,'offset':-3}}"
#define X     "{" HEADX FIX8 DIMS QUANT "}"
#define Y     "{'id':3,'name':'y','type':'QNN_TENSOR_TYPE_APP_READ','dataType':'QNN_DATATYPE_FLOAT_32','rank':1,'dimensions':[2]}"
#define FRONT "{'buildId':'v2.51','backendId':6,'graphs':[{'graphName':'fwd','numGraphInputs':2,'graphInputs':[" IDS ","
#define BACK  "],'numGraphOutputs':1,'graphOutputs':[" Y "]}],'socModel':57}"
#define DOC   FRONT X BACK

/* Make a document whose second input has these members. */
static char *with_x(const char *members) { return J(join3(FRONT "{", members, "}" BACK)); }
/* Make a document whose x has this quantizeParams. */
static char *with_quant(const char *quant) { return with_x(join3(HEADX FIX8 DIMS ",'quantizeParams':", quant, "")); }

#define INX "graph \"fwd\": input \"x\": "

/* Return the members of x in the lines of meta.h. */
#define X_FACTS "in \"x\" id 2 dtype 0x0408 rank 3 [2,3,4] count 24 bytes 24 type 0 format 0 version 1 optional 0 updateable 0 dynamic -"
#define X_LINE  X_FACTS " encoding 1 vendor 0x0 bitwidth 0 3f000000/-3\n"
#define X_PLAIN X_FACTS " encoding 0 vendor 0x7fffffff bitwidth 0\n"

/* ---- opening -------------------------------------------------------------------------------- */

/* Open with JSON alone: no library of the vendor is loaded. */
static qnnrt_desc json_desc(void)
{
    qnnrt_desc desc = new_desc();
    desc.backend_desc.path = desc.system_path = NULL;
    desc.inspect = 1;
    return desc;
}

/* Copy bytes to memory of exactly their size, so that a read past the end is detected. */
static char *exactly(const char *text, size_t bytes)
{
    char *data = (char *)malloc(bytes > 0 ? bytes : 1);
    if (data == NULL) abort();
    memcpy(data, text, bytes);
    return data;
}

static void json_fails(int line, const qnnrt_limits *limits, const char *text, size_t bytes, qnnrt_result code, ...)
{
    qnnrt_desc desc = json_desc();
    qnnrt_file file;
    va_list needles;
    char *data = exactly(text, bytes);
    memset(&file, 0, sizeof(file));
    file.json_path = "meta.json";
    file.json_data = data;
    file.json_bytes = bytes;
    desc.files = &file;
    desc.file_count = 1;
    if (limits != NULL) desc.limits = *limits;
    va_start(needles, code);
    fails_in(NULL, &desc, code, needles);
    va_end(needles);
    if (test_state.state == TEST_RUNNING && test_check_str(error.text, "meta.json", __FILE__, line)) {}
    show_error(line);
    if (test_state.state == TEST_FAILED) printf("    the text: %.600s\n", text);
    free(data);
}

static void json_opens(int line, const qnnrt_limits *limits, const char *text, size_t bytes, qnnrt **model)
{
    qnnrt_desc desc = json_desc();
    qnnrt_file file;
    char *data = exactly(text, bytes);
    memset(&file, 0, sizeof(file));
    file.json_path = "meta.json";
    file.json_data = data;
    file.json_bytes = bytes;
    desc.files = &file;
    desc.file_count = 1;
    if (limits != NULL) desc.limits = *limits;
    opens(line, NULL, &desc, model);
    if (test_state.state == TEST_FAILED) printf("    the text: %.600s\n", text);
    free(data);
}

#define JSON_FAILS(text, ...) TRY(json_fails(__LINE__, NULL, text, strlen(text), __VA_ARGS__, (const char *)NULL))
#define JSON_FAILS_WITHIN(limits, text, ...) TRY(json_fails(__LINE__, limits, text, strlen(text), __VA_ARGS__, (const char *)NULL))
#define JSON_OPENS(text, model) TRY(json_opens(__LINE__, NULL, text, strlen(text), model))
#define JSON_OPENS_WITHIN(limits, text, model) TRY(json_opens(__LINE__, limits, text, strlen(text), model))

/* Return x of an open document. */
static const qnnrt_tensor_info *x_of(const qnnrt *model) { return &qnnrt_get_info(model)->contexts[0].graphs[0].inputs[1]; }

static void x_is(int line, const char *text, const char *want)
{
    qnnrt *model = NULL;
    meta_text got;
    memset(&got, 0, sizeof(got));
    TRY(json_opens(line, NULL, text, strlen(text), &model));
    meta_put_tensor(&got, "in", x_of(model));
    if (strcmp(got.data, want) != 0) {
        test_where(__FILE__, line);
        printf("x is\n    %s  and should be\n    %s", got.data, want);
    }
    meta_free(&got);
    CLOSE(model);
}

#define X_IS(text, want) TRY(x_is(__LINE__, text, want))

static void meta_begin(void)
{
    meta_drop(&pool);
    fake_begin("");
}

static void must_be_good(const qnnrt *model, const qnnrt_limits *given)
{
    qnnrt_limits limits;
    size_t count, i;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    memset(&limits, 0, sizeof(limits));
    if (given != NULL) limits = *given;
    if (limits.rank == 0) limits.rank = 8;
    if (limits.name_bytes == 0) limits.name_bytes = 1024;
    for (i = 0; i < count; ++i) {
        const char *why = meta_check(&infos[i], &limits);
        if (why != NULL) { test_where(__FILE__, __LINE__); printf("the table has %s\n", why); return; }
    }
}

/* ---- variants ------------------------------------------------------------------------------- */

TEST(flat_document_opens)
{
    qnnrt *model = NULL;
    const qnnrt_context_info *c;
    size_t count;
    meta_begin();
    JSON_OPENS(J(DOC), &model);
    c = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    CHECK_EQ(count, 1);
    CHECK(strcmp(c->file, "meta.json") == 0);
    CHECK(strcmp(c->json_file, "meta.json") == 0);
    CHECK_EQ(c->from_system, 0);
    CHECK_EQ(c->from_json, 1);
    CHECK_EQ(c->file_bytes, 0);
    CHECK_EQ(c->soc_model, 57);
    CHECK_EQ(c->backend_id, 6);
    CHECK(strcmp(c->build_id, "v2.51") == 0);
    CHECK_EQ(c->graph_count, 1);
    CHECK_EQ(c->graphs[0].input_count, 2);
    CHECK(c->graphs[0].unsupported == NULL);
    CHECK(strcmp(qnnrt_get_info(model)->system_path, "") == 0);
    CHECK(qnnrt_get_info(model)->backend == NULL);
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
    TRY(must_be_good(model, NULL));
    CLOSE(model);
    CHECK(strcmp(fake_trace(), "") == 0);
    X_IS(J(DOC), X_LINE);
}

TEST(nested_document_gives_the_same)
{
    char *doc;
    meta_begin();
    doc = J("{'header':{'artifact_type':'CONTEXT_BINARY_INFO','version':{'major':3}},'version':'QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3',"
            "'info':{'graphs':[{'version':'QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3','info':{'graphName':'fwd','numGraphInputs':2,"
            "'graphInputs':[{'info':" IDS ",'version':'QNN_TENSOR_VERSION_1'},{'version':'QNN_TENSOR_VERSION_1','info':" X "}],"
            "'numGraphOutputs':1,'graphOutputs':[{'version':'QNN_TENSOR_VERSION_2','info':" Y "}]}}],'numGraphs':1}}");
    X_IS(doc, X_LINE);
    /* and where only some records are nested */
    X_IS(J(FRONT "{'info':" X "}" BACK), X_LINE);
    X_IS(J(FRONT "{'id':2,'info':{'name':'x','type':'QNN_TENSOR_TYPE_APP_WRITE'," FIX8 "'dimensions':[2,3,4]" QUANT "},'rank':3}" BACK), X_LINE);
}

TEST(info_in_info_is_a_stranger)
{
    meta_begin();
    X_IS(with_x("'info':{" HEADX FIX8 DIMS QUANT ",'info':{'id':9}}"), X_LINE);
    JSON_FAILS(J("{'info':{'info':{'info':{'graphs':[]}}}}"), QNNRT_E_FORMAT, "graphs");
}

TEST(binary_info_of_every_version_opens)
{
    static const char *const heads[] = { "1", "2", "3" };
    size_t i;
    meta_begin();
    for (i = 0; i < 3; ++i) {
        char head[1024];
        snprintf(head, sizeof(head), "{'version':'QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_%s','info':{'hwInfoBlobVersion':'1.2.3','hwInfoBlobSize':24,"
                 "'hwInfoBlob':[{'version':'QNN_SYSTEM_CONTEXT_HTP_HW_INFO_BLOB_VERSION_V1','info':{'graphListIndex':0,'spillFillBufferSize':7}}],"
                 "'contextBlobVersion':'3.2.1',", heads[i]);
        X_IS(J(join3(head, &DOC[1], "}")), X_LINE);
    }
}

TEST(versions_are_read_as_far_as_they_are_numbers)
{
    static const struct { const char *text; uint32_t parts[3]; } cases[] = {
        { "2.34.5", { 2, 34, 5 } },        { "2.34.5.6", { 2, 34, 5 } },       { "2.34", { 2, 34, 0 } },  { "2", { 2, 0, 0 } },
        { "", { 0, 0, 0 } },               { "v2.34", { 0, 0, 0 } },           { "2..5", { 2, 0, 5 } },   { "2.x.5", { 2, 0, 0 } },
        { "999999999.1", { 999999999, 1, 0 } }, { "1000000005.7", { 100000000, 0, 0 } },                  { "2-34", { 2, 0, 0 } }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt *model = NULL;
        const qnnrt_version_info *v;
        char front[128];
        snprintf(front, sizeof(front), "{'coreApiVersion':'%s',", cases[i].text);
        JSON_OPENS(J(join3(front, &DOC[1], "")), &model);
        v = &qnnrt_get_info(model)->contexts->core_api;
        if (v->major != cases[i].parts[0]) printf("    %s\n", cases[i].text);
        CHECK_EQ(v->major, cases[i].parts[0]);
        CHECK_EQ(v->minor, cases[i].parts[1]);
        CHECK_EQ(v->patch, cases[i].parts[2]);
        CLOSE(model);
    }
}

TEST(context_facts_are_read)
{
    qnnrt *model = NULL;
    const qnnrt_context_info *c;
    meta_begin();
    JSON_OPENS(J("{'coreApiVersion':'2.34.5','backendApiVersion':'5.45.0-beta','contextBlobVersion':'3.3','contextBlobSize':3306020864,"
                 "'numContextTensors':0,'contextTensors':[],'contextMetadataSize':8,'contextMetadata':{'version':'V1','info':{'dspArch':81}},"
                 "'graphs':[{'graphName':'fwd','graphInputs':[" IDS "],'graphOutputs':[" Y "],'graphBlobInfo':{'version':'V1','info':"
                 "{'spillFillBufferSize':5000000000,'optimizationLevel':3,'vtcmSize':8,'htpDlbc':1,'numHvxThreads':4}},'graphBlobInfoV2':"
                 "{'version':'V2','nativeKChannelSize':256,'nativeVChannelSize':64,'isSafeShareIO':1,'ioTensorSize':131072,'opDataSize':922112,"
                 "'constSize':162512896,'ddrTensorSize':12,'sharedWeightsSize':3000000000},'startOpIndex':18446744073709551615,"
                 "'endOpIndex':-1e400}]}"), &model);
    c = qnnrt_get_info(model)->contexts;
    CHECK_EQ(c->core_api.major * 10000 + c->core_api.minor * 100 + c->core_api.patch, 23405);
    CHECK_EQ(c->backend_api.major * 10000 + c->backend_api.minor * 100 + c->backend_api.patch, 54500);
    CHECK_EQ(c->blob_version.major * 10000 + c->blob_version.minor * 100 + c->blob_version.patch, 30300);
    CHECK_EQ(c->blob_bytes, 3306020864u);
    CHECK_EQ(c->dsp_arch, 81);
    CHECK_EQ(c->graphs->spill_fill_bytes, UINT64_C(5000000000));
    CHECK_EQ(c->graphs->vtcm_bytes, 8u << 20);
    CHECK_EQ(c->graphs->dlbc, 1);
    CHECK_EQ(c->graphs->hvx_threads, 4);
    CHECK_EQ(c->graphs->optimization_level, 3);
    CHECK_EQ(c->graphs->native_k_bytes, 256);
    CHECK_EQ(c->graphs->native_v_bytes, 64);
    CHECK_EQ(c->graphs->safe_share_io, 1);
    CHECK_EQ(c->graphs->io_bytes, 131072);
    CHECK_EQ(c->graphs->op_data_bytes, 922112);
    CHECK_EQ(c->graphs->const_bytes, 162512896);
    CHECK_EQ(c->graphs->ddr_bytes, 12);
    CHECK_EQ(c->graphs->shared_weights_bytes, 3000000000u);
    CLOSE(model);
    /* The flat form, without records. */
    JSON_OPENS(edit(J(DOC), "'socModel':57", "'contextMetadata':{'dspArch':75},'graphBlobInfo':null"), &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->dsp_arch, 75);
    CLOSE(model);
}

/* A size of VTCM below 65,536 is in MiB, a larger one in bytes. */
TEST(vtcm_is_in_mib_or_bytes)
{
    static const struct { const char *text; uint64_t bytes; } sizes[] = {
        { "'graphName':'fwd','graphBlobInfo':{'vtcmSize':0}", 0 },
        { "'graphName':'fwd','graphBlobInfo':{'vtcmSize':1}", 1u << 20 },
        { "'graphName':'fwd','graphBlobInfo':{'vtcmSize':65535}", UINT64_C(65535) << 20 },
        { "'graphName':'fwd','graphBlobInfo':{'vtcmSize':65536}", 65536 },
        { "'graphName':'fwd','graphBlobInfo':{'vtcmSize':8388608}", 8u << 20 }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        qnnrt *model = NULL;
        JSON_OPENS(edit(J(DOC), "'graphName':'fwd'", sizes[i].text), &model);
        CHECK_EQ(qnnrt_get_info(model)->contexts->graphs->vtcm_bytes, sizes[i].bytes);
        CLOSE(model);
    }
}

/* Forms that no public tool writes: those that change the meaning are refused. */
TEST(spellings_of_other_programs_are_refused)
{
    meta_begin();
    JSON_FAILS(edit(J(DOC), "'graphInputs'", "'inputs'"), QNNRT_E_FORMAT, "\"fwd\"", "no \"graphInputs\"");
    JSON_FAILS(edit(J(DOC), "'graphOutputs'", "'outputs'"), QNNRT_E_FORMAT, "\"fwd\"", "no \"graphOutputs\"");
    JSON_FAILS(edit(J(DOC), "'scaleOffset'", "'scaleOffsetEncoding'"), QNNRT_E_FORMAT, INX, "names SCALE_OFFSET but contains none");
    JSON_FAILS(with_quant("{'scale':0.5,'offset':-3}"), QNNRT_E_FORMAT, INX, "no \"definition\"");
    JSON_FAILS(with_quant("{'scaleOffset':{'scale':0.5,'offset':-3}}"), QNNRT_E_FORMAT, INX, "no \"definition\"");
    JSON_FAILS(with_quant("{'definition':'QNN_DEFINITION_DEFINED','scaleOffset':{'scale':0.5,'offset':-3}}"), QNNRT_E_FORMAT, INX,
               "no \"quantizationEncoding\"");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scale':0.5,'offset':-3}"), QNNRT_E_FORMAT, INX, "names SCALE_OFFSET but contains none");
    JSON_FAILS(with_x(HEADX FIX8 "'rank':3,'currentDimensions':[2,3,4]" QUANT), QNNRT_E_FORMAT, INX, "no \"dimensions\"");
    JSON_FAILS(with_x(HEADX "'data_type':'QNN_DATATYPE_UFIXED_POINT_8'," DIMS QUANT), QNNRT_E_FORMAT, INX, "no \"dataType\"");
    JSON_FAILS(with_x(HEADX "'dataType':1032," DIMS QUANT), QNNRT_E_FORMAT, INX, "\"dataType\" is 1032; expected the name of an enumerator");
    /* keys without a meaning are skipped */
    X_IS(with_x(HEADX FIX8 DIMS QUANT ",'bytesPerElement':2,'nbytes':4000000000000"), X_LINE);
}

TEST(every_data_type_has_its_name)
{
    static const struct { const char *name; unsigned code; unsigned bytes; } types[] = {
        { "INT_8", 0x8, 24 }, { "INT_16", 0x16, 48 }, { "INT_32", 0x32, 96 }, { "INT_64", 0x64, 192 }, { "UINT_8", 0x108, 24 },
        { "UINT_16", 0x116, 48 }, { "UINT_32", 0x132, 96 }, { "UINT_64", 0x164, 192 }, { "FLOAT_16", 0x216, 48 }, { "FLOAT_32", 0x232, 96 },
        { "FLOAT_64", 0x264, 192 }, { "SFIXED_POINT_4", 0x304, 12 }, { "SFIXED_POINT_8", 0x308, 24 }, { "SFIXED_POINT_16", 0x316, 48 },
        { "SFIXED_POINT_32", 0x332, 96 }, { "UFIXED_POINT_4", 0x404, 12 }, { "UFIXED_POINT_8", 0x408, 24 }, { "UFIXED_POINT_16", 0x416, 48 },
        { "UFIXED_POINT_32", 0x432, 96 }, { "BOOL_8", 0x508, 24 }, { "INT_2", 0x2, 6 }, { "INT_4", 0x4, 12 }, { "UINT_2", 0x102, 6 },
        { "UINT_4", 0x104, 12 }, { "FLOAT_4", 0x204, 12 }, { "FLOAT_8", 0x208, 24 }, { "BFLOAT_16", 0x226, 48 },
        { "SFIXED_POINT_2", 0x302, 6 }, { "UFIXED_POINT_2", 0x402, 6 }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        char members[300], line[400];
        snprintf(members, sizeof(members), HEADX "'dataType':'QNN_DATATYPE_%s'," DIMS, types[i].name);
        snprintf(line, sizeof(line), "in \"x\" id 2 dtype 0x%04x rank 3 [2,3,4] count 24 bytes %u type 0 format 0 version 1 optional 0 updateable 0"
                 " dynamic - encoding 0 vendor 0x7fffffff bitwidth 0\n", types[i].code, types[i].bytes);
        X_IS(with_x(members), line);
        meta_drop(&pool);
    }
}

TEST(tensor_types_say_what_a_tensor_is)
{
    static const struct { const char *name; int type, optional, updateable; } types[] = {
        { "APP_WRITE", 0, 0, 0 }, { "APP_READWRITE", 2, 0, 0 }, { "NATIVE", 3, 0, 0 }, { "STATIC", 4, 0, 0 }, { "NULL", 5, 0, 0 },
        { "UPDATEABLE_STATIC", 6, 0, 1 }, { "UPDATEABLE_NATIVE", 7, 0, 1 }, { "UPDATEABLE_APP_WRITE", 8, 0, 1 },
        { "UPDATEABLE_APP_READ", 9, 0, 1 }, { "UPDATEABLE_APP_READWRITE", 10, 0, 1 }, { "OPTIONAL_APP_WRITE", 11, 1, 0 },
        { "OPTIONAL_APP_READ", 12, 1, 0 }, { "OPTIONAL_APP_READWRITE", 13, 1, 0 }
    };
    qnnrt *model = NULL;
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        char members[400];
        snprintf(members, sizeof(members), "'id':2,'name':'x','type':'QNN_TENSOR_TYPE_%s'," FIX8 DIMS QUANT, types[i].name);
        JSON_OPENS(with_x(members), &model);
        CHECK_EQ(x_of(model)->vendor_type, types[i].type);
        CHECK_EQ(x_of(model)->optional, types[i].optional);
        CHECK_EQ(x_of(model)->updateable, types[i].updateable);
        CHECK_EQ(qnnrt_get_info(model)->contexts->graphs->unsupported != NULL, types[i].optional);
        CLOSE(model);
    }
    JSON_FAILS(edit(J(DOC), "'name':'x','type':'QNN_TENSOR_TYPE_APP_WRITE'", "'name':'x','type':'QNN_TENSOR_TYPE_APP_READ'"), QNNRT_E_FORMAT,
               "graph \"fwd\"", "input \"x\"", "in the list of inputs", "APP_READ");
    JSON_FAILS(edit(J(DOC), "QNN_TENSOR_TYPE_APP_READ", "QNN_TENSOR_TYPE_APP_WRITE"), QNNRT_E_FORMAT, "output \"y\"", "in the list of outputs", "APP_WRITE");
    JSON_OPENS(edit(J(DOC), "'name':'x','type':'QNN_TENSOR_TYPE_APP_WRITE'", "'name':'x','type':'UNKOWN'"), &model);
    CHECK_EQ(x_of(model)->vendor_type, 0);
    CLOSE(model);
    /* Old utilities write UNKNOWN for a type that they do not know: the list that has the tensor
       decides. */
    JSON_OPENS(edit(J(DOC), "'name':'x','type':'QNN_TENSOR_TYPE_APP_WRITE'", "'name':'x','type':'UNKNOWN'"), &model);
    CHECK_EQ(x_of(model)->vendor_type, 0);
    CLOSE(model);
    JSON_OPENS(edit(J(DOC), "QNN_TENSOR_TYPE_APP_READ", "UNKNOWN"), &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs->outputs->vendor_type, 1);
    CLOSE(model);
}

TEST(scales_and_offsets_are_exact)
{
    static const struct { const char *scale, *offset, *bits; } numbers[] = {
        { "0.0009303585393354297", "-30063", "3a73e34e" }, { "0.0000071973709054873329", "0", "36f180f2" }, { "3.921568634268624e-7", "-128", "34d289a1" },
        { "1", "2147483647", "3f800000" }, { "1.0", "-2147483648", "3f800000" }, { "1e0", "-0", "3f800000" }, { "3.4028234663852886e38", "5", "7f7fffff" },
        { "0.1", "7", "3dcccccd" }, { "1.00000005960464477539062500", "7", "3f800000" }, { "1.00000005960464477539062501", "7", "3f800001" },
        { "100000000000000000000", "-5", "60ad78ec" }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        char quant[200], line[400];
        snprintf(quant, sizeof(quant), "{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'offset':%s,'scale':%s}}", numbers[i].offset, numbers[i].scale);
        snprintf(line, sizeof(line), X_FACTS " encoding 1 vendor 0x0 bitwidth 0 %s/%ld\n", numbers[i].bits, strtol(numbers[i].offset, NULL, 10));
        X_IS(with_quant(quant), line);
    }
}

#define AXIS_LINE X_FACTS " encoding 2 vendor 0x1 bitwidth 0 axis 1 3f000000/-1 3e800000/2 3e000000/0\n"
#define BW_LINE   X_FACTS " encoding 2 vendor 0x3 bitwidth 4 axis 1 3f000000/-1 3e800000/2 3e000000/0\n"

TEST(per_axis_encodings_open)
{
    static const char *const pairs[] = {
        "[{'scale':0.5,'offset':-1},{'scale':0.25,'offset':2},{'offset':0,'scale':0.125}]",
        "[{'version':'V','info':{'scale':0.5,'offset':-1}},{'scale':0.25,'offset':2},{'scale':0.125,'offset':0}]"
    };
    size_t i;
    char quant[500];
    meta_begin();
    for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
        snprintf(quant, sizeof(quant), "{" DEFINED("AXIS_SCALE_OFFSET") "'axisScaleOffset':{'axis':1,'numScaleOffsets':3,'scaleOffsets':%s}}", pairs[i]);
        X_IS(with_quant(quant), AXIS_LINE);
        snprintf(quant, sizeof(quant), "{'axisScaleOffset':{'scaleOffsets':%s,'axis':1}," DEFINED("AXIS_SCALE_OFFSET") "'x':1}", pairs[i]);
        X_IS(with_quant(quant), AXIS_LINE);
    }
    X_IS(with_quant("{" DEFINED("BW_AXIS_SCALE_OFFSET") "'bwAxisScaleOffset':{'bitwidth':4,'axis':1,'numElements':3,'scales':[0.5,0.25,0.125],"
                    "'offsets':[-1,2,0]}}"), BW_LINE);
    for (i = 0; i < 3; ++i) {
        static const char *const none[] = { "", ",'offsets':null", ",'offsets':[]" };
        snprintf(quant, sizeof(quant), "{" DEFINED("BW_AXIS_SCALE_OFFSET") "'bwAxisScaleOffset':{'bitwidth':4,'axis':1,'numElements':3,"
                 "'scales':[0.5,0.25,0.125]%s}}", none[i]);
        X_IS(with_quant(quant), X_FACTS " encoding 2 vendor 0x3 bitwidth 4 axis 1 3f000000/0 3e800000/0 3e000000/0\n");
    }
    X_IS(with_quant("{" DEFINED("BW_SCALE_OFFSET") "'bwScaleOffset':{'bitwidth':5,'scale':0.5,'offset':-3}}"),
         X_FACTS " encoding 1 vendor 0x2 bitwidth 5 3f000000/-3\n");
}

TEST(quant_missing_or_undefined_is_none)
{
    meta_begin();
    X_IS(with_x(HEADX FIX8 DIMS), X_PLAIN);
    CHECK_STR(log_text, "fixed-point type without an encoding");
    X_IS(with_quant("{'definition':'QNN_DEFINITION_UNDEFINED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_UNDEFINED'}"), X_PLAIN);
    X_IS(with_quant("{'definition':'QNN_DEFINITION_UNDEFINED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_SCALE_OFFSET',"
                    "'scaleOffset':{'scale':0,'offset':0}}"), X_PLAIN);
    X_IS(with_quant("{'definition':'QNN_DEFINITION_IMPL_GENERATED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_UNDEFINED'}"), X_PLAIN);
}

TEST(encodings_of_other_kinds_are_kept_by_number)
{
    static const struct { const char *name; unsigned number; } kinds[] = {
        { "BLOCK", 4 }, { "BLOCKWISE_EXPANSION", 5 }, { "VECTOR", 6 }, { "FLOAT_BLOCK", 7 }, { "BW_AXIS_SCALE_OFFSET_MAPPED", 8 },
        { "BW_BLOCK_MAPPED", 9 }, { "BW_BLOCKWISE_EXPANSION_MAPPED", 10 }, { "BW_FLOAT_BLOCK", 11 }, { "MICROSCALING", 12 }
    };
    char quant[300], line[400];
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        snprintf(quant, sizeof(quant), "{'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_%s'}", kinds[i].name);
        snprintf(line, sizeof(line), X_FACTS " encoding 3 vendor 0x%x bitwidth 0\n", kinds[i].number);
        X_IS(with_quant(quant), line);
    }
    JSON_FAILS(with_quant("{'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':77}"), QNNRT_E_FORMAT, INX, "\"quantizationEncoding\" is 77");
}

TEST(ids_over_31_bits_open)
{
    qnnrt *model = NULL;
    meta_begin();
    JSON_OPENS(edit(edit(J(DOC), "'id':2", "'id':4294967295"), "'id':1", "'id':0"), &model);
    CHECK_EQ(x_of(model)->id, 4294967295u);
    CHECK_EQ(x_of(model)[-1].id, 0);
    CLOSE(model);
    JSON_OPENS(edit(J(DOC), "'id':2", "'id':2147483648"), &model);
    CHECK_EQ(x_of(model)->id, 2147483648u);
    CLOSE(model);
}

TEST(dynamic_dimensions_are_told_and_refused_to_run)
{
    qnnrt *model = NULL;
    meta_begin();
    X_IS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[false,false,false]"),
         "in \"x\" id 2 dtype 0x0408 rank 3 [2,3,4] count 24 bytes 24 type 0 format 0 version 2 optional 0 updateable 0 dynamic - encoding 1 vendor"
         " 0x0 bitwidth 0 3f000000/-3\n");
    X_IS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':null"), X_LINE);
    X_IS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[]"), X_LINE);
    X_IS(with_x("'version':'QNN_TENSOR_VERSION_2','info':{" HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[0,true,1]}"),
         "in \"x\" id 2 dtype 0x0408 rank 3 [2,3,4] count 24 bytes 24 type 0 format 0 version 2 optional 0 updateable 0 dynamic 011 encoding 1 vendor"
         " 0x0 bitwidth 0 3f000000/-3\n");
    JSON_OPENS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[0,1,0]"), &model);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs->unsupported, "input \"x\" has dynamic dimensions");
    CLOSE(model);
    JSON_FAILS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[0,1]"), QNNRT_E_FORMAT, "input \"x\"", "2 elements for 3 dimensions");
    JSON_FAILS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':[0,1,2]"), QNNRT_E_FORMAT, "input \"x\"", "isDynamicDimensions");
    JSON_FAILS(with_x(HEADX FIX8 DIMS QUANT ",'isDynamicDimensions':true"), QNNRT_E_FORMAT, "input \"x\"", "isDynamicDimensions");
}

TEST(formats_other_than_plain_are_told_and_refused_to_run)
{
    static const char *const formats[] = { "'QNN_TENSOR_DATA_FORMAT_SPARSE'", "'QNN_TENSOR_DATA_FORMAT_UBWC_RGBA8888'", "'UNKNOWN'", "'UNKOWN'" };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); ++i) {
        qnnrt *model = NULL;
        char members[500];
        snprintf(members, sizeof(members), HEADX FIX8 DIMS QUANT ",'dataFormat':%s", formats[i]);
        JSON_OPENS(with_x(members), &model);
        CHECK_STR(qnnrt_get_info(model)->contexts->graphs->unsupported, "input \"x\" has a data format");
        CLOSE(model);
    }
}

TEST(updateables_are_read)
{
    qnnrt *model = NULL;
    const qnnrt_graph_info *g;
    meta_begin();
    JSON_OPENS(edit(J(DOC), "'numGraphOutputs'", "'numUpdateableTensors':1,'updateableTensors':[{'id':9,'name':'lora','dataType':'QNN_DATATYPE_FLOAT_32',"
                    "'type':'QNN_TENSOR_TYPE_UPDATEABLE_STATIC','dimensions':[3]}],'numGraphOutputs'"), &model);
    g = qnnrt_get_info(model)->contexts->graphs;
    CHECK_EQ(g->updateable_count, 1);
    CHECK(strcmp(g->updateables[0].name, "lora") == 0);
    CHECK(g->updateables[0].updateable);
    CLOSE(model);
    JSON_FAILS(edit(J(DOC), "'numGraphOutputs'", "'numUpdateableTensors':2,'updateableTensors':[{'id':9,'name':'lora','dataType':'QNN_DATATYPE_FLOAT_32',"
                    "'dimensions':[3]}],'numGraphOutputs'"), QNNRT_E_FORMAT, "graph \"fwd\"", "\"numUpdateableTensors\" is 2, but the list has 1");
}

/* ---- A 12, 13: what must be accepted, and files --------------------------------------------------- */

TEST(ok_unknown_keys_any_order_any_blanks)
{
    char *doc, *at;
    meta_begin();
    X_IS(with_x("'quantizeParams':{'scaleOffset':{'offset':-3,'more':[{'a':{}}],'scale':0.5}," DEFINED("SCALE_OFFSET") "'x':null},'dimensions':[2,3,4],"
                "'zzz':{'info':[1,2,{'name':7}]},'rank':3," FIX8 "'type':'QNN_TENSOR_TYPE_APP_WRITE','name':'x','memType':7,'sparseParams':{},'id':2"), X_LINE);
    X_IS(with_x("'\\u006eame':'\\u0078','\\u0069d':2,'type':'QNN_TENSOR_TYPE_APP_WRITE'," FIX8 DIMS QUANT), X_LINE);
    doc = J(DOC);
    for (at = doc; *at != '\0'; ++at) if (*at == ',') { doc = edit(doc, ",", "\r\n\t ,,"); break; }
    X_IS(edit(doc, ",,", "  , "), X_LINE);
    X_IS(join3(" \r\n\t", J(DOC), "\r\n\r\n  "), X_LINE);
    X_IS(edit(J(DOC), "'socModel':57", "'socVersion':'','platformInfo':{'info':{'graphs':3}},'startOpIndex':1e99,'socModel':57"), X_LINE);
}

static const char *folder_with(const char *name, const char *text)
{
    const char *folder = test_tmpdir();
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
    return folder;
}

static void write_in(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

/* Set desc.files to one JSON path. */
static void path_fails(int line, const char *path, const qnnrt_limits *limits, qnnrt_result code, const char *a, const char *b)
{
    qnnrt_desc desc = json_desc();
    qnnrt_file file;
    memset(&file, 0, sizeof(file));
    file.json_path = path;
    desc.files = &file;
    desc.file_count = 1;
    if (limits != NULL) desc.limits = *limits;
    alarm(20);
    fails(line, NULL, &desc, code, path, a, b, (const char *)NULL);
    alarm(0);
}

TEST(json_path_that_is_no_file_is_refused_at_once)
{
    char path[2048];
    const char *folder = test_tmpdir();
    struct sockaddr_un name;
    int fd;
    meta_begin();
    TRY(path_fails(__LINE__, folder, NULL, QNNRT_E_IO, "it is a folder", ""));
    TRY(path_fails(__LINE__, "/dev/zero", NULL, QNNRT_E_IO, "not a regular file", ""));
    snprintf(path, sizeof(path), "%s/fifo", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    TRY(path_fails(__LINE__, path, NULL, QNNRT_E_IO, "not a regular file", ""));
    snprintf(path, sizeof(path), "%s/not_there", folder);
    TRY(path_fails(__LINE__, path, NULL, QNNRT_E_NOT_FOUND, strerror(ENOENT), ""));
    snprintf(path, sizeof(path), "%s/socket", folder);
    memset(&name, 0, sizeof(name));
    name.sun_family = AF_UNIX;
    if (strlen(path) < sizeof(name.sun_path)) {
        strcpy(name.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(fd >= 0);
        CHECK_EQ(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
        close(fd);
        TRY(path_fails(__LINE__, path, NULL, QNNRT_E_IO, "not a regular file", ""));
    }
    if (access("/proc/self/status", R_OK) == 0)
        /* A file whose size is given as 0. */
        TRY(path_fails(__LINE__, "/proc/self/status", NULL, QNNRT_E_FORMAT, "byte 0", ""));
    snprintf(path, sizeof(path), "%s/loop", folder);
    CHECK_EQ(symlink("loop", path), 0);
    TRY(path_fails(__LINE__, path, NULL, QNNRT_E_IO, strerror(ELOOP), ""));
}

TEST(json_over_its_limit_is_refused_before_it_is_read)
{
    char path[2048], bytes[32];
    qnnrt_limits limits;
    const char *folder = folder_with("big.json", "");
    const char *doc;
    qnnrt *model = NULL;
    meta_begin();
    memset(&limits, 0, sizeof(limits));
    snprintf(path, sizeof(path), "%s/big.json", folder);
    CHECK_EQ(truncate(path, (off_t)(64u << 20) + 1), 0);
    alloc_bytes = 0;
    TRY(path_fails(__LINE__, path, NULL, QNNRT_E_LIMIT, "67108865", "limits.json_bytes (67108864)"));
    CHECK(alloc_bytes < 1000000);
    CHECK_EQ(truncate(path, (off_t)1 << 40), 0);
    TRY(path_fails(__LINE__, path, NULL, QNNRT_E_LIMIT, "1099511627776", "limits.json_bytes"));
    doc = J(DOC);
    snprintf(bytes, sizeof(bytes), "%u", (unsigned)strlen(doc));
    limits.json_bytes = strlen(doc) - 1;
    write_in(folder, "big.json", doc);
    TRY(path_fails(__LINE__, path, &limits, QNNRT_E_LIMIT, bytes, "limits.json_bytes"));
    /* The limit holds for a text in memory, too. */
    JSON_FAILS_WITHIN(&limits, doc, QNNRT_E_LIMIT, bytes, "limits.json_bytes");
    limits.json_bytes = strlen(doc);
    JSON_OPENS_WITHIN(&limits, doc, &model);
    CLOSE(model);
}

TEST(json_path_opens_through_a_link)
{
    char path[2048], other[2048];
    qnnrt_desc desc = json_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    const char *folder;
    meta_begin();
    folder = folder_with("a.json", J(DOC));
    snprintf(path, sizeof(path), "%s/a.json", folder);
    snprintf(other, sizeof(other), "%s/b.json", folder);
    CHECK_EQ(symlink("a.json", other), 0);
    memset(&file, 0, sizeof(file));
    file.json_path = other;
    desc.files = &file;
    desc.file_count = 1;
    OPENS(NULL, &desc, &model);
    CHECK(strcmp(qnnrt_get_info(model)->contexts->file, other) == 0);
    CLOSE(model);
}

/* ---- A 1 to 11, through the table ------------------------------------------------------------------ */

TEST(texts_that_are_no_json_are_refused_with_the_byte)
{
    char *deep = (char *)malloc(100200), *spaces = (char *)malloc((5u << 20) + 1);
    size_t i;
    meta_begin();
    CHECK(deep != NULL && spaces != NULL);
    JSON_FAILS("", QNNRT_E_FORMAT, "byte 0");
    JSON_FAILS("  ", QNNRT_E_FORMAT, "byte 2");
    memset(spaces, ' ', 5u << 20);
    spaces[5u << 20] = '\0';
    JSON_FAILS(spaces, QNNRT_E_FORMAT, "byte 5242880");
    JSON_FAILS(edit(J(DOC), "'dimensions':[1,4]", "'dimensions':[1,4,]"), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(edit(J(DOC), "[1,4]", "[1,4] /* no */"), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(join3(J(DOC), J(DOC), ""), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(edit(J(DOC), "[1,4]", "[01,4]"), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(edit(J(DOC), "0.5", "NaN"), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(edit(J(DOC), "0.5", "0,5"), QNNRT_E_FORMAT);
    JSON_FAILS(edit(J(DOC), "0.5", "Infinity"), QNNRT_E_FORMAT, "byte ");
    JSON_FAILS("\xEF\xBB\xBF", QNNRT_E_FORMAT, "byte ");
    strcpy(deep, "{\"a\":");
    for (i = 5; i < 100005; ++i) deep[i] = '[';
    deep[i] = '\0';
    JSON_FAILS(deep, QNNRT_E_FORMAT, "byte ");
    JSON_FAILS(J("[]"), QNNRT_E_FORMAT, "is a list; expected an object");
    JSON_FAILS("7", QNNRT_E_FORMAT, "is 7");
    JSON_FAILS("null", QNNRT_E_FORMAT, "is null");
    free(deep);
    free(spaces);
}

/* The error of a broken text does not mention context binaries. */
TEST(broken_json_is_not_called_a_wrong_binary)
{
    meta_begin();
    JSON_FAILS(" {\"graphs\": 5", QNNRT_E_FORMAT, "graphs");
    CHECK(strstr(error.text, "looks like") == NULL && strstr(error.text, "does not begin") == NULL);
    JSON_FAILS("[1,", QNNRT_E_FORMAT);
    CHECK(strstr(error.text, "looks like") == NULL && strstr(error.text, "does not begin") == NULL);
    JSON_FAILS("nonsense", QNNRT_E_FORMAT, "byte 0");
    CHECK(strstr(error.text, "does not begin") == NULL);
}

TEST(dup_key_is_refused_plain_and_by_escape)
{
    meta_begin();
    JSON_FAILS(with_x(HEADX FIX8 DIMS QUANT ",'id':2"), QNNRT_E_FORMAT, "input \"x\"", "\"id\" occurs twice");
    JSON_FAILS(with_x(HEADX FIX8 DIMS QUANT ",'\\u0069d':2"), QNNRT_E_FORMAT, "input \"x\"", "\"id\" occurs twice");
    JSON_FAILS(with_x("'id':2,'info':{'id':2,'name':'x'," FIX8 DIMS "}"), QNNRT_E_FORMAT, "\"id\" occurs twice");
    JSON_FAILS(with_x("'info':{'id':2,'name':'x'},'info':{" FIX8 DIMS "}"), QNNRT_E_FORMAT, "\"info\" occurs twice");
    JSON_FAILS(edit(J(DOC), "'socModel':57", "'graphs':[]"), QNNRT_E_FORMAT, "\"graphs\" occurs twice");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':0.5,'scale':0.5,'offset':-3}}"), QNNRT_E_FORMAT, "\"x\"",
               "\"scale\" occurs twice");
}

/* Large counts of everything: with quadratic work the program's time limit would end it. */
TEST(many_of_everything_is_read)
{
    size_t which, i;
    meta_begin();
    for (which = 0; which < 3; ++which) {      /* many_unknown_keys, rank_1m, hash_flood_names */
        meta_text text;
        char *whole;
        memset(&text, 0, sizeof(text));
        if (which == 0) for (i = 0; i < 200000; ++i) meta_put(&text, "'k%u':%u,", (unsigned)i, (unsigned)i);
        if (which == 1) { meta_put(&text, "'dimensions':[1"); for (i = 0; i < 1000000; ++i) meta_put(&text, ",1"); meta_put(&text, "],"); }
        if (which == 2) { meta_put(&text, "'names':{"); for (i = 0; i < 20000; ++i) meta_put(&text, "'%08x':0,", (unsigned)i * 65536u); meta_put(&text, "'z':0},"); }
        if (which == 1) {
            JSON_FAILS(with_x(join3("'id':2,'name':'x',", text.data, FIX8 "'rank':1000001")), QNNRT_E_LIMIT, "\"x\" has rank 1000001, more than 8",
                       "limits.rank");
        } else {
            whole = with_x(join3(HEADX, text.data, FIX8 DIMS QUANT));
            X_IS(whole, X_LINE);
        }
        meta_free(&text);
    }
}

/* ---- B 14: wrong documents ------------------------------------------------------------------------- */

/* The keys that a document has tell what it is. */
TEST(wrong_document_is_named)
{
    static const struct { const char *text, *needle; } kinds[] = {
        { "{'model.cpp':'a.cpp','model.bin':'a.bin','graph':{'tensors':{}}}",            "no \"graphs\", but \"model.cpp\", \"model.bin\", \"graph\" (" },
        { "{'graph':{},'converter_command':'qnn-onnx-converter'}",                       "\"graph\", \"converter_command\"" },
        { "{'graphs':[{'graph_names':['a'],'vtcm_mb':8,'O':3}],'devices':[]}",           "no \"graphName\", but \"graph_names\", \"vtcm_mb\", \"O\"" },
        { "{'graphs':[{'O':3,'vtcm_mb':8}]}",                                            "graph 0: it has no \"graphName\", but \"O\", \"vtcm_mb\"" },
        { "{'devices':[{'soc_id':60,'dsp_arch':'v73'}]}",                                "no \"graphs\", but \"devices\"" },
        { "{'backend_extensions':{'shared_library_path':'a'}}",                          "\"backend_extensions\"" },
        { "{'dialog':{'version':1,'engine':{}}}",                                        "\"dialog\"" },
        { "{'image-encoder':{'version':1}}",                                             "\"image-encoder\"" },
        { "{'version':'1','activation_encodings':{},'param_encodings':{}}",              "\"activation_encodings\", \"param_encodings\"" },
        { "{'version':'2.0.0','encodings':[]}",                                          "\"encodings\"" },
        { "{'architectures':['Qwen2'],'model_type':'qwen2'}",                            "\"architectures\", \"model_type\"" },
        { "{'dim':64,'n_layers':5}",                                                     "\"dim\", \"n_layers\"" },
        { "{'traceEvents':[]}",                                                          "\"traceEvents\"" },
        { "{'header':{'artifact_type':'QNN_PROFILE'},'graphs':[]}",                      "QNN_PROFILE" },
        { "{'version':1,'info':{'a\\u001b[31mb':1,'\\u0000':2,'a key of more than twenty-four bytes':3}}",
          "no \"graphs\", but \"version\", \"a\\u001b[31mb\", \"\\u0000\", \"a key of more than twent\"" },
        { "{'info':[1,2,{'info':3}]}",                                                   "\"info\" is a list" },
        { "{'some':'thing','':1}",                                                       "no \"graphs\", but \"some\", \"\"" },
        { "{'some':'thing'}",                                                            "hint: Take the text that qnnrt-run inspect" },
        { "{'model_name':'cnn','graph_inputs':[],'nodes':[]}",                           "\"model_name\", \"graph_inputs\", \"nodes\"" },
        { "\177ELF and more",                                                            "ELF" },
        { "PK\3\4 and more of it",                                                       "zip archive" },
        { "....ET12eh00 and more of it",                                                 "ExecuTorch" }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) JSON_FAILS(J(kinds[i].text), QNNRT_E_FORMAT, kinds[i].needle);
    {
        static const unsigned char head[64] = { 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1 };
        TRY(json_fails(__LINE__, NULL, (const char *)head, sizeof(head), QNNRT_E_FORMAT, "looks like a context binary", "JSON made from one", (const char *)NULL));
    }
}

TEST(wrong_document_of_genuine_kinds_is_named)
{
    static const struct { const char *file, *needle; } files[] = {
        { "wrongkind_genie_dialog_qwen3_0.6b_lade.json", "\"dialog\"" },
        { "wrongkind_genie_node_image_encoder.json", "\"image-encoder\"" },
        { "wrongkind_htp_backend_config_graphs.json", "\"graph_names\"" },
        { "wrongkind_htp_backend_ext_inner.json", "\"devices\"" },
        { "wrongkind_net_int8_per_axis_256scales.json", "\"model.cpp\"" },
        { "wrongkind_net_mobilenetv2_2023.json", "\"model.cpp\"" },
        { "wrongkind_net_naf_block_i8.json", "\"model.cpp\"" },
        { "wrongkind_net_qwen2_decode_block_fp16.json", "\"model.cpp\"" },
        { "wrongkind_net_w4fp16_blockwise_matmul.json", "\"model.cpp\"" },
        { "wrongkind_quantization_overrides_aimet_style.json", "\"encodings\"" }
    };
    const char *samples = test_getenv("QNNRT_SAMPLES");
    size_t i;
    if (samples == NULL) SKIP("QNNRT_SAMPLES is not set");
    meta_begin();
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        char path[2048];
        snprintf(path, sizeof(path), "%s/json/%s", samples, files[i].file);
        TRY(path_fails(__LINE__, path, NULL, QNNRT_E_FORMAT, files[i].needle, "\n  hint: "));
    }
}

/* ---- B 15 to 24 ------------------------------------------------------------------------------------ */

typedef struct fault { const char *name, *from, *to; qnnrt_result code; const char *needles[3]; } fault;

/* Check that each fault, which is one change of DOC, is refused. */
static void refused(const fault *faults, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        const fault *f = &faults[i];
        json_fails(__LINE__, NULL, edit(J(DOC), f->from, J(f->to)), strlen(edit(J(DOC), f->from, J(f->to))), f->code,
                   f->needles[0] != NULL ? f->needles[0] : "", f->needles[1] != NULL ? f->needles[1] : "",
                   f->needles[2] != NULL ? f->needles[2] : "", (const char *)NULL);
        if (test_state.state == TEST_FAILED) { printf("    fault %s\n", f->name); return; }
    }
}

#define REFUSED(faults) TRY(refused(faults, sizeof(faults) / sizeof(faults[0])))
#define BAD QNNRT_E_FORMAT

TEST(graphs_missing_null_or_twice)
{
    static const fault faults[] = {
        { "graph_name_missing",  "'graphName':'fwd',", "",                        BAD, { "graph 0: it has no \"graphName\"" } },
        { "graph_name_number",   "'graphName':'fwd'", "'graphName':7",            BAD, { "graph 0: ", "\"graphName\" is 7; expected text", "(byte " } },
        { "graph_name_empty",    "'graphName':'fwd'", "'graphName':''",           BAD, { "graph 0 has no name" } },
        { "graphs_key_missing",  "'graphs':", "'graphz':",                        BAD, { "no \"graphs\"" } },
        { "graph_is_number",     "'graphs':[", "'graphs':[7,",                    BAD, { "graph 0: ", "contains 7; expected an object" } },
        { "inputs_missing",      "'graphInputs'", "'graphInputz'",                BAD, { "graph \"fwd\"", "no \"graphInputs\"" } },
        { "outputs_missing",     "'graphOutputs'", "'graphOutputz'",              BAD, { "graph \"fwd\"", "no \"graphOutputs\"" } },
        { "outputs_null",        "'graphOutputs':[" Y "]", "'graphOutputs':null", BAD, { "graph \"fwd\"", "\"graphOutputs\" is null; expected a list" } },
        { "outputs_object",      "'graphOutputs':[" Y "]", "'graphOutputs':{}",   BAD, { "graph \"fwd\"", "\"graphOutputs\" is an object; expected a list" } },
        { "tensor_is_text",      "'graphOutputs':[", "'graphOutputs':['y',",      BAD, { "graph \"fwd\": output 0: ", "contains \"y\"; expected an object" } },
        { "tensor_info_list",    "'graphOutputs':[", "'graphOutputs':[{'info':[]},", BAD, { "output 0: ", "\"info\" is a list" } },
        { "graph_twice",         "],'socModel':57", ",{'graphName':'fwd','graphInputs':[],'graphOutputs':[]}],'socModel':57", BAD,
          { "graphs \"fwd\" and \"fwd\" have the same name" } },
        { "num_graphs",          "'socModel':57", "'numGraphs':2",                BAD, { "\"numGraphs\" is 2, but the list has 1" } },
        { "num_graphs_negative", "'socModel':57", "'numGraphs':-1",               BAD, { "\"numGraphs\" is -1" } },
        { "num_graphs_text",     "'socModel':57", "'numGraphs':'1'",              BAD, { "\"numGraphs\" is \"1\"" } },
        { "count_mismatch_in",   "'numGraphInputs':2", "'numGraphInputs':3",      BAD, { "graph \"fwd\": ", "\"numGraphInputs\" is 3, but the list has 2" } },
        { "count_mismatch_out",  "'numGraphOutputs':1", "'numGraphOutputs':4000000000", BAD,
          { "graph \"fwd\": ", "\"numGraphOutputs\" is 4000000000, but the list has 1" } },
        { "count_2_to_32",       "'numGraphOutputs':1", "'numGraphOutputs':4294967296", BAD, { "graph \"fwd\"", "is 4294967296; expected a whole number" } },
        { "num_context_tensors", "'buildId'", "'numContextTensors':5,'contextTensors':[{}],'buildId'", BAD, { "\"numContextTensors\" is 5, but the list has 1" } },
        { "context_tensors_null", "'buildId'", "'contextTensors':null,'buildId'", BAD, { "\"contextTensors\" is null; expected a list" } },
        { "backend_id_text",     "'backendId':6", "'backendId':'HTP'",            BAD, { "\"backendId\" is \"HTP\"" } },
        { "build_id_number",     "'buildId':'v2.51'", "'buildId':2.51",           BAD, { "\"buildId\" is 2.51" } },
        { "header_list",         "'buildId'", "'header':[],'buildId'",            BAD, { "\"header\" is a list" } }
    };
    meta_begin();
    REFUSED(faults);
    JSON_FAILS(J("{'graphs':[]}"), QNNRT_E_FORMAT, "no graphs");
    JSON_FAILS(J("{'graphs':null}"), QNNRT_E_FORMAT, "\"graphs\" is null");
    JSON_FAILS(J("{'graphs':{}}"), QNNRT_E_FORMAT, "\"graphs\" is an object");
    JSON_FAILS(J("{}"), QNNRT_E_FORMAT, "no \"graphs\"");
    JSON_FAILS(J("{'info':{}}"), QNNRT_E_FORMAT, "no \"graphs\"");
    JSON_FAILS(J("{'info':null}"), QNNRT_E_FORMAT, "\"info\" is null");
}

/* The name of a graph may follow the member that is wrong; it is not that of the graph before. */
TEST(a_fault_of_a_later_graph_is_of_that_graph)
{
    meta_begin();
    JSON_FAILS(edit(J(DOC), "]}],'socModel'", "]},{'numGraphInputs':-5,'graphName':'later','graphInputs':[" IDS "],"
                    "'graphOutputs':[" Y "]}],'socModel'"),
               BAD, "graph 1: ", "\"numGraphInputs\" is -5");
    CHECK(strstr(error.text, "fwd") == NULL);
}

TEST(members_missing_are_refused_by_name)
{
    static const fault faults[] = {
        { "name_missing",     "'id':2,'name':'x'", "'id':2",   BAD, { "graph \"fwd\": input 1: it has no \"name\"", "(byte " } },
        { "name_null",        "'name':'x'", "'name':null",     BAD, { "input 1: ", "\"name\" is null" } },
        { "name_empty",       "'name':'x'", "'name':''",       BAD, { "input 1 has no name" } },
        { "id_missing",       "'id':2,", "",                   BAD, { INX "it has no \"id\"" } },
        { "type_missing",     FIX8, "",                        BAD, { INX "it has no \"dataType\"" } },
        { "name_last",        "{'id':2,'name':'x'", "{'id':-2,'zz':{'name':'no'},'name':'x'", BAD, { "input 1: ", "\"id\" is -2" } }
    };
    meta_begin();
    REFUSED(faults);
    JSON_FAILS(with_x("'id':2,'name':'x'," FIX8 "'rank':3"), BAD, INX "it has no \"dimensions\"");
}

TEST(bad_dimensions_are_refused)
{
    static const struct { const char *dims; qnnrt_result code; const char *needle; } bad[] = {
        { "[2,0,4]", BAD, "a dimension of 0" },
        { "[2,-3,4]", BAD, "\"dimensions\" contains -3; expected a whole number from 0 to 4294967295" }, { "[2,3.5,4]", BAD, "contains 3.5" }, { "[2,3e0,4]", BAD, "contains 3e0" },
        { "[2,3.0,4]", BAD, "contains 3.0" }, { "[2,'3',4]", BAD, "contains \"3\"" }, { "[2,null,4]", BAD, "contains null" }, { "[2,[3],4]", BAD, "contains a list" },
        { "[2,4294967296,4]", BAD, "contains 4294967296" }, { "[2,18446744073709551616,4]", BAD, "contains 18446744073709551616" },
        { "[2,18446744073709551619,4]", BAD, "contains 18446744073709551619" }, { "3", BAD, "\"dimensions\" is 3; expected a list" },
        { "{}", BAD, "\"dimensions\" is an object" }, { "null", BAD, "\"dimensions\" is null" }, { "'2,3,4'", BAD, "\"dimensions\" is \"2,3,4\"" },
        { "[2,3]", BAD, "\"rank\" is 3, but the list has 2" }, { "[2,3,4,5]", BAD, "\"rank\" is 3, but the list has 4" },
        { "[]", BAD, "\"rank\" is 3, but the list has 0" },
        { "[1,1,1,1,1,1,1,1,1]", BAD, "\"rank\" is 3, but the list has 9" },
        { "[4294967295,4294967295,4294967295]", QNNRT_E_LIMIT, "the product of its dimensions" },
        { "[65536,65536,4294967295]", QNNRT_E_LIMIT, "the product of its dimensions" },
        { "[4294967295,4294967295,2]", QNNRT_E_LIMIT, "the product of its dimensions" }
    };
    char *digits = (char *)malloc(1000010);
    qnnrt_limits limits;
    qnnrt *model = NULL;
    size_t i;
    meta_begin();
    CHECK(digits != NULL);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        char members[400];
        snprintf(members, sizeof(members), HEADX FIX8 "'rank':3,'dimensions':%s" QUANT, bad[i].dims);
        JSON_FAILS(with_x(members), bad[i].code, "graph \"fwd\"", "\"x\"", bad[i].needle);
    }
    for (i = 0; i < 2; ++i) {                                      /* dim_400digits, and a million */
        size_t n = i == 0 ? 400 : 1000000;
        memset(digits, '7', n);
        digits[n] = '\0';
        JSON_FAILS(edit(J(DOC), "[2,3,4]", join3("[2,", digits, ",4]")), BAD, INX "\"dimensions\" contains 77777", "7777777777...");
    }
    free(digits);
    JSON_FAILS(edit(J(DOC), "'rank':3", "'rank':'3'"), BAD, INX, "\"rank\" is \"3\"");
    JSON_FAILS(edit(J(DOC), "'rank':3", "'rank':4294967299"), BAD, INX, "\"rank\" is 4294967299");
    /* rank 0 is a scalar; without a rank, the length of the list decides */
    X_IS(with_x(HEADX "'dataType':'QNN_DATATYPE_INT_32','rank':0,'dimensions':[]"),
         "in \"x\" id 2 dtype 0x0032 rank 0 [] count 1 bytes 4 type 0 format 0 version 1 optional 0 updateable 0 dynamic - encoding 0 vendor 0x7fffffff"
         " bitwidth 0\n");
    X_IS(with_x(HEADX FIX8 "'dimensions':[2,3,4]" QUANT), X_LINE);
    memset(&limits, 0, sizeof(limits));
    limits.rank = 2;
    JSON_FAILS_WITHIN(&limits, J(DOC), QNNRT_E_LIMIT, "\"x\" has rank 3, more than 2 (limits.rank)");
    limits.rank = 3;
    JSON_OPENS_WITHIN(&limits, J(DOC), &model);
    CLOSE(model);
    limits.rank = 100;
    for (i = 0; i < 2; ++i) {
        meta_text dims;
        size_t k;
        memset(&dims, 0, sizeof(dims));
        for (k = 0; k < 99 + i; ++k) meta_put(&dims, "1,");
        if (i == 0) { JSON_OPENS_WITHIN(&limits, with_x(join3(HEADX FIX8 "'dimensions':[", dims.data, "1]")), &model); CLOSE(model); }
        else JSON_FAILS_WITHIN(&limits, with_x(join3(HEADX FIX8 "'dimensions':[", dims.data, "1]")), QNNRT_E_LIMIT, "rank 101, more than 100");
        meta_free(&dims);
    }
}

TEST(bytes_over_the_address_space_are_refused)
{
    qnnrt *model = NULL;
    meta_begin();
    JSON_FAILS(with_x(HEADX "'dataType':'QNN_DATATYPE_INT_64','dimensions':[2147483648,2147483648]"), QNNRT_E_LIMIT, "\"x\"", "the product of its dimensions");
    JSON_FAILS(with_x(HEADX "'dataType':'QNN_DATATYPE_INT_64','dimensions':[4294967295,4294967295]"), QNNRT_E_LIMIT, "\"x\"", "the product of its dimensions");
    /* 4 GiB and more can be described, but not run. */
    JSON_OPENS(with_x(HEADX "'dataType':'QNN_DATATYPE_INT_32','dimensions':[32768,32768]"), &model);
    CHECK_EQ(x_of(model)->bytes, UINT64_C(4294967296));
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs->unsupported, "input \"x\" has 4 GiB or more");
    CLOSE(model);
}

TEST(unknown_data_types_are_refused_or_told)
{
    static const char *const bad[] = { "'UNKNOWN'", "'UNKOWN'", "'QNN_DATATYPE_FIXED_POINT_8'", "'FLOAT_32'", "'QNN_DATATYPE_'", "'qnn_datatype_float_32'",
                                       "''", "'QNN_DATATYPE_FLOAT_32 '", "'QNN_TENSOR_TYPE_APP_READ'" };
    static const char *const odd[] = { "'QNN_DATATYPE_STRING'", "'QNN_DATATYPE_UNDEFINED'" };
    static const char *const numbers[] = { "77", "1544", "2147483647", "4294967295", "8" };
    char members[300];
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        snprintf(members, sizeof(members), "'id':2,'dataType':%s," DIMS ",'name':'x'", bad[i]);
        JSON_FAILS(with_x(members), BAD, "graph \"fwd\": input 1: \"dataType\" is \"", "expected the name of an enumerator that is known", "(byte ");
    }
    JSON_FAILS(with_x(HEADX "'dataType':null," DIMS), BAD, INX "\"dataType\" is null; expected the name of an enumerator");
    JSON_FAILS(with_x(HEADX "'dataType':true," DIMS), BAD, INX "\"dataType\" is true");
    JSON_FAILS(with_x(HEADX "'dataType':-8," DIMS), BAD, INX "\"dataType\" is -8");
    JSON_FAILS(with_x(HEADX "'dataType':8.0," DIMS), BAD, INX "\"dataType\" is 8.0");
    JSON_FAILS(with_x(HEADX "'dataType':4294967304," DIMS), BAD, INX "\"dataType\" is 4294967304");
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        snprintf(members, sizeof(members), HEADX "'dataType':%s," DIMS, numbers[i]);
        JSON_FAILS(with_x(members), BAD, INX "\"dataType\" is ", numbers[i]);
    }
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i) {
        qnnrt *model = NULL;
        snprintf(members, sizeof(members), HEADX "'dataType':%s," DIMS, odd[i]);
        JSON_OPENS(with_x(members), &model);
        CHECK_STR(qnnrt_get_info(model)->contexts->graphs->unsupported, "input \"x\" has a dtype");
        TRY(must_be_good(model, NULL));
        CLOSE(model);
    }
}

TEST(bad_scales_and_offsets_are_refused)
{
    static const struct { const char *scale, *offset, *needle; } bad[] = {
        { "0", "-3", "scale is not positive" }, { "-0.5", "-3", "scale is not positive" }, { "1e-45", "-3", "1/scale is infinite" },
        { "1e-60", "-3", "scale is not positive" }, { "2.9e-39", "-3", "1/scale" }, { "-0.0", "-3", "scale is not positive" },
        { "3.5e38", "-3", "\"scale\" is 3.5e38; expected a number that a float32 can hold" }, { "1e99999999999999999999", "-3", "that a float32 can hold" },
        { "'0.5'", "-3", "\"scale\" is \"0.5\"" }, { "null", "-3", "\"scale\" is null" }, { "[0.5]", "-3", "\"scale\" is a list" },
        { "0.5", "2147483648", "\"offset\" is 2147483648; expected a whole number of 32 bits" }, { "0.5", "-2147483649", "\"offset\" is -2147483649" },
        { "0.5", "-3.0", "\"offset\" is -3.0" }, { "0.5", "1e2", "\"offset\" is 1e2" }, { "0.5", "'-3'", "\"offset\" is \"-3\"" },
        { "0.5", "99999999999999999999999", "\"offset\" is 99999999999999999999999" }
    };
    char quant[300];
    char *digits = (char *)malloc(1000010);
    size_t i;
    meta_begin();
    CHECK(digits != NULL);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        snprintf(quant, sizeof(quant), "{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':%s,'offset':%s}}", bad[i].scale, bad[i].offset);
        JSON_FAILS(with_quant(quant), BAD, "graph \"fwd\"", "\"x\"", bad[i].needle);
    }
    memset(digits, '1', 1000000);                                  /* scale_1M_digits */
    memcpy(digits + 1000000, "e-999999", 9);
    digits[1] = '.';
    X_IS(edit(J(DOC), "0.5", "0.50000000000000000000000000000000000000000000000000000000000000000000000000000000000001"), X_LINE);
    JSON_FAILS(edit(J(DOC), "0.5", digits), BAD, "\"x\"", "scale");
    free(digits);
    /* Legal, but reported with a line in the log. */
    X_IS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':0.5,'offset':3}}"), X_FACTS " encoding 1 vendor 0x0 bitwidth 0 3f000000/3\n");
    CHECK_STR(log_text, "offset is outside the range");
}

#define ONE3 "[{'scale':1,'offset':0},{'scale':1,'offset':0},{'scale':1,'offset':0}]"

TEST(bad_axis_encodings_are_refused)
{
    static const struct { const char *axis, *needle; } bad[] = {
        { "'axis':-1,'numScaleOffsets':3,'scaleOffsets':" ONE3, "encoding over axis -1, but it has 3 dimensions" },
        { "'axis':3,'numScaleOffsets':3,'scaleOffsets':" ONE3, "encoding over axis 3" },
        { "'axis':2147483648,'scaleOffsets':" ONE3, "\"axis\" is 2147483648" },
        { "'axis':1.5,'scaleOffsets':" ONE3, "\"axis\" is 1.5" },
        { "'axis':0,'numScaleOffsets':3,'scaleOffsets':" ONE3, "encoding has 3 scales for axis 0 of 2 elements" },
        { "'axis':1,'numScaleOffsets':2,'scaleOffsets':" ONE3, "\"numScaleOffsets\" is 2, but the list has 3" },
        { "'axis':1,'numScaleOffsets':4294967295,'scaleOffsets':" ONE3, "\"numScaleOffsets\" is 4294967295, but the list has 3" },
        { "'axis':1,'numScaleOffsets':3,'scaleOffsets':[]", "is 3, but the list has 0" }, { "'axis':1,'numScaleOffsets':3", "no \"scaleOffsets\"" },
        { "'axis':1,'scaleOffsets':[]", "encoding has 0 scales for axis 1" },
        { "'axis':1,'numScaleOffsets':0,'scaleOffsets':null", "\"scaleOffsets\" is null" },
        { "'numScaleOffsets':3,'scaleOffsets':" ONE3, "no \"axis\"" },
        { "'axis':1,'scaleOffsets':[{'scale':1,'offset':0},{'scale':1},{'scale':1,'offset':0}]", "no \"offset\"" },
        { "'axis':1,'scaleOffsets':[{'scale':1,'offset':0},{'offset':1},{'scale':1,'offset':0}]", "no \"scale\"" },
        { "'axis':1,'scaleOffsets':[{'scale':1,'offset':0},null,{'scale':1,'offset':0}]", "\"scaleOffsets\" contains null" },
        { "'axis':1,'scaleOffsets':[[1,0],[1,0],[1,0]]", "\"scaleOffsets\" contains a list; expected an object" },
        { "'axis':1,'scaleOffsets':[1,0,1]", "\"scaleOffsets\" contains 1; expected an object" },
        { "'axis':1,'scaleOffsets':['1, 0','1, 0','1, 0']", "\"scaleOffsets\" contains \"1, 0\"; expected an object" },
        { "'axis':1,'scaleOffsets':'1, 0, 1, 0, 1, 0'", "\"scaleOffsets\" is \"1, 0, 1, 0, 1, 0\"; expected a list" },
        { "'axis':1,'scaleOffsets':[{'scale':1,'offset':0},{'scale':1,'offset':0.5},{'scale':1,'offset':0}]", "\"offset\" is 0.5" },
        { "'axis':1,'scaleOffsets':[{'scale':1,'offset':0},{'scale':0,'offset':0},{'scale':1,'offset':0}]", "a scale of the axis is not positive" },
        { "'axis':1,'scales':[1,1,1],'offsets':[0,0,0]", "no \"scaleOffsets\"" }
    };
    static const struct { const char *axis, *needle; } bad_bw[] = {
        { "'bitwidth':4,'axis':1,'scales':[1,1,1],'offsets':[0,0]", "\"quantizeParams\" has 3 scales and 2 offsets" },
        { "'bitwidth':4,'axis':1,'scales':[1,1],'offsets':[0,0,0]", "has 2 scales and 3 offsets" },
        { "'bitwidth':4,'axis':1,'scales':[1,1],'offsets':[0,0]", "encoding has 2 scales for axis 1 of 3 elements" },
        { "'bitwidth':4,'axis':1,'numElements':4,'scales':[1,1,1]", "\"numElements\" is 4, but the list has 3" },
        { "'bitwidth':4,'axis':1,'scales':[1,'1',1],'offsets':[0,0,0]", "\"scales\" contains \"1\"" },
        { "'bitwidth':4,'axis':1,'scales':1", "\"scales\" is 1; expected a list" },
        { "'bitwidth':4,'axis':1,'scales':[1,1,1],'offsets':0", "\"offsets\" is 0; expected a list" },
        { "'bitwidth':4,'axis':1,'scales':[1,1,1],'offsets':[0,null,0]", "\"offsets\" contains null" },
        { "'bitwidth':4,'axis':1,'scaleOffsets':" ONE3, "no \"scales\"" },
        { "'axis':1,'scales':[1,1,1]", "no \"bitwidth\"" }, { "'bitwidth':4,'scales':[1,1,1]", "no \"axis\"" },
        { "'bitwidth':9,'axis':1,'scales':[1,1,1]", "bitwidth exceeds" }
    };
    char quant[500];
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        snprintf(quant, sizeof(quant), "{" DEFINED("AXIS_SCALE_OFFSET") "'axisScaleOffset':{%s}}", bad[i].axis);
        JSON_FAILS(with_quant(quant), BAD, "graph \"fwd\"", "\"x\"", bad[i].needle);
    }
    for (i = 0; i < sizeof(bad_bw) / sizeof(bad_bw[0]); ++i) {
        snprintf(quant, sizeof(quant), "{" DEFINED("BW_AXIS_SCALE_OFFSET") "'bwAxisScaleOffset':{%s}}", bad_bw[i].axis);
        JSON_FAILS(with_quant(quant), BAD, "graph \"fwd\"", "\"x\"", bad_bw[i].needle);
    }
    JSON_FAILS(with_quant("{" DEFINED("BW_SCALE_OFFSET") "'bwScaleOffset':{'bitwidth':9,'scale':1,'offset':0}}"), BAD, "\"x\"", "bitwidth exceeds");
    JSON_FAILS(with_quant("{" DEFINED("BW_SCALE_OFFSET") "'bwScaleOffset':{'scale':1,'offset':0}}"), BAD, INX, "no \"bitwidth\"");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':1}}"), BAD, INX, "no \"offset\"");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'offset':1}}"), BAD, INX, "no \"scale\"");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':null}"), BAD, INX, "\"scaleOffset\" is null");
    JSON_FAILS(with_quant("{}"), BAD, INX, "no \"definition\"");
    JSON_FAILS(with_quant("null"), BAD, INX, "\"quantizeParams\" is null");
}

TEST(encodings_that_contradict_are_refused)
{
    qnnrt *model = NULL;
    meta_begin();
    JSON_FAILS(with_quant("{" DEFINED("AXIS_SCALE_OFFSET") "'scaleOffset':{'scale':1,'offset':0}}"), BAD, INX,
               "names AXIS_SCALE_OFFSET but contains SCALE_OFFSET");
    JSON_FAILS(with_quant("{'scaleOffset':{'scale':1,'offset':0},'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':"
                          "'QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET'}"), BAD, INX, "names BW_SCALE_OFFSET but contains SCALE_OFFSET");
    JSON_FAILS(with_quant("{'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':'QNN_QUANTIZATION_ENCODING_SCALE_OFFSET'}"), BAD, INX,
               "names SCALE_OFFSET but contains none");
    {
        static const char *const named[] = { "SCALE_OFFSET", "AXIS_SCALE_OFFSET", "BW_SCALE_OFFSET", "BW_AXIS_SCALE_OFFSET" };
        char quant[128], needle[128];
        size_t i;
        for (i = 0; i < sizeof(named) / sizeof(named[0]); ++i) {
            snprintf(quant, sizeof(quant), "{" DEFINED("%s") "'x':1}", named[i]);
            snprintf(needle, sizeof(needle), "names %s but contains none", named[i]);
            JSON_FAILS(with_quant(quant), BAD, INX, needle);
        }
    }
    JSON_FAILS(with_quant("{" DEFINED("UNDEFINED") "'scaleOffset':{'scale':1,'offset':0}}"), BAD, INX, "names none but contains SCALE_OFFSET");
    JSON_FAILS(with_quant("{" DEFINED("SCALE_OFFSET") "'scaleOffset':{'scale':1,'offset':0},'bwScaleOffset':{'bitwidth':4,'scale':1,'offset':0}}"), BAD,
               INX, "two encodings");
    JSON_FAILS(with_quant("{'definition':'QNN_DEFINITION_MAYBE'}"), BAD, INX, "\"definition\" is \"QNN_DEFINITION_MAYBE\"; expected the name of an enumerator that is known");
    /* an encoding of a float tensor is reported, but not used */
    JSON_OPENS(with_x(HEADX "'dataType':'QNN_DATATYPE_FLOAT_32'," DIMS QUANT), &model);
    CHECK_STR(log_text, "encoding on a type that has none");
    CLOSE(model);
    /* an unknown encoding */
    X_IS(with_quant("{'definition':'QNN_DEFINITION_DEFINED','quantizationEncoding':'UNKNOWN'}"), X_FACTS " encoding 3 vendor 0x7ffffffe bitwidth 0\n");
}

/* The byte in a text is that of the fault, or the one after it. */
TEST(errors_give_the_byte)
{
    static const char *const bad[][2] = {
        { "[2,3,4]", "[2,-33,4]" }, { "'offset':-3", "'offset':-33.25" }, { "'scale':0.5", "'scale':'0.125'" }, { "'rank':3", "'rank':[3333]" },
        { "QNN_DATATYPE_UFIXED_POINT_8", "QNN_DATATYPE_UFIXED_POINT_88" }, { "'id':2", "'id':22.5" }, { "'graphName':'fwd'", "'graphName':123456" }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        char *doc = edit(J(DOC), bad[i][0], J(bad[i][1]));
        const char *place = strstr(doc, J(bad[i][1])), *said;
        unsigned long byte;
        JSON_FAILS(doc, BAD, "(byte ");
        said = strstr(error.text, "(byte ");
        byte = strtoul(said + 6, NULL, 10);
        if (byte < (unsigned long)(place - doc) || byte > (unsigned long)(place - doc) + strlen(bad[i][1]) + 1)
            printf("%s begins at %u: %s\n", bad[i][1], (unsigned)(place - doc), error.text);
        CHECK(byte >= (unsigned long)(place - doc) && byte <= (unsigned long)(place - doc) + strlen(bad[i][1]) + 1);
    }
}

TEST(names_are_data)
{
    static const char *const names[] = { "%n%s%d", "a/b", "..", "../../etc/passwd", "/", "\\n", "a\\u000ab", "\\u001b[31mred", "\\u202e", "\\ud83d\\ude00",
                                         "\xF0\x9F\x98\x80", "\xC2\x9B 31m", "\\u007f", "0/x", "\\\\", "\\u0027\\u0022" };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        qnnrt *model = NULL;
        const qnnrt_slot *slot;
        qnnrt_error err;
        char *doc = edit(edit(J(DOC), "'name':'x'", join3("'name':'", names[i], "'")), "'graphName':'fwd'", join3("'graphName':'", names[i], "'"));
        JSON_OPENS(doc, &model);
        TRY(must_be_good(model, NULL));
        CHECK_EQ(qnnrt_slot_find(qnnrt_get_info(model)->pipelines[0], x_of(model)->name, QNNRT_ROLE_INPUT, &slot, &err), QNNRT_OK);
        CHECK(slot == &qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->slots[1]);
        CLOSE(model);
        /* text_is_clean() checks the error text. */
        JSON_FAILS(edit(doc, "'dimensions':[2,3,4]", "'dimensions':[2,3,0]"), BAD, "a dimension of 0");
        JSON_FAILS(edit(doc, "'offset':-3", "'offset':-3.5"), BAD, "is -3.5");
        JSON_FAILS(edit(edit(doc, "'name':'ids'", join3("'name':'", names[i], "'")), "'socModel'", "'s'"), BAD, "have the same name");
        JSON_FAILS(edit(J(DOC), "'dataType':'QNN_DATATYPE_INT_32'", join3("'dataType':'", names[i], "'")), BAD, "input \"ids\"");
    }
    JSON_FAILS(edit(J(DOC), "'name':'x'", "'name':'a\\u0000b'"), BAD, "byte ");
    JSON_FAILS(edit(J(DOC), "'name':'x'", "'name':'a\xFF'"), BAD, "byte ");
    JSON_FAILS(edit(J(DOC), "'name':'x'", "'name':'\\ud800'"), BAD, "byte ");
    JSON_FAILS(edit(J(DOC), "'name':'x'", "'name':'a\nb'"), BAD, "byte ");
}

TEST(names_too_long_or_twice_are_refused)
{
    qnnrt_limits limits;
    qnnrt *model = NULL;
    char *name = (char *)malloc((2u << 20) + 1), members[300];
    size_t i;
    meta_begin();
    CHECK(name != NULL);
    memset(name, 'n', 2u << 20);
    for (i = 0; i < 2; ++i) {
        name[i == 0 ? 2u << 20 : 1025] = '\0';
        JSON_FAILS(edit(J(DOC), "'name':'x'", join3("'name':'", name, "'")), QNNRT_E_LIMIT, "graph \"fwd\": input 1: ", "limits.name_bytes");
        JSON_FAILS(edit(J(DOC), "'graphName':'fwd'", join3("'graphName':'", name, "'")), QNNRT_E_LIMIT, "limits.name_bytes");
    }
    name[1024] = '\0';
    JSON_OPENS(edit(J(DOC), "'name':'x'", join3("'name':'", name, "'")), &model);
    CLOSE(model);
    free(name);
    /* the limit counts the decoded bytes of an escape */
    memset(&limits, 0, sizeof(limits));
    limits.name_bytes = 4;
    JSON_OPENS_WITHIN(&limits, edit(edit(J(DOC), "'name':'x'", "'name':'\\u0061\\u0062\\u0063\\u0064'"), "'buildId':'v2.51'", "'buildId':'v2'"), &model);
    CLOSE(model);
    JSON_FAILS_WITHIN(&limits, edit(edit(J(DOC), "'name':'x'", "'name':'\\u0061\\u0062\\u0063\\u0064e'"), "'buildId':'v2.51'", "'buildId':'v2'"),
                      QNNRT_E_LIMIT, "input 1", "limits.name_bytes");
    snprintf(members, sizeof(members), "%s", "'name':'ids'");
    JSON_FAILS(edit(J(DOC), "'name':'x'", members), BAD, "graph \"fwd\"", "inputs \"ids\" and \"ids\" have the same name");
}

TEST(ids_that_repeat_or_do_not_fit_are_refused)
{
    static const fault faults[] = {
        { "id_twice",    "'id':2", "'id':1",                    BAD, { "graph \"fwd\"", "inputs \"x\" and \"ids\" have the same id" } },
        { "id_2_to_32",  "'id':2", "'id':4294967296",           BAD, { "input 1: ", "\"id\" is 4294967296; expected a whole number from 0 to 4294967295" } },
        { "id_2_to_64",  "'id':2", "'id':18446744073709551618", BAD, { "input 1: ", "\"id\" is 18446744073709551618" } },
        { "id_negative", "'id':2", "'id':-2",                   BAD, { "input 1: ", "\"id\" is -2" } },
        { "id_fraction", "'id':2", "'id':2.0",                  BAD, { "input 1: ", "\"id\" is 2.0" } },
        { "id_text",     "'id':2", "'id':'2'",                  BAD, { "input 1: ", "\"id\" is \"2\"; expected a whole number" } }
    };
    meta_begin();
    REFUSED(faults);
}

TEST(limits_count_json_tensors)
{
    qnnrt_limits limits;
    qnnrt *model = NULL;
    meta_begin();
    memset(&limits, 0, sizeof(limits));
    limits.tensors = 3;
    JSON_FAILS_WITHIN(&limits, J(DOC), QNNRT_E_LIMIT, "exceed 3 graphs and tensors (limits.tensors)");
    limits.tensors = 4;
    JSON_OPENS_WITHIN(&limits, J(DOC), &model);
    CLOSE(model);
}

/* ---- folders ---------------------------------------------------------------------------------- */

#define PAD  "# a context binary has at least 64 bytes, and so has this one by this line\n"
#define HEAD "FAKEQNN 1\n" PAD
#define ONE  HEAD "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"

/* Write the table of a fake binary as JSON. */
static char *json_of(const char *text, int flags, const meta_lies *lies)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    qnnrt_error err;
    meta_text out;
    memset(&out, 0, sizeof(out));
    memset(&file, 0, sizeof(file));
    file.data = text;
    file.bytes = strlen(text);
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    desc.backend_desc.path = NULL;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) { printf("%s\n", err.text); abort(); }
    meta_write(&out, qnnrt_get_info(model)->contexts, flags, lies);
    qnnrt_close(model);
    return keep(out.data);
}

/* Write a shard whose graph is joined with those of its neighbours: h<i> -> h<i+1>. */
static char *shard_of(unsigned shard)
{
    char text[1024];
    snprintf(text, sizeof(text), HEAD "graph fwd\nin h%u %u 0232 2 1 8 -\nout h%u %u 0232 2 1 8 -\n", shard, 2 * shard + 1, shard + 1, 2 * shard + 2);
    return (char *)meta_have(&pool, text, strlen(text), 0);
}

static const char *files_of(const qnnrt *model)
{
    static char text[4096];
    size_t count, i;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    text[0] = '\0';
    for (i = 0; i < count; ++i)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s<%s>%d%d ", infos[i].file, infos[i].json_file != NULL ? infos[i].json_file : "",
                 infos[i].from_system, infos[i].from_json);
    return text;
}

#define FILES_ARE(model, names) \
    do { \
        if (strcmp(files_of(model), names) != 0) printf("files: %s\n", files_of(model)); \
        CHECK(strcmp(files_of(model), names) == 0); \
    } while (0)

TEST(scan_pairs_by_name)
{
    static const char *const names[3][2] = { { "forward_0", "forward_1" }, { "model_1_of_2", "model_2_of_2" }, { "alpha", "beta" } };
    size_t i;
    meta_begin();
    for (i = 0; i < 3; ++i) {
        const char *folder = test_tmpdir();
        qnnrt_desc desc = new_desc();
        qnnrt *model = NULL;
        char want[200];
        write_in(folder, join3(names[i][0], ".bin", ""), shard_of(0));
        write_in(folder, join3(names[i][1], ".bin", ""), shard_of(1));
        write_in(folder, join3(names[i][1], "_json.json", ""), json_of(shard_of(1), 0, NULL));
        fake_begin("");
        OPENS(folder, &desc, &model);
        snprintf(want, sizeof(want), "%s.bin<>10 %s.bin<%s_json.json>11 ", names[i][0], names[i][1], names[i][1]);
        FILES_ARE(model, want);
        CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
        CLOSE(model);
        desc.metadata = QNNRT_METADATA_SYSTEM;
        OPENS(folder, &desc, &model);
        snprintf(want, sizeof(want), "%s.bin<>10 %s.bin<>10 ", names[i][0], names[i][1]);
        FILES_ARE(model, want);
        CLOSE(model);
        desc.metadata = QNNRT_METADATA_JSON;
        FAILS(folder, &desc, QNNRT_E_NOT_FOUND, names[i][0], "has no JSON beside it", "\n  hint: ");
        write_in(folder, join3(names[i][0], "_json.json", ""), json_of(shard_of(0), META_FLAT | META_COMPACT, NULL));
        fake_begin("");
        OPENS(folder, &desc, &model);
        snprintf(want, sizeof(want), "%s.bin<%s_json.json>01 %s.bin<%s_json.json>01 ", names[i][0], names[i][0], names[i][1], names[i][1]);
        FILES_ARE(model, want);
        CHECK(strcmp(qnnrt_get_info(model)->system_path, "") == 0);
        CHECK(strstr(fake_trace(), "systemContext") == NULL);
        CHECK(strstr(fake_trace(), "contextCreateFromBinary") != NULL);
        CLOSE(model);
    }
}

TEST(scan_leaves_strangers_alone)
{
    static const char *const strangers[] = { "config.json", "tokenizer.json", "forward_0.json", "forward_0_json.json.bak", "_json.json", ".x_json.json",
                                             "other_json.json", "forward_0_JSON.json", "metadata.json", "forward_x_json.json", "info.json" };
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    size_t i;
    meta_begin();
    write_in(folder, "forward_0.bin", ONE);
    for (i = 0; i < sizeof(strangers) / sizeof(strangers[0]); ++i) write_in(folder, strangers[i], "nonsense");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin<>10 ");
    CLOSE(model);
}

TEST(scan_names_the_text_without_its_binary)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    meta_begin();
    write_in(folder, "forward_0.bin", shard_of(0));
    write_in(folder, "forward_1_json.json", "whatever it is");
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "forward_1_json.json", "forward_1.bin", "\n  hint: ");
    desc.metadata = QNNRT_METADATA_SYSTEM;      /* JSON is not searched */
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin<>10 ");
    CLOSE(model);
    desc.metadata = QNNRT_METADATA_ALL;
    write_in(folder, "forward_1.bin", shard_of(1));
    /* With its binary, the JSON is read. */
    FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_1_json.json", "byte 0", "\n  hint: ");
}

TEST(json_of_left_out_files_is_not_read)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    meta_begin();
    write_in(folder, "forward_0.bin", ONE);
    write_in(folder, "other.bin", "x");
    write_in(folder, "other_json.json", "nonsense");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin<>10 ");
    CHECK_STR(log_text, "other.bin is left out");
    CLOSE(model);
}

TEST(folder_of_json_alone_is_inspected)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = json_desc();
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    meta_begin();
    write_in(folder, "part_10_json.json", json_of(shard_of(1), 0, NULL));
    write_in(folder, "part_2_json.json", json_of(shard_of(0), 0, NULL));
    write_in(folder, "tokenizer.json", "x");
    write_in(folder, "genie_config.json", "x");
    fake_begin("");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "part_2_json.json<part_2_json.json>01 part_10_json.json<part_10_json.json>01 ");
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
    CHECK_EQ(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->edge_count, 1);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_E_STATE);
    CHECK(run == NULL);
    CLOSE(model);
    CHECK(strcmp(fake_trace(), "") == 0);
    desc.metadata = QNNRT_METADATA_JSON;
    OPENS(folder, &desc, &model);
    CLOSE(model);
    desc.metadata = QNNRT_METADATA_SYSTEM;
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "no *.bin");
    desc = new_desc();
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "no *.bin", "JSON without a binary", "inspected");
}

/* A program may name several backends: the core does not read it. */
TEST(a_folder_with_a_program_is_refused)
{
    static const char *const texts[] = { "{\"program\": {\"version\": 1}}", "{\"llm\": {}, \"pro\\u0067ram\": 1}",
                                         "{\"llm\": {\"program\": {}}, \"more\": [{\"program\": 1}]}", "[\"program\"]", "{\"program\": }" };
    static const qnnrt_result results[] = { QNNRT_E_UNSUPPORTED, QNNRT_E_UNSUPPORTED, QNNRT_OK, QNNRT_OK, QNNRT_E_FORMAT };
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    size_t i;
    meta_begin();
    fake_begin("");
    write_in(folder, "forward_0.bin", ONE);
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        write_in(folder, "qnnrt.json", texts[i]);
        desc.no_manifest = 0;
        CHECK_EQ(qnnrt_open(folder, &desc, &model, &error), results[i]);
        if (results[i] == QNNRT_E_UNSUPPORTED) {
            CHECK_STR(error.text, "qnnrt.json has a program");
            CHECK_STR(error.hint, "qnnrt_manifest_open()");
        }
        if (results[i] == QNNRT_E_FORMAT) CHECK_STR(error.text, "qnnrt.json: byte 12:");
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        desc.no_manifest = 1;
        CHECK_EQ(qnnrt_open(folder, &desc, &model, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    }
}

/* ---- genie_config.json ------------------------------------------------------------------------- */

#define GENIE(list) "{'dialog':{'version':1,'engine':{'model':{'type':'binary','binary':{'version':1,'ctx-bins':" list "}}}}}"

static const char *bundle(void)
{
    const char *folder = test_tmpdir();
    write_in(folder, "second.bin", shard_of(1));
    write_in(folder, "first.bin", shard_of(0));
    write_in(folder, "third.bin", shard_of(2));
    return folder;
}

TEST(genie_config_gives_the_order)
{
    const char *folder;
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    meta_begin();
    folder = bundle();
    write_in(folder, "genie_config.json", J(GENIE("['first.bin','second.bin','third.bin']")));
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "first.bin<>10 second.bin<>10 third.bin<>10 ");
    CLOSE(model);
    write_in(folder, "genie_config.json", J(GENIE("['second.bin','f\\u0069rst.bin']")));
    write_in(folder, "first_json.json", json_of(shard_of(0), 0, NULL));
    fake_begin("");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "second.bin<>10 first.bin<first_json.json>11 ");
    CHECK_STR(log_text, "third.bin is left out: genie_config.json decides");
    CLOSE(model);
    /* The list is preferred to numbered names. */
    write_in(folder, "forward_0.bin", ONE);
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "second.bin<>10 first.bin<first_json.json>11 ");
    CLOSE(model);
    /* The list gives the order, which is not metadata. */
    desc.metadata = QNNRT_METADATA_SYSTEM;
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "second.bin<>10 first.bin<>10 ");
    CLOSE(model);
}

TEST(genie_config_without_a_list_changes_nothing)
{
    static const char *const texts[] = { "{}", "{'dialog':{'ctx-bins':'first.bin'}}", GENIE("[]"), "[]", "7", "{'dialog':{'ctx-bin':['x']}}" };
    const char *folder;
    size_t i;
    meta_begin();
    folder = bundle();
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        qnnrt_desc desc = new_desc();
        qnnrt *model = NULL;
        write_in(folder, "genie_config.json", J(texts[i]));
        fake_begin("");
        OPENS(folder, &desc, &model);
        FILES_ARE(model, "first.bin<>10 second.bin<>10 third.bin<>10 ");
        CHECK_STR(log_text, "no \"ctx-bins\"");
        CLOSE(model);
    }
}

TEST(genie_config_paths_are_refused)
{
    static const char *const paths[] = { "../first.bin", "/etc/passwd", "./first.bin", "sub/first.bin", "sub\\\\first.bin", "", ".", "..", ".first.bin",
                                         "\\u002e\\u002e\\u002ffirst.bin", "first.bin/" };
    const char *folder;
    size_t i;
    meta_begin();
    folder = bundle();
    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
        qnnrt_desc desc = new_desc();
        write_in(folder, "genie_config.json", J(join3("{'ctx-bins':['second.bin','", paths[i], "']}")));
        FAILS(folder, &desc, QNNRT_E_FORMAT, "genie_config.json: \"ctx-bins\" holds \"", "plain name");
    }
}

TEST(genie_config_mistakes_are_named)
{
    static const struct { const char *text; qnnrt_result code; const char *a, *b; } bad[] = {
        { "{'ctx-bins':['first.bin','missing.bin']}", QNNRT_E_NOT_FOUND, "lists \"missing.bin\"", "no such *.bin" },
        { "{'ctx-bins':['genie_config.json']}", QNNRT_E_NOT_FOUND, "lists \"genie_config.json\"", "no such *.bin" },
        { "{'ctx-bins':['first.bin','first.bin']}", QNNRT_E_FORMAT, "lists \"first.bin\" twice", "" },
        { "{'ctx-bins':['first.bin',7]}", QNNRT_E_FORMAT, "\"ctx-bins\" ", "byte " },
        { "{'ctx-bins':['first.bin'", QNNRT_E_FORMAT, "byte 24", "\n  hint: " },
        { "{'ctx-bins':['first.bin']} x", QNNRT_E_FORMAT, "byte ", "\n  hint: " },
        { "{'ctx-bins':['fir\\u001b[31mst.bin']}", QNNRT_E_NOT_FOUND, "lists \"fir", "no such" },
        { "{'ctx-bins':['first.bin\\u0000.txt']}", QNNRT_E_FORMAT, "holds a name of 19 bytes", "\\u0000" },
        { "", QNNRT_E_FORMAT, "byte 0", "\n  hint: " },
        { "nonsense", QNNRT_E_FORMAT, "byte 0", "\n  hint: " }
    };
    const char *folder;
    char *name = (char *)malloc(2001);
    size_t i;
    meta_begin();
    CHECK(name != NULL);
    folder = bundle();
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        qnnrt_desc desc = new_desc();
        write_in(folder, "genie_config.json", J(bad[i].text));
        FAILS(folder, &desc, bad[i].code, folder, "genie_config.json", bad[i].a, bad[i].b);
    }
    {
        qnnrt_desc desc = new_desc();
        char path[2048];
        memset(name, 'n', 2000);
        name[2000] = '\0';
        write_in(folder, "genie_config.json", J(join3("{'ctx-bins':['", name, "']}")));
        FAILS(folder, &desc, QNNRT_E_FORMAT, "genie_config.json", "a name of 2000 bytes");
        write_in(folder, "genie_config.json", J("{'ctx-bins':['first.bin']}"));
        desc.limits.json_bytes = 10;
        FAILS(folder, &desc, QNNRT_E_LIMIT, "genie_config.json", "limits.json_bytes (10)");
        desc.limits.json_bytes = 0;
        snprintf(path, sizeof(path), "%s/genie_config.json", folder);
        CHECK_EQ(unlink(path), 0);
        CHECK_EQ(mkfifo(path, 0600), 0);
        alarm(20);
        FAILS(folder, &desc, QNNRT_E_IO, "genie_config.json", "not a regular file");
        alarm(0);
    }
    free(name);
}

TEST(genie_config_second_list_is_reported)
{
    const char *folder;
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    meta_begin();
    folder = bundle();
    write_in(folder, "genie_config.json", J("{'a':{'ctx-bins':[]},'b':{'ctx-bins':['second.bin']},'c':{'ctx-bins':['first.bin',{'ctx-bins':[]}]}}"));
    fake_begin("");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "second.bin<>10 ");
    CHECK_STR(log_text, "has 3 lists \"ctx-bins\": the first one is taken");
    CLOSE(model);
}

/* Each name is searched among all files, so a list that is too long is refused before the
   search. */
TEST(genie_config_long_list_is_refused)
{
    const char *folder;
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    meta_begin();
    folder = bundle();
    write_in(folder, "genie_config.json", J("{'ctx-bins':['first.bin','second.bin','third.bin']}"));
    desc.limits.files = 2;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "genie_config.json lists more than 2", "limits.files");
    desc.limits.files = 3;
    OPENS(folder, &desc, &model);
    CLOSE(model);
}

/* ---- sources of metadata -------------------------------------------------------------------------- */

TEST(missing_files_are_named_before_the_system_library)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    char path[4096];
    meta_begin();
    memset(&file, 0, sizeof(file));
    file.path = "/not/there/a.bin";
    desc.files = &file;
    desc.file_count = 1;
    desc.system_path = "/not/there/libQnnSystem.so";
    FAILS(NULL, &desc, QNNRT_E_NOT_FOUND, "/not/there/a.bin", "No such file");
    write_in(folder, "a.bin", ONE);
    snprintf(path, sizeof(path), "%s/a.bin", folder);
    file.path = path;
    FAILS(NULL, &desc, QNNRT_E_LIBRARY, "/not/there/libQnnSystem.so");
    file.json_path = "/not/there/a_json.json";
    FAILS(NULL, &desc, QNNRT_E_NOT_FOUND, "/not/there/a_json.json", "No such file");
    desc.metadata = QNNRT_METADATA_SYSTEM;
    FAILS(NULL, &desc, QNNRT_E_LIBRARY, "/not/there/libQnnSystem.so");
}

/* Of hundreds of numbers in a name, only the first sixteen are tried. */
TEST(many_numbers_in_graph_names_are_not_all_tried)
{
    enum { COUNT = 4000 };
    char name[1001];
    unsigned i, c, numbers;
    meta_begin();
    for (numbers = 0; numbers < 2; ++numbers) {
        qnnrt_desc desc = json_desc();
        qnnrt_file files[2];
        qnnrt *model = NULL;
        meta_text texts[2];
        memset(files, 0, sizeof(files));
        memset(texts, 0, sizeof(texts));
        for (i = 0; i < 1000; ++i) name[i] = i % 2 != 0 ? '_' : numbers ? '1' : 'x';
        name[1000] = '\0';
        for (c = 0; c < 2; ++c) {
            meta_put(&texts[c], "{\"graphs\":[");
            for (i = 0; i < COUNT; ++i)
                meta_put(&texts[c], "%s{\"graphName\":\"%s%c%c%c%c%c\",\"graphInputs\":[],\"graphOutputs\":[]}", i > 0 ? "," : "", name,
                         'a' + (int)c, 'a' + (int)(i / 1000), 'a' + (int)(i / 100 % 10), 'a' + (int)(i / 10 % 10), 'a' + (int)(i % 10));
            meta_put(&texts[c], "]}");
            files[c].json_data = texts[c].data;
            files[c].json_bytes = strlen(texts[c].data);
        }
        desc.files = files;
        desc.file_count = 2;
        OPENS(NULL, &desc, &model);
        CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 2 * COUNT);
        CLOSE(model);
        meta_free(&texts[0]);
        meta_free(&texts[1]);
    }
}


TEST(json_and_binary_in_memory_open)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    char *json;
    meta_begin();
    json = json_of(ONE, 0, NULL);
    fake_begin("");
    memset(&file, 0, sizeof(file));
    file.data = ONE;
    file.bytes = strlen(ONE);
    file.json_data = json;
    file.json_bytes = strlen(json);
    desc.files = &file;
    desc.file_count = 1;
    OPENS(NULL, &desc, &model);
    FILES_ARE(model, "(memory)<(JSON in memory)>11 ");
    CLOSE(model);
    file.path = "a.bin";
    file.json_path = "a.json";
    desc.metadata = QNNRT_METADATA_JSON;
    OPENS(NULL, &desc, &model);
    FILES_ARE(model, "a.bin<a.json>01 ");
    CLOSE(model);
    desc.metadata = QNNRT_METADATA_SYSTEM;
    file.json_data = "nonsense";
    file.json_bytes = 8;
    OPENS(NULL, &desc, &model);
    FILES_ARE(model, "a.bin<>10 ");
    CLOSE(model);
    desc.metadata = (qnnrt_metadata)3;
    FAILS(NULL, &desc, QNNRT_E_ARG, "desc.metadata is not");
    desc.metadata = QNNRT_METADATA_ALL;
    FAILS(NULL, &desc, QNNRT_E_FORMAT, "a.json", "byte 0", "QNNRT_METADATA_SYSTEM");
    file.data = NULL;
    file.path = NULL;
    FAILS(NULL, &desc, QNNRT_E_ARG, "neither path nor data");      /* JSON alone is for inspect only */
    desc = json_desc();
    desc.files = &file;
    desc.file_count = 1;
    desc.metadata = QNNRT_METADATA_SYSTEM;                         /* not even for inspect */
    FAILS(NULL, &desc, QNNRT_E_ARG, "neither path nor data");
}

TEST(system_library_may_be_missing_where_all_have_json)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    meta_begin();
    write_in(folder, "forward_0.bin", shard_of(0));
    write_in(folder, "forward_1.bin", shard_of(1));
    write_in(folder, "forward_0_json.json", json_of(shard_of(0), 0, NULL));
    fake_begin("sysproviders=0");                                  /* a backend without a system interface */
    /* There is no libQnnSystem.so beside the fake or in a searched folder. */
    desc.system_path = NULL;
    FAILS(folder, &desc, QNNRT_E_LIBRARY, "no provider");
    fake_begin("");
    write_in(folder, "forward_1_json.json", json_of(shard_of(1), 0, NULL));
    fake_begin("sysproviders=0");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin<forward_0_json.json>01 forward_1.bin<forward_1_json.json>01 ");
    CHECK_STR(log_text, "2 model: metadata comes from JSON alone and is not compared with the binaries");
    CHECK(strcmp(qnnrt_get_info(model)->system_path, "") == 0);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CLOSE(model);
    desc.system_path = "/not/there/libQnnSystem.so";
    FAILS(folder, &desc, QNNRT_E_LIBRARY, "/not/there/libQnnSystem.so");
    /* The system library is not opened. */
    desc.metadata = QNNRT_METADATA_JSON;
    OPENS(folder, &desc, &model);
    CLOSE(model);
    desc.metadata = QNNRT_METADATA_SYSTEM;
    desc.system_path = NULL;
    FAILS(folder, &desc, QNNRT_E_LIBRARY, "no provider");
}

TEST(binary_shorter_than_its_blob_is_refused)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    char bytes[64], *json;
    meta_begin();
    json = json_of(ONE, META_COMPACT, NULL);
    snprintf(bytes, sizeof(bytes), "\"contextBlobSize\": %u", (unsigned)strlen(ONE));
    if (strstr(json, bytes) == NULL) snprintf(bytes, sizeof(bytes), "\"contextBlobSize\":%u", (unsigned)strlen(ONE));
    write_in(folder, "forward_0.bin", ONE);
    write_in(folder, "forward_0_json.json", edit(json, bytes, "'contextBlobSize':5000000000"));
    fake_begin("");
    desc.metadata = QNNRT_METADATA_JSON;
    FAILS(folder, &desc, QNNRT_E_MISMATCH, "forward_0.bin has", "forward_0_json.json says", "5000000000", "cut");
}

TEST(keep_going_reports_the_json_of_a_shard)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    const qnnrt_context_info *infos;
    size_t count;
    meta_begin();
    write_in(folder, "forward_0.bin", shard_of(0));
    write_in(folder, "forward_1.bin", shard_of(1));
    write_in(folder, "forward_2.bin", shard_of(2));
    write_in(folder, "forward_1_json.json", edit(json_of(shard_of(1), 0, NULL), "'h2'", "'h3'"));
    write_in(folder, "forward_2_json.json", "{");
    fake_begin("");
    FAILS(folder, &desc, QNNRT_E_MISMATCH, "forward_1.bin", "forward_1_json.json", "graph \"fwd\"", "output 0 is \"h2\" in", "\"h3\" in", "\n  hint: ");
    desc.keep_going = 1;
    OPENS(folder, &desc, &model);
    infos = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    CHECK_EQ(count, 3);
    CHECK(infos[0].failure == NULL);
    CHECK(infos[1].failure != NULL && infos[1].failure->code == QNNRT_E_MISMATCH);
    CHECK(infos[2].failure != NULL && infos[2].failure->code == QNNRT_E_FORMAT);
    CHECK_EQ(infos[1].graph_count, 0);
    CHECK_EQ(infos[1].from_json, 0);
    CHECK_STR(infos[2].failure->text, "forward_2_json.json");
    CLOSE(model);
}

/* Class 26: shards that do not match are reported, also from JSON alone. */
TEST(shards_that_do_not_fit_are_named)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = json_desc();
    qnnrt *model = NULL;
    const qnnrt_pipeline *p = NULL;
    meta_begin();
    write_in(folder, "forward_0_json.json", json_of(HEAD "graph fwd\nin a 1 0032 1 4 -\nout h 2 0416 2 1 8 s 0.25 -7\n", 0, NULL));
    write_in(folder, "forward_1_json.json", json_of(HEAD "graph fwd\nin h 1 0416 2 1 8 s 0.250001 -7\nout b 2 0232 1 4 -\n", 0, NULL));
    fake_begin("");
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_pipeline_find(model, "fwd", &p, &error), QNNRT_E_MISMATCH);
    CHECK_STR(error.text, "\"h\"");
    CHECK_STR(error.text, "scale 0.25 offset -7");
    CHECK_STR(error.text, "scale 0.250001");
    CLOSE(model);
}

/* ---- B 25: the binary and its JSON ------------------------------------------------------------------ */

#define RICH HEAD "soc 57\narch 75\n" \
    "graph prefill\nspill 4096\nvtcm 8388608\nopt 3\nhvx 4\nio 100\nopdata 200\nconst 300\n" \
    "in ids 1 0032 2 1 8 -\nin x 2 0408 2 4 4 s 0.5 -3\nin k 2147483653 0408 3 2 3 3 a 1 3 0.5 -1 0.25 -2 0.125 -3\n" \
    "in w 4 0308 2 6 2 w 4 0 6 1 0 1 1 1 2 1 3 1 4 1 5\nin b 7 0404 1 4 b 4 0.5 -3\nin e 8 0308 1 4 e 5 format=8\n" \
    "out logits 5 0232 2 1 8 -\nout h 6 0416 1 4 s 0.1 -32768\nupd lora 17 0232 1 4 -\n" \
    "graph decode\nin ids 11 0032 2 1 1 -\nout logits 15 0232 2 1 8 -\n"

TEST(both_sources_agree_in_every_form)
{
    static const char *const knobs[] = { "", "tensor=2", "info=1,ginfo=1", "info=2,ginfo=2,tensor=2", "info=3,ginfo=3,tensor=2" };
    size_t i;
    int flags;
    meta_begin();
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i)
        for (flags = 0; flags < 4; ++flags) {
            qnnrt_desc desc = new_desc();
            qnnrt_file file;
            qnnrt *model = NULL;
            meta_text one, other;
            char *json;
            fake_begin(knobs[i]);
            json = json_of(RICH, flags, NULL);
            fake_begin(knobs[i]);
            memset(&file, 0, sizeof(file));
            file.path = "shard.bin";
            file.data = RICH;
            file.bytes = strlen(RICH);
            file.json_path = "shard.json";
            file.json_data = json;
            file.json_bytes = strlen(json);
            desc.files = &file;
            desc.file_count = 1;
            memset(&one, 0, sizeof(one));
            memset(&other, 0, sizeof(other));
            OPENS(NULL, &desc, &model);
            FILES_ARE(model, "shard.bin<shard.json>11 ");
            meta_put_context(&one, qnnrt_get_info(model)->contexts);
            TRY(must_be_good(model, NULL));
            CLOSE(model);
            /* The text stays the same when it is written, read and written again, and so does
               the table. */
            desc.metadata = QNNRT_METADATA_JSON;
            OPENS(NULL, &desc, &model);
            meta_put_context(&other, qnnrt_get_info(model)->contexts);
            if (strcmp(one.data, other.data) != 0) printf("--- the library:\n%s--- the text:\n%s", one.data, other.data);
            CHECK(strcmp(one.data, other.data) == 0);
            meta_free(&other);
            meta_write(&other, qnnrt_get_info(model)->contexts, flags, NULL);
            CHECK(strcmp(json, other.data) == 0);
            CLOSE(model);
            meta_free(&one);
            meta_free(&other);
        }
}

/* One tensor in the binary, and the same with one fact changed in the JSON; the error names both
   facts. */
TEST(encodings_and_dynamic_dims_of_two_sources_are_compared)
{
    static const struct { const char *binary, *json, *in_binary, *in_json; } pairs[] = {
        { "0408 2 4 3 s 0.5 -3", "0408 2 4 3 -",                       "ufixed8[4,3] scale 0.5 offset -3 in", "ufixed8[4,3] in" },
        { "0408 2 4 3 -", "0408 2 4 3 s 0.5 -3",                       "ufixed8[4,3] in", "scale 0.5 offset -3 in" },
        { "0408 2 4 3 s 0.5 -3", "0408 2 4 3 s 0.5 -4",                "scale 0.5 offset -3 in", "scale 0.5 offset -4 in" },
        { "0408 2 4 3 s 0.5 -3", "0408 2 4 3 s 0.25 -3",               "scale 0.5 offset -3 in", "scale 0.25 offset -3 in" },
        { "0408 2 4 3 a 1 3 0.5 -3 0.5 -3 0.5 -3", "0408 2 4 3 s 0.5 -3", "3 scales over axis 1, 0.5 offset -3 to 0.5", "ufixed8[4,3] scale 0.5 offset -3 in" },
        { "0408 2 4 3 s 0.5 -3", "0408 2 4 3 a 1 3 0.5 -3 0.5 -3 0.5 -3", "ufixed8[4,3] scale 0.5 offset -3 in", "3 scales over axis 1" },
        { "0408 2 3 3 a 0 3 1 0 2 0 3 0", "0408 2 3 3 a 1 3 1 0 2 0 3 0", "over axis 0", "over axis 1" },
        { "0408 2 4 3 a 1 3 1 0 2 0 3 0", "0408 2 4 3 a 1 3 1 0 2 7 3 0", "2 offset 0", "2 offset 7" },
        { "0408 2 4 3 a 1 3 1 0 2 0 3 0", "0408 2 4 3 a 1 3 1 0 2 0 4 0", "3 offset 0", "4 offset 0" },
        { "0308 2 4 3 w 4 1 3 1 0 2 0 3 0", "0308 2 4 3 a 1 3 1 0 2 0 3 0", "bitwidth 4 in", "3 offset 0 in" },
        { "0308 2 4 3 w 4 1 3 1 0 2 0 3 0", "0308 2 4 3 w 3 1 3 1 0 2 0 3 0", "bitwidth 4 in", "bitwidth 3 in" },
        { "0308 2 4 3 b 4 0.5 0", "0308 2 4 3 s 0.5 0",                "bitwidth 4 in", "scale 0.5 offset 0 in" },
        { "0308 2 4 3 e 5", "0308 2 4 3 s 0.5 0",                      "encoding 5 in", "scale 0.5 offset 0 in" },
        { "0308 2 4 3 e 5", "0308 2 4 3 e 6",                          "encoding 5 in", "encoding 6 in" },
        { "0232 2 4 3 - dyn=1,0", "0232 2 4 3 - dyn=0,1",              "float32[<=4,3] in", "float32[4,<=3] in" },
        { "0232 2 4 3 - dyn=1,0", "0232 2 4 3 -",                      "float32[<=4,3] in", "float32[4,3] in" },
        { "0232 2 4 3 -", "0232 2 4 3 - dyn=1,1",                      "float32[4,3] in", "float32[<=4,<=3] in shard.json" }
    };
    size_t i;
    meta_begin();
    for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
        qnnrt_desc desc = new_desc();
        qnnrt_file file;
        qnnrt *model = NULL;
        char one[512], other[512];
        fake_begin("tensor=2");
        /* Both binaries have the same size, because the size is a fact, too. */
        snprintf(one, sizeof(one), HEAD "graph fwd\nin x 1 %s\nout y 2 0232 1 1 -\n#%*s\n", pairs[i].binary,
                 64 - (int)strlen(pairs[i].binary), "");
        snprintf(other, sizeof(other), HEAD "graph fwd\nin x 1 %s\nout y 2 0232 1 1 -\n#%*s\n", pairs[i].json,
                 64 - (int)strlen(pairs[i].json), "");
        memset(&file, 0, sizeof(file));
        file.path = "shard.bin";
        file.data = one;
        file.bytes = strlen(one);
        file.json_path = "shard.json";
        file.json_data = json_of(one, 0, NULL);
        file.json_bytes = strlen(file.json_data);
        desc.files = &file;
        desc.file_count = 1;
        fake_begin("tensor=2");
        OPENS(NULL, &desc, &model);
        CLOSE(model);
        file.json_data = json_of(other, 0, NULL);
        file.json_bytes = strlen(file.json_data);
        fake_begin("tensor=2");
        fails(__LINE__, NULL, &desc, QNNRT_E_MISMATCH, "shard.bin", "graph \"fwd\"", "input \"x\" is ", "the binary", pairs[i].in_binary,
              pairs[i].in_json, "shard.json", (const char *)NULL);
        if (test_state.state == TEST_FAILED) { printf("    pair %u\n", (unsigned)i); return; }
    }
}

TEST(a_difference_in_a_later_graph_is_found)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    meta_begin();
    memset(&file, 0, sizeof(file));
    file.path = "shard.bin";
    file.data = RICH;
    file.bytes = strlen(RICH);
    file.json_path = "shard.json";
    file.json_data = json_of(edit(RICH, "in ids 11", "in ids 12"), 0, NULL);
    file.json_bytes = strlen(file.json_data);
    desc.files = &file;
    desc.file_count = 1;
    fake_begin("");
    FAILS(NULL, &desc, QNNRT_E_MISMATCH, "graph \"decode\"", "input \"ids\"", "11", "12", "shard.json");
}

TEST(every_difference_is_found_and_named)
{
    qnnrt_desc desc = new_desc(), look = new_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    int way, ways = 0;
    meta_begin();
    memset(&file, 0, sizeof(file));
    file.path = "shard.bin";
    file.data = RICH;
    file.bytes = strlen(RICH);
    desc.files = look.files = &file;
    desc.file_count = look.file_count = 1;
    look.inspect = 1;
    look.metadata = QNNRT_METADATA_SYSTEM;
    look.backend_desc.path = NULL;
    OPENS(NULL, &look, &model);
    before = left_now();
    for (way = 0; way < META_WAYS; ++way) {
        meta_altered altered;
        meta_text json;
        memset(&json, 0, sizeof(json));
        if (!meta_alter(&pool, qnnrt_get_info(model)->contexts, (meta_way)way, &altered)) { printf("    not possible: %s\n", meta_way_names[way]); continue; }
        meta_write(&json, &altered.context, way & 3, &altered.lies);
        file.json_path = "shard.json";
        file.json_data = json.data;
        file.json_bytes = json.used;
        fails(__LINE__, NULL, &desc, altered.code, "shard.json", altered.needles[0], altered.needles[1], altered.needles[2], altered.needles[3],
              altered.code == QNNRT_E_MISMATCH ? "shard.bin" : "", (const char *)NULL);
        meta_free(&json);
        if (test_state.state == TEST_FAILED) { printf("    altered: %s\n", meta_way_names[way]); return; }
        ++ways;
    }
    CHECK(ways >= 43);
    before.handles = fake_live();
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* Facts that the JSON does not state are not compared. */
TEST(unstated_facts_are_not_compared)
{
    static const char *const keys[] = { "'buildId'", "'backendId'", "'contextBlobSize'", "'socModel'", "'dspArch'", "'coreApiVersion'", "'graphBlobInfo'",
                                        "'numGraphs'", "'numGraphInputs'", "'memType'", "'rank'", "'dataFormat'", "'version'" };
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    char *json;
    size_t i;
    meta_begin();
    json = json_of(RICH, 0, NULL);
    memset(&file, 0, sizeof(file));
    file.data = RICH;
    file.bytes = strlen(RICH);
    desc.files = &file;
    desc.file_count = 1;
    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        qnnrt *model = NULL;
        char *without = edit(json, keys[i], "'not stated'");
        fake_begin("");
        file.json_data = without;
        file.json_bytes = strlen(without);
        OPENS(NULL, &desc, &model);
        CLOSE(model);
    }
}

TEST(what_the_text_cannot_name_is_taken_from_the_binary)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    char *json;
    meta_begin();
    json = edit(json_of(RICH, 0, NULL), "QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION", "UNKNOWN");
    json = edit(json, "QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT", "QNN_TENSOR_DATA_FORMAT_NEWER");
    fake_begin("");
    memset(&file, 0, sizeof(file));
    file.data = RICH;
    file.bytes = strlen(RICH);
    file.json_data = json;
    file.json_bytes = strlen(json);
    desc.files = &file;
    desc.file_count = 1;
    OPENS(NULL, &desc, &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs->inputs[5].quant.vendor_encoding, 5);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs->inputs[5].vendor_format, 8);
    CLOSE(model);
    /* of a plain tensor it is a difference */
    file.json_data = edit(json, "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER", "UNKNOWN");
    file.json_bytes = strlen(file.json_data);
    FAILS(NULL, &desc, QNNRT_E_MISMATCH, "input \"ids\"", "format 0x7ffffffe");
}

/* ---- A 2: damaged at every place -------------------------------------------------------------------- */

/* Make a document that is like the genuine dump of a text encoder: one graph, two tensors, about 6
   KB. */
static char *own_dump(void)
{
    static const uint32_t dims[2][3] = { { 1, 77, 0 }, { 1, 77, 768 } };
    qnnrt_tensor_info tensors[2];
    qnnrt_graph_info graph;
    qnnrt_context_info context;
    meta_text out;
    memset(tensors, 0, sizeof(tensors));
    memset(&graph, 0, sizeof(graph));
    memset(&context, 0, sizeof(context));
    memset(&out, 0, sizeof(out));
    tensors[0].name = "tokens"; tensors[0].id = 2; tensors[0].dtype = QNNRT_DTYPE_I32; tensors[0].rank = 2; tensors[0].dims = dims[0];
    tensors[1].name = "text_embedding"; tensors[1].id = 707; tensors[1].dtype = QNNRT_DTYPE_U16Q; tensors[1].rank = 3; tensors[1].dims = dims[1];
    tensors[0].vendor_version = tensors[1].vendor_version = 2;
    tensors[0].quant.vendor_encoding = 0x7FFFFFFF;
    tensors[1].vendor_type = 1;
    tensors[1].quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    tensors[1].quant.scale = 0.00093035854f;
    tensors[1].quant.offset = -30063;
    graph.name = "text_encoder";
    graph.inputs = &tensors[0];
    graph.outputs = &tensors[1];
    graph.input_count = graph.output_count = 1;
    graph.vtcm_bytes = 8u << 20;
    graph.const_bytes = 162512896;
    context.build_id = "v2.45.0.260326154327";
    context.backend_id = 6;
    context.core_api.major = 2; context.core_api.minor = 34;
    context.blob_bytes = 163086336;
    context.graphs = &graph;
    context.graph_count = 1;
    context.soc_model = 87;
    context.dsp_arch = 81;
    meta_write(&out, &context, 0, NULL);
    return edit(keep(out.data), "'contextMetadataSize'", "'platformInfo': {\n    'version': 'QNN_DEVICE_PLATFORM_INFO_VERSION_1',\n    'info': {\n"
                "        'numHwDevices': 1,\n        'hwDevices': [\n            {\n                'version': 'QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1',\n"
                "                'info': {\n                    'deviceId': 0,\n                    'deviceType': 0,\n                    'numCores': 1,\n"
                "                    'cores': [\n                        {\n                            'version': 'QNN_DEVICE_CORE_INFO_VERSION_1',\n"
                "                            'info': {\n                                'coreId': 0,\n                                'coreType': 0\n"
                "                            }\n                        }\n                    ]\n                }\n            }\n        ]\n    }\n},\n"
                "        'contextMetadataSize'");
}

/* Read the genuine dump, if it exists. */
static char *genuine_dump(size_t *bytes)
{
    const char *samples = test_getenv("QNNRT_SAMPLES");
    char path[2048];
    if (samples == NULL) return NULL;
    snprintf(path, sizeof(path), "%s/json/ctx_qairt2.45.0_sd15_text_encoder.json", samples);
    return (char *)test_read_file(path, bytes);
}

/* Open `bytes` of text: a valid table, or an error with a text. Return 1 if it opened. */
static int survives(const char *text, size_t bytes)
{
    qnnrt_desc desc = json_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    qnnrt_result result;
    char *data = exactly(text, bytes);
    int opened;
    memset(&file, 0, sizeof(file));
    file.json_path = "cut.json";
    file.json_data = data;
    file.json_bytes = bytes;
    desc.files = &file;
    desc.file_count = 1;
    error.text[0] = '\0';
    result = qnnrt_open(NULL, &desc, &model, &error);
    free(data);
    opened = result == QNNRT_OK;
    if (opened) must_be_good(model, NULL);
    else if (error.code != result || error.text[0] == '\0' || model != NULL || !text_is_clean(error.text)) {
        test_where(__FILE__, __LINE__);
        printf("%s: %s\n", qnnrt_result_name(result), error.text);
    }
    qnnrt_close(model);
    if (live_blocks != before.blocks || log_dirty) { test_where(__FILE__, __LINE__); printf("something is left\n"); }
    return opened;
}

static void truncated(const char *text, size_t bytes)
{
    size_t i, last = bytes;
    while (last > 0 && (text[last - 1] == '\n' || text[last - 1] == ' ')) --last;
    for (i = 0; i <= bytes; ++i) {
        int opened;
        log_used = 0;
        opened = survives(text, i);
        CHECK(test_state.state == TEST_RUNNING);
        if (opened != (i >= last)) { printf("cut at %u of %u: %s\n", (unsigned)i, (unsigned)bytes, opened ? "it opened" : error.text); CHECK(0); }
        if (opened) continue;
        /* A cut is a fault of the text, not of the graph or the encoding that it is in. */
        CHECK_STR(error.text, "cut.json: byte ");
        CHECK_EQ(strtoul(strstr(error.text, "byte ") + 5, NULL, 10), i);
    }
}

static void flipped(const char *text, size_t bytes)
{
    char *copy = exactly(text, bytes);
    size_t i, opened = 0;
    int bit;
    for (i = 0; i < bytes && test_state.state == TEST_RUNNING; ++i)
        for (bit = 0; bit < 8; ++bit) {
            log_used = 0;
            copy[i] = (char)(copy[i] ^ (1 << bit));
            opened += (size_t)survives(copy, bytes);
            copy[i] = (char)(copy[i] ^ (1 << bit));
            if (test_state.state != TEST_RUNNING) { printf("bit %d of byte %u\n", bit, (unsigned)i); break; }
        }
    free(copy);
    printf("  %u bytes, %u flips: %u refused, %u a good table\n", (unsigned)bytes, (unsigned)(bytes * 8), (unsigned)(bytes * 8 - opened), (unsigned)opened);
}

TEST(dump_truncated_at_every_byte_is_refused)
{
    char *text, *genuine;
    size_t bytes;
    meta_begin();
    text = own_dump();
    CHECK(strlen(text) > 5000 && strlen(text) < 7000);
    TRY(truncated(text, strlen(text)));
    text = json_of(RICH, 0, NULL);
    TRY(truncated(text, strlen(text)));
    genuine = genuine_dump(&bytes);
    if (genuine != NULL) truncated(genuine, bytes);
    free(genuine);
    TRY(nothing_left());
}

TEST(dump_with_any_bit_flipped_is_refused_or_good)
{
    char *text, *genuine;
    size_t bytes;
    meta_begin();
    text = own_dump();
    TRY(flipped(text, strlen(text)));
    genuine = genuine_dump(&bytes);
    if (genuine != NULL) flipped(genuine, bytes);
    free(genuine);
    TRY(nothing_left());
}

/* ---- memory ------------------------------------------------------------------------------------------ */

TEST(announced_counts_reserve_little)
{
    size_t graphs[3] = { 1, 40, 2000 }, i, k;
    meta_begin();
    for (i = 0; i < 3; ++i) {
        meta_text text;
        memset(&text, 0, sizeof(text));
        meta_put(&text, "{\"numGraphs\":4000000000,\"graphs\":[");
        for (k = 0; k < graphs[i]; ++k)
            meta_put(&text, "%s{\"graphName\":\"g%u\",\"numGraphInputs\":4000000000,\"graphInputs\":[],\"numGraphOutputs\":4294967295,\"graphOutputs\":[],"
                     "\"numUpdateableTensors\":4294967295,\"updateableTensors\":[%s", k > 0 ? "," : "", (unsigned)k, k + 1 < graphs[i] ? "" : "]}]}");
        alloc_bytes = 0;
        (void)survives(text.data, text.used);
        CHECK(test_state.state == TEST_RUNNING);
        if (alloc_bytes > 64 * 1024 + 8 * text.used) printf("%u bytes of text, %u bytes allocated\n", (unsigned)text.used, (unsigned)alloc_bytes);
        CHECK(alloc_bytes <= 64 * 1024 + 8 * text.used);
        meta_free(&text);
    }
    /* A long text is treated in the same way: all declared counts together reserve at most what the
       text could hold, once. */
    {
        meta_text text;
        char *blanks = (char *)malloc(1u << 20);
        CHECK(blanks != NULL);
        memset(blanks, ' ', 1u << 20);
        memset(&text, 0, sizeof(text));
        meta_add(&text, blanks, 1u << 20);
        meta_put(&text, "{\"numGraphs\":1,\"graphs\":[{\"graphName\":\"g\",\"numGraphInputs\":4000000000,\"numGraphOutputs\":4000000000,"
                 "\"numUpdateableTensors\":4000000000,\"graphInputs\":[],\"graphOutputs\":[],\"updateableTensors\":[]}]}");
        alloc_bytes = 0;
        CHECK(!survives(text.data, text.used));
        printf("  %u bytes of text that lies: %u bytes allocated\n", (unsigned)text.used, (unsigned)alloc_bytes);
        CHECK(alloc_bytes <= 64 * 1024 + text.used);
        free(blanks);
        meta_free(&text);
    }
    /* Tensors with the shortest possible text. */
    {
        meta_text text;
        memset(&text, 0, sizeof(text));
        meta_put(&text, "{\"graphs\":[");
        for (k = 0; k < 500; ++k)
            meta_put(&text, "%s{\"graphName\":\"g%u\",\"graphInputs\":[{\"id\":1,\"name\":\"x\",\"dataType\":\"QNN_DATATYPE_INT_8\",\"dimensions\":[1]}],\"graphOutputs\":"
                     "[{\"id\":1,\"name\":\"y\",\"dataType\":\"QNN_DATATYPE_INT_8\",\"dimensions\":[1]}]}", k > 0 ? "," : "", (unsigned)k);
        meta_put(&text, "]}");
        alloc_bytes = 0;
        CHECK(survives(text.data, text.used));
        printf("  %u bytes of the smallest tensors: %u bytes allocated\n", (unsigned)text.used, (unsigned)alloc_bytes);
        meta_free(&text);
    }
}

/* An axis of 4,000,000,000 in two elements. */
TEST(axis_count_huge_reserves_nothing)
{
    char *doc;
    meta_begin();
    doc = with_quant("{" DEFINED("AXIS_SCALE_OFFSET") "'axisScaleOffset':{'axis':1,'numScaleOffsets':4294967295,'scaleOffsets':[{'scale':1,'offset':0}]}}");
    alloc_bytes = 0;
    CHECK(!survives(doc, strlen(doc)));
    CHECK(alloc_bytes < 64 * 1024);
    doc = edit(J(DOC), "'dimensions':[2,3,4]" QUANT, "'dimensions':[2,4294967295,4],'quantizeParams':{" DEFINED("AXIS_SCALE_OFFSET") "'axisScaleOffset':{'axis':1,'scaleOffsets':[{'scale':1,'offset':0}]}}");
    alloc_bytes = 0;
    CHECK(!survives(doc, strlen(doc)));
    CHECK(alloc_bytes < 64 * 1024);
}

/* ---- an independent reader: tests/core/oracle_meta.py ------------------------------------------------------- */

/* Write its output: "file <path>", then the lines of meta.h. */
TEST(tables_equal_those_of_an_independent_reader)
{
    const char *oracle = test_getenv("QNNRT_ORACLE"), *samples = test_getenv("QNNRT_SAMPLES");
    char *all, *at;
    size_t bytes;
    unsigned files = 0, lines = 0, genuine = 0;
    meta_begin();
    if (oracle == NULL) SKIP("QNNRT_ORACLE is not set: say make test T=test_meta");
    all = (char *)test_read_file(oracle, &bytes);
    CHECK(all != NULL);
    at = all;
    while (strncmp(at, "file ", 5) == 0) {
        qnnrt_desc desc = json_desc();
        qnnrt_file file;
        qnnrt *model = NULL;
        meta_text got;
        char path[2048], *end = strchr(at, '\n'), *next, *line;
        CHECK(end != NULL && (size_t)(end - at) < sizeof(path));
        snprintf(path, sizeof(path), "%.*s", (int)(end - at - 5), at + 5);
        next = strstr(end, "\nfile ");
        next = next != NULL ? next + 1 : all + bytes;
        memset(&file, 0, sizeof(file));
        memset(&got, 0, sizeof(got));
        file.json_path = path;
        desc.files = &file;
        desc.file_count = 1;
        OPENS(NULL, &desc, &model);
        meta_put_context(&got, qnnrt_get_info(model)->contexts);
        TRY(must_be_good(model, NULL));
        for (line = got.data, at = end + 1; *line != '\0' || at < next; ++lines) {
            size_t a = strcspn(line, "\n"), b = at < next ? strcspn(at, "\n") : 0;
            if (a != b || memcmp(line, at, a) != 0) {
                test_where(__FILE__, __LINE__);
                printf("%s\n    qnnrt:  %.*s\n    python: %.*s\n", path, (int)a, line, (int)b, at);
                break;
            }
            line += a + (line[a] != '\0');
            at += b + 1;
        }
        CHECK(test_state.state == TEST_RUNNING);
        meta_free(&got);
        CLOSE(model);
        ++files;
        if (samples != NULL && strncmp(path, samples, strlen(samples)) == 0) ++genuine;
        at = next;
    }
    free(all);
    printf("  %u files (%u genuine), %u lines equal\n", files, genuine, lines);
    CHECK(files >= 2);
    CHECK(samples == NULL || genuine >= 9);
}

TEST_MAIN("meta")
{
    RUN(flat_document_opens);
    RUN(nested_document_gives_the_same);
    RUN(info_in_info_is_a_stranger);
    RUN(binary_info_of_every_version_opens);
    RUN(versions_are_read_as_far_as_they_are_numbers);
    RUN(context_facts_are_read);
    RUN(vtcm_is_in_mib_or_bytes);
    RUN(spellings_of_other_programs_are_refused);
    RUN(every_data_type_has_its_name);
    RUN(tensor_types_say_what_a_tensor_is);
    RUN(scales_and_offsets_are_exact);
    RUN(per_axis_encodings_open);
    RUN(quant_missing_or_undefined_is_none);
    RUN(encodings_of_other_kinds_are_kept_by_number);
    RUN(ids_over_31_bits_open);
    RUN(dynamic_dimensions_are_told_and_refused_to_run);
    RUN(formats_other_than_plain_are_told_and_refused_to_run);
    RUN(updateables_are_read);
    RUN(ok_unknown_keys_any_order_any_blanks);
    RUN(json_path_that_is_no_file_is_refused_at_once);
    RUN(json_over_its_limit_is_refused_before_it_is_read);
    RUN(json_path_opens_through_a_link);
    RUN(texts_that_are_no_json_are_refused_with_the_byte);
    RUN(broken_json_is_not_called_a_wrong_binary);
    RUN(dup_key_is_refused_plain_and_by_escape);
    RUN(many_of_everything_is_read);
    RUN(wrong_document_is_named);
    RUN(wrong_document_of_genuine_kinds_is_named);
    RUN(graphs_missing_null_or_twice);
    RUN(a_fault_of_a_later_graph_is_of_that_graph);
    RUN(members_missing_are_refused_by_name);
    RUN(bad_dimensions_are_refused);
    RUN(bytes_over_the_address_space_are_refused);
    RUN(unknown_data_types_are_refused_or_told);
    RUN(bad_scales_and_offsets_are_refused);
    RUN(bad_axis_encodings_are_refused);
    RUN(encodings_that_contradict_are_refused);
    RUN(errors_give_the_byte);
    RUN(names_are_data);
    RUN(names_too_long_or_twice_are_refused);
    RUN(ids_that_repeat_or_do_not_fit_are_refused);
    RUN(limits_count_json_tensors);
    RUN(scan_pairs_by_name);
    RUN(scan_leaves_strangers_alone);
    RUN(scan_names_the_text_without_its_binary);
    RUN(json_of_left_out_files_is_not_read);
    RUN(folder_of_json_alone_is_inspected);
    RUN(a_folder_with_a_program_is_refused);
    RUN(genie_config_gives_the_order);
    RUN(genie_config_without_a_list_changes_nothing);
    RUN(genie_config_paths_are_refused);
    RUN(genie_config_mistakes_are_named);
    RUN(genie_config_second_list_is_reported);
    RUN(genie_config_long_list_is_refused);
    RUN(missing_files_are_named_before_the_system_library);
    RUN(many_numbers_in_graph_names_are_not_all_tried);
    RUN(json_and_binary_in_memory_open);
    RUN(system_library_may_be_missing_where_all_have_json);
    RUN(binary_shorter_than_its_blob_is_refused);
    RUN(keep_going_reports_the_json_of_a_shard);
    RUN(shards_that_do_not_fit_are_named);
    RUN(both_sources_agree_in_every_form);
    RUN(encodings_and_dynamic_dims_of_two_sources_are_compared);
    RUN(a_difference_in_a_later_graph_is_found);
    RUN(every_difference_is_found_and_named);
    RUN(unstated_facts_are_not_compared);
    RUN(what_the_text_cannot_name_is_taken_from_the_binary);
    RUN(dump_truncated_at_every_byte_is_refused);
    RUN(dump_with_any_bit_flipped_is_refused_or_good);
    RUN(announced_counts_reserve_little);
    RUN(axis_count_huge_reserves_nothing);
    RUN(tables_equal_those_of_an_independent_reader);
    meta_drop(&pool);
}
