/* test_session_files.c - the cache of sessions, the files that a model reads, and policies

   No test depends on the clock. The program defines its own mkdir() for every caller in it: it does what the system's does
   unless a test changes that. */
#include "../../tools/qnnrt_session.h"
#include "test.h"
#include "system.h"
#include "session_engine.h"

#include <sys/wait.h>

static qnnrt_error err;
static qnnrt_session_desc desc;
static qnnrt_session *session;
static char cache[1400];

static qnnrt_result create(void)
{
    TEST_JUNK(err);
    session = NULL;
    return qnnrt_session_create(toy_model_path, &desc, &session, &err);
}

#define INFO() qnnrt_session_get_info(session)
#define END() do { CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK); CHECK_EQ(toy_live(), 0); } while (0)

/* Begin with an empty cache and an engine that saves. */
static int begin(void)
{
    if (!toy_begin(&desc)) return 0;
    snprintf(cache, sizeof(cache), "%s", toy_path("cache"));
    test_remove_tree(cache);
    desc.cache_dir = cache;
    desc.engine = "first";
    desc.device = "npu";
    toy[0].saves = 1;
    return 1;
}

/* ---- the cache --------------------------------------------------------------------------------- */

TEST(a_model_is_compiled_once)
{
    char key[65];
    CHECK(begin());
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "stored");
    CHECK_EQ(strlen(INFO()->cache_key), 64);
    memcpy(key, INFO()->cache_key, 65);
    CHECK_EQ(files_with(cache, ".qnnrt."), 2);         /* the folder and its lock */
    END();
    CHECK_EQ(files_with(cache, ""), 1);
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "hit");
    CHECK_STR(INFO()->cache_key, key);
    CHECK_EQ(toy[0].from_cache, 1);
    CHECK(toy[0].load.save == NULL);
    END();
    CHECK_EQ(files_with(cache, ""), 1);
    desc.cache_dir = "";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "off");
    END();
    toy[0].saves = 0;
    desc.cache_dir = toy_path("cache2");
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: first saves nothing of this model");
    END();
}

/* Create a session. Return 1 for a hit, 0 for a miss, -1 for a failure. */
static int hits(void)
{
    int hit;
    if (create() != QNNRT_OK) return -1;
    hit = strcmp(INFO()->cache, "hit") == 0;
    return qnnrt_session_destroy(session) == QNNRT_OK && toy_live() == 0 ? hit : -1;
}

TEST(each_setting_is_in_the_key)
{
    qnnrt_session_option option;
    qnnrt_session_shape shape;
    CHECK(begin());
    memset(&option, 0, sizeof(option));
    memset(&shape, 0, sizeof(shape));
    CHECK_EQ(hits(), 0);
    CHECK_EQ(hits(), 1);
    desc.device = "cpu";
    CHECK_EQ(hits(), 0);
    desc.precision = QNNRT_PRECISION_FP16;
    CHECK_EQ(hits(), 0);
    desc.threads = 1;                    /* the default */
    CHECK_EQ(hits(), 1);
    desc.threads = 2;
    CHECK_EQ(hits(), 0);
    desc.max_batch_size = 2;
    CHECK_EQ(hits(), 0);
    desc.workspace_bytes = 1 << 20;
    CHECK_EQ(hits(), 0);
    desc.native_io = 1;
    CHECK_EQ(hits(), 0);
    desc.allow_fallback = 1;
    CHECK_EQ(hits(), 0);
    desc.execution_policy = "{\"optimize_level\": 1}";
    CHECK_EQ(hits(), 0);
    option.key = "a";
    option.value = "b";
    desc.options = &option;
    desc.option_count = 1;
    CHECK_EQ(hits(), 0);
    option.value = toy_path("calibration");
    CHECK_EQ(hits(), 0);
    CHECK(test_write_file(toy_path("calibration"), "1", 1));
    CHECK_EQ(hits(), 0);                 /* the content of a file that an option names counts */
    CHECK(test_write_file(toy_path("calibration"), "2", 1));
    CHECK_EQ(hits(), 0);
    CHECK_EQ(hits(), 1);
    shape.name = "batch";
    shape.dims[0] = 4;
    desc.shapes = &shape;
    desc.shape_count = 1;
    CHECK_EQ(hits(), 0);
    shape.dims[0] = 5;
    CHECK_EQ(hits(), 0);
    CHECK(test_write_file(toy_model_path, "\x08\x09", 2));
    CHECK_EQ(hits(), 0);
    CHECK_EQ(hits(), 1);
    desc.engine = "second";
    CHECK_EQ(hits(), 0);
}

TEST(a_bad_entry_is_made_again)
{
    char path[1600], *text;
    size_t bytes;
    DIR *dir;
    const struct dirent *item;
    CHECK(begin());
    CHECK_EQ(hits(), 0);
    /* Another version of the compiler left it: the engine refuses it. */
    toy[0].compiled = "newer text";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "stored");
    CHECK_STR(INFO()->warnings[0], "the cached files do not load: first: the cached file is of another version");
    CHECK_EQ(toy[0].save_found, 0);      /* they are removed before */
    END();
    CHECK_EQ(hits(), 1);
    /* A byte of the entry is changed. */
    path[0] = '\0';
    dir = opendir(cache);
    CHECK(dir != NULL);
    while ((item = readdir(dir)) != NULL)
        if (strstr(item->d_name, ".qnnrt") != NULL) snprintf(path, sizeof(path), "%.1300s/%.100s", cache, item->d_name);
    closedir(dir);
    text = (char *)test_read_file(path, &bytes);
    CHECK(text != NULL && bytes > 10);
    text[bytes - 2] ^= 1;
    CHECK(test_write_file(path, text, bytes));
    free(text);
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "stored");
    CHECK_STR(INFO()->warnings[0], "the model is compiled again: the entry");
    CHECK_STR(INFO()->warnings[0], "is damaged");
    END();
    CHECK_EQ(hits(), 1);
    CHECK(test_write_file(path, "foreign", 7));
    CHECK_EQ(hits(), 0);
    CHECK_EQ(hits(), 1);
    /* An entry that does not load again is an error of the engine, and nothing is left. */
    toy[0].load_result = QNNRT_E_BACKEND;
    CHECK_EQ(create(), QNNRT_E_BACKEND);
    CHECK_EQ(files_with(cache, ".qnnrt."), 0);
}

TEST(a_cache_that_cannot_be_used_is_a_warning)
{
    static char path[4096];
    size_t used;
    CHECK(begin());
    desc.cache_bytes = 10;               /* full */
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: the files have more than the 10 bytes of the cache");
    CHECK_STR(INFO()->warnings[0], "not cached: ");
    END();
    desc.cache_bytes = 0;
    desc.cache_dir = toy_path("no/such/folder");
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: cannot make the cache");
    END();
    CHECK(test_write_file(toy_path("file"), "", 0));
    desc.cache_dir = toy_path("file");
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: the cache ");
    END();
    desc.cache_dir = "/proc/self";       /* read-only, for every user */
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: cannot make a folder in the cache \"/proc/self\"");
    END();
    /* The longest path whose cache can be opened: a name in it is too long. */
    snprintf(path, sizeof(path), "%s", toy_path(""));
    used = strlen(path);
    memset(path + used, '/', sizeof(path) - used);
    memset(path + sizeof(path) - 201, 'c', 200);
    path[sizeof(path) - 1] = '\0';
    desc.cache_dir = path;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: cannot make a folder in the cache \"");
    END();
}

TEST(a_folder_that_cannot_be_written_is_left_empty)
{
    CHECK(begin());
    mkdir_fails = ".tmp.d";              /* where an engine would save */
    CHECK_EQ(create(), QNNRT_OK);
    mkdir_fails = NULL;
    CHECK_STR(INFO()->cache, "not cached: cannot make a folder in the cache \"");
    CHECK_STR(INFO()->cache, "No space left on device");
    CHECK_EQ(files_with(cache, ""), 0);
    END();
    toy[0].save_fails = 1;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "not cached: first: cannot save it");
    CHECK_EQ(files_with(cache, ""), 0);  /* and not when the session ends */
    END();
}

/* Nobody else reads what is compiled; and the lock's descriptor may be 0. */
TEST(a_session_keeps_its_folder_to_itself)
{
    const mode_t mask = umask(0);
    struct stat facts;
    char path[1500];
    qnnrt_result result;
    int good = begin(), fds;
    const int kept = without_input();
    fds = files_with("/proc/self/fd", "");
    result = create();
    umask(mask);
    snprintf(path, sizeof(path), "%s/.qnnrt.0.tmp", cache);
    good = good && result == QNNRT_OK && strcmp(INFO()->cache, "stored") == 0 && stat(path, &facts) == 0 &&
           (facts.st_mode & 07777) == 0600;
    snprintf(path, sizeof(path), "%s/.qnnrt.0.tmp.d", cache);
    good = good && stat(path, &facts) == 0 && (facts.st_mode & 07777) == 0700 && fcntl(0, F_GETFD) >= 0;
    good = good && qnnrt_session_destroy(session) == QNNRT_OK && files_with(cache, "") == 1 &&
           files_with("/proc/self/fd", "") == fds;
    CHECK(with_input(kept));
    CHECK(good && toy_live() == 0);
}

TEST(what_a_killed_process_left_is_removed)
{
    char path[1500];
    int status;
    pid_t child;
    CHECK(begin());
    fflush(stdout);
    child = fork();
    if (child == 0) _exit(create() != QNNRT_OK);         /* without destroying it */
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(files_with(cache, ".qnnrt."), 2);
    snprintf(path, sizeof(path), "%s/.qnnrt.0.tmp.d/deep", cache);
    CHECK_EQ(mkdir(path, 0777), 0);
    snprintf(path, sizeof(path), "%s/.qnnrt.7.tmp", cache);              /* a number that is not next */
    CHECK(test_write_file(path, "", 0));
    CHECK_EQ(hits(), 1);
    CHECK_EQ(files_with(cache, ".qnnrt."), 0);
}

/* A name in the cache that leads elsewhere is removed; what it leads to stays. */
TEST(a_link_in_the_cache_is_not_followed)
{
    char path[1500], other[1400];
    CHECK(begin());
    snprintf(other, sizeof(other), "%s", toy_path("other"));
    test_remove_tree(other);
    CHECK_EQ(mkdir(other, 0700), 0);
    CHECK_EQ(mkdir(cache, 0700), 0);
    snprintf(path, sizeof(path), "%s/precious", other);
    CHECK(test_write_file(path, "x", 1));
    snprintf(path, sizeof(path), "%s/.qnnrt.1.tmp.d", cache);
    CHECK_EQ(symlink(other, path), 0);
    snprintf(path, sizeof(path), "%s/.qnnrt.1.tmp", cache);
    CHECK(test_write_file(path, "", 0));
    CHECK_EQ(create(), QNNRT_OK);
    END();
    CHECK_EQ(files_with(cache, ".qnnrt."), 0);
    CHECK_EQ(files_with(other, "precious"), 1);
    test_remove_tree(other);
}

/* ---- folders that another user prepared ---------------------------------------------------------- */

enum { VICTIM = 65534, ATTACKER = 65533 };

static int give(const char *path, uid_t owner, mode_t mode)
{
    return lchown(path, owner, (gid_t)owner) == 0 && (mode == 0 || chmod(path, mode) == 0);
}

/* Prepare "cache" with what a killed session seems to have left, of these owners. A link to the folder "precious" lies so many
   levels below the cache; with level 4 the lock is a link to a file in it. */
static int prepare(uid_t owner, uid_t lock_owner, mode_t mode, int level)
{
    static const char *const folders[] = { "cache", "cache/.qnnrt.1.tmp.d", "cache/.qnnrt.1.tmp.d/a" };
    static const char *const precious[] = { "precious", "precious/file", "precious/deep", "precious/deep/file" };
    static const char *const links[] = { "cache/.qnnrt.1.tmp.d", "cache/.qnnrt.1.tmp.d/link", "cache/.qnnrt.1.tmp.d/a/link" };
    const char *lock = "cache/.qnnrt.1.tmp";
    int i, good = 1;
    for (i = 0; i < 4; ++i)
        good = good && (i % 2 == 0 ? mkdir(precious[i], 0700) == 0 : test_write_file(precious[i], "x", 1)) &&
               give(precious[i], VICTIM, 0);
    for (i = 0; i < level && i < 3; ++i) good = good && mkdir(folders[i], 0700) == 0;
    if (level < 4) good = good && symlink(&"../../../precious"[3 * (3 - level)], links[level - 1]) == 0 &&
                          give(links[level - 1], owner, 0);
    good = good && (level == 4 ? symlink("../precious/file", lock) == 0 : test_write_file(lock, "", 0)) &&
           give(lock, lock_owner, level == 4 ? 0 : 0666);
    for (i = 0; i < level && i < 3; ++i) good = good && give(folders[i], owner, mode);
    return good;
}

/* Links in a cache that an archive or another user brought are never followed, whatever cannot be removed. Nothing of another
   user is emptied. What is ours and can be removed is. */
TEST(a_cache_of_another_user_leads_nowhere)
{
    static const mode_t modes[] = { 0555, 01777, 0777, 0755 };
    static const uid_t owners[][2] = { { ATTACKER, ATTACKER }, { VICTIM, VICTIM }, { ATTACKER, VICTIM } };
    char folder[1200], path[1300], want[100], got[100];
    size_t m, o;
    int level;
    CHECK(begin());
    if (geteuid() != 0) SKIP("only root can act as two other users");
    snprintf(folder, sizeof(folder), "%s", toy_path("users"));
    for (m = 0; m < sizeof(modes) / sizeof(modes[0]); ++m)
        for (o = 0; o < 3; ++o)
            for (level = 1; level <= 4; ++level) {
                const int removed = level < 4 && (o == 1 ? modes[m] != 0555 : o == 2 && modes[m] == 0777 && level == 1);
                int status, files;
                pid_t child;
                test_remove_tree(folder);
                CHECK(mkdir(folder, 0755) == 0 && chmod(folder, 0755) == 0);
                fflush(stdout);
                child = fork();
                if (child == 0) {        /* paths from here need no right to the folders above */
                    if (chdir(folder) != 0 || !test_write_file("model.onnx", "\x08\x07", 2) || chmod("model.onnx", 0644) != 0 ||
                        !prepare(owners[o][0], owners[o][1], modes[m], level)) _exit(2);
                    desc.cache_dir = "cache";
                    if (setgid(VICTIM) != 0 || setuid(VICTIM) != 0) _exit(3);
                    if (qnnrt_session_create("model.onnx", &desc, &session, &err) != QNNRT_OK) _exit(4);
                    _exit(qnnrt_session_destroy(session) != QNNRT_OK);
                }
                CHECK(child > 0 && waitpid(child, &status, 0) == child);
                snprintf(path, sizeof(path), "%s/precious", folder);
                files = files_with(path, "file");
                snprintf(path, sizeof(path), "%s/precious/deep", folder);
                files += files_with(path, "file");
                snprintf(path, sizeof(path), "%s/cache", folder);
                snprintf(got, sizeof(got), "mode %o, owners %d, level %d: status %d, %d precious files, %d names left",
                         (unsigned)modes[m], (int)o, level, status, files, files_with(path, ".qnnrt."));
                snprintf(want, sizeof(want), "mode %o, owners %d, level %d: status 0, 2 precious files, %d names left",
                         (unsigned)modes[m], (int)o, level, removed ? 0 : 2);
                CHECK_STR(got, want);
            }
}

/* ---- two at once ------------------------------------------------------------------------------- */

static int thread_failed;
static void *thread_create(void *user)
{
    qnnrt_error e;
    int i;
    (void)user;
    for (i = 0; i < 20; ++i) {
        qnnrt_session *s = NULL;
        if (qnnrt_session_create(toy_model_path, &desc, &s, &e) != QNNRT_OK || strncmp(qnnrt_session_get_info(s)->cache, "not", 3) == 0 ||
            qnnrt_session_destroy(s) != QNNRT_OK) __atomic_store_n(&thread_failed, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Two processes, because the counters of the engine are not atomic. */
TEST(two_processes_share_a_cache)
{
    pid_t child;
    int status;
    CHECK(begin());
    fflush(stdout);
    child = fork();
    if (child == 0) {
        thread_create(NULL);
        _exit(thread_failed);
    }
    thread_create(NULL);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(thread_failed, 0);
    CHECK_EQ(files_with(cache, ""), 1);
    CHECK_EQ(toy_live(), 0);
}

/* ---- files of a model -------------------------------------------------------------------------- */

/* Append a field with a length. Return the new length. */
static size_t field(char *out, size_t at, int number, const void *data, size_t bytes)
{
    out[at++] = (char)(number << 3 | 2);
    if (number > 15) {
        out[at - 1] = (char)((number << 3 | 2) | 0x80);
        out[at++] = (char)(number >> 4);
    }
    out[at++] = (char)((bytes & 0x7F) | 0x80);
    out[at++] = (char)(bytes >> 7);
    memcpy(out + at, data, bytes);
    return at + bytes;
}

/* Write a model with a tensor whose data is in a file: an initializer, or an attribute of a node in a graph of a node. */
static int write_external(const char *location, int nested)
{
    static char a[8192], b[8192];
    size_t bytes = field(a, 0, 1, "location", 8);
    bytes = field(a, bytes, 2, location, strlen(location));
    bytes = field(b, 0, 13, a, bytes);                   /* TensorProto.external_data */
    if (nested) {
        int i;
        for (i = 0; i < nested; ++i) {
            bytes = field(a, 0, i == 0 ? 5 : 6, b, bytes);   /* AttributeProto.t, .g */
            bytes = field(b, 0, 5, a, bytes);            /* NodeProto.attribute */
            bytes = field(a, 0, 1, b, bytes);            /* GraphProto.node */
            memcpy(b, a, bytes);
        }
    } else {
        bytes = field(a, 0, 5, b, bytes);                /* GraphProto.initializer */
    }
    bytes = field(b, 0, 7, a, bytes);                    /* ModelProto.graph */
    return test_write_file(toy_model_path, b, bytes);
}

TEST(external_data_is_part_of_the_key)
{
    int nested;
    CHECK(begin());
    CHECK(test_write_file(toy_path("weights.bin"), "abc", 3));
    for (nested = 0; nested < 4; ++nested) {
        CHECK(test_write_file(toy_path("weights.bin"), &nested, 1));
        CHECK(write_external("weights.bin", nested));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
        CHECK(test_write_file(toy_path("weights.bin"), "abd", 3));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
    }
    CHECK_EQ(unlink(toy_path("weights.bin")), 0);
    CHECK_EQ(create(), QNNRT_OK);        /* whether it is needed, the engine knows */
    CHECK_STR(INFO()->cache, "not cached: cannot read ");
    END();
}

TEST(what_changes_in_a_load_is_not_stored)
{
    static const char *const names[] = { "model.onnx", "weights.bin", "option.cfg" };
    qnnrt_session_option option;
    char path[3][1400], want[1500];
    int i;
    memset(&option, 0, sizeof(option));
    option.key = "file";
    option.value = path[2];
    for (i = 0; i < 6; ++i) {
        CHECK(begin());
        snprintf(path[0], sizeof(path[0]), "%s", toy_path(names[0]));
        snprintf(path[1], sizeof(path[1]), "%s", toy_path(names[1]));
        snprintf(path[2], sizeof(path[2]), "%s", toy_path(names[2]));
        CHECK(test_write_file(path[1], "abc", 3) && test_write_file(path[2], "abc", 3) && write_external("weights.bin", 0));
        desc.options = &option;
        desc.option_count = 1;
        if (i < 3) toy[0].touch = path[i];
        else toy[0].replace = path[i - 3];
        CHECK_EQ(create(), QNNRT_OK);
        snprintf(want, sizeof(want), "%s changed while it was loaded", names[i % 3]);
        CHECK_STR(INFO()->cache, "not cached: ");
        CHECK_STR(INFO()->cache, want);
        CHECK_EQ(INFO()->warning_count, 1);
        END();
        CHECK_EQ(files_with(cache, ""), 0);
        toy[0].touch = toy[0].replace = NULL;
        CHECK(write_external("weights.bin", 0));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
    }
}

TEST(external_data_stays_in_the_folder)
{
    static const char *const bad[] = { "../weights.bin", "/etc/passwd", "a/../../b", "..", "a\\b", "a/..", "a\nb", "a/" };
    static const char *const good[] = { "weights.bin", "./weights.bin", "a/b.bin", "..b", "b..", "a/...x" };
    char text[200];
    size_t i;
    CHECK(begin());
    desc.cache_dir = NULL;               /* also without a cache */
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        CHECK(write_external(bad[i], i % 2 == 0 ? 0 : 2));
        CHECK_EQ(create(), QNNRT_E_FORMAT);
        CHECK_STR(err.text, "external data \"");
        CHECK_STR(TEST_TOLD(err), "leads out of the model's folder");
        CHECK_EQ(toy[0].opens, 0);
    }
    CHECK(write_external("", 0));
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "the name of external data is empty");
    for (i = 0; i < sizeof(good) / sizeof(good[0]); ++i) {
        CHECK(write_external(good[i], 0));
        CHECK_EQ(create(), QNNRT_OK);
        END();
    }
    for (i = 0; i < sizeof(text); ++i) text[i] = (char)('a' + i % 20);
    CHECK(test_write_file(toy_model_path, text, sizeof(text)));
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK_STR(TEST_TOLD(err), "is damaged at byte ");
}

/* A number where protobuf has a text is a field that it does not know: the text before it stays. */
TEST(a_field_of_another_type_hides_no_name)
{
    static char a[4096], b[4096];
    size_t bytes;
    int which;
    for (which = 0; which < 2; ++which) {
        CHECK(begin());
        bytes = field(a, 0, 1, "location", 8);
        bytes = field(a, bytes, 2, "../weights.bin", 14);
        a[bytes++] = (char)((which + 1) << 3);
        a[bytes++] = 1;
        bytes = field(b, 0, 13, a, bytes);
        bytes = field(a, 0, 5, b, bytes);
        bytes = field(b, 0, 7, a, bytes);
        CHECK(test_write_file(toy_model_path, b, bytes));
        CHECK_EQ(create(), QNNRT_E_FORMAT);
        CHECK_STR(TEST_TOLD(err), "leads out of the model's folder");
    }
}

/* Engines read such data from an address that the file gives. */
TEST(external_data_is_no_address)
{
    static const char *const bad[] = { "*/_ORT_MEM_ADDR_/*", "*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*" };
    size_t i;
    for (i = 0; i < 2; ++i) {
        CHECK(begin());
        CHECK(write_external(bad[i], (int)i));
        CHECK_EQ(create(), QNNRT_E_FORMAT);
        CHECK_STR(TEST_TOLD(err), "is an address in the memory of another program");
        CHECK_EQ(toy[0].opens, 0);
    }
}

TEST(external_data_is_no_pipe)
{
    CHECK(begin());
    CHECK(write_external("pipe", 0));
    CHECK_EQ(mkfifo(toy_path("pipe"), 0600), 0);
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK_STR(TEST_TOLD(err), "external data \"pipe\" is not a file");
    CHECK_EQ(unlink(toy_path("pipe")), 0);
    CHECK_EQ(mkdir(toy_path("pipe"), 0700), 0);
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK_EQ(rmdir(toy_path("pipe")), 0);
}

TEST(a_model_cut_at_every_byte)
{
    char *whole;
    size_t bytes, cut;
    int refused = 0;
    CHECK(begin());
    desc.cache_dir = NULL;
    CHECK(write_external("weights.bin", 2));
    whole = (char *)test_read_file(toy_model_path, &bytes);
    CHECK(whole != NULL);
    for (cut = 0; cut < bytes; ++cut) {
        CHECK(test_write_file(toy_model_path, whole, cut));
        if (create() == QNNRT_OK) {
            END();
            continue;
        }
        CHECK_EQ(err.code, QNNRT_E_FORMAT);
        ++refused;
    }
    CHECK_EQ(refused, (int)bytes - 1);
    free(whole);
}

TEST(a_binary_of_an_ep_context_is_found)
{
    static char a[4096], b[4096];
    size_t bytes, node, i;
    for (i = 0; i < 2; ++i) {
        CHECK(begin());
        node = field(b, 0, 4, "EPContext", 9);           /* NodeProto.op_type */
        bytes = field(a, 0, 1, "embed_mode", 10);        /* AttributeProto.name */
        a[bytes++] = 3 << 3;                             /* AttributeProto.i */
        a[bytes++] = (char)i;
        node = field(b, node, 5, a, bytes);
        bytes = field(a, 0, 1, "ep_cache_context", 16);
        bytes = field(a, bytes, 4, "../context.bin", 14);        /* AttributeProto.s */
        node = field(b, node, 5, a, bytes);
        bytes = field(a, 0, 1, b, node);
        bytes = field(b, 0, 7, a, bytes);
        CHECK(test_write_file(toy_model_path, b, bytes));
        CHECK_EQ(create(), i == 0 ? QNNRT_E_FORMAT : QNNRT_OK);
        if (i == 0) CHECK_STR(err.text, "the binary of an EPContext node \"../context.bin\" leads out");
        else END();
    }
}

/* Each attribute that is there twice, without its number, or with a name that cannot be one. */
TEST(a_binary_of_a_strange_ep_context_is_found)
{
    static char a[4096], b[4096];
    static const char *const names[] = { "../context.bin", "c\0../x" };
    size_t bytes, node;
    int which;
    for (which = 0; which < 4; ++which) {
        CHECK(begin());
        node = field(b, 0, 4, "EPContext", 9);
        if (which == 1) {
            b[node++] = 4 << 3;                          /* a number as op_type: not known */
            b[node++] = 1;
        }
        bytes = field(a, 0, 1, "embed_mode", 10);        /* without i, which is 0 */
        node = field(b, node, 5, a, bytes);
        bytes = field(a, 0, 1, "ep_cache_context", 16);
        bytes = field(a, bytes, 4, names[which == 3], which == 3 ? 6 : 14);
        node = field(b, node, 5, a, bytes);
        if (which == 2) {
            bytes = field(a, 0, 1, "ep_cache_context", 16);
            bytes = field(a, bytes, 4, "good.bin", 8);
            node = field(b, node, 5, a, bytes);
            bytes = field(a, 0, 1, "embed_mode", 10);
            a[bytes++] = 3 << 3;
            a[bytes++] = 1;
            node = field(b, node, 5, a, bytes);
        }
        bytes = field(a, 0, 1, b, node);
        bytes = field(b, 0, 7, a, bytes);
        CHECK(test_write_file(toy_model_path, b, bytes));
        CHECK_EQ(create(), QNNRT_E_FORMAT);
        CHECK_STR(TEST_TOLD(err), which == 3 ? "has a zero byte" : "leads out of the model's folder");
    }
}

TEST(weights_beside_other_models_are_part_of_the_key)
{
    static const char *const models[] = { "m.xml", "g.json" }, *const weights[] = { "m.bin", "g.safetensors" };
    size_t i;
    for (i = 0; i < 2; ++i) {
        CHECK(begin());
        snprintf(toy_model_path, sizeof(toy_model_path), "%s", toy_path(models[i]));
        CHECK(test_write_file(toy_model_path, "text", 4));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
        CHECK(test_write_file(toy_path(weights[i]), "a", 1));
        CHECK_EQ(hits(), 0);
        CHECK(test_write_file(toy_path(weights[i]), "b", 1));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
    }
}

/* An engine takes g.safetensors for g.json: graphs of equal bytes have the weights of their own name. */
TEST(the_name_of_a_graph_is_part_of_the_key)
{
    static const char *const names[] = { "p.json", "q.json" };
    size_t i;
    CHECK(begin());
    CHECK(test_write_file(toy_path("p.safetensors"), "1", 1) && test_write_file(toy_path("q.safetensors"), "2", 1));
    for (i = 0; i < 2; ++i) CHECK(test_write_file(toy_path(names[i]), "text", 4));
    for (i = 0; i < 2; ++i) {
        snprintf(toy_model_path, sizeof(toy_model_path), "%s", toy_path(names[i]));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
    }
    unlink(toy_path("p.safetensors"));
    unlink(toy_path("q.safetensors"));
}

/* An option may name a folder of weights, or an index of several files. */
TEST(weights_of_an_option_are_part_of_the_key)
{
    static const char *const values[] = { "other", "other/model.safetensors.index.json" };
    qnnrt_session_option option;
    size_t i;
    CHECK(begin());
    memset(&option, 0, sizeof(option));
    mkdir(toy_path("other"), 0700);
    CHECK(test_write_file(toy_path(values[1]), "{}", 2));
    option.key = "weights";
    desc.options = &option;
    desc.option_count = 1;
    for (i = 0; i < 2; ++i) {
        char value[1400];
        snprintf(value, sizeof(value), "%s", toy_path(values[i]));
        option.value = value;
        CHECK(test_write_file(toy_path("other/a.safetensors"), "a", 1));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
        CHECK(test_write_file(toy_path("other/a.safetensors"), "b", 1));
        CHECK_EQ(hits(), 0);
        CHECK_EQ(hits(), 1);
    }
}

/* ---- policies ---------------------------------------------------------------------------------- */

static char lines[2000];
static void add_line(void *user, const char *line)
{
    const size_t used = strlen(lines);
    (void)user;
    snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
}

static qnnrt_result check(qnnrt_policy_kind kind, const char *text)
{
    lines[0] = '\0';
    TEST_JUNK(err);
    return qnnrt_policy_check(kind, text, add_line, NULL, &err);
}

TEST(policies_are_checked)
{
    static const struct { qnnrt_policy_kind kind; const char *text; qnnrt_result result; const char *says; } cases[] = {
        { QNNRT_POLICY_KERNEL, "", QNNRT_E_FORMAT, "kernel policy: byte 0: " },
        { QNNRT_POLICY_KERNEL, "[]", QNNRT_E_FORMAT, "\"the policy\" is an array, expected an object" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": 1,}", QNNRT_E_FORMAT, "kernel policy: byte " },
        { QNNRT_POLICY_KERNEL, "{} x", QNNRT_E_FORMAT, "kernel policy: byte 3" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": 3}", QNNRT_E_FORMAT, "byte 18: \"auto_strategy\" is 3, expected 0, 1 or 2" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": 1.0}", QNNRT_E_FORMAT, "is 1.0, expected 0, 1 or 2" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": true}", QNNRT_E_FORMAT, "is true, expected 0, 1 or 2" },
        { QNNRT_POLICY_KERNEL, "{\"default_precision\": \"fp64\"}", QNNRT_E_FORMAT, "is \"fp64\", expected \"fp32\"" },
        { QNNRT_POLICY_KERNEL, "{\"preferences\": [1]}", QNNRT_E_FORMAT, "expected an object of operators" },
        { QNNRT_POLICY_KERNEL, "{\"preferences\": {\"Conv\": 1}}", QNNRT_E_FORMAT, "is 1, expected a string" },
        { QNNRT_POLICY_KERNEL, "{\"preferences\": {\"\": \"a\"}}", QNNRT_E_FORMAT, "is empty" },
        { QNNRT_POLICY_KERNEL, "{\"preferences\": {\"a\": \"b\", \"\\u0061\": \"c\"}}", QNNRT_E_FORMAT, "has \"a\" twice" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": 1, \"auto_strategy\": 1}", QNNRT_E_FORMAT, "\"auto_strategy\" is there twice" },
        { QNNRT_POLICY_KERNEL, "{\"target\": \"npu\"}", QNNRT_E_UNSUPPORTED, "no member \"target\"; those that exist are preferences, auto_strategy" },
        { QNNRT_POLICY_EXECUTION, "{\"target\": \"\"}", QNNRT_E_FORMAT, "target is empty" },
        { QNNRT_POLICY_EXECUTION, "{\"target\": \"npu\\u001b[31m\"}", QNNRT_E_FORMAT, "target has a control character, byte 3" },
        { QNNRT_POLICY_EXECUTION, "{\"static_shape\": 1}", QNNRT_E_FORMAT, "is 1, expected true or false" },
        { QNNRT_POLICY_EXECUTION, "{\"static_shape\": true}", QNNRT_E_FORMAT, "fixed_shapes is missing" },
        { QNNRT_POLICY_EXECUTION, "{\"static_shape\": true, \"fixed_shapes\": {}}", QNNRT_E_FORMAT, "fixed_shapes is missing or empty" },
        { QNNRT_POLICY_EXECUTION, "{\"fixed_shapes\": {\"x\": []}}", QNNRT_E_FORMAT, "\"x\" has no dimensions" },
        { QNNRT_POLICY_EXECUTION, "{\"fixed_shapes\": {\"x\": [1, -1]}}", QNNRT_E_FORMAT, "\"x\" is -1, expected dimensions from 0" },
        { QNNRT_POLICY_EXECUTION, "{\"fixed_shapes\": {\"x\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}", QNNRT_E_LIMIT, "more than 16 dimensions" },
        { QNNRT_POLICY_EXECUTION, "{\"optimize_level\": 4}", QNNRT_E_FORMAT, "is 4, expected 0, 1, 2 or 3" },
        { QNNRT_POLICY_EXECUTION, "{\"compile_timeout_ms\": 4294967296}", QNNRT_E_FORMAT, "expected milliseconds" },
        { QNNRT_POLICY_EXECUTION, "{\"execution_timeout_ms\": -5}", QNNRT_E_FORMAT, "is -5" },
        { QNNRT_POLICY_EXECUTION, "{\"cache_dir\": null}", QNNRT_E_FORMAT, "is null, expected a string" },
        { QNNRT_POLICY_EXECUTION, "{\"timeout\": 5}", QNNRT_E_UNSUPPORTED, "no member \"timeout\"" }
    };
    static char large[70000];
    const int number = 7;
    qnnrt_policy_kind odd;
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        CHECK_EQ(check(cases[i].kind, cases[i].text), cases[i].result);
        CHECK_EQ(err.code, cases[i].result);
        CHECK_STR(TEST_TOLD(err), cases[i].says);
    }
    memset(large, ' ', sizeof(large) - 1);
    CHECK_EQ(check(QNNRT_POLICY_KERNEL, large), QNNRT_E_LIMIT);
    CHECK_EQ(check(QNNRT_POLICY_KERNEL, NULL), QNNRT_E_ARG);
    memcpy(&odd, &number, sizeof(odd));
    CHECK_EQ(check(odd, "{}"), QNNRT_E_ARG);
    CHECK_EQ(check(QNNRT_POLICY_EXECUTION, "{\"target\": \"npu\", \"precision\": \"fp16\", \"optimize_level\": 3, \"fixed_shapes\": {\"x\": [1]},"
                   " \"cache_compiled\": true, \"compile_timeout_ms\": 0}"), QNNRT_OK);
    CHECK_STR(lines, "fixed_shapes has no effect without static_shape\n");
    CHECK_STR(lines, "cache_compiled has no effect without a cache_dir\n");
    CHECK_STR(lines, "compile_timeout_ms is 0, which is no limit\n");
    CHECK_EQ(check(QNNRT_POLICY_EXECUTION, "{\"cache_compiled\": false, \"cache_dir\": \"a\"}"), QNNRT_OK);
    CHECK_STR(lines, "cache_dir has no effect, cache_compiled is false");
    CHECK_EQ(check(QNNRT_POLICY_EXECUTION, "{}"), QNNRT_OK);
    CHECK_EQ(lines[0], 0);
}

TEST(policies_have_so_many_entries)
{
    static char text[QNNRT_POLICY_BYTES];
    int kind, count, i;
    for (kind = 0; kind < 2; ++kind)
        for (count = QNNRT_POLICY_ENTRIES; count <= QNNRT_POLICY_ENTRIES + 1; ++count) {
            size_t used = (size_t)snprintf(text, sizeof(text), "{\"%s\": {", kind ? "fixed_shapes" : "preferences");
            for (i = 0; i < count; ++i)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"n%d\": %s", i > 0 ? ", " : "", i, kind ? "[1]" : "\"npu\"");
            snprintf(text + used, sizeof(text) - used, "}}");
            CHECK_EQ(qnnrt_policy_check(kind ? QNNRT_POLICY_EXECUTION : QNNRT_POLICY_KERNEL, text, NULL, NULL, &err),
                     count > QNNRT_POLICY_ENTRIES ? QNNRT_E_LIMIT : QNNRT_OK);
            if (count > QNNRT_POLICY_ENTRIES) CHECK_STR(err.text, "has more than 1024 members");
        }
}

TEST(what_is_over_wins_in_a_merge)
{
    static const struct { qnnrt_policy_kind kind; const char *base, *over, *merged; } cases[] = {
        { QNNRT_POLICY_KERNEL, NULL, "", "{}\n" },
        { QNNRT_POLICY_KERNEL, "{\"preferences\": {\"a\": \"1\", \"b\": \"2\"}, \"auto_strategy\": 1}", "{\"preferences\": {\"b\": \"3\", \"c\\n\": \"4\"}}",
          "{\"preferences\": {\"a\": \"1\", \"b\": \"3\", \"c\\u000a\": \"4\"}, \"auto_strategy\": 1}\n" },
        { QNNRT_POLICY_KERNEL, "{\"auto_strategy\": 1}", "{\"auto_strategy\": 0, \"default_precision\": \"int8\"}",
          "{\"auto_strategy\": 0, \"default_precision\": \"int8\"}\n" },
        { QNNRT_POLICY_EXECUTION, "{\"static_shape\": true, \"target\": \"npu\"}", "{\"fixed_shapes\": {\"x\": [1, 3]}, \"target\": \"cpu\"}",
          "{\"target\": \"cpu\", \"static_shape\": true, \"fixed_shapes\": {\"x\": [1, 3]}}\n" },
        { QNNRT_POLICY_EXECUTION, "{\"fixed_shapes\": {\"x\": [1], \"y\": [2]}}", "{\"fixed_shapes\": {\"x\": [5, 6]}}",
          "{\"fixed_shapes\": {\"y\": [2], \"x\": [5, 6]}}\n" }
    };
    char out[400];
    size_t i, bytes;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        CHECK_EQ(qnnrt_policy_merge(cases[i].kind, cases[i].base, cases[i].over, out, sizeof(out), &bytes, &err), QNNRT_OK);
        CHECK_STR(out, cases[i].merged);
        CHECK_EQ(bytes, strlen(cases[i].merged));
        CHECK_EQ(qnnrt_policy_merge(cases[i].kind, cases[i].base, cases[i].over, out, bytes + 1, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_policy_merge(cases[i].kind, cases[i].base, cases[i].over, out, bytes, &bytes, &err), QNNRT_E_LIMIT);
        CHECK(out[0] == '\0' && bytes == strlen(cases[i].merged));
    }
    CHECK_EQ(qnnrt_policy_merge(QNNRT_POLICY_KERNEL, NULL, NULL, NULL, 0, &bytes, &err), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_policy_merge(QNNRT_POLICY_KERNEL, "{", NULL, out, sizeof(out), NULL, &err), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_policy_merge(QNNRT_POLICY_KERNEL, NULL, NULL, NULL, 9, NULL, NULL), QNNRT_E_ARG);
}

TEST(each_member_of_a_policy_has_an_effect)
{
    CHECK(begin());
    desc.cache_dir = NULL;
    desc.device = NULL;
    desc.kernel_policy = "{\"default_precision\": \"int8\"}";
    desc.execution_policy = "{\"target\": \"cpu\", \"precision\": \"fp16\", \"static_shape\": true, \"fixed_shapes\": {\"x\": [5, 3]},"
                            " \"allow_fallback\": true, \"optimize_level\": 2, \"compile_timeout_ms\": 11, \"execution_timeout_ms\": 22}";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->device, "cpu");
    CHECK_EQ(INFO()->precision, QNNRT_PRECISION_FP16);
    CHECK_EQ(toy[0].load.precision, QNNRT_PRECISION_FP16);
    CHECK_EQ(toy[0].load.optimize_level, 2);
    CHECK(toy[0].load.compile_ms == 11 && toy[0].load.run_ms == 22 && toy[0].load.allow_fallback == 1 && toy[0].load.threads == 1);
    CHECK_EQ(INFO()->inputs[0].dims[0], 5);
    CHECK_EQ(INFO()->warning_count, 2);
    CHECK_STR(INFO()->warnings[0], "default_precision \"int8\" of the policy has no effect, \"fp16\" was asked for");
    CHECK_STR(INFO()->warnings[1], "allow_fallback has no effect on cpu");
    END();
    desc.device = "npu";
    desc.precision = QNNRT_PRECISION_FP32;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->device, "npu");
    CHECK_EQ(toy[0].load.precision, QNNRT_PRECISION_FP32);
    CHECK_STR(INFO()->warnings[0], "target \"cpu\" of the policy has no effect, \"npu\" was asked for");
    END();
    desc.execution_policy = "{\"static_shape\": true, \"fixed_shapes\": {\"other\": [1]}}";
    CHECK_EQ(create(), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "static_shape is true, and input \"x\" is float32[-1,3]");
    desc.execution_policy = NULL;
    desc.kernel_policy = "{\"preferences\": {\"Conv\": \"npu\"}}";
    CHECK_EQ(create(), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "first: preferences are not supported");
    desc.kernel_policy = "{\"auto_strategy\": 1}";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->warnings[0], "auto_strategy has no effect");
    END();
    desc.kernel_policy = "{\"other\": 1}";
    CHECK_EQ(create(), QNNRT_E_UNSUPPORTED);
}

/* A policy may be hostile: it names a folder to write to only for a caller who asks for that. */
TEST(the_folder_of_a_policy_is_asked_for)
{
    char text[1600];
    CHECK(begin());
    desc.cache_dir = NULL;
    desc.execution_policy = text;
    snprintf(text, sizeof(text), "{\"cache_dir\": \"%s\", \"cache_compiled\": true}", cache);
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "execution policy: cache_dir is \"");
    CHECK_STR(err.text, ", and policies are not allowed to choose the folder");
    CHECK_STR(err.hint, "Set cache_dir of the session");
    CHECK(session == NULL && toy[0].opens == 0);
    CHECK_EQ(files_with(cache, ""), -1);
    desc.policy_cache_dir = 1;
    CHECK_EQ(hits(), 0);
    CHECK_EQ(hits(), 1);
    desc.policy_cache_dir = 0;
    desc.cache_dir = toy_path("mine");
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "stored");
    CHECK_STR(INFO()->warnings[0], "of the policy has no effect");
    END();
    desc.cache_dir = NULL;
    snprintf(text, sizeof(text), "{\"cache_dir\": \"%s\", \"cache_compiled\": false}", cache);
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(INFO()->cache, "off");
    END();
}

TEST_MAIN("session_files")
{
    RUN(a_model_is_compiled_once);
    RUN(each_setting_is_in_the_key);
    RUN(a_bad_entry_is_made_again);
    RUN(a_cache_that_cannot_be_used_is_a_warning);
    RUN(a_folder_that_cannot_be_written_is_left_empty);
    RUN(a_session_keeps_its_folder_to_itself);
    RUN(what_a_killed_process_left_is_removed);
    RUN(a_link_in_the_cache_is_not_followed);
    RUN(a_cache_of_another_user_leads_nowhere);
    RUN(two_processes_share_a_cache);
    RUN(external_data_is_part_of_the_key);
    RUN(what_changes_in_a_load_is_not_stored);
    RUN(external_data_stays_in_the_folder);
    RUN(a_field_of_another_type_hides_no_name);
    RUN(external_data_is_no_address);
    RUN(external_data_is_no_pipe);
    RUN(a_model_cut_at_every_byte);
    RUN(a_binary_of_an_ep_context_is_found);
    RUN(a_binary_of_a_strange_ep_context_is_found);
    RUN(weights_beside_other_models_are_part_of_the_key);
    RUN(the_name_of_a_graph_is_part_of_the_key);
    RUN(weights_of_an_option_are_part_of_the_key);
    RUN(policies_are_checked);
    RUN(policies_have_so_many_entries);
    RUN(what_is_over_wins_in_a_merge);
    RUN(each_member_of_a_policy_has_an_effect);
    RUN(the_folder_of_a_policy_is_asked_for);
}
