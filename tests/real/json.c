/* json.c - metadata of every genuine binary as JSON: alone, beside the binary, and with one value
   changed

       real_json RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   The JSON is written from the table that this release's libQnnSystem.so gives. Read back alone it must give
   the same table in every field; beside the binary it must be accepted; with one change it must be
   refused, and the text has the name of the changed object and both values; and with JSON instead
   of libQnnSystem.so the models of DATA_FOLDER/ctx must run and return the expected values.
   Binaries below QNNRT_SAMPLES are tested, too. */
#include "real.h"
#include "meta.h"

static real_list folders;
static int       folders_given;              /* number of those from DATA_FOLDER */

/* Find folders below DATA_FOLDER/ctx, DATA_FOLDER/llm and the same of QNNRT_SAMPLES. */
static void find_folders(void)
{
    static const char *const parts[2] = { "ctx", "llm" };
    static real_list some;
    const char *samples = test_getenv("QNNRT_SAMPLES"), *given = test_arg(1);
    int at, part, i;
    if (folders.count > 0) return;
    for (at = 0; at < (samples != NULL ? 2 : 1); ++at) {
        /* real_folders() searches this folder. */
        if (at == 1) test_state.args[1] = (char *)(uintptr_t)samples;
        for (part = 0; part < 2; ++part) {
            real_folders(&some, parts[part]);
            for (i = 0; i < some.count && folders.count < REAL_FILES; ++i) strcpy(folders.path[folders.count++], some.path[i]);
        }
        if (at == 0) folders_given = folders.count;
    }
    test_state.args[1] = (char *)(uintptr_t)given;
}

/* Describe a model whose metadata comes from the library. The path must outlive the description. */
static void look_desc(qnnrt_desc *desc, char *path)
{
    real_desc(desc, path);
    desc->backend_desc.path = NULL;
    desc->system_path = real_library(path, "libQnnSystem.so");
    desc->inspect = 1;
}

/* Make a folder with links to the binaries of `folder` and JSON beside each, from its table;
   return NULL on failure. */
static const char *with_json(const char *folder, int flags)
{
    const char *copy = test_tmpdir();
    char path[1024], here[1024], target[4096], from[2048], to[2048];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    const qnnrt_context_info *infos;
    size_t count, i;
    look_desc(&desc, path);
    desc.metadata = QNNRT_METADATA_SYSTEM;
    if (qnnrt_open(folder, &desc, &model, &err) != QNNRT_OK || getcwd(here, sizeof here) == NULL) {
        test_where(__FILE__, __LINE__);
        printf("%s\n", err.text);
        return NULL;
    }
    infos = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    for (i = 0; i < count; ++i) {
        meta_text json;
        memset(&json, 0, sizeof json);
        snprintf(from, sizeof from, "%.900s/%.100s", folder, infos[i].file);
        snprintf(target, sizeof target, "%s%s%s", from[0] == '/' ? "" : here, from[0] == '/' ? "" : "/", from);
        snprintf(to, sizeof to, "%.900s/%.100s", copy, infos[i].file);
        if (symlink(target, to) != 0) { test_where(__FILE__, __LINE__); printf("%s: %s\n", to, strerror(errno)); }
        strcpy(strrchr(to, '.'), "_json.json");
        meta_write(&json, &infos[i], flags, NULL);
        test_write_file(to, json.data, json.used);
        meta_free(&json);
    }
    qnnrt_close(model);
    return test_state.state == TEST_RUNNING ? copy : NULL;
}

static void check_table(const qnnrt *got, const qnnrt *want, const char *what)
{
    size_t count, i;
    const qnnrt_context_info *a = qnnrt_get_info(got)->contexts, *b = qnnrt_get_info(want)->contexts;
    count = qnnrt_get_info(got)->context_count;
    CHECK_EQ(count, qnnrt_get_info(want)->context_count);
    for (i = 0; i < count; ++i) {
        meta_text one, two;
        memset(&one, 0, sizeof one);
        memset(&two, 0, sizeof two);
        meta_put_context(&one, &a[i]);
        meta_put_context(&two, &b[i]);
        if (strcmp(one.data, two.data) != 0) printf("%s, %s\n--- it is\n%s--- it should be\n%s", what, a[i].file, one.data, two.data);
        CHECK(strcmp(one.data, two.data) == 0);
        meta_free(&one);
        meta_free(&two);
    }
}

TEST(json_gives_the_table_of_the_library)
{
    char path[1024], other_path[1024];
    int i, flags;
    size_t contexts = 0;
    find_folders();
    CHECK(folders_given >= 11);
    for (i = 0; i < folders.count; ++i) {
        qnnrt_desc desc, json;
        qnnrt_error err;
        qnnrt *library;
        look_desc(&desc, path);
        REAL_OK(qnnrt_open(folders.path[i], &desc, &library, &err), &err);
        for (flags = 0; flags < 4; ++flags) {
            const char *folder = with_json(folders.path[i], flags);
            qnnrt_limits limits;
            qnnrt *model;
            size_t count, k;
            const qnnrt_context_info *infos;
            CHECK(folder != NULL);
            /* open it with the binary and JSON */
            look_desc(&json, other_path);
            REAL_OK(qnnrt_open(folder, &json, &model, &err), &err);
            infos = qnnrt_get_info(model)->contexts;
            count = qnnrt_get_info(model)->context_count;
            for (k = 0; k < count; ++k) CHECK(infos[k].from_system && infos[k].from_json && infos[k].json_file != NULL);
            TRY(check_table(model, library, folders.path[i]));
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            /* open it with JSON alone */
            json.system_path = NULL;
            json.metadata = QNNRT_METADATA_JSON;
            REAL_OK(qnnrt_open(folder, &json, &model, &err), &err);
            infos = qnnrt_get_info(model)->contexts;
            count = qnnrt_get_info(model)->context_count;
            memset(&limits, 0, sizeof limits);
            limits.rank = 8;
            limits.name_bytes = 1024;
            for (k = 0; k < count; ++k) {
                const char *why = meta_check(&infos[k], &limits);
                if (why != NULL) printf("%s has %s\n", infos[k].file, why);
                CHECK(why == NULL);
                CHECK(!infos[k].from_system && infos[k].from_json);
            }
            CHECK(strcmp(qnnrt_get_info(model)->system_path, "") == 0);
            TRY(check_table(model, library, folders.path[i]));
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK_EQ(real_seen.alive, 0);
            if (flags == 0) contexts += count;
        }
        real_seen.alive = 0;
        qnnrt_close(library);
    }
    printf("  %d folders, %u binaries: equal, nested and flat, alone and beside the binary\n", folders.count, (unsigned)contexts);
}

TEST(altered_json_is_refused_by_name)
{
    static int found[META_WAYS];
    char path[1024], file_path[2048], json_name[128];
    int i, way, all = 0, fewest = META_WAYS, ways = 0;
    find_folders();
    for (i = 0; i < folders.count; ++i) {
        qnnrt_desc desc, both;
        qnnrt_error err;
        qnnrt *library;
        const qnnrt_context_info *infos;
        size_t count, k;
        look_desc(&desc, path);
        REAL_OK(qnnrt_open(folders.path[i], &desc, &library, &err), &err);
        infos = qnnrt_get_info(library)->contexts;
        count = qnnrt_get_info(library)->context_count;
        for (k = 0; k < count; ++k) {
            int here = 0;
            for (way = 0; way < META_WAYS; ++way) {
                meta_pool pool;
                meta_altered altered;
                meta_text json;
                qnnrt_file file;
                qnnrt *model = NULL;
                qnnrt_result result;
                int needle, missing = 0;
                pool.count = 0;
                if (!meta_alter(&pool, &infos[k], (meta_way)way, &altered)) { meta_drop(&pool); continue; }
                memset(&json, 0, sizeof json);
                memset(&file, 0, sizeof file);
                meta_write(&json, &altered.context, way & 3, &altered.lies);
                snprintf(file_path, sizeof file_path, "%.900s/%.100s", folders.path[i], infos[k].file);
                snprintf(json_name, sizeof json_name, "altered_%d_json.json", way);
                file.path = file_path;
                file.json_path = json_name;
                file.json_data = json.data;
                file.json_bytes = json.used;
                both = desc;
                both.files = &file;
                both.file_count = 1;
                result = qnnrt_open(NULL, &both, &model, &err);
                for (needle = 0; needle < 4; ++needle) missing += strstr(err.text, altered.needles[needle]) == NULL;
                missing += strstr(err.text, json_name) == NULL;
                if (altered.code == QNNRT_E_MISMATCH) missing += strstr(err.text, infos[k].file) == NULL;
                if (result != altered.code || missing > 0) {
                    test_where(__FILE__, __LINE__);
                    printf("%s, altered: %s: %s, %d texts missing: %s\n", file_path, meta_way_names[way], qnnrt_result_name(result), missing,
                           err.text);
                    for (needle = 0; needle < 4; ++needle) printf("    needed: %s\n", altered.needles[needle]);
                }
                qnnrt_close(model);
                meta_free(&json);
                meta_drop(&pool);
                CHECK(test_state.state == TEST_RUNNING);
                found[way] += 1;
                ++here;
                ++all;
            }
            if (here < fewest) fewest = here;
        }
        CHECK_EQ(qnnrt_close(library), QNNRT_OK);
        CHECK_EQ(real_seen.alive, 0);
    }
    for (way = 0; way < META_WAYS; ++way) {
        ways += found[way] > 0;
        if (found[way] == 0) printf("  not possible with any of these: %s\n", meta_way_names[way]);
    }
    printf("  %d alterations refused: %d ways, at least %d of them for each binary\n", all, ways, fewest);
    CHECK(ways >= 35);
    CHECK(fewest >= 30);
}

/* Change every dim of every tensor, every id and every scale of the small models. */
TEST(altered_tensors_are_refused_each)
{
    char path[1024], file_path[2048];
    int i, all = 0;
    find_folders();
    for (i = 0; i < folders_given; ++i) {
        qnnrt_desc desc, both;
        qnnrt_error err;
        qnnrt *library;
        const qnnrt_context_info *infos;
        size_t count, k, g, side, t, tried = 0;
        look_desc(&desc, path);
        REAL_OK(qnnrt_open(folders.path[i], &desc, &library, &err), &err);
        infos = qnnrt_get_info(library)->contexts;
        count = qnnrt_get_info(library)->context_count;
        for (k = 0; k < count; ++k)
            for (g = 0; g < infos[k].graph_count; ++g)
                for (side = 0; side < 2; ++side)
                    for (t = 0; t < (side == 0 ? infos[k].graphs[g].input_count : infos[k].graphs[g].output_count); ++t) {
                        const qnnrt_tensor_info *from = side == 0 ? &infos[k].graphs[g].inputs[t] : &infos[k].graphs[g].outputs[t];
                        uint32_t what;
                        if (++tried > 60) continue;
                        for (what = 0; what < from->rank + 4; ++what) {
                            meta_pool pool;
                            qnnrt_context_info copy;
                            qnnrt_tensor_info *tensor;
                            qnnrt_file file;
                            qnnrt *model = NULL;
                            meta_text json;
                            char one[64], two[64];
                            uint32_t *dims;
                            pool.count = 0;
                            copy = meta_copy(&pool, &infos[k]);
                            tensor = (qnnrt_tensor_info *)(uintptr_t)(side == 0 ? &copy.graphs[g].inputs[t] : &copy.graphs[g].outputs[t]);
                            dims = (uint32_t *)meta_have(&pool, tensor->dims, tensor->rank * sizeof *dims, 0);
                            tensor->dims = dims;
                            if (what < tensor->rank) {
                                snprintf(one, sizeof one, "%u", (unsigned)dims[what]++);
                                snprintf(two, sizeof two, "%u", (unsigned)dims[what]);
                            } else if (what == tensor->rank) {
                                snprintf(one, sizeof one, "id %u", (unsigned)tensor->id);
                                tensor->id ^= 0x80000000u;
                                snprintf(two, sizeof two, "id %u", (unsigned)tensor->id);
                            } else if (tensor->quant.encoding != QNNRT_ENCODING_PER_TENSOR) {
                                meta_drop(&pool);
                                break;
                            } else {
                                snprintf(one, sizeof one, "scale %.9g offset %d", (double)tensor->quant.scale, (int)tensor->quant.offset);
                                if (what == tensor->rank + 1) tensor->quant.scale = meta_next(tensor->quant.scale, 1);
                                else if (what == tensor->rank + 2) tensor->quant.scale = meta_next(tensor->quant.scale, -1);
                                else tensor->quant.offset += 1;
                                snprintf(two, sizeof two, "scale %.9g offset %d", (double)tensor->quant.scale, (int)tensor->quant.offset);
                            }
                            memset(&json, 0, sizeof json);
                            memset(&file, 0, sizeof file);
                            meta_write(&json, &copy, META_COMPACT, NULL);
                            snprintf(file_path, sizeof file_path, "%.900s/%.100s", folders.path[i], infos[k].file);
                            file.path = file_path;
                            file.json_path = "altered.json";
                            file.json_data = json.data;
                            file.json_bytes = json.used;
                            both = desc;
                            both.files = &file;
                            both.file_count = 1;
                            CHECK_EQ(qnnrt_open(NULL, &both, &model, &err), QNNRT_E_MISMATCH);
                            CHECK_STR(err.text, infos[k].graphs[g].name);
                            CHECK_STR(err.text, from->name);
                            CHECK_STR(err.text, one);
                            CHECK_STR(err.text, two);
                            CHECK_STR(err.text, "altered.json");
                            meta_free(&json);
                            meta_drop(&pool);
                            ++all;
                        }
                    }
        CHECK_EQ(qnnrt_close(library), QNNRT_OK);
        CHECK_EQ(real_seen.alive, 0);
    }
    printf("  %d single values altered, each refused by name\n", all);
}

/* Run with a folder's files <tensor>.raw, and compare the outputs with <tensor>.expected.raw. */
static void run_files(qnnrt_run *run, const char *folder)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    char path[1200];
    size_t s, outputs = 0;
    int side;
    for (side = 0; side < 2; ++side) {
        if (side == 1) REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        for (s = 0; s < info->slot_count; ++s) {
            const qnnrt_slot *slot = &info->slots[s];
            size_t bytes, size, i, differing = 0;
            unsigned char *data, *file;
            if (slot->role != (side == 0 ? QNNRT_ROLE_INPUT : QNNRT_ROLE_OUTPUT)) continue;
            snprintf(path, sizeof path, "%.900s/%.200s%s.raw", folder, slot->tensor->name, side == 0 ? "" : ".expected");
            file = (unsigned char *)test_read_file(path, &size);
            data = (unsigned char *)qnnrt_data_slot(run, slot, &bytes);
            CHECK(file != NULL && data != NULL);
            CHECK_EQ(size, bytes);
            if (side == 0) memcpy(data, file, bytes);
            for (i = 0; i < bytes; ++i) differing += data[i] != file[i];
            /* 2.48 to 2.50 are 1 code off in 16 values of this one, without qnnrt, too: see real/ctx.c */
            if (strcmp(slot->tensor->name, "product") == 0 && real_library_release() >= 2048 && real_library_release() <= 2050) {
                CHECK(differing <= 32);
                differing = 0;
            }
            CHECK_EQ(differing, 0);
            outputs += side == 1;
            free(file);
        }
    }
    CHECK(outputs > 0);
}

TEST(models_run_with_json_instead_of_the_library)
{
    static real_list list;
    char path[1024], empty[1024];
    int i, ran = 0, refused = 0;
    if (real_no_device()) SKIP("no device here");
    real_folders(&list, "ctx");
    CHECK(list.count >= 6);
    for (i = 0; i < list.count; ++i) {
        const char *folder = with_json(list.path[i], i & 3);
        const char *at = strstr(list.path[i], "qairt2.");
        int release = at != NULL ? 2000 + atoi(at + 7) : 2051, both;
        CHECK(folder != NULL);
        for (both = 0; both < 2; ++both) {
            qnnrt_desc desc;
            qnnrt_error err;
            qnnrt_run *run;
            qnnrt *model;
            real_desc(&desc, path);
            desc.metadata = both ? QNNRT_METADATA_ALL : QNNRT_METADATA_JSON;
            snprintf(empty, sizeof empty, "/not/there/libQnnSystem.so");
            if (!both) desc.system_path = empty;                   /* this library is not opened */
            if (release > real_library_release()) {
                CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_VERSION);
                CHECK_STR(err.text, "v2.51.0.");
                CHECK_EQ(real_seen.newer, 0);
                CHECK_EQ(real_seen.alive, 0);
                ++refused;
                continue;
            }
            REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
            CHECK((strcmp(qnnrt_get_info(model)->system_path, "") == 0) == !both);
            REAL_OK(qnnrt_prepare(model, NULL, &run, &err), &err);
            TRY(run_files(run, list.path[i]));
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK_EQ(real_seen.alive, 0);
            CHECK_EQ(real_seen.errors, 0);
            ++ran;
        }
    }
    printf("  %d opens (JSON alone, and both sources) ran and returned what is expected, %d newer than the library and refused\n", ran, refused);
    CHECK(ran >= 4);
}

TEST_MAIN_ARGS("real_json", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    if (!real_no_device()) (void)real_library_release();           /* in a child, before anything is opened */
    RUN(json_gives_the_table_of_the_library);
    RUN(altered_json_is_refused_by_name);
    RUN(altered_tensors_are_refused_each);
    RUN(models_run_with_json_instead_of_the_library);
}
