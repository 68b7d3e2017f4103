/* config.c - the SDK's configuration files of the HTP backend

   ROOM     >>config_file */
#include "run/io/io.h"

#include <math.h>

/* =====================================================================================
   CONFIG FILE                                                            >>config_file
   --config_file: the JSON that qnn-net-run and qnn-context-binary-generator take. Each key is
   taken, or told to have no effect here, or refused by its name.
   ===================================================================================== */

enum { CONFIG_BYTES = 1 << 20, CONFIG_PATH = 256 };

/* What a key does. A key that is decided when a model is compiled has no effect on a binary; one of
   the device has none on a compilation. */
typedef enum config_act {
    CONFIG_CHIP = 1, CONFIG_ARCH, CONFIG_PERF, CONFIG_RPC_LATENCY, CONFIG_RPC_POLLING,
    CONFIG_MEMORY, CONFIG_SPILL, CONFIG_VTCM, CONFIG_LEVEL, CONFIG_HVX, CONFIG_FP16, CONFIG_SHARE,
    CONFIG_DEFAULT,                    /* only its default can be had: .value              */
    CONFIG_NONE                        /* it has no effect here; .value says why           */
} config_act;

typedef struct config_key {
    const char *path;                  /* indices of lists left out                        */
    config_act  act;
    const char *value;
} config_key;

static const config_key config_keys[] = {
    {"devices.soc_model", CONFIG_CHIP, NULL}, {"devices.soc_id", CONFIG_CHIP, NULL},
    {"devices.dsp_arch", CONFIG_ARCH, NULL},
    {"devices.device_id", CONFIG_DEFAULT, "0"}, {"devices.pd_session", CONFIG_DEFAULT, "unsigned"},
    {"devices.use_client_context", CONFIG_DEFAULT, "true"},
    {"devices.profiling_level", CONFIG_NONE, "--profiling_level says what is measured"},
    {"devices.cores.core_id", CONFIG_DEFAULT, "0"},
    {"devices.cores.perf_profile", CONFIG_PERF, NULL},
    {"devices.cores.rpc_control_latency", CONFIG_RPC_LATENCY, NULL},
    {"devices.cores.rpc_polling_time", CONFIG_RPC_POLLING, NULL},
    {"graphs.graph_names", CONFIG_NONE, "it is for all graphs"},
    {"graphs.vtcm_mb", CONFIG_VTCM, NULL}, {"graphs.O", CONFIG_LEVEL, NULL},
    {"graphs.hvx_threads", CONFIG_HVX, NULL},
    {"graphs.fp16_relaxed_precision", CONFIG_FP16, NULL},
    {"graphs.dlbc", CONFIG_DEFAULT, "0"}, {"graphs.dlbc_weights", CONFIG_DEFAULT, "0"},
    {"graphs.num_cores", CONFIG_DEFAULT, "1"}, {"graphs.weights_packing", CONFIG_DEFAULT, "false"},
    {"graphs.advanced_activation_fusion", CONFIG_DEFAULT, "true"},
    {"graphs.short_depth_conv_on_hmx_off", CONFIG_DEFAULT, "false"},
    {"graphs.fold_relu_activation_into_conv_off", CONFIG_DEFAULT, "false"},
    {"graphs.monolithic_lstm", CONFIG_DEFAULT, "false"},
    {"context.weight_sharing_enabled", CONFIG_SHARE, NULL},
    {"context.max_spill_fill_buffer_for_group", CONFIG_SPILL, NULL},
    {"context.group_id", CONFIG_DEFAULT, "0"},
    {"context.file_read_memory_budget_in_mb", CONFIG_NONE,
     "files are mapped: the system reads them in pieces"},
    {"context.io_memory_estimation", CONFIG_DEFAULT, "false"},
    {"context.extended_udma", CONFIG_DEFAULT, "false"},
    {"context.init_acceleration", CONFIG_DEFAULT, "false"},
    {"context.lora_weight_sharing", CONFIG_DEFAULT, "false"},
    {"context.skip_validation_on_binary_section", CONFIG_DEFAULT, "false"},
    {"groupContext.share_resources", CONFIG_SPILL, NULL},
    {"memory.mem_type", CONFIG_MEMORY, NULL},
    {"context_configs.context_priority", CONFIG_DEFAULT, "normal"},
    {"context_configs.async_execute_queue_depth", CONFIG_DEFAULT, "0"},
    {"context_configs.memory_limit_hint", CONFIG_DEFAULT, "0"},
    {"context_configs.is_persistent_binary", CONFIG_NONE, "binaries stay mapped in any case"},
    {"context_configs.cache_compatibility_mode", CONFIG_DEFAULT, "permissive"},
    {"backend_extensions.shared_library_path", CONFIG_NONE, "no extension library is needed"}
};
enum { CONFIG_KEYS = sizeof(config_keys) / sizeof(config_keys[0]) };

typedef struct config_read {
    tool       *t;
    const char *file;
    graph_choices *graph;              /* of compile, or NULL                              */
    char       *inner;                 /* name of the file that the outer form names       */
    int         good;
    page        lines;                 /* what each key did                                */
} config_read;

/* Report that a key cannot be taken. */
CLI_FORMAT(4, 5) static void config_fail(config_read *c, const char *path, const char *hint,
                                         const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *text = cli_text_list(format, list);
    va_end(list);
    if (c->good) fail(c->t, NULL, hint, "%s: \"%s\" %s", c->file, path, text);
    c->good = 0;
}

/* Set a number that an option may have set, too. */
static void config_set(config_read *c, const char *path, uint32_t *field, uint32_t value,
                       const char *option)
{
    if (*field != 0 && *field != value)
        config_fail(c, path, "Leave one of them out.", "is %lu, and %s or another place of the file"
                    " says %lu", (unsigned long)value, option, (unsigned long)*field);
    *field = value;
}

/* Take the power preset of a file. */
static void config_perf(config_read *c, const char *path, const char *value)
{
    static const char *const none[] = {"default", "no_user_input", NULL};
    const char *presets[CLI_MOST_PRESETS];
    cli_presets(presets);
    const int word = cli_word(value, presets);
    if (cli_word(value, none) >= 0) return;
    if (word < 0) {
        OWNED char *all = cli_join(presets);
        config_fail(c, path, "Use one of these.", "is \"%s\", and there is %s", value, all);
        return;
    }
    uint32_t power = (uint32_t)c->t->set.power;
    config_set(c, path, &power, (uint32_t)(QNNRT_POWER_CUSTOM + 1 + word), "--perf_profile");
    c->t->set.power = (qnnrt_power_preset)power;
}

/* Do what a key says. whole: the value as a number; 1 for true. */
static void config_do(config_read *c, const config_key *key, const char *value, uint64_t whole,
                      int is_whole)
{
    settings *set = &c->t->set;
    graph_choices *graph = c->graph;
    const uint32_t number = (uint32_t)(whole < UINT32_MAX ? whole : UINT32_MAX);
    const int by_compiler = key->act >= CONFIG_VTCM && key->act <= CONFIG_SHARE;
    const int by_device = key->act >= CONFIG_PERF && key->act <= CONFIG_SPILL;
    const char *told = NULL;
    if (key->act == CONFIG_NONE) told = key->value;
    else if (key->act == CONFIG_DEFAULT && strcmp(value, key->value) != 0)
        config_fail(c, key->path, "Leave it out.", "is %s, and only %s is possible here", value,
                    key->value);
    else if (key->act == CONFIG_DEFAULT) told = "as ever";
    else if (by_compiler && c->graph == NULL) told = "decided when a model is compiled";
    else if (key->act == CONFIG_ARCH && c->graph == NULL) told = "the binary has its own";
    else if (by_device && c->graph != NULL) told = "for running alone";
    else if (key->act == CONFIG_PERF) config_perf(c, key->path, value);
    else if (key->act == CONFIG_MEMORY && strcmp(value, "shared_buffer") == 0)
        set->memory = MEMORY_SHARED;
    else if (key->act == CONFIG_MEMORY)
        config_fail(c, key->path, "Leave it out, or use --memory.",
                    "is \"%s\", and only shared_buffer is possible", value);
    else if (!is_whole)
        config_fail(c, key->path, "Write a whole number, or true or false.", "is %s", value);
    else if (key->act == CONFIG_CHIP)
        config_set(c, key->path, &set->soc_model, number, "--soc_model");
    else if (key->act == CONFIG_ARCH)
        config_set(c, key->path, &graph->arch, number, "--dsp_arch");
    else if (key->act == CONFIG_RPC_LATENCY) set->run.rpc_latency_us = number;
    else if (key->act == CONFIG_RPC_POLLING)
        set->run.rpc_polling_us = number == 0 ? QNNRT_POWER_ZERO : number;
    else if (key->act == CONFIG_SPILL) set->share_spill_fill |= number != 0;
    else if (key->act == CONFIG_VTCM)
        config_set(c, key->path, &graph->vtcm, number, "--vtcm_mib");
    else if (key->act == CONFIG_LEVEL)
        config_set(c, key->path, &graph->level, number, "--optimization_level");
    else if (key->act == CONFIG_HVX)
        config_set(c, key->path, &graph->hvx, number, "--hvx_threads");
    else if (key->act == CONFIG_FP16) graph->fp16 |= number != 0;
    else graph->share |= number != 0;
    OWNED char *shown = cli_shown(value);
    page_add(&c->lines, "          %s %s: %s\n", key->path, shown, told != NULL ? told : "taken");
}

/* Take a value of the file. */
static void config_value(config_read *c, const char *path, const qnnrt_json_reader *r)
{
    char value[CONFIG_PATH] = "null";
    double real = 0;
    const int text = r->type == QNNRT_JSON_STRING;
    cli_near near = {path, strlen(path), NULL, 0};
    if ((text || r->type == QNNRT_JSON_NUMBER) && r->value.bytes < sizeof(value))
        qnnrt_json_copy(&r->value, value);
    else if (text || r->type == QNNRT_JSON_NUMBER) snprintf(value, sizeof(value), "(long)");
    if (r->type == QNNRT_JSON_TRUE || r->type == QNNRT_JSON_FALSE)
        snprintf(value, sizeof(value), r->type == QNNRT_JSON_TRUE ? "true" : "false");
    if (strcmp(path, "backend_extensions.config_file_path") == 0) {
        const char *slash = strrchr(value, '/');
        free(c->inner);
        c->inner = cli_text("%s", slash != NULL ? slash + 1 : value);
        return;
    }
    /* "v75" is 75, 3.0 is 3, and true is 1 */
    const char *digits = value + (strcmp(path, "devices.dsp_arch") == 0 &&
                                  (value[0] == 'v' || value[0] == 'V'));
    int whole = cli_real(digits, &real) && real >= 0 && real <= 4294967294.0 &&
                real == floor(real);
    if (r->type == QNNRT_JSON_TRUE || r->type == QNNRT_JSON_FALSE) {
        whole = 1;
        real = r->type == QNNRT_JSON_TRUE;
    }
    for (size_t i = 0; i < CONFIG_KEYS; ++i) {
        if (strcmp(config_keys[i].path, path) == 0) {
            config_do(c, &config_keys[i], value, whole ? (uint64_t)real : 0, whole);
            return;
        }
        cli_near_try(&near, config_keys[i].path);
    }
    OWNED char *hint = near.best != NULL
        ? cli_text("Write \"%s\", or leave the key out.", near.best)
        : cli_text("Leave the key out.");
    config_fail(c, path, hint, "is a key that %s does not know", CLI_NAME);
}

/* Take the value that comes next, with all that is in it. */
static void config_walk(config_read *c, qnnrt_json_reader *r, const char *path)
{
    const qnnrt_json_type type = qnnrt_json_value(r);
    if (type != QNNRT_JSON_OBJECT && type != QNNRT_JSON_ARRAY) {
        if (type != QNNRT_JSON_NONE && c->good) config_value(c, path, r);
        return;
    }
    while (qnnrt_json_more(r)) {
        char longer[CONFIG_PATH] = "";
        const size_t bytes = strlen(path);
        snprintf(longer, sizeof(longer), "%s", path);
        if (type == QNNRT_JSON_OBJECT && bytes + r->key.bytes + 2 < sizeof(longer)) {
            if (bytes > 0) longer[bytes] = '.';
            qnnrt_json_copy(&r->key, longer + bytes + (bytes > 0));
        } else if (type == QNNRT_JSON_OBJECT) {
            config_fail(c, path, "Leave the key out.", "has a key that is too long");
        }
        config_walk(c, r, longer);
    }
}

/* Read one file. */
static void config_file(config_read *c, const char *path)
{
    static const qnnrt_json_limits limits = {CONFIG_BYTES, 8};
    qnnrt_json_reader r;
    size_t bytes = 0;
    char *text = cli_read_file(path, CONFIG_BYTES, &bytes);
    c->file = path;
    if (text == NULL) {
        fail(c->t, NULL, "Check the name.", "cannot read %s: %s", path,
             errno == EFBIG ? "it is too long for a configuration" : strerror(errno));
        c->good = 0;
        return;
    }
    qnnrt_json_begin(&r, text, bytes, &limits);
    config_walk(c, &r, "");
    if (c->good && (r.error != NULL || !qnnrt_json_end(&r))) {
        fail(c->t, NULL, "Give the JSON that qnn-net-run takes as --config_file, or the file that"
             " it names.", "%s: byte %lu: %s", path, (unsigned long)r.error_at,
             r.error != NULL ? r.error : "more follows the document");
        c->good = 0;
    }
    free(text);
}

int read_config(tool *t, graph_choices *graph)
{
    const char *path = t->set.run.config;
    config_read c = {t, path, graph, NULL, 1, {NULL, 0, 0}};
    if (path == NULL) return 1;
    config_file(&c, path);
    if (c.good && c.inner != NULL) {
        const char *slash = strrchr(path, '/'), *name = c.inner;
        OWNED char *beside = slash != NULL ? cli_text("%.*s/%s", (int)(slash - path), path, name)
                                           : cli_text("%s", name);
        c.inner = NULL;
        if (graph != NULL && graph->one_file)
            config_fail(&c, "config_file_path", "Name the second file as --config_file.",
                        "cannot be used with --cache");
        else config_file(&c, beside);
        if (c.good && c.inner != NULL)
            config_fail(&c, "config_file_path", "Name the second file alone.",
                        "stands in the second file, too");
        c.file = path;
        free((void *)(uintptr_t)name);
    }
    if (c.good) say(t, "config    %s\n%s", path, c.lines.used > 0 ? c.lines.data : "");
    free(c.inner);
    free(c.lines.data);
    return c.good;
}
