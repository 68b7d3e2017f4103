/* test_nojson.c - built with QNNRT_NO_JSON: metadata comes from libQnnSystem.so, JSON is refused or
   ignored */
#define QNNRT_NO_JSON
#include "../../qnnrt.h"
#include "test.h"

#define ONE "FAKEQNN 1\n# a context binary has at least 64 bytes, and so has this one by this line\n" \
            "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"

static const char json[] = "{\"graphs\":[{\"graphName\":\"fwd\",\"graphInputs\":[],\"graphOutputs\":[]}]}";

static void write_in(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

static qnnrt_desc new_desc(void)
{
    qnnrt_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    return desc;
}

TEST(metadata_from_json_is_unsupported)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt *model = (qnnrt *)&err;
    desc.metadata = QNNRT_METADATA_JSON;
    CHECK_EQ(qnnrt_open(test_tmpdir(), &desc, &model, &err), QNNRT_E_UNSUPPORTED);
    CHECK(model == NULL);
    CHECK_STR(err.text, "QNNRT_NO_JSON");
}

TEST(json_alone_is_no_model)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt_file file;
    qnnrt *model = (qnnrt *)&err;
    const char *folder = test_tmpdir();
    memset(&file, 0, sizeof(file));
    file.json_data = json;
    file.json_bytes = sizeof(json) - 1;
    desc.backend_desc.path = NULL;
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &err), QNNRT_E_ARG);
    CHECK(model == NULL);
    CHECK_STR(err.text, "neither path nor data");
    write_in(folder, "forward_0_json.json", json);
    desc.files = NULL;
    desc.file_count = 0;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "no *.bin");
}

/* JSON that the descriptor names is requested: it is an error, while JSON in a folder is
   ignored. */
static char told[4096];

static void keep_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    (void)user; (void)level; (void)part; (void)code;
    strncat(told, text, sizeof(told) - strlen(told) - 1);
}

TEST(a_program_is_ignored_with_a_line_in_the_log)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt *model = NULL;
    const char *folder = test_tmpdir();
    write_in(folder, "forward_0.bin", ONE);
    write_in(folder, "qnnrt.json", "{\"program\": {\"version\": 2}}");
    desc.backend_desc.hooks.log = keep_line;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
    CHECK_STR(told, "qnnrt.json is ignored");
    CHECK_EQ(qnnrt_get_info(model)->context_count, 1);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    told[0] = '\0';
    desc.no_manifest = 1;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
    CHECK(strstr(told, "qnnrt.json") == NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(json_of_files_is_unsupported)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt_file file;
    qnnrt *model = (qnnrt *)&err;
    memset(&file, 0, sizeof(file));
    file.path = "/not/there.bin";
    file.json_path = "/not/there_json.json";
    desc.files = &file;
    desc.file_count = 1;
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &err), QNNRT_E_UNSUPPORTED);
    CHECK(model == NULL);
    CHECK_STR(err.text, "desc.files[0] names JSON");
    file.json_path = NULL;
    file.json_data = json;
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &err), QNNRT_E_UNSUPPORTED);
}

TEST(json_beside_binaries_is_not_looked_at)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    const char *folder = test_tmpdir();
    write_in(folder, "forward_0.bin", ONE);
    write_in(folder, "forward_0_json.json", "nonsense");
    write_in(folder, "genie_config.json", "nonsense");
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
    CHECK(qnnrt_get_info(model)->contexts->json_file == NULL);
    CHECK_EQ(qnnrt_get_info(model)->contexts->from_json, 0);
    CHECK_EQ(qnnrt_get_info(model)->contexts->from_system, 1);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(system_library_is_needed)
{
    qnnrt_desc desc = new_desc();
    qnnrt_error err;
    qnnrt *model = NULL;
    const char *folder = test_tmpdir();
    write_in(folder, "forward_0.bin", ONE);
    write_in(folder, "forward_0_json.json", json);
    desc.system_path = NULL;
    setenv("QNNFAKE", "sysproviders=0", 1);          /* a backend without a system interface */
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "no provider");
    unsetenv("QNNFAKE");
}

TEST_MAIN("nojson")
{
    RUN(metadata_from_json_is_unsupported);
    RUN(json_alone_is_no_model);
    RUN(a_program_is_ignored_with_a_line_in_the_log);
    RUN(json_of_files_is_unsupported);
    RUN(json_beside_binaries_is_not_looked_at);
    RUN(system_library_is_needed);
}
